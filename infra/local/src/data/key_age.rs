//! Since when a tenant's public keys are in use: `iat` in the JWK, as OpenID Federation 1.0 has it. Verifiers pass over it; the page of
//! the tenant's operators shows it.

use domain::Timestamp;
use serde_json::Value;

const IAT: &str = "iat";

/// Keys with their time: that of `before` where they were there, and now where they are new, as all of them are of a new tenant. What an
/// older release vouched for has none, nor has anything where it vouched for no such keys.
#[must_use]
pub fn dated(keys: Vec<Value>, before: Option<&[Value]>, now: Timestamp) -> Vec<Value> {
    let same = |one: &Value, other: &Value| one.get("kid").is_some_and(|kid| other.get("kid") == Some(kid));
    let is_told = before.is_none_or(|before| !before.is_empty());
    let date = |mut key: Value| {
        let known = before.unwrap_or_default().iter().find(|known| same(known, &key));
        let iat = match known {
            Some(known) => known.get(IAT).cloned(),
            None => is_told.then(|| now.seconds().into()),
        };
        if let (Some(iat), Some(members)) = (iat, key.as_object_mut()) {
            members.insert(IAT.to_owned(), iat);
        }
        key
    };
    keys.into_iter().map(date).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_keeps_its_time_and_a_new_one_has_that_of_now() {
        let before = [json!({"kid": "old", "iat": 5}), json!({"kid": "older"})];
        let keys = vec![
            json!({"kid": "new"}),
            json!({"kid": "old"}),
            json!({"kid": "older"}),
        ];
        let now = Timestamp::from_millis(9_000);
        let told = dated(keys, Some(&before), now);
        let wanted = [
            json!({"kid": "new", "iat": 9}),
            json!({"kid": "old", "iat": 5}),
            json!({"kid": "older"}),
        ];
        assert_eq!(told, wanted);
        let first = || vec![json!({"kid": "first"})];
        assert_eq!(dated(first(), None, now), [json!({"kid": "first", "iat": 9})]);
        assert_eq!(dated(first(), Some(&[]), now), first());
    }
}
