//! Logout tokens (OpenID Connect Back-Channel Logout 1.0 §2.4), once their signature, issuer, audience and times are checked.

use domain::{Owner, Timestamp};
use serde_json::{Map, Value};

use crate::id_token::SID_MAX;

/// The types of tokens that may be one; older issuers name none of its own. What tells it from an identity token is its event, and
/// that it has no nonce.
pub(crate) const TYPES: [&str; 3] = ["logout+jwt", "JWT", ""];
/// What it must tell of.
const EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";
/// Longest `jti`, and longest life in seconds: for so long it is remembered.
const JTI_MAX: usize = 255;
const LONGEST: i64 = 24 * 3600;

/// What a logout token says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogoutToken {
    /// Its own id.
    pub(crate) jti: String,
    /// Who has signed out.
    pub(crate) subject: Option<Owner>,
    /// Of which session at the issuer.
    pub(crate) sid: Option<String>,
    /// What was proved before this counts no more: the end of the second in which it was made.
    pub(crate) at: Timestamp,
    /// Until when it is good.
    pub(crate) expires_at: Timestamp,
}

/// Reads the claims; `None` where they are not those of a logout token.
pub(crate) fn read(claims: &Map<String, Value>) -> Option<LogoutToken> {
    let second = |name: &str| claims.get(name).and_then(Value::as_i64);
    let text = |name: &str, max: usize| match claims.get(name) {
        None => Some(None),
        Some(Value::String(text)) if !text.is_empty() && text.len() <= max => Some(Some(text.clone())),
        Some(_) => None,
    };
    let event = claims.get("events")?.as_object()?.get(EVENT)?;
    if !event.is_object() || claims.contains_key("nonce") {
        return None;
    }
    let (made, until) = (second("iat")?, second("exp")?);
    if until.checked_sub(made)? > LONGEST {
        return None;
    }
    let subject = text("sub", SID_MAX)?;
    let sid = text("sid", SID_MAX)?;
    if subject.is_none() && sid.is_none() {
        return None;
    }
    Some(LogoutToken {
        jti: text("jti", JTI_MAX)??,
        // Nobody has signed in here under a subject that is no id of ours.
        subject: subject.and_then(|subject| Owner::parse(&subject).ok()),
        sid,
        at: Timestamp::from_millis(made.checked_add(1)?.checked_mul(1000)?),
        expires_at: Timestamp::from_millis(until.checked_mul(1000)?),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(claims: &Value) -> Option<LogoutToken> {
        read(claims.as_object().unwrap())
    }

    #[test]
    fn a_logout_token_tells_of_a_logout_and_of_whose() {
        let good =
            json!({"iat": 60, "exp": 180, "jti": "j1", "sub": "ada", "sid": "s1", "events": {EVENT: {}}});
        let read = told(&good).unwrap();
        assert_eq!((read.jti.as_str(), read.sid.as_deref()), ("j1", Some("s1")));
        assert_eq!(read.subject, Some(Owner::parse("ada").unwrap()));
        assert_eq!(read.at, Timestamp::from_millis(61_000));
        for (name, value) in [
            ("events", json!({})),
            ("events", json!({EVENT: "x"})),
            ("events", json!([EVENT])),
            ("nonce", json!("n")),
            ("nonce", Value::Null),
            ("jti", json!("")),
            ("jti", json!(7)),
            ("jti", json!("x".repeat(300))),
            ("sub", json!(7)),
            ("sid", json!(["s1"])),
            ("exp", json!("180")),
            ("exp", json!(60 + LONGEST + 1)),
            ("iat", json!(i64::MIN)),
            ("iat", json!(i64::MAX)),
        ] {
            let mut changed = good.clone();
            changed[name] = value;
            assert_eq!(told(&changed), None, "{changed}");
        }
        for missing in ["events", "jti", "exp", "iat"] {
            let mut changed = good.clone();
            changed.as_object_mut().unwrap().remove(missing);
            assert_eq!(told(&changed), None, "{changed}");
        }
        let mut nobody = good.clone();
        nobody
            .as_object_mut()
            .unwrap()
            .retain(|name, _| name != "sub" && name != "sid");
        assert_eq!(told(&nobody), None);
        let mut strange = good;
        strange["sub"] = json!("a#b");
        assert_eq!(told(&strange).unwrap().subject, None);
    }
}
