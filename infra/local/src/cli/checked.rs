//! Arguments that are checked before anybody is asked, so that a typing error is told at once and in plain words.

use url::Url;

/// An address of the web.
pub(super) fn web_address(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).ok();
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    url.ok_or_else(|| "it is not an address such as https://agent.example/".to_owned())
}

/// Whether there is a time zone of that name: agents take one that they do not know for UTC, silently.
pub(super) fn time_zone(name: &str) -> Result<(), String> {
    match name.parse::<chrono_tz::Tz>() {
        Ok(_) => Ok(()),
        Err(_) => Err(format!(
            "there is no time zone {name:?}; it is an IANA name such as Europe/Oslo"
        )),
    }
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

    #[test]
    fn a_time_zone_is_one_that_agents_know() {
        for good in ["Europe/Oslo", "UTC", "America/Argentina/Buenos_Aires"] {
            assert_eq!(time_zone(good), Ok(()), "{good}");
        }
        for bad in ["Mars/Base", "Europe/Olso", "CET-1CEST"] {
            assert!(time_zone(bad).unwrap_err().contains("Europe/Oslo"), "{bad}");
        }
    }
}
