//! OAuth tokens of a user's consent as they are stored: encrypted, and bound to whose it is and for what.
//!
//! [`GrantSecrets`] are the tokens of a grant, [`ConsentSecrets`] what a consent that is under way must remember.
//!
//! ```
//! use auth::{GrantSecrets, Sealer};
//! use domain::{GrantKey, Owner, SystemEntropy, Tenant, Timestamp};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let sealer = Sealer::new(vec![("k1".into(), Sealer::generate_key(&SystemEntropy))])?;
//! let (tenant, ada, alan) = (Tenant::parse("acme")?, Owner::parse("ada")?, Owner::parse("alan")?);
//! let adas = GrantKey { tenant: &tenant, owner: &ada, provider: "idp", resource: "https://agents.example/h" };
//! let secrets = GrantSecrets {
//!     access_token: "at".into(),
//!     refresh_token: None,
//!     expires_at: Timestamp::from_millis(600_000),
//!     scopes: vec!["orders:read".into()],
//!     id_token_subject: None,
//! };
//! let sealed = secrets.seal(&sealer, &adas, &SystemEntropy);
//! assert_eq!(GrantSecrets::open(&sealer, &sealed, &adas)?.scopes, ["orders:read"]);
//! assert!(GrantSecrets::open(&sealer, &sealed, &GrantKey { owner: &alan, ..adas }).is_err());
//! # Ok(()) }
//! ```

use std::borrow::Cow;

use domain::{Entropy, ExposeSecret as _, GrantKey, SecretString, Timestamp};
use secrecy::zeroize::Zeroizing;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{SealError, Sealer};

/// As JSON, so that no two keys have one text. The kind keeps a consent from being taken for a grant.
fn associated(key: &GrantKey<'_>, kind: &str) -> String {
    let GrantKey {
        tenant,
        owner,
        provider,
        resource,
    } = key;
    serde_json::json!([kind, tenant.prefix(), owner, provider, resource]).to_string()
}

/// The tokens of a grant.
#[derive(Debug, Clone)]
pub struct GrantSecrets {
    /// What goes to the agent.
    pub access_token: SecretString,
    /// What gets the next access token; none where the provider gave none.
    pub refresh_token: Option<SecretString>,
    /// When the access token ends.
    pub expires_at: Timestamp,
    /// What it allows.
    pub scopes: Vec<String>,
    /// Who consented, in the provider's words; none where it did not say.
    pub id_token_subject: Option<String>,
}

/// What a consent under way remembers between the link and the provider's answer.
#[derive(Debug, Clone)]
pub struct ConsentSecrets {
    /// The `state` of the authorization request.
    pub state: SecretString,
    /// The PKCE verifier.
    pub pkce_verifier: SecretString,
    /// The `nonce` that the identity token must carry.
    pub nonce: SecretString,
    /// Where the code is exchanged: the provider that was started with, whatever comes back.
    pub token_endpoint: String,
    /// The provider said that it names itself in its answer (RFC 9207).
    pub iss_required: bool,
    /// The browser had the starter's own session; in any other the starter types back a code.
    pub starters_browser: bool,
}

/// [`GrantSecrets`] at rest.
#[derive(Serialize, Deserialize)]
struct GrantText<'a> {
    access_token: Cow<'a, str>,
    refresh_token: Option<Cow<'a, str>>,
    expires_at: Timestamp,
    scopes: Cow<'a, [String]>,
    subject: Option<String>,
}

/// [`ConsentSecrets`] at rest.
#[derive(Serialize, Deserialize)]
struct ConsentText<'a> {
    state: Cow<'a, str>,
    pkce_verifier: Cow<'a, str>,
    nonce: Cow<'a, str>,
    token_endpoint: Cow<'a, str>,
    iss_required: bool,
    starters_browser: bool,
}

const GRANT: &str = "grant";
const CONSENT: &str = "consent";

impl GrantSecrets {
    /// Seals them.
    #[must_use]
    pub fn seal(&self, sealer: &Sealer, binding: &GrantKey<'_>, entropy: &dyn Entropy) -> String {
        let text = GrantText {
            access_token: self.access_token.expose_secret().into(),
            refresh_token: self
                .refresh_token
                .as_ref()
                .map(|token| token.expose_secret().into()),
            expires_at: self.expires_at,
            scopes: self.scopes.as_slice().into(),
            subject: self.id_token_subject.clone(),
        };
        seal(sealer, &text, &associated(binding, GRANT), entropy)
    }

    /// Opens them.
    ///
    /// # Errors
    /// [`SealError`] for what was not sealed with this binding.
    pub fn open(sealer: &Sealer, sealed: &str, binding: &GrantKey<'_>) -> Result<Self, SealError> {
        let text: GrantText<'_> = open(sealer, sealed, &associated(binding, GRANT))?;
        Ok(Self {
            access_token: secret(text.access_token),
            refresh_token: text.refresh_token.map(secret),
            expires_at: text.expires_at,
            scopes: text.scopes.into_owned(),
            id_token_subject: text.subject,
        })
    }
}

impl ConsentSecrets {
    /// Seals them.
    #[must_use]
    pub fn seal(&self, sealer: &Sealer, binding: &GrantKey<'_>, entropy: &dyn Entropy) -> String {
        let text = ConsentText {
            state: self.state.expose_secret().into(),
            pkce_verifier: self.pkce_verifier.expose_secret().into(),
            nonce: self.nonce.expose_secret().into(),
            token_endpoint: self.token_endpoint.as_str().into(),
            iss_required: self.iss_required,
            starters_browser: self.starters_browser,
        };
        seal(sealer, &text, &associated(binding, CONSENT), entropy)
    }

    /// Opens them.
    ///
    /// # Errors
    /// [`SealError`] for what was not sealed with this binding.
    pub fn open(sealer: &Sealer, sealed: &str, binding: &GrantKey<'_>) -> Result<Self, SealError> {
        let text: ConsentText<'_> = open(sealer, sealed, &associated(binding, CONSENT))?;
        Ok(Self {
            state: secret(text.state),
            pkce_verifier: secret(text.pkce_verifier),
            nonce: secret(text.nonce),
            token_endpoint: text.token_endpoint.into_owned(),
            iss_required: text.iss_required,
            starters_browser: text.starters_browser,
        })
    }
}

fn secret(text: Cow<'_, str>) -> SecretString {
    text.into_owned().into()
}

fn seal(sealer: &Sealer, text: &impl Serialize, associated: &str, entropy: &dyn Entropy) -> String {
    // Room from the start: a buffer that grows leaves copies behind.
    let mut plain = Zeroizing::new(Vec::with_capacity(16 * 1024));
    #[expect(
        clippy::expect_used,
        reason = "texts, lists and numbers are always JSON, and memory takes them"
    )]
    serde_json::to_writer(&mut *plain, text).expect("the secrets are JSON");
    sealer.seal(&plain, associated, entropy)
}

fn open<T: DeserializeOwned>(sealer: &Sealer, sealed: &str, associated: &str) -> Result<T, SealError> {
    let plain = Zeroizing::new(sealer.open(sealed, associated)?);
    serde_json::from_slice(&plain).map_err(|_| SealError)
}

#[cfg(test)]
mod tests {
    use domain::{Owner, SystemEntropy, Tenant};

    use super::*;

    fn sealer() -> Sealer {
        Sealer::new(vec![("k1".into(), Sealer::generate_key(&SystemEntropy))]).unwrap()
    }

    fn grant() -> GrantSecrets {
        GrantSecrets {
            access_token: "at-secret".into(),
            refresh_token: Some("rt-secret".into()),
            expires_at: Timestamp::from_millis(600_000),
            scopes: vec!["tasks".into(), "orders:read".into()],
            id_token_subject: Some("ada".into()),
        }
    }

    fn consent() -> ConsentSecrets {
        ConsentSecrets {
            state: "st-secret".into(),
            pkce_verifier: "pv-secret".into(),
            nonce: "no-secret".into(),
            token_endpoint: "https://idp.example/token".into(),
            iss_required: true,
            starters_browser: false,
        }
    }

    #[test]
    fn secrets_open_only_for_the_tenant_owner_provider_and_resource_they_were_sealed_for() {
        let sealer = sealer();
        let (acme, globex) = (Tenant::parse("acme").unwrap(), Tenant::parse("globex").unwrap());
        let acme_again = Tenant::from_prefix("acme.7f3a9c2e").unwrap();
        let (ada, alan) = (Owner::parse("ada").unwrap(), Owner::parse("alan").unwrap());
        let own = GrantKey {
            tenant: &acme,
            owner: &ada,
            provider: "idp",
            resource: "https://a.example/h",
        };
        let sealed = grant().seal(&sealer, &own, &SystemEntropy);
        let opened = GrantSecrets::open(&sealer, &sealed, &own).unwrap();
        assert_eq!(opened.access_token.expose_secret(), "at-secret");
        assert_eq!(opened.refresh_token.unwrap().expose_secret(), "rt-secret");
        assert_eq!(opened.expires_at, grant().expires_at);
        assert_eq!(opened.scopes, grant().scopes);
        assert_eq!(opened.id_token_subject.as_deref(), Some("ada"));
        let sealed_consent = consent().seal(&sealer, &own, &SystemEntropy);
        let opened = ConsentSecrets::open(&sealer, &sealed_consent, &own).unwrap();
        assert_eq!(opened.state.expose_secret(), "st-secret");
        assert_eq!(opened.pkce_verifier.expose_secret(), "pv-secret");
        assert_eq!(opened.nonce.expose_secret(), "no-secret");
        assert!(opened.iss_required && !opened.starters_browser);
        for other in [
            GrantKey {
                tenant: &globex,
                ..own
            },
            GrantKey {
                tenant: &acme_again,
                ..own
            },
            GrantKey { owner: &alan, ..own },
            GrantKey {
                provider: "google",
                ..own
            },
            GrantKey {
                resource: "https://a.example/h2",
                ..own
            },
        ] {
            assert!(GrantSecrets::open(&sealer, &sealed, &other).is_err(), "{other:?}");
            assert!(
                ConsentSecrets::open(&sealer, &sealed_consent, &other).is_err(),
                "{other:?}"
            );
        }
        // One kind is never taken for the other.
        assert!(ConsentSecrets::open(&sealer, &sealed, &own).is_err());
        assert!(GrantSecrets::open(&sealer, &sealed_consent, &own).is_err());
        assert!(GrantSecrets::open(&sealer, "", &own).is_err());
    }

    #[test]
    fn bindings_do_not_run_into_each_other() {
        let sealer = sealer();
        let tenant = Tenant::parse("acme").unwrap();
        let owner = Owner::parse("ada").unwrap();
        let one = GrantKey {
            tenant: &tenant,
            owner: &owner,
            provider: "a\",\"b",
            resource: "c",
        };
        let other = GrantKey {
            provider: "a",
            resource: "b\",\"c",
            ..one
        };
        let sealed = grant().seal(&sealer, &one, &SystemEntropy);
        assert!(GrantSecrets::open(&sealer, &sealed, &one).is_ok());
        assert!(GrantSecrets::open(&sealer, &sealed, &other).is_err());
    }

    #[test]
    fn nothing_secret_prints() {
        let printed = format!("{:?} {:?}", grant(), consent());
        assert!(!printed.contains("-secret"), "{printed}");
    }
}
