//! Which broker, and how it is reached.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use url::{Host, Url};

/// A broker's address: `mqtts://HOST[:PORT]`, or `mqtt://` where it is this machine.
#[derive(Clone, PartialEq, Eq)]
pub struct BrokerUrl {
    url: Url,
    host: String,
    port: u16,
    tls: bool,
}

/// Why an address is none of a broker that we connect to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidBroker(&'static str);

impl BrokerUrl {
    /// Parses the address.
    ///
    /// # Errors
    /// [`InvalidBroker`] says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, InvalidBroker> {
        let url = Url::parse(text).map_err(|_| InvalidBroker("a broker is mqtts://HOST[:PORT]"))?;
        let tls = match url.scheme() {
            "mqtts" => true,
            "mqtt" => false,
            _ => return Err(InvalidBroker("a broker's address begins with mqtts://")),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(InvalidBroker("credentials are no part of a broker's address"));
        }
        if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
            return Err(InvalidBroker("a broker's address has no path"));
        }
        let host = url.host_str().filter(|host| !host.is_empty());
        let host = host
            .ok_or(InvalidBroker("the broker's host is missing"))?
            .to_owned();
        if !tls && !is_loopback(&host) {
            return Err(InvalidBroker(
                "only a broker on this machine is reached without TLS",
            ));
        }
        let port = url.port().unwrap_or(if tls { 8883 } else { 1883 });
        Ok(Self { url, host, port, tls })
    }

    /// The address as it was given.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    pub(crate) fn host(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn tls(&self) -> bool {
        self.tls
    }
}

fn is_loopback(host: &str) -> bool {
    // The host of an address whose scheme is not special is not parsed any further by `url`.
    match Host::parse(host) {
        Ok(Host::Domain(name)) => name == "localhost",
        Ok(Host::Ipv4(ip)) => IpAddr::from(ip).is_loopback(),
        Ok(Host::Ipv6(ip)) => IpAddr::from(ip).is_loopback(),
        Err(_) => false,
    }
}

impl FromStr for BrokerUrl {
    type Err = InvalidBroker;
    fn from_str(text: &str) -> Result<Self, InvalidBroker> {
        Self::parse(text)
    }
}

impl fmt::Display for BrokerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "mqtts" } else { "mqtt" };
        write!(f, "{scheme}://{}:{}", self.host, self.port)
    }
}

impl fmt::Debug for BrokerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "broker({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_tls_only_this_machine_is_reached() {
        for (text, shown) in [
            ("mqtts://broker.example", "mqtts://broker.example:8883"),
            ("mqtts://broker.example:8884/", "mqtts://broker.example:8884"),
            ("mqtt://localhost", "mqtt://localhost:1883"),
            ("mqtt://127.0.0.1:1884", "mqtt://127.0.0.1:1884"),
            ("mqtt://[::1]:1884", "mqtt://[::1]:1884"),
        ] {
            assert_eq!(
                BrokerUrl::parse(text).map(|url| url.to_string()).as_deref(),
                Ok(shown)
            );
        }
        for bad in [
            "",
            "broker.example",
            "http://broker.example",
            "mqtt://broker.example",
            "mqtt://10.0.0.1",
            "mqtt://127.0.0.1.example",
            "mqtts://",
            "mqtts://user:pass@broker.example",
            "mqtts://broker.example/x",
            "mqtts://broker.example?x",
        ] {
            assert!(BrokerUrl::parse(bad).is_err(), "{bad}");
        }
    }
}
