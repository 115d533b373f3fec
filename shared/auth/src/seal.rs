//! Encryption at rest: XChaCha20-Poly1305 with keys that can be rotated.

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead as _, Payload};
use chacha20poly1305::{KeyInit as _, XChaCha20Poly1305, XNonce};
use domain::{Entropy, ExposeSecret as _, SecretString};

use crate::KeyError;

const VERSION: &str = "v1";
const NONCE: usize = 24;

/// Why something sealed does not open. One reason only: more would help an attacker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the sealed text does not open")]
pub struct SealError;

/// Seals with its first key, opens with every one.
pub struct Sealer {
    newest: (String, XChaCha20Poly1305),
    older: Vec<(String, XChaCha20Poly1305)>,
    /// The same keys, newest first, as what other keys are derived from.
    roots: Vec<hmac::Key>,
}

impl Sealer {
    /// A sealer with these keys, newest first: each a plain name and 32 bytes in base64url.
    ///
    /// # Errors
    /// [`KeyError::NotSealing`] where there is none, two have one name, or one is not of that form.
    pub fn new(keys: Vec<(String, SecretString)>) -> Result<Self, KeyError> {
        let mut ciphers: Vec<(String, XChaCha20Poly1305)> = Vec::with_capacity(keys.len());
        let mut roots = Vec::with_capacity(keys.len());
        for (name, key) in keys {
            let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
            if name.is_empty() || !name.bytes().all(plain) {
                return Err(KeyError::NotSealing(
                    "its name may hold letters, digits, '-' and '_'",
                ));
            }
            if ciphers.iter().any(|(known, _)| *known == name) {
                return Err(KeyError::NotSealing("two have one name"));
            }
            let key = URL_SAFE_NO_PAD.decode(key.expose_secret()).unwrap_or_default();
            let cipher = XChaCha20Poly1305::new_from_slice(&key);
            roots.push(hmac::Key::new(hmac::HMAC_SHA256, &key));
            ciphers.push((
                name,
                cipher.map_err(|_| KeyError::NotSealing("not 32 bytes in base64url"))?,
            ));
        }
        let mut ciphers = ciphers.into_iter();
        let newest = ciphers.next().ok_or(KeyError::NotSealing("there is none"))?;
        Ok(Self {
            newest,
            older: ciphers.collect(),
            roots,
        })
    }

    /// A new key.
    #[must_use]
    pub fn generate_key(entropy: &dyn Entropy) -> SecretString {
        let mut key = [0; 32];
        entropy.fill(&mut key);
        URL_SAFE_NO_PAD.encode(key).into()
    }

    /// Seals, bound to `associated`: it opens only with the same.
    #[must_use]
    pub fn seal(&self, plain: &[u8], associated: &str, entropy: &dyn Entropy) -> String {
        let (name, cipher) = &self.newest;
        let mut sealed = vec![0; NONCE];
        entropy.fill(&mut sealed);
        let payload = Payload {
            msg: plain,
            aad: associated.as_bytes(),
        };
        #[expect(
            clippy::expect_used,
            reason = "fails only beyond 256 GB, which no memory holds"
        )]
        let text = cipher
            .encrypt(XNonce::from_slice(&sealed), payload)
            .expect("the plain text fits");
        sealed.extend(text);
        format!("{VERSION}.{name}.{}", URL_SAFE_NO_PAD.encode(sealed))
    }

    /// 32 bytes for a purpose from each sealing key, the newest first: keys of other kinds need no secret of their own,
    /// and nothing about a sealing key can be learned from them (HMAC-SHA256 as a key derivation function).
    #[must_use]
    pub fn derived(&self, purpose: &str) -> Vec<[u8; 32]> {
        let derive = |root: &hmac::Key| {
            let mut derived = [0; 32];
            let tag = hmac::sign(root, format!("switchyard/{purpose}").as_bytes());
            derived.copy_from_slice(tag.as_ref());
            derived
        };
        self.roots.iter().map(derive).collect()
    }

    /// Opens what one of the keys sealed with the same `associated`.
    ///
    /// # Errors
    /// [`SealError`] for anything else.
    pub fn open(&self, sealed: &str, associated: &str) -> Result<Vec<u8>, SealError> {
        let (version, rest) = sealed.split_once('.').ok_or(SealError)?;
        let (name, sealed) = rest.split_once('.').ok_or(SealError)?;
        let mut keys = std::iter::once(&self.newest).chain(&self.older);
        let (_, cipher) = keys.find(|(known, _)| known == name).ok_or(SealError)?;
        let sealed = URL_SAFE_NO_PAD.decode(sealed).map_err(|_| SealError)?;
        let (nonce, text) = sealed.split_at_checked(NONCE).ok_or(SealError)?;
        if version != VERSION {
            return Err(SealError);
        }
        let payload = Payload {
            msg: text,
            aad: associated.as_bytes(),
        };
        cipher
            .decrypt(XNonce::from_slice(nonce), payload)
            .map_err(|_| SealError)
    }
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sealer")
            .field("newest", &self.newest.0)
            .field("keys", &"***")
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use domain::SystemEntropy;
    use proptest::prelude::*;

    use super::*;

    fn key() -> SecretString {
        Sealer::generate_key(&SystemEntropy)
    }

    fn sealer(keys: &[(&str, &SecretString)]) -> Sealer {
        Sealer::new(
            keys.iter()
                .map(|(name, key)| ((*name).to_owned(), (*key).clone()))
                .collect(),
        )
        .unwrap()
    }

    #[test]
    fn what_is_sealed_opens_only_where_it_belongs() {
        let sealer = sealer(&[("k1", &key())]);
        let sealed = sealer.seal(b"secret", "acme/user/google", &SystemEntropy);
        assert_eq!(
            sealer.open(&sealed, "acme/user/google").as_deref(),
            Ok(&b"secret"[..])
        );
        assert_eq!(sealer.open(&sealed, "globex/user/google"), Err(SealError));
        assert_eq!(sealer.open(&sealed, ""), Err(SealError));
        assert_ne!(sealed, sealer.seal(b"secret", "acme/user/google", &SystemEntropy));
    }

    #[test]
    fn a_rotated_key_still_opens_until_it_is_taken_away() {
        let (old, new) = (key(), key());
        let sealed = sealer(&[("k1", &old)]).seal(b"secret", "a", &SystemEntropy);
        let rotated = sealer(&[("k2", &new), ("k1", &old)]);
        assert_eq!(rotated.open(&sealed, "a").as_deref(), Ok(&b"secret"[..]));
        assert!(rotated.seal(b"secret", "a", &SystemEntropy).starts_with("v1.k2."));
        assert_eq!(sealer(&[("k2", &new)]).open(&sealed, "a"), Err(SealError));
        // The same name on another key does not open it either.
        assert_eq!(sealer(&[("k1", &new)]).open(&sealed, "a"), Err(SealError));
    }

    #[test]
    fn every_changed_character_is_noticed() {
        let sealer = sealer(&[("k1", &key())]);
        let sealed = sealer.seal(b"secret", "a", &SystemEntropy);
        for index in 0..sealed.len() {
            let mut changed = sealed.clone().into_bytes();
            changed[index] = if changed[index] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(sealer.open(&changed, "a"), Err(SealError), "{index}");
        }
    }

    #[test]
    fn keys_of_another_form_are_refused() {
        let short: SecretString = URL_SAFE_NO_PAD.encode([1; 31]).into();
        for keys in [
            vec![],
            vec![(String::new(), key())],
            vec![("a.b".to_owned(), key())],
            vec![("a".to_owned(), short)],
            vec![("a".to_owned(), "not base64!".into())],
            vec![("a".to_owned(), key()), ("a".to_owned(), key())],
        ] {
            assert!(matches!(Sealer::new(keys), Err(KeyError::NotSealing(_))));
        }
    }

    #[test]
    fn a_sealer_does_not_print_its_keys() {
        let key = key();
        let printed = format!("{:?}", sealer(&[("k1", &key)]));
        assert!(printed.contains("k1") && !printed.contains(key.expose_secret()));
    }

    proptest! {
        #[test]
        fn anything_can_be_sealed_and_rubbish_never_opens(plain: Vec<u8>, associated: String, rubbish: String) {
            let sealer = sealer(&[("k1", &key())]);
            let sealed = sealer.seal(&plain, &associated, &SystemEntropy);
            prop_assert_eq!(sealer.open(&sealed, &associated), Ok(plain));
            prop_assert_eq!(sealer.open(&rubbish, &associated), Err(SealError));
            prop_assert_eq!(sealer.open(&format!("v1.k1.{rubbish}"), &associated), Err(SealError));
        }
    }
}
