//! Origins that an operator vouches for: a language model of their own may stand in a private network.

use std::net::{IpAddr, Ipv6Addr};

use url::{Host, Url};

use crate::address::{Blocked, public};

/// Scheme, host and port of a server that the operator names in the settings, never somebody's card or message. It may
/// have a private address; link-local addresses and those where clouds keep their metadata stay closed to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedOrigin {
    scheme: Scheme,
    host: Host,
    port: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Plain,
    Tls,
}

impl TrustedOrigin {
    /// The origin of an address; `None` where that is not of HTTP.
    #[must_use]
    pub fn of(url: &Url) -> Option<Self> {
        let scheme = match url.scheme() {
            "http" => Scheme::Plain,
            "https" => Scheme::Tls,
            _ => return None,
        };
        Some(Self {
            scheme,
            host: url.host()?.to_owned(),
            port: url.port_or_known_default()?,
        })
    }

    /// Whether the address has this scheme, host and port.
    pub(crate) fn is_of(&self, url: &Url) -> bool {
        Self::of(url).as_ref() == Some(self)
    }

    /// Whether the address has this host, whatever its scheme and port.
    pub(crate) fn has_host_of(&self, url: &Url) -> bool {
        url.host().is_some_and(|host| host.to_owned() == self.host)
    }

    /// Whether the host is this name.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        matches!(&self.host, Host::Domain(own) if own.eq_ignore_ascii_case(name))
    }

    /// Checks the host where it is written as an address; a name is checked when it is resolved.
    pub(crate) fn check_literal(&self) -> Result<(), Blocked> {
        match &self.host {
            Host::Domain(_) => Ok(()),
            Host::Ipv4(ip) => self.check((*ip).into()),
            Host::Ipv6(ip) => self.check((*ip).into()),
        }
    }

    /// Checks an address that the host has.
    pub(crate) fn check(&self, ip: IpAddr) -> Result<(), Blocked> {
        match (is_private(ip.to_canonical()), self.scheme) {
            (true, _) => Ok(()),
            (false, Scheme::Tls) => public(ip),
            // The key would travel through the world in clear text.
            (false, Scheme::Plain) => public(ip).and(Err(Blocked("it is public and not https"))),
        }
    }
}

/// RFC 1918 and RFC 4193, without the metadata addresses of clouds within them.
fn is_private(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_private(),
        IpAddr::V6(ip) => ip.is_unique_local() && !is_metadata(ip),
    }
}

/// AWS keeps its services for instances and pods in `fd00:ec2::/32`, Google its metadata in `fd20:ce::/32`.
fn is_metadata(ip: Ipv6Addr) -> bool {
    matches!(ip.segments(), [0xfd00, 0x0ec2, ..] | [0xfd20, 0x00ce, ..])
}
