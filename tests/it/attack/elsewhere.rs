//! An issuer that is not ours, which people of a tenant sign in at: its documents, and what it signs.

use auth::SigningKey;
use domain::{Clock, ExposeSecret, SecretString};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use reqwest::Method;
use serde_json::{Value, json};
use system_testing::Local;
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::tenants::admin;

/// Our client there.
const CLIENT: &str = "chat-of-acme";
const EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";

pub(super) struct Elsewhere {
    server: MockServer,
    key: SigningKey,
    pem: SecretString,
}

impl Elsewhere {
    /// Starts it, and names it to `acme`.
    pub(super) async fn start(local: &Local) -> Self {
        let (key, pem) = SigningKey::generate().expect("a key");
        let server = MockServer::start().await;
        let issuer = server.uri();
        let documents = [
            (
                "/.well-known/openid-configuration",
                json!({ "issuer": issuer, "authorization_endpoint": format!("{issuer}/auth"),
                    "token_endpoint": format!("{issuer}/token"), "jwks_uri": format!("{issuer}/jwks") }),
            ),
            ("/jwks", json!({ "keys": [key.public_jwk()] })),
        ];
        for (at, document) in documents {
            let answer = ResponseTemplate::new(200).set_body_json(document);
            Mock::given(path(at)).respond_with(answer).mount(&server).await;
        }
        let named = json!({ "issuer": issuer, "client_id": CLIENT, "client_secret": "a-secret" });
        let path = "/tenants/acme/issuers/elsewhere";
        let (status, told) = admin(local, Method::PUT, path, Some(named)).await;
        assert!(status.is_success(), "{status} {told}");
        Self { server, key, pem }
    }

    /// What it says when somebody signs out there, changed so.
    pub(super) fn logout(&self, local: &Local, jti: &str, change: impl FnOnce(&mut Value)) -> String {
        let now = local.clock.now().seconds();
        let mut claims = json!({ "iss": self.server.uri(), "sub": "ada", "aud": CLIENT, "iat": now, "exp": now + 60,
            "jti": jti, "events": { EVENT: {} } });
        change(&mut claims);
        self.signed(&claims, &self.pem)
    }

    /// The same in its name, by somebody else.
    pub(super) fn forged(&self, local: &Local, jti: &str) -> String {
        let now = local.clock.now().seconds();
        let claims = json!({ "iss": self.server.uri(), "sub": "ada", "aud": CLIENT, "iat": now, "exp": now + 60,
            "jti": jti, "events": { EVENT: {} } });
        let (_, stranger) = SigningKey::generate().expect("a key");
        self.signed(&claims, &stranger)
    }

    fn signed(&self, claims: &Value, pem: &SecretString) -> String {
        let mut header = Header::new(Algorithm::ES256);
        header.kid = Some(self.key.kid().to_owned());
        header.typ = Some("logout+jwt".to_owned());
        let key = EncodingKey::from_ec_pem(pem.expose_secret().as_bytes()).expect("a key");
        jsonwebtoken::encode(&header, claims, &key).expect("a token")
    }
}
