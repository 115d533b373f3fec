//! The keys of an issuer: one that signs, one that is published before it will, one that no longer signs but whose
//! tokens still live. So that a rotation never meets a verifier who does not know the key.

use domain::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::public_key::PublicKey;
use crate::{Algorithm, KeyError, SigningKey};

/// An issuer's keys: current, next, and what is left of the previous.
#[derive(Debug)]
pub struct KeySet {
    current: SigningKey,
    next: SigningKey,
    previous: Option<Value>,
}

/// A key set as it is kept, in one secret.
#[derive(Serialize, Deserialize)]
struct Stored<'a> {
    #[serde(borrow)]
    current: std::borrow::Cow<'a, str>,
    next: std::borrow::Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    previous: Option<Value>,
}

impl KeySet {
    /// New keys, and the text to keep as a secret.
    ///
    /// # Errors
    /// [`KeyError::NotMade`].
    pub fn generate(algorithm: Algorithm) -> Result<(Self, SecretString), KeyError> {
        let (current, current_pem) = SigningKey::generate_for(algorithm)?;
        let (next, next_pem) = SigningKey::generate_for(algorithm)?;
        let text = stored(&current_pem, &next_pem, None);
        let set = Self {
            current,
            next,
            previous: None,
        };
        Ok((set, text))
    }

    /// The keys of a kept text.
    ///
    /// # Errors
    /// [`KeyError::Unusable`].
    pub fn from_secret(text: &SecretString) -> Result<Self, KeyError> {
        let Stored {
            current,
            next,
            previous,
        } = read(text)?;
        if let Some(jwk) = &previous {
            PublicKey::read(jwk)?;
        }
        Ok(Self {
            current: SigningKey::from_pem(&SecretString::from(current.into_owned()))?,
            next: SigningKey::from_pem(&SecretString::from(next.into_owned()))?,
            previous,
        })
    }

    /// The kept text after a rotation: the next key signs, the current one's public half stays published, and a new
    /// next key, for `algorithm`, is published. To be done no sooner than the longest-lived token ends after the last.
    ///
    /// # Errors
    /// [`KeyError`] where the text is no key set or no key could be made.
    pub fn rotated(text: &SecretString, algorithm: Algorithm) -> Result<SecretString, KeyError> {
        let previous = Self::from_secret(text)?.current.public_jwk();
        let current = SecretString::from(read(text)?.next.into_owned());
        let (_, next) = SigningKey::generate_for(algorithm)?;
        Ok(stored(&current, &next, Some(previous)))
    }

    /// The key that signs.
    #[must_use]
    pub fn current(&self) -> &SigningKey {
        &self.current
    }

    /// The public halves of all of them, the current one first.
    #[must_use]
    pub fn public_jwks(&self) -> Vec<Value> {
        let mut keys = vec![self.current.public_jwk(), self.next.public_jwk()];
        keys.extend(self.previous.clone());
        keys
    }

    /// The JWKS document to publish.
    #[must_use]
    pub fn document(&self) -> Value {
        json!({ "keys": self.public_jwks() })
    }
}

fn read(text: &SecretString) -> Result<Stored<'_>, KeyError> {
    serde_json::from_str(text.expose_secret()).map_err(|_| KeyError::Unusable("no key set"))
}

fn stored(current: &SecretString, next: &SecretString, previous: Option<Value>) -> SecretString {
    let stored = Stored {
        current: current.expose_secret().into(),
        next: next.expose_secret().into(),
        previous,
    };
    serde_json::to_string(&stored).unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kids(set: &KeySet) -> Vec<String> {
        let keys = set.document()["keys"].as_array().unwrap().clone();
        keys.iter()
            .map(|key| key["kid"].as_str().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn a_rotation_signs_with_what_was_published_before() {
        let (first, text) = KeySet::generate(Algorithm::Es256).unwrap();
        assert_eq!(kids(&KeySet::from_secret(&text).unwrap()), kids(&first));
        let text = KeySet::rotated(&text, Algorithm::Es256).unwrap();
        let second = KeySet::from_secret(&text).unwrap();
        let (before, after) = (kids(&first), kids(&second));
        assert_eq!((before.len(), after.len()), (2, 3));
        assert_eq!(second.current().kid(), before[1]);
        assert_eq!(after[2], before[0]);
        assert!(!before.contains(&after[1]));
        let third = KeySet::from_secret(&KeySet::rotated(&text, Algorithm::Es256).unwrap()).unwrap();
        assert!(!kids(&third).contains(&before[0]));
        assert_eq!(kids(&third).len(), 3);
    }

    #[test]
    fn neither_the_document_nor_debug_shows_a_private_part() {
        let (set, text) = KeySet::generate(Algorithm::Es256).unwrap();
        for key in set.document()["keys"].as_array().unwrap() {
            assert!(key.get("d").is_none(), "{key}");
        }
        let printed = format!("{set:?} {text:?}");
        assert!(!printed.contains("PRIVATE"), "{printed}");
        for rubbish in ["", "{}", "[]", r#"{"current":"a","next":"b"}"#] {
            assert!(KeySet::from_secret(&rubbish.into()).is_err(), "{rubbish}");
        }
    }
}
