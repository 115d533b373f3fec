//! The pure rules of tokens: signing and verifying JWTs (ES256 and RS256) of our own and others' issuers, PKCE, sealing
//! secrets at rest, webhook tokens and signatures.
//!
//! Nothing here opens a socket, reads a clock or a file: keys, time and RNG are parameters. Keys that must be fetched
//! come through a [`KeySource`] that somebody else implements.
//!
//! ```
//! use std::time::Duration;
//! use auth::{Grant, Refusal, SigningKey, TrustedIssuer, Verifier};
//! use domain::{ExposeSecret, SystemEntropy, Tenant, Timestamp};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (key, _pem_to_keep) = SigningKey::generate()?;
//! let acme = Tenant::parse("acme")?;
//! let grant = Grant {
//!     issuer: "https://acme.example",
//!     subject: "user-1",
//!     tenant: Some(&acme),
//!     audience: "https://agents.example/weather",
//!     scopes: &["tasks"],
//!     lifetime: Duration::from_secs(300),
//! };
//! let now = Timestamp::from_millis(1_767_225_600_000);
//! let token = key.sign(&grant, now, &SystemEntropy)?;
//!
//! let trusted = TrustedIssuer {
//!     issuer: "https://acme.example".into(),
//!     tenant: Some(acme.clone()),
//!     keys: vec![key.public_jwk()],
//! };
//! let verifier = Verifier::new("https://agents.example/weather".into(), vec![trusted])?;
//! let caller = verifier.verify(token.expose_secret(), now)?.caller(Some(&acme), "tasks")?;
//! assert_eq!(caller.owner.as_str(), "user-1");
//!
//! let late = now.after(Duration::from_secs(361));
//! assert_eq!(verifier.verify(token.expose_secret(), late), Err(Refusal::Expired));
//! # Ok(()) }
//! ```

mod algorithm;
pub mod browser_proof;
pub mod card_signature;
pub mod consent_code;
mod grant;
mod issuer;
mod jwks;
mod key;
mod key_error;
mod key_place;
mod key_set;
pub mod occasion;
pub mod pkce;
mod public_key;
mod refusal;
pub mod scope;
mod seal;
mod slot;
mod slots;
pub mod token;
mod validator;
mod verify;
pub mod web_push;
pub mod webhook;

pub use algorithm::Algorithm;
pub use browser_proof::BrowserKeys;
pub use grant::{ConsentSecrets, GrantSecrets};
pub use issuer::{Issuer, KeyPlace, Profile, TenantRule, TrustedIssuer};
pub use jwks::JwksCache;
pub use key::{AccessToken, Grant, IdToken, SigningKey};
pub use key_error::KeyError;
pub use key_place::KeyTemplate;
pub use key_set::KeySet;
pub use public_key::judged_keys;
pub use refusal::{Refusal, bearer};
pub use seal::{SealError, Sealer};
pub use slot::{KeySource, NoKeys};
pub use validator::TokenValidator;
pub use verify::{NotTaken, Statements, Verified, Verifier, numeric_date};
