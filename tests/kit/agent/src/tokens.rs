//! Who may call an open agent: anybody without a token; with one, only who has a good one. An agent's own tests name it once, by
//! [`token_suite!`](crate::token_suite).

use std::sync::LazyLock;
use std::time::Duration;

use auth::{Grant, Refusal, SigningKey, TrustedIssuer, Verifier};
use axum::http::{HeaderMap, StatusCode};
use domain::{Clock as _, Entropy as _, ExposeSecret as _, SystemEntropy, Tenant};
use serde_json::{Value, json};

use crate::{World, message};

const ISSUER: &str = "https://switchyard.example/t/acme";
static GLOBEX: LazyLock<Tenant> = LazyLock::new(|| tenant("globex"));

/// The tests of an open agent's tokens: at this address, asked in these words, made with a verifier by this function, whose world is
/// one of this kit or stands for one.
#[macro_export]
macro_rules! token_suite {
    (url: $url:expr, says: $says:expr, world: $world:path $(,)?) => {
        $crate::token_suite! { @ $url, $says, $world,
            a_task_made_with_a_valid_token_is_read_with_it_alone
            without_a_token_anybody_may_ask_and_list_nothing
            a_token_that_is_there_must_be_good
            an_expired_token_is_said_to_be
        }
    };
    (@ $url:expr, $says:expr, $world:path, $($test:ident)+) => {
        $(#[tokio::test]
        async fn $test() {
            let (caller, verifier) = $crate::tokens::caller($url, $says);
            let world = $world(verifier).await;
            caller.$test(&world).await;
        })+
    };
}

/// Who calls, and how.
pub struct Caller {
    url: &'static str,
    says: &'static str,
    key: SigningKey,
}

/// Somebody with a key of acme's, and the verifier that trusts it.
///
/// # Panics
/// Where the address is none.
#[must_use]
pub fn caller(url: &'static str, says: &'static str) -> (Caller, Verifier) {
    let (key, _) = SigningKey::generate().expect("a key");
    let issuer = TrustedIssuer {
        issuer: ISSUER.into(),
        tenant: Some(tenant("acme")),
        keys: vec![key.public_jwk()],
    };
    let verifier = Verifier::new(url.into(), vec![issuer]).expect("a verifier");
    (Caller { url, says, key }, verifier)
}

fn tenant(name: &str) -> Tenant {
    Tenant::parse(name).expect("a tenant")
}

impl Caller {
    fn token(&self, world: &World, changed: impl FnOnce(&mut Grant<'_>)) -> String {
        self.signed_by(&self.key, world, changed)
    }

    fn signed_by(&self, key: &SigningKey, world: &World, changed: impl FnOnce(&mut Grant<'_>)) -> String {
        let acme = tenant("acme");
        let mut grant = Grant {
            issuer: ISSUER,
            subject: "user-1",
            tenant: Some(&acme),
            audience: self.url,
            scopes: &["tasks"],
            lifetime: Duration::from_secs(300),
        };
        changed(&mut grant);
        let token = key.sign(&grant, world.clock.now(), &SystemEntropy);
        format!("Bearer {}", token.expect("a token").expose_secret())
    }

    async fn send(&self, world: &World, authorization: Option<&str>) -> (StatusCode, HeaderMap, Value) {
        let id = SystemEntropy.uuid().to_string();
        let message = message(&id, json!([{ "text": self.says }]), None);
        let params = json!({ "message": message, "configuration": { "returnImmediately": true } });
        world.call(authorization, "SendMessage", params).await
    }

    async fn is_refused(&self, world: &World, authorization: &str, refusal: &Refusal) {
        let (status, headers, body) = self.send(world, Some(authorization)).await;
        assert_eq!(status.as_u16(), refusal.status(), "{authorization}: {body}");
        assert_eq!(body["error"], refusal.error_code());
        assert_eq!(body["error_description"], refusal.to_string());
        let challenge = headers["www-authenticate"].to_str().expect("text");
        assert!(
            challenge.starts_with("Bearer ") && challenge.contains("scope=\"tasks\""),
            "{challenge}"
        );
        // It has no authorization server to send anybody to.
        assert!(!challenge.contains("resource_metadata"), "{challenge}");
    }

    /// Another user, or nobody, does not see it.
    pub async fn a_task_made_with_a_valid_token_is_read_with_it_alone(&self, world: &World) {
        let token = self.token(world, |_| {});
        let (status, _, body) = self.send(world, Some(&token)).await;
        assert_eq!(status, StatusCode::OK, "{body}");
        let id = json!({ "id": body["result"]["task"]["id"] });
        let (_, _, own) = world.call(Some(&token), "GetTask", id.clone()).await;
        assert_eq!(own["result"]["id"], id["id"], "{own}");
        let other = self.token(world, |grant| grant.subject = "user-2");
        for stranger in [None, Some(other.as_str())] {
            let (_, _, body) = world.call(stranger, "GetTask", id.clone()).await;
            assert_eq!(body["error"]["code"], -32001, "{body}");
        }
    }

    /// Who knows a task's id reads it; a list would tell others'.
    pub async fn without_a_token_anybody_may_ask_and_list_nothing(&self, world: &World) {
        let (status, _, body) = self.send(world, None).await;
        assert_eq!(status, StatusCode::OK, "{body}");
        let id = json!({ "id": body["result"]["task"]["id"] });
        let (_, _, read) = world.call(None, "GetTask", id.clone()).await;
        assert_eq!(read["result"]["id"], id["id"], "{read}");
        let (_, _, listed) = world.call(None, "ListTasks", json!({})).await;
        assert_eq!(listed["result"]["totalSize"], 0, "{listed}");
    }

    /// Rubbish, another's key, audience, issuer, tenant, scope. What is refused leaves nothing behind.
    pub async fn a_token_that_is_there_must_be_good(&self, world: &World) {
        let good = self.token(world, |_| {});
        let (status, _, body) = self.send(world, Some(&good)).await;
        assert_eq!(status, StatusCode::OK, "{body}");
        let (stranger, _) = SigningKey::generate().expect("a key");
        let small = Refusal::SmallScope {
            needed: "tasks".into(),
        };
        for (token, refusal) in [
            ("Bearer rubbish".to_owned(), Refusal::Malformed),
            ("Bearer ".to_owned(), Refusal::Malformed),
            ("Basic YTpi".to_owned(), Refusal::Missing),
            (self.signed_by(&stranger, world, |_| {}), Refusal::Malformed),
            (
                self.token(world, |grant| grant.audience = "https://agents.example/other"),
                Refusal::Malformed,
            ),
            (
                self.token(world, |grant| grant.issuer = "https://attacker.example"),
                Refusal::Malformed,
            ),
            (
                self.token(world, |grant| grant.tenant = None),
                Refusal::WrongTenant,
            ),
            (
                self.token(world, |grant| grant.tenant = Some(&GLOBEX)),
                Refusal::WrongTenant,
            ),
            (self.token(world, |grant| grant.scopes = &["orders:read"]), small),
        ] {
            self.is_refused(world, &token, &refusal).await;
        }
        let (_, _, listed) = world.call(Some(&good), "ListTasks", json!({})).await;
        assert_eq!(listed["result"]["totalSize"], 1, "{listed}");
    }

    /// To the second.
    pub async fn an_expired_token_is_said_to_be(&self, world: &World) {
        let token = self.token(world, |_| {});
        world.clock.advance(Duration::from_secs(359));
        assert_eq!(self.send(world, Some(&token)).await.0, StatusCode::OK);
        world.clock.advance(Duration::from_secs(1));
        self.is_refused(world, &token, &Refusal::Expired).await;
    }
}
