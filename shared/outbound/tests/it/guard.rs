//! The address guard on the real client.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use domain::SystemEntropy;
use outbound::{CallError, Lookup, Outbound, Policy, TrustedOrigin};
use serde_json::Value;
use tokio::net::TcpListener;
use url::Url;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::support::{outbound, with};

async fn get(out: &Outbound, url: &str) -> Result<Value, CallError> {
    out.get_json(&Url::parse(url).unwrap(), None).await
}

#[tokio::test]
async fn a_deployed_client_does_not_reach_this_machine() {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(ResponseTemplate::new(200))
        .mount(&server)
        .await;
    let port = server.address().port();
    let deployed = with(|policy| *policy = Policy::default());
    for url in [
        server.uri(),
        format!("https://127.0.0.1:{port}/"),
        format!("https://2130706433:{port}/"),
        format!("https://localhost:{port}/"),
        format!("https://[::ffff:127.0.0.1]:{port}/"),
    ] {
        let told = get(&deployed, &url).await;
        assert!(matches!(told, Err(CallError::NotAllowed(_))), "{url}: {told:?}");
    }
    assert_eq!(server.received_requests().await.unwrap().len(), 0);
}

/// What stands in the hosts file and is no loopback name: the check happens after resolution.
#[tokio::test]
async fn a_name_that_resolves_to_this_machine_is_not_dialled() {
    let Some(name) = own_name() else { return };
    let told = get(&outbound(), &format!("https://{name}:8443/")).await;
    assert!(matches!(told, Err(CallError::NotAllowed(_))), "{name}: {told:?}");
}

/// A name of this machine, as most systems list one beside `localhost`.
fn own_name() -> Option<String> {
    let hosts = std::fs::read_to_string("/etc/hosts").ok()?;
    let fields = hosts
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .flat_map(|line| {
            let mut fields = line.split_whitespace();
            let private = fields.next().is_some_and(|ip| {
                ["127.", "::1", "10.", "172.", "192.168."]
                    .iter()
                    .any(|start| ip.starts_with(start))
            });
            fields
                .filter(move |_| private)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        });
    let fields: Vec<String> = fields.collect();
    fields.into_iter().find(|name| !name.contains("localhost"))
}

/// A name whose owner changes his mind: each look-up gets the next answer, the last one for ever.
struct Rebinding {
    answers: Vec<Vec<&'static str>>,
    asked: AtomicUsize,
}

#[async_trait]
impl Lookup for Rebinding {
    async fn addresses(&self, _: &str) -> std::io::Result<Vec<IpAddr>> {
        let asked = self
            .asked
            .fetch_add(1, Ordering::SeqCst)
            .min(self.answers.len() - 1);
        Ok(self.answers[asked].iter().map(|ip| ip.parse().unwrap()).collect())
    }
}

#[tokio::test]
async fn a_name_that_is_public_when_checked_and_private_when_dialled_is_not_connected_to() {
    let inside = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = inside.local_addr().unwrap().port();
    // The switch for local work makes no difference: a name in the world has no business on this machine.
    for allow_loopback in [false, true] {
        for private in [
            vec!["127.0.0.1"],
            vec!["::1"],
            vec!["::ffff:127.0.0.1"],
            vec!["10.0.0.1", "127.0.0.1"],
        ] {
            let dns = Arc::new(Rebinding {
                answers: vec![vec!["93.184.215.14"], private.clone()],
                asked: AtomicUsize::new(0),
            });
            let policy = Policy {
                allow_loopback,
                timeout: Duration::from_secs(2),
                ..Policy::default()
            };
            let out = Outbound::with_dns(policy, Arc::new(SystemEntropy), dns.clone());
            let url = Url::parse(&format!("https://rebind.example:{port}/")).unwrap();
            // Whoever checks the URL and resolves the name beforehand finds nothing wrong with it.
            assert!(out.check_url(&url).is_ok());
            assert_eq!(
                dns.addresses("rebind.example").await.unwrap(),
                ["93.184.215.14".parse::<IpAddr>().unwrap()]
            );
            let told = get(&out, url.as_str()).await;
            assert!(
                matches!(told, Err(CallError::NotAllowed(_))),
                "{private:?}: {told:?}"
            );
            assert_eq!(
                dns.asked.load(Ordering::SeqCst),
                2,
                "what was resolved for the dialling is what was checked"
            );
        }
    }
    let knocked = tokio::time::timeout(Duration::from_millis(200), inside.accept()).await;
    assert!(knocked.is_err(), "somebody connected");
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let secret = MockServer::start().await;
    Mock::given(any())
        .respond_with(ResponseTemplate::new(200).set_body_string("{}"))
        .mount(&secret)
        .await;
    for status in [301, 302, 303, 307, 308] {
        let server = MockServer::start().await;
        let template = ResponseTemplate::new(status).insert_header("location", secret.uri());
        Mock::given(any()).respond_with(template).mount(&server).await;
        let told = get(&outbound(), &server.uri()).await;
        assert!(
            matches!(told, Err(CallError::Status(code)) if code == status),
            "{told:?}"
        );
    }
    assert_eq!(secret.received_requests().await.unwrap().len(), 0);
}

#[tokio::test]
async fn names_that_do_not_exist_are_unreachable_and_odd_urls_not_allowed() {
    let out = with(|policy| policy.timeout = Duration::from_secs(5));
    // No DNS server is asked for a label this long.
    let told = get(&out, &format!("https://{}.invalid/", "a".repeat(70)))
        .await
        .unwrap_err();
    assert!(told.is_retryable(), "{told:?}");
    for url in [
        "http://agents.example/",
        "https://u:p@agents.example/",
        "https://169.254.169.254/",
    ] {
        assert!(
            matches!(get(&out, url).await, Err(CallError::NotAllowed(_))),
            "{url}"
        );
        assert!(
            matches!(
                out.check_url(&Url::parse(url).unwrap()),
                Err(CallError::NotAllowed(_))
            ),
            "{url}"
        );
    }
    // What is checked before it is stored needs no network.
    assert!(
        out.check_url(&Url::parse("https://example.com/webhook").unwrap())
            .is_ok()
    );
}

/// A way out that trusts this origin, over a DNS that answers with these addresses.
fn trusting(origin: &str, addresses: Vec<&'static str>) -> Outbound {
    let policy = Policy {
        timeout: Duration::from_secs(2),
        connect_timeout: Duration::from_millis(200),
        ..Policy::default()
    };
    let dns = Rebinding {
        answers: vec![addresses],
        asked: AtomicUsize::new(0),
    };
    let origin = TrustedOrigin::of(&Url::parse(origin).unwrap()).unwrap();
    Outbound::with_dns(policy, Arc::new(SystemEntropy), Arc::new(dns)).trusting(origin)
}

/// Whether the guard lets a call out; nobody needs to answer it.
async fn is_let_out(out: &Outbound, url: &str) -> bool {
    !matches!(get(out, url).await, Err(CallError::NotAllowed(_)))
}

#[tokio::test]
async fn a_trusted_origin_may_have_a_private_address_and_no_other_kind_of_closed_one() {
    for (origin, address, open) in [
        ("http://models.internal:8000/v1", "10.1.2.3", true),
        ("https://models.internal/v1", "192.168.7.1", true),
        ("https://models.internal/v1", "fd12:3456::1", true),
        // In clear text only within a private network.
        ("http://models.example/v1", "93.184.215.14", false),
        ("https://models.example/v1", "169.254.169.254", false),
        ("https://models.example/v1", "169.254.170.2", false),
        ("https://models.example/v1", "::ffff:169.254.169.254", false),
        ("https://models.example/v1", "100.100.100.200", false),
        ("https://models.example/v1", "168.63.129.16", false),
        ("https://models.example/v1", "192.0.0.192", false),
        ("https://models.example/v1", "fd00:ec2::254", false),
        ("https://models.example/v1", "fd20:ce::254", false),
        ("https://models.example/v1", "fe80::1", false),
        ("https://models.example/v1", "127.0.0.1", false),
        ("https://models.example/v1", "::1", false),
        ("https://models.example/v1", "0.0.0.0", false),
    ] {
        assert_eq!(
            is_let_out(&trusting(origin, vec![address]), origin).await,
            open,
            "{origin} at {address}"
        );
    }
    for (origin, open) in [
        ("http://10.1.2.3:8000/v1", true),
        ("https://[fd12:3456::1]/v1", true),
        ("http://[::ffff:10.1.2.3]/v1", true),
        ("http://8.8.8.8/v1", false),
        ("https://169.254.169.254/v1", false),
        ("http://169.254.170.2/v1", false),
        ("https://[fd00:ec2::254]/v1", false),
        ("http://127.0.0.1:11434/v1", false),
        ("http://localhost:11434/v1", false),
        ("https://0.0.0.0/v1", false),
        ("https://key@10.1.2.3/v1", false),
    ] {
        assert_eq!(
            is_let_out(&trusting(origin, vec!["10.1.2.3"]), origin).await,
            open,
            "{origin}"
        );
    }
}

#[tokio::test]
async fn nothing_beside_a_trusted_origin_is_trusted() {
    let out = trusting("https://models.internal:8443/v1", vec!["10.1.2.3"]);
    assert!(is_let_out(&out, "https://MODELS.internal:8443/other").await);
    for closed in [
        "https://models.internal/v1",
        "http://models.internal:8443/v1",
        "https://models.internal:8444/v1",
        "https://models.internal.:8443/v1",
        "https://x.models.internal:8443/v1",
        "https://10.1.2.3:8443/v1",
        "https://other.internal:8443/v1",
        "ftp://models.internal:8443/v1",
    ] {
        assert!(!is_let_out(&out, closed).await, "{closed}");
    }
    // The way out that it comes from trusts nobody.
    let dns = Rebinding {
        answers: vec![vec!["10.1.2.3"]],
        asked: AtomicUsize::new(0),
    };
    let first = Outbound::with_dns(Policy::default(), Arc::new(SystemEntropy), Arc::new(dns));
    let url = Url::parse("https://models.internal:8443/v1").unwrap();
    let _trusting = first.trusting(TrustedOrigin::of(&url).unwrap());
    assert!(!is_let_out(&first, url.as_str()).await);
    for none in [
        "ftp://models.internal/",
        "data:text/plain,x",
        "file:///etc/passwd",
    ] {
        assert_eq!(TrustedOrigin::of(&Url::parse(none).unwrap()), None, "{none}");
    }
}
