//! Which names the listeners of this machine answer to: the loopback ones, the address that containers have it at, and what
//! whoever started it has named. A page of a name that its owner points at 127.0.0.1 (DNS rebinding) is of the same origin
//! as what answers it there, so that the name alone tells it apart.

use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;
use http::uri::Authority;
use http::{StatusCode, header};
use url::Host;

/// A name or address that the system may be asked by, beside the loopback ones; its port is not looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostName(Host);

impl FromStr for HostName {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Host::parse(text)
            .map(Self)
            .map_err(|_| "it is a name or an address without a port, an IPv6 one in brackets")
    }
}

/// Everything that the listeners answer to.
#[derive(Clone)]
pub(crate) struct Hosts(Arc<[Host]>);

impl Hosts {
    /// Those that were named, and where containers reach this machine.
    pub(crate) fn of(named: &[HostName], containers: Option<IpAddr>) -> Self {
        let named = named.iter().map(|name| name.0.clone());
        let address = |ip| match ip {
            IpAddr::V4(ip) => Host::Ipv4(ip),
            IpAddr::V6(ip) => Host::Ipv6(ip),
        };
        Self(named.chain(containers.map(address)).collect())
    }

    /// Puts the check in front of everything that a listener serves.
    pub(crate) fn before(self, router: Router) -> Router {
        router.layer(middleware::from_fn_with_state(self, check))
    }

    /// Whether a request names one of them, and nothing else: an address in its first line counts, and each `Host` field.
    fn are_meant(&self, request: &Request) -> bool {
        let fields = request.headers().get_all(header::HOST);
        let mut named = fields
            .iter()
            .map(|field| field.to_str().ok())
            .chain(
                request
                    .uri()
                    .authority()
                    .map(|authority| Some(authority.as_str())),
            )
            .peekable();
        named.peek().is_some() && named.all(|name| name.is_some_and(|name| self.has(name)))
    }

    fn has(&self, authority: &str) -> bool {
        let Some(host) = host(authority) else {
            return false;
        };
        let is_loopback = match &host {
            Host::Domain(name) => name == "localhost",
            Host::Ipv4(ip) => ip.is_loopback(),
            Host::Ipv6(ip) => ip.is_loopback(),
        };
        is_loopback || self.0.contains(&host)
    }
}

/// The host of `host` or `host:port`; nothing may stand before it.
fn host(authority: &str) -> Option<Host> {
    let read = Authority::from_str(authority).ok()?;
    let port = authority.strip_prefix(read.host())?;
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let whole = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
    Host::parse(read.host()).ok().filter(|_| whole)
}

async fn check(State(hosts): State<Hosts>, request: Request, next: Next) -> Response {
    if hosts.are_meant(&request) {
        return next.run(request).await;
    }
    edge::refused(
        StatusCode::MISDIRECTED_REQUEST,
        "unknown_host",
        "this system answers to localhost, and to what `switchyard up --host NAME` names",
    )
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use axum::body::Body;
    use tower::ServiceExt;

    use super::*;

    fn hosts() -> Hosts {
        let named = ["Desk.Example", "[fd00::1]"].map(|name| name.parse().unwrap());
        Hosts::of(&named, Some(IpAddr::V4(Ipv4Addr::new(172, 17, 0, 1))))
    }

    async fn answered(uri: &str, names: &[&[u8]]) -> StatusCode {
        let router = hosts().before(Router::new().fallback(async || "served"));
        let mut request = Request::builder().uri(uri);
        for name in names {
            request = request.header(header::HOST, *name);
        }
        let request = request.body(Body::empty()).unwrap();
        router.oneshot(request).await.unwrap().status()
    }

    #[tokio::test]
    async fn loopback_names_and_named_ones_are_answered() {
        for name in [
            "localhost",
            "LocalHost:3000",
            "127.0.0.1:3000",
            "127.0.0.2",
            "[::1]:3000",
            "desk.example",
            "desk.example:80",
            "DESK.example",
            "[fd00::1]:3000",
            "172.17.0.1:3000",
        ] {
            assert_eq!(answered("/", &[name.as_bytes()]).await, StatusCode::OK, "{name}");
        }
        assert_eq!(answered("http://localhost:3000/x", &[]).await, StatusCode::OK);
        assert_eq!(
            answered("http://localhost/x", &[b"localhost"]).await,
            StatusCode::OK
        );
    }

    #[tokio::test]
    async fn any_other_name_is_not() {
        for name in [
            "evil.example",
            "evil.example:3000",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "desk.example.evil.example",
            "localhost@evil.example",
            "localhost@localhost",
            "evil.example@localhost",
            "localhost, evil.example",
            "localhost/",
            "172.17.0.2",
            "0.0.0.0:3000",
            "169.254.169.254",
            "[::2]",
            "::1",
            "",
            ":3000",
            "localhost:port",
        ] {
            let status = answered("/", &[name.as_bytes()]).await;
            assert_eq!(status, StatusCode::MISDIRECTED_REQUEST, "{name:?}");
        }
        let not_one: [(&str, &[&[u8]]); 6] = [
            ("/", &[]),
            ("/", &[b"localhost", b"evil.example"]),
            ("/", &[b"evil.example", b"localhost"]),
            ("/", &[b"local\xffhost"]),
            ("http://evil.example/", &[b"localhost"]),
            ("http://localhost/", &[b"evil.example"]),
        ];
        for (uri, names) in not_one {
            let status = answered(uri, names).await;
            assert_eq!(status, StatusCode::MISDIRECTED_REQUEST, "{uri} {names:?}");
        }
    }

    #[test]
    fn what_is_no_name_cannot_be_named() {
        for text in [
            "",
            "a b",
            "desk.example:3000",
            "http://desk.example",
            "desk/x",
            "fd00::1",
            "a@b",
        ] {
            assert!(text.parse::<HostName>().is_err(), "{text:?}");
        }
    }
}
