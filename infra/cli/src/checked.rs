//! Arguments that are checked before anybody is asked, so that a typing error is told at once and in plain words.

use url::Url;

/// An address of the web.
pub(super) fn web_address(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).ok();
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    url.ok_or_else(|| "it is not an address such as https://agent.example/".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_of_the_web() {
        for good in [
            "http://127.0.0.1:9100",
            "https://agent.example/.well-known/agent-card.json",
        ] {
            assert!(web_address(good).is_ok(), "{good}");
        }
        for bad in [
            "nonsense",
            "localhost:9100",
            "agent.example",
            "ftp://agent.example/",
            "http://",
            "",
        ] {
            assert!(web_address(bad).unwrap_err().contains("https://"), "{bad}");
        }
    }
}
