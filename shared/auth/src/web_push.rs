//! Web Push: what a push service and a browser want of whoever tells a browser something while no page is open there.
//!
//! A message is encrypted for the browser alone (RFC 8291, in the coding of RFC 8188), and its sender is known to the push service
//! by a key of its own (VAPID, RFC 8292). The keys follow from a tenant's session key, so that nobody has a secret more to keep:
//! with another session key they are others, and browsers subscribe anew.

use std::time::Duration;

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::agreement::{ECDH_P256, ParsedPublicKey, PrivateKey, UnparsedPublicKey, agree};
use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Salt};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::{Entropy, ExposeSecret as _, Owner, SecretString, Tenant, Timestamp};
use jsonwebtoken::Algorithm::ES256;
use jsonwebtoken::Header;
use serde::Serialize;
use url::Url;

use crate::{KeyError, Sealer, SigningKey, token};

/// How long a push service may hold the word of a key for good; a day at most (RFC 8292 §2).
const LIFETIME: Duration = Duration::from_secs(12 * 3600);
/// Bytes of an uncompressed point of P-256.
const POINT: usize = 65;
/// Bytes of a browser's secret.
const SECRET: usize = 16;
/// Bytes of a record's salt.
const SALT: usize = 16;
/// The size of records that is told; ours are a single one, and smaller.
const RECORD: u32 = 4096;
/// Every message is as long as this, so that its length says nothing.
const PADDED: usize = 160;
/// Numbers are tried until one is a key, which the first is but once in 2³².
const TRIES: u32 = 8;

/// What a browser gave for messages to it, and cannot be a subscriber's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotSubscriber {
    /// Not a point of P-256, uncompressed, in base64url.
    #[error("p256dh is not an uncompressed point of P-256 in base64url")]
    Point,
    /// Not 16 bytes in base64url.
    #[error("auth is not 16 bytes in base64url")]
    Secret,
}

/// A browser that can be written to.
pub struct Subscriber {
    point: [u8; POINT],
    secret: [u8; SECRET],
}

impl Subscriber {
    /// Reads the two keys of a `PushSubscription`.
    ///
    /// # Errors
    /// [`NotSubscriber`] says which is wrong.
    pub fn parse(p256dh: &str, auth: &str) -> Result<Self, NotSubscriber> {
        let point = bytes::<POINT>(p256dh).ok_or(NotSubscriber::Point)?;
        // On the curve, and written in full, as the key derivation has it.
        let is_point = ParsedPublicKey::try_from(UnparsedPublicKey::new(&ECDH_P256, point)).is_ok();
        if point.first() != Some(&4) || !is_point {
            return Err(NotSubscriber::Point);
        }
        let secret = bytes::<SECRET>(auth).ok_or(NotSubscriber::Secret)?;
        Ok(Self { point, secret })
    }

    /// Encrypts a message that this browser alone can read; the body of a request with `Content-Encoding: aes128gcm`.
    ///
    /// # Errors
    /// [`KeyError::NotMade`] where the message is too long; ours never are.
    pub fn encrypt(&self, plain: &[u8], entropy: &dyn Entropy) -> Result<Vec<u8>, KeyError> {
        let mut salt = [0; SALT];
        entropy.fill(&mut salt);
        let mut number = [0; 32];
        let own = (0..TRIES).find_map(|_| {
            entropy.fill(&mut number);
            PrivateKey::from_private_key(&ECDH_P256, &number).ok()
        });
        let own = own.ok_or(KeyError::NotMade)?;
        self.encrypt_with(plain, (&own, salt), PADDED)
            .ok_or(KeyError::NotMade)
    }

    fn encrypt_with(
        &self,
        plain: &[u8],
        (own, salt): (&PrivateKey, [u8; SALT]),
        padded: usize,
    ) -> Option<Vec<u8>> {
        if plain.len() >= padded {
            return None;
        }
        let public = own.compute_public_key().ok()?;
        let theirs = UnparsedPublicKey::new(&ECDH_P256, self.point);
        // RFC 8291 §3.4: the secret that both sides have, bound to both keys.
        let info: [&[u8]; 3] = [b"WebPush: info\0", &self.point, public.as_ref()];
        let shared = agree(own, theirs, (), |shared| {
            let mut key = [0; 32];
            let derived = Salt::new(HKDF_SHA256, &self.secret).extract(shared);
            derived
                .expand(&info, HKDF_SHA256)
                .and_then(|okm| okm.fill(&mut key))
                .map_err(drop)?;
            Ok(key)
        });
        let derived = Salt::new(HKDF_SHA256, &salt).extract(&shared.ok()?);
        // RFC 8188 §2.2 and 2.3.
        let key = derived
            .expand(&[b"Content-Encoding: aes128gcm\0"], &AES_128_GCM)
            .ok()?;
        let mut nonce = [0; 12];
        let nonces = derived.expand(&[b"Content-Encoding: nonce\0"], Bytes(12)).ok()?;
        nonces.fill(&mut nonce).ok()?;
        // A two says that this record is the last one; zeros fill it up.
        let mut record = Vec::with_capacity(padded + 16);
        record.extend_from_slice(plain);
        record.push(2);
        record.resize(padded, 0);
        LessSafeKey::new(UnboundKey::from(key))
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut record)
            .ok()?;
        let length = u8::try_from(public.as_ref().len()).ok()?;
        Some(
            [
                &salt[..],
                &RECORD.to_be_bytes(),
                &[length],
                public.as_ref(),
                &record,
            ]
            .concat(),
        )
    }
}

impl std::fmt::Debug for Subscriber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subscriber").finish_non_exhaustive()
    }
}

/// So many bytes of derived key.
struct Bytes(usize);

impl KeyType for Bytes {
    fn len(&self) -> usize {
        self.0
    }
}

/// Bytes in base64url, padded or not.
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    // Longer than any encoding of so many bytes.
    if text.len() > N * 2 {
        return None;
    }
    let text = text.trim_end_matches('=');
    URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()
}

/// The keys of a tenant for Web Push.
pub struct WebPushKeys {
    vapid: SigningKey,
    public: String,
    sealer: Sealer,
    prefix: String,
    /// Makes the passes.
    passes: [u8; 32],
}

#[derive(Serialize)]
struct VapidClaims<'a> {
    aud: &'a str,
    exp: i64,
    sub: &'a str,
}

impl WebPushKeys {
    /// The keys that follow from a tenant's session key.
    ///
    /// # Errors
    /// [`KeyError`], which no session key gives.
    pub fn of(session: &SigningKey, tenant: &Tenant) -> Result<Self, KeyError> {
        let prefix = tenant.prefix().to_owned();
        let vapid = (0..TRIES).find_map(|attempt| {
            SigningKey::of_number(&session.derived(&format!("web-push/vapid/{attempt}/{prefix}")))
        });
        let vapid = vapid.ok_or(KeyError::NotMade)?;
        let public = vapid.public_point().ok_or(KeyError::NotMade)?;
        let sealing = session.derived(&format!("web-push/sealing/{prefix}"));
        let sealing = SecretString::from(URL_SAFE_NO_PAD.encode(sealing));
        // Named after the session key, so that what was sealed under another one is known for that.
        let name = token::hash(session.kid()).chars().take(8).collect();
        Ok(Self {
            public: URL_SAFE_NO_PAD.encode(public),
            vapid,
            sealer: Sealer::new(vec![(name, sealing)])?,
            passes: session.derived(&format!("web-push/passes/{prefix}")),
            prefix,
        })
    }

    /// The public half, as `applicationServerKey` takes it.
    #[must_use]
    pub fn public(&self) -> &str {
        &self.public
    }

    /// What seals subscriptions at rest.
    #[must_use]
    pub fn sealer(&self) -> &Sealer {
        &self.sealer
    }

    /// The `Authorization` header for a message to this endpoint (RFC 8292 §3). `contact`: a `mailto:` or `https:` address at which
    /// the push service finds whoever sends.
    ///
    /// # Errors
    /// [`KeyError::NotSigned`].
    pub fn authorization(
        &self,
        endpoint: &Url,
        contact: &str,
        now: Timestamp,
    ) -> Result<SecretString, KeyError> {
        let claims = VapidClaims {
            aud: &endpoint.origin().ascii_serialization(),
            exp: now.after(LIFETIME).seconds(),
            sub: contact,
        };
        let signed = self.vapid.sign_plain(&Header::new(ES256), &claims)?;
        Ok(format!("vapid t={}, k={}", signed.expose_secret(), self.public).into())
    }

    /// A pass by which somebody is known who was asked to tell of this owner's tasks.
    #[must_use]
    pub fn pass(&self, owner: &Owner) -> SecretString {
        format!("{owner}.{}", self.mac(owner)).into()
    }

    /// The owner whose tasks the bearer of a pass may tell of.
    #[must_use]
    pub fn owner_of(&self, pass: &str) -> Option<Owner> {
        let (owner, mac) = pass.rsplit_once('.')?;
        let owner = Owner::parse(owner).ok()?;
        token::matches(&token::hash(&self.mac(&owner)), mac).then_some(owner)
    }

    fn mac(&self, owner: &Owner) -> String {
        let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, &self.passes);
        let tag = aws_lc_rs::hmac::sign(&key, format!("{}/{owner}", self.prefix).as_bytes());
        URL_SAFE_NO_PAD.encode(tag)
    }
}

impl std::fmt::Debug for WebPushKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebPushKeys")
            .field("public", &self.public)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use domain::SystemEntropy;
    use proptest::prelude::*;

    use super::*;

    /// RFC 8291, Appendix A.
    const UA_PUBLIC: &str =
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";
    const AUTH: &str = "BTBZMqHH6r4Tts7J_aSIgg";

    #[test]
    fn the_message_of_the_rfc_is_encrypted_as_it_has_it() {
        let browser = Subscriber::parse(UA_PUBLIC, AUTH).unwrap();
        let own = bytes::<32>("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw").unwrap();
        let own = PrivateKey::from_private_key(&ECDH_P256, &own).unwrap();
        let salt = bytes::<SALT>("DGv6ra1nlYgDCS1FRnbzlw").unwrap();
        let plain = b"When I grow up, I want to be a watermelon";
        let body = browser
            .encrypt_with(plain, (&own, salt), plain.len() + 1)
            .unwrap();
        let expected = concat!(
            "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl",
            "7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
        );
        assert_eq!(URL_SAFE_NO_PAD.encode(body), expected);
    }

    #[test]
    fn every_message_is_as_long_as_every_other_and_no_two_are_alike() {
        let browser = Subscriber::parse(UA_PUBLIC, AUTH).unwrap();
        let encrypted = |plain: &[u8]| browser.encrypt(plain, &SystemEntropy).unwrap();
        assert_eq!(encrypted(b"").len(), encrypted(&[7; PADDED - 1]).len());
        assert_ne!(encrypted(b"a"), encrypted(b"a"));
        assert!(browser.encrypt(&[7; PADDED], &SystemEntropy).is_err());
    }

    #[test]
    fn what_no_browser_gives_is_refused() {
        let point = bytes::<POINT>(UA_PUBLIC).unwrap();
        let with = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut point = point.to_vec();
            change(&mut point);
            URL_SAFE_NO_PAD.encode(point)
        };
        let off_the_curve = with(&|point| point[64] ^= 1);
        let compressed = with(&|point| {
            point.truncate(33);
            point[0] = 2;
        });
        let hybrid = with(&|point| point[0] = 6);
        let infinity = with(&|point| point.fill(0));
        let long = with(&|point| point.push(0));
        for bad in [
            "",
            "rubbish!",
            &off_the_curve,
            &compressed,
            &hybrid,
            &infinity,
            &long,
            &"A".repeat(100_000),
        ] {
            assert_eq!(
                Subscriber::parse(bad, AUTH).err(),
                Some(NotSubscriber::Point),
                "{bad:.80}"
            );
        }
        for bad in [
            "",
            "BTBZMqHH6r4Tts7J_aSI",
            "BTBZMqHH6r4Tts7J_aSIggAA",
            "BTBZMqHH6r4Tts7J/aSIgg",
        ] {
            assert_eq!(
                Subscriber::parse(UA_PUBLIC, bad).err(),
                Some(NotSubscriber::Secret),
                "{bad}"
            );
        }
        assert!(Subscriber::parse(&format!("{UA_PUBLIC}="), &format!("{AUTH}==")).is_ok());
    }

    #[test]
    fn keys_follow_from_the_session_key_and_the_tenant() {
        let (session, pem) = SigningKey::generate().unwrap();
        let again = SigningKey::from_pem(&pem).unwrap();
        let (acme, globex) = (Tenant::parse("acme").unwrap(), Tenant::parse("globex").unwrap());
        let keys = WebPushKeys::of(&session, &acme).unwrap();
        let ada = Owner::parse("person.a-da").unwrap();
        let pass = keys.pass(&ada);
        let same = WebPushKeys::of(&again, &acme).unwrap();
        assert_eq!(keys.public(), same.public());
        assert_eq!(same.owner_of(pass.expose_secret()), Some(ada.clone()));
        let sealed = keys.sealer().seal(b"secret", "a", &SystemEntropy);
        assert!(same.sealer().open(&sealed, "a").is_ok());
        let other = SigningKey::generate().unwrap().0;
        for others in [WebPushKeys::of(&session, &globex), WebPushKeys::of(&other, &acme)] {
            let others = others.unwrap();
            assert_ne!(keys.public(), others.public());
            assert_eq!(others.owner_of(pass.expose_secret()), None);
            assert!(others.sealer().open(&sealed, "a").is_err());
        }
        let (owner, mac) = pass.expose_secret().rsplit_once('.').unwrap();
        for forged in [
            "",
            ".",
            owner,
            &format!("{owner}."),
            &format!("eve.{mac}"),
            &format!("{owner}.{mac}A"),
        ] {
            assert_eq!(keys.owner_of(forged), None, "{forged}");
        }
        let text = format!("{keys:?}");
        assert!(text.contains(keys.public()) && text.len() < 150, "{text}");
    }

    #[test]
    fn a_push_service_knows_the_sender_by_its_key() {
        let (session, _) = SigningKey::generate().unwrap();
        let keys = WebPushKeys::of(&session, &Tenant::parse("acme").unwrap()).unwrap();
        let now = Timestamp::from_millis(1_767_225_600_000);
        let endpoint = Url::parse("https://push.example:8443/send/abc?d=e").unwrap();
        let told = keys.authorization(&endpoint, "mailto:a@b.example", now).unwrap();
        let (jwt, key) = told
            .expose_secret()
            .strip_prefix("vapid t=")
            .unwrap()
            .split_once(", k=")
            .unwrap();
        assert_eq!(key, keys.public());
        let point = bytes::<POINT>(key).unwrap();
        let (signed, signature) = jwt.rsplit_once('.').unwrap();
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        aws_lc_rs::signature::UnparsedPublicKey::new(&aws_lc_rs::signature::ECDSA_P256_SHA256_FIXED, point)
            .verify(signed.as_bytes(), &signature)
            .unwrap();
        let part = |text: &str| -> serde_json::Value {
            serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).unwrap()).unwrap()
        };
        let (header, claims) = signed.split_once('.').unwrap();
        assert_eq!(part(header), serde_json::json!({"typ": "JWT", "alg": "ES256"}));
        let exp = now.seconds() + 12 * 3600;
        let expected =
            serde_json::json!({"aud": "https://push.example:8443", "exp": exp, "sub": "mailto:a@b.example"});
        assert_eq!(part(claims), expected);
    }

    proptest! {
        #[test]
        fn no_text_is_a_subscriber_by_accident(p256dh: String, auth: String) {
            prop_assert!(Subscriber::parse(&p256dh, AUTH).is_err());
            let _ = Subscriber::parse(UA_PUBLIC, &auth);
        }
    }
}
