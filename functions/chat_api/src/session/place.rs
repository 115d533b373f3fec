//! Where a message came from, in words that its user knows again: the browser and the address.

use std::net::IpAddr;

use http::HeaderMap;
use http::header::USER_AGENT;

/// What names a browser in its `User-Agent`, in the order in which they are looked for: most name others too.
const BROWSERS: [(&str, &str); 9] = [
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("CriOS/", "Chrome"),
    ("Safari/", "Safari"),
    ("switchyard/", "the terminal"),
];

/// What names a system there.
const SYSTEMS: [(&str, &str); 7] = [
    ("iPhone", "an iPhone"),
    ("iPad", "an iPad"),
    ("Android", "Android"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Mac OS X", "a Mac"),
    ("Linux", "Linux"),
];

/// Words for a request's place, such as `Firefox on Linux, 203.0.113.9`. Of the client's own words nothing is taken over.
pub(crate) fn of(headers: &HeaderMap, source: Option<IpAddr>) -> String {
    let agent = headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok());
    let agent = agent.unwrap_or_default();
    let known = |names: &'static [(&str, &str)]| names.iter().find(|(mark, _)| agent.contains(mark));
    let browser = known(&BROWSERS).map_or("another program", |(_, name)| *name);
    let system = known(&SYSTEMS).map(|(_, name)| format!(" on {name}"));
    let source = source.map(|source| format!(", {source}"));
    format!(
        "{browser}{}{}",
        system.unwrap_or_default(),
        source.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_browser_is_named_as_its_user_calls_it() {
        let source = Some("203.0.113.9".parse().unwrap());
        for (agent, told) in [
            (
                "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
                "Firefox on Linux, 203.0.113.9",
            ),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36 Edg/140.0",
                "Edge on Windows, 203.0.113.9",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 Version/18.5 Mobile/15E148 Safari/604.1",
                "Safari on an iPhone, 203.0.113.9",
            ),
            (
                "Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Mobile Safari/537.36",
                "Chrome on Android, 203.0.113.9",
            ),
            ("switchyard/0.3.0", "the terminal, 203.0.113.9"),
            ("your bank <b>", "another program, 203.0.113.9"),
            ("", "another program, 203.0.113.9"),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(USER_AGENT, HeaderValue::from_str(agent).unwrap());
            assert_eq!(of(&headers, source), told);
        }
        assert_eq!(of(&HeaderMap::new(), None), "another program");
    }
}
