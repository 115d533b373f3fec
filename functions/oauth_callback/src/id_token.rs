//! The identity token that may come with the tokens.
//!
//! Our own server's comes straight from its token endpoint, over the connection that the client's secret went over, so that its
//! signature proves nothing more (OIDC Core §3.1.3.7); what it says must fit all the same. Another issuer's is checked with its keys
//! ([`auth::Statements`]).

use auth::numeric_date;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::{ExposeSecret, Owner, SecretString, Timestamp, clean};
use serde::Deserialize;
use serde_json::{Map, Number, Value};

#[derive(Deserialize)]
struct Claims {
    iss: String,
    sub: String,
    aud: Audience,
    nonce: Option<String>,
    exp: Option<Number>,
    auth_time: Option<Number>,
    preferred_username: Option<String>,
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

/// Most values of `amr` and of a claim with roles that are looked at.
const LISTED_MAX: usize = 200;

/// Whom another issuer's identity token is about, and how they proved it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ForeignIdentity {
    /// What their issuer calls them for good.
    pub(crate) subject: Owner,
    /// What they sign in with there, and what to call them; for people to read.
    pub(crate) username: String,
    pub(crate) display_name: String,
    /// The values of the claim that holds roles.
    pub(crate) roles: Vec<String>,
    /// The beginning of the second in which they proved it; where the issuer does not say, in which it said so. So a proof never
    /// seems younger than it is, and what was proved in the very second of an end does not outlive it.
    pub(crate) auth_time: Timestamp,
    pub(crate) acr: Option<String>,
    pub(crate) amr: Vec<String>,
    /// The issuer's own session.
    pub(crate) sid: Option<String>,
}

/// Who has signed in at another issuer, by the claims of an identity token whose signature, issuer, audience and times are checked.
///
/// # Errors
/// What is wrong with it, for the log, where it is not of this request or says nothing that can be used.
pub(crate) fn foreign(
    claims: &Map<String, Value>,
    nonce: &SecretString,
    roles_claim: Option<&str>,
) -> Result<ForeignIdentity, &'static str> {
    let text = |name: &str| claims.get(name).and_then(Value::as_str);
    let shown = |name: &str| {
        text(name)
            .map(|text| clean(text, NAME_MAX))
            .filter(|text| !text.is_empty())
    };
    let second = |name: &str| claims.get(name).filter(|told| !told.is_null()).map(numeric_date);
    if text("nonce") != Some(nonce.expose_secret()) {
        return Err("nonce is not this request's");
    }
    let subject = text("sub").and_then(|sub| Owner::parse(sub).ok());
    let subject = subject.filter(|subject| !subject.is_anonymous()).ok_or(
        "sub is missing, longer than 255 characters, or has characters that no subject may have here",
    )?;
    let proved = match second("auth_time") {
        Some(proved) => proved,
        None => second("iat").flatten(),
    };
    let proved = proved.and_then(|proved| proved.checked_mul(1000));
    let proved = proved.ok_or("auth_time or iat is no time")?;
    let listed = |value: &Value| match value {
        Value::String(one) => vec![one.clone()],
        Value::Array(several) => {
            let texts = several.iter().take(LISTED_MAX).filter_map(Value::as_str);
            texts.map(str::to_owned).collect()
        }
        _ => Vec::new(),
    };
    let username = shown("preferred_username").or_else(|| shown("email"));
    let username = username.unwrap_or_else(|| clean(subject.as_str(), NAME_MAX));
    Ok(ForeignIdentity {
        display_name: shown("name").unwrap_or_else(|| username.clone()),
        username,
        roles: roles_claim
            .and_then(|name| claims.get(name))
            .map(listed)
            .unwrap_or_default(),
        auth_time: Timestamp::from_millis(proved),
        acr: text("acr").map(str::to_owned),
        amr: claims.get("amr").map(listed).unwrap_or_default(),
        sid: text("sid")
            .filter(|sid| !sid.is_empty() && sid.len() <= SID_MAX)
            .map(str::to_owned),
        subject,
    })
}

/// Most characters of a name, and of the id of an issuer's session.
const NAME_MAX: usize = 100;
pub(crate) const SID_MAX: usize = 255;

/// Who an identity token is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    /// What its issuer calls them for good.
    pub(crate) subject: String,
    /// What they sign in with there, where it says so.
    pub(crate) username: Option<String>,
    /// The last millisecond of the second in which they proved it.
    pub(crate) auth_time_at_most: Timestamp,
}

/// Who has signed in; `None` where the token is not ours alone, not of this request, over, or does not say when that was.
pub(crate) fn identity(token: &SecretString, expected: &Expected<'_>, now: Timestamp) -> Option<Identity> {
    let claims = claims(token, expected)?;
    let for_us_alone = match &claims.aud {
        Audience::One(_) => true,
        Audience::Many(many) => many.len() == 1,
    };
    let second = |told: Option<Number>| told.and_then(|told| numeric_date(&Value::Number(told)));
    let lives = second(claims.exp).is_some_and(|until| until > now.seconds());
    let proved = second(claims.auth_time)?.checked_mul(1000)?.checked_add(999)?;
    (for_us_alone && lives).then_some(Identity {
        subject: claims.sub,
        username: claims.preferred_username,
        auth_time_at_most: Timestamp::from_millis(proved),
    })
}

/// The subject of the token; `None` where it is not ours, not of this request, or no token.
pub(crate) fn subject(token: &SecretString, expected: &Expected<'_>) -> Option<String> {
    claims(token, expected).map(|claims| claims.sub)
}

fn claims(token: &SecretString, expected: &Expected<'_>) -> Option<Claims> {
    let payload = token.expose_secret().split('.').nth(1)?;
    let payload = URL_SAFE_NO_PAD.decode(payload).ok()?;
    let claims: Claims = serde_json::from_slice(&payload).ok()?;
    let for_us = match &claims.aud {
        Audience::One(one) => one == expected.client_id,
        Audience::Many(many) => many.iter().any(|one| one == expected.client_id),
    };
    let nonce = claims.nonce.as_deref() == Some(expected.nonce.expose_secret());
    (for_us && nonce && claims.iss == expected.issuer).then_some(claims)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
    fn who_signs_in_is_told_by_a_live_token_for_us_alone() {
        let expected = Expected {
            issuer: "https://idp.example/acme",
            client_id: "host",
            nonce: &"n".into(),
        };
        let read = |claims: &Value| {
            let token = format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(claims.to_string()));
            identity(&token.into(), &expected, Timestamp::from_millis(100_000))
        };
        let good = json!({"iss": "https://idp.example/acme", "sub": "user-ada", "aud": "host", "nonce": "n",
            "exp": 101, "auth_time": 60, "preferred_username": "ada"});
        let told = read(&good).unwrap();
        assert_eq!(
            (told.subject.as_str(), told.username.as_deref()),
            ("user-ada", Some("ada"))
        );
        assert_eq!(told.auth_time_at_most, Timestamp::from_millis(60_999));
        for (name, value) in [
            ("aud", json!(["host", "other"])),
            ("aud", json!("other")),
            ("iss", json!("https://idp.example/globex")),
            ("nonce", json!("m")),
            ("exp", json!(100)),
            ("exp", Value::Null),
            ("auth_time", Value::Null),
            ("auth_time", json!(i64::MAX)),
            ("auth_time", json!("60")),
            ("preferred_username", json!(7)),
        ] {
            let mut changed = good.clone();
            changed[name] = value;
            assert_eq!(read(&changed), None, "{changed}");
        }
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
