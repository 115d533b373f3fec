//! The MQTT broker that agents are called on.

use url::Url;

/// A broker that agents are called on, and the bridge to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MqttBridge {
    /// The bridge's URL, the audience of tokens for it.
    pub url: Url,
    /// The broker, as cards have it.
    pub broker: Url,
}

impl MqttBridge {
    /// Whether an interface's URL is of this broker.
    pub(crate) fn reaches(&self, interface: &Url) -> bool {
        let place = |url: &Url| {
            let usual = if url.scheme() == "mqtts" { 8883 } else { 1883 };
            let host = url.host_str().map(str::to_ascii_lowercase);
            (url.scheme().to_owned(), host, url.port().unwrap_or(usual))
        };
        place(interface) == place(&self.broker)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_configured_broker_is_reached() {
        let bridge = MqttBridge {
            url: Url::parse("https://gateway.example/mqtt").unwrap(),
            broker: Url::parse("mqtts://broker.example").unwrap(),
        };
        let reaches = |url: &str| bridge.reaches(&Url::parse(url).unwrap());
        assert!(reaches("mqtts://broker.example:8883/$a2a/v1/request/a/b/c"));
        assert!(reaches("mqtts://BROKER.example/$a2a/v1/request/a/b/c"));
        for other in [
            "mqtt://broker.example/$a2a/v1/request/a/b/c",
            "mqtts://broker.example:8884/$a2a/v1/request/a/b/c",
            "mqtts://broker.example.evil/$a2a/v1/request/a/b/c",
            "https://broker.example:8883/$a2a/v1/request/a/b/c",
        ] {
            assert!(!reaches(other), "{other}");
        }
    }
}
