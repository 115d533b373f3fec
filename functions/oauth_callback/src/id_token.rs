//! The identity token that may come with the tokens.
//!
//! It comes straight from the token endpoint, over the connection that the client's secret went over, so that its
//! signature proves nothing more (OIDC Core §3.1.3.7); what it says must fit all the same.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::{ExposeSecret, SecretString};
use serde::Deserialize;

#[derive(Deserialize)]
struct Claims {
    iss: String,
    sub: String,
    aud: Audience,
    nonce: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Many(Vec<String>),
}

/// What an identity token must say.
pub(crate) struct Expected<'a> {
    pub(crate) issuer: &'a str,
    pub(crate) client_id: &'a str,
    pub(crate) nonce: &'a SecretString,
}

/// The subject of the token; `None` where it is not ours, not of this request, or no token.
pub(crate) fn subject(token: &SecretString, expected: &Expected<'_>) -> Option<String> {
    let payload = token.expose_secret().split('.').nth(1)?;
    let payload = URL_SAFE_NO_PAD.decode(payload).ok()?;
    let claims: Claims = serde_json::from_slice(&payload).ok()?;
    let for_us = match &claims.aud {
        Audience::One(one) => one == expected.client_id,
        Audience::Many(many) => many.iter().any(|one| one == expected.client_id),
    };
    let nonce = claims.nonce.as_deref() == Some(expected.nonce.expose_secret());
    (for_us && nonce && claims.iss == expected.issuer).then_some(claims.sub)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn told(claims: &Value) -> Option<String> {
        let token = format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(claims.to_string()));
        let expected = Expected {
            issuer: "https://idp.example/acme",
            client_id: "host",
            nonce: &"n".into(),
        };
        subject(&token.into(), &expected)
    }

    #[test]
    fn only_the_token_of_this_request_tells_who_it_was() {
        let good = json!({"iss": "https://idp.example/acme", "sub": "ada", "aud": "host", "nonce": "n"});
        assert_eq!(told(&good).as_deref(), Some("ada"));
        let mut listed = good.clone();
        listed["aud"] = json!(["x", "host"]);
        assert_eq!(told(&listed).as_deref(), Some("ada"));
        for (name, value) in [
            ("iss", json!("https://idp.example/globex")),
            ("aud", json!("other")),
            ("aud", json!([])),
            ("aud", Value::Null),
            ("nonce", json!("m")),
            ("nonce", Value::Null),
            ("sub", json!(1)),
        ] {
            let mut changed = good.clone();
            changed[name] = value;
            assert_eq!(told(&changed), None, "{changed}");
        }
        for rubbish in ["", "a", "a.b.c", "..", "a.ä.c"] {
            let expected = Expected {
                issuer: "",
                client_id: "",
                nonce: &"".into(),
            };
            assert_eq!(subject(&rubbish.into(), &expected), None, "{rubbish}");
        }
    }
}
