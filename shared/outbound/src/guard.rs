//! Which addresses may be called. A URL is checked as it stands before the call, a name once more after it was resolved,
//! at the moment of dialling: what a name meant a minute ago does not count.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

use crate::address::{Blocked, public, public_v4, public_v6};
use crate::{Policy, TrustedOrigin};

/// Checks all that a URL shows by itself.
pub(crate) fn check(url: &Url, policy: &Policy) -> Result<(), Blocked> {
    let Some(host) = url.host() else {
        return Err(Blocked("it has no host"));
    };
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Blocked("it carries a user name"));
    }
    let local = is_local(&host);
    let allowed = (local && policy.allow_loopback) || policy.allow_host.is_some_and(|ip| is_at(&host, ip));
    match url.scheme() {
        "http" | "https" if allowed => return Ok(()),
        "http" | "https" if !local && is_beside_trusted(url, policy) => {
            return Err(Blocked(
                "another scheme or port of its host is trusted, and not this one",
            ));
        }
        "http" | "https" if !local && let Some(trusted) = trusted(url, policy) => {
            return trusted.check_literal();
        }
        "https" => {}
        "http" => return Err(Blocked("it is not https")),
        _ => return Err(Blocked("it is not an HTTP address")),
    }
    if local {
        return Err(Blocked("it is a loopback address"));
    }
    if !url.port_or_known_default().is_some_and(is_sane_port) {
        return Err(Blocked("its port is not one of HTTP"));
    }
    match host {
        // It means the same host as the name without the dot, and no certificate is made out to it.
        Host::Domain(name) if name.ends_with('.') => Err(Blocked("its host ends in a dot")),
        Host::Domain(_) => Ok(()),
        Host::Ipv4(ip) => public_v4(ip),
        Host::Ipv6(ip) => public_v6(ip),
    }
}

fn trusted<'a>(url: &Url, policy: &'a Policy) -> Option<&'a TrustedOrigin> {
    policy.trusted_origins.iter().find(|origin| origin.is_of(url))
}

/// Its name resolves to private addresses, which is good for the trusted port alone.
fn is_beside_trusted(url: &Url, policy: &Policy) -> bool {
    trusted(url, policy).is_none()
        && policy
            .trusted_origins
            .iter()
            .any(|origin| origin.has_host_of(url))
}

/// 443, and whatever is not reserved for other services; 0 is none.
fn is_sane_port(port: u16) -> bool {
    port == 443 || port >= 1024
}

/// Whether the host is written as this address. A name never is: whoever has it says what it means.
fn is_at(host: &Host<&str>, ip: IpAddr) -> bool {
    match host {
        Host::Domain(_) => false,
        Host::Ipv4(told) => ip == IpAddr::from(*told),
        Host::Ipv6(told) => ip == IpAddr::from(*told).to_canonical(),
    }
}

fn is_local(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => is_local_name(name),
        Host::Ipv4(ip) => ip.is_loopback(),
        Host::Ipv6(ip) => ip.is_loopback() || ip.to_ipv4_mapped().is_some_and(|ip| ip.is_loopback()),
    }
}

/// RFC 6761: `localhost` and what lies below it mean this machine.
fn is_local_name(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || name.to_ascii_lowercase().ends_with(".localhost")
}

/// Asks for the addresses of a name.
#[async_trait]
pub trait Lookup: Send + Sync {
    /// All addresses of the name, whatever they are.
    ///
    /// # Errors
    /// Where the name has none.
    async fn addresses(&self, name: &str) -> std::io::Result<Vec<IpAddr>>;
}

/// The DNS of the system.
pub(crate) struct SystemDns;

#[async_trait]
impl Lookup for SystemDns {
    async fn addresses(&self, name: &str) -> std::io::Result<Vec<IpAddr>> {
        let found = tokio::net::lookup_host((name, 0)).await?;
        Ok(found.map(|address| address.ip()).collect())
    }
}

/// Stands between DNS and the dialling: the addresses that it lets through are those that are dialled, with no further
/// look-up between.
pub(crate) struct GuardedDns {
    allow_loopback: bool,
    trusted: Vec<TrustedOrigin>,
    dns: Arc<dyn Lookup>,
}

impl GuardedDns {
    pub(crate) fn shared(policy: &Policy, dns: Arc<dyn Lookup>) -> Arc<Self> {
        Arc::new(Self {
            allow_loopback: policy.allow_loopback,
            trusted: policy.trusted_origins.clone(),
            dns,
        })
    }
}

impl Resolve for GuardedDns {
    fn resolve(&self, name: Name) -> Resolving {
        let (allow_loopback, dns) = (self.allow_loopback, Arc::clone(&self.dns));
        let is_named = |origin: &&TrustedOrigin| origin.is_named(name.as_str());
        let trusted = self.trusted.iter().find(is_named).cloned();
        Box::pin(async move {
            let found = if is_local_name(name.as_str()) {
                vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]
            } else {
                dns.addresses(name.as_str()).await?
            };
            let allowed = match trusted.filter(|_| !is_local_name(name.as_str())) {
                Some(origin) => kept(found, |ip| origin.check(ip)),
                None => allowed(name.as_str(), found, allow_loopback),
            }?;
            // The port is the URL's; 0 stands for it.
            let addresses: Addrs = Box::new(allowed.into_iter().map(|ip| SocketAddr::new(ip, 0)));
            Ok(addresses)
        })
    }
}

/// The addresses of a name that may be dialled. A name that is not `localhost` has no business on this machine even
/// where loopback is allowed.
fn allowed(name: &str, found: Vec<IpAddr>, allow_loopback: bool) -> Result<Vec<IpAddr>, Blocked> {
    kept(found, |address| {
        let local = allow_loopback && is_local_name(name) && address.is_loopback();
        if local { Ok(()) } else { public(address) }
    })
}

/// The addresses that pass a check; an error where none does.
fn kept(found: Vec<IpAddr>, check: impl Fn(IpAddr) -> Result<(), Blocked>) -> Result<Vec<IpAddr>, Blocked> {
    let mut blocked = Blocked("its name has no address");
    let mut kept = Vec::with_capacity(found.len());
    for address in found {
        match check(address) {
            Ok(()) => kept.push(address),
            Err(reason) => blocked = reason,
        }
    }
    if kept.is_empty() { Err(blocked) } else { Ok(kept) }
}

#[cfg(test)]
mod tests;
