//! Proofs that a browser has the session of the user who started a task, for agents that ask users for a consent of their own.
//!
//! A proof is a JWT of a type of its own, signed with keys that follow from a tenant's sealing keys, so that whoever serves the
//! tenant's pages needs no further secret and cannot make session tokens. The public halves are vouched for by the
//! authorization server, in a document of their own.

use std::time::Duration;

use domain::{Entropy, Owner, SecretString, Tenant, Timestamp};
use serde_json::{Value, json};

use crate::{Grant, Issuer, KeyError, Sealer, SigningKey, Verified};

/// The `typ` of a proof. Verifiers of access tokens know others alone, and a verifier of proofs knows this one alone.
pub const TYPE: &str = "browser-proof+jwt";
/// How long a proof lives: a form that is on a page.
pub const LIFETIME: Duration = Duration::from_secs(60);

/// How often a derivation is tried: one number in 2^32 is no key of the curve.
const TRIES: u32 = 8;

/// The keys that sign a tenant's proofs, each following from one of its sealing keys.
#[derive(Debug)]
pub struct BrowserKeys {
    /// Newest first.
    keys: Vec<SigningKey>,
}

/// What a proof says.
#[derive(Debug, Clone, Copy)]
pub struct BrowserProof<'a> {
    /// The tenant's own issuer, whose page the proof is on.
    pub issuer: &'a str,
    /// The tenant.
    pub tenant: &'a Tenant,
    /// Who started the task.
    pub owner: &'a Owner,
    /// The agent's URL.
    pub audience: &'a str,
    /// What it is good for.
    pub scope: &'a str,
}

impl BrowserKeys {
    /// The keys of this tenant.
    ///
    /// # Errors
    /// [`KeyError::NotMade`], which does not happen with keys that seal.
    pub fn of(sealer: &Sealer, tenant: &Tenant) -> Result<Self, KeyError> {
        for attempt in 0..TRIES {
            let numbers = sealer.derived(&format!("browser-proof/{attempt}/{}", tenant.prefix()));
            let made: Option<Vec<SigningKey>> = numbers.iter().map(SigningKey::of_number).collect();
            if let Some(keys) = made {
                return Ok(Self { keys });
            }
        }
        Err(KeyError::NotMade)
    }

    /// Signs a proof with the oldest key: a verifier may not know one that came a moment ago.
    ///
    /// # Errors
    /// [`KeyError::NotSigned`] where there is no key.
    pub fn sign(
        &self,
        proof: &BrowserProof<'_>,
        now: Timestamp,
        entropy: &dyn Entropy,
    ) -> Result<SecretString, KeyError> {
        let key = self.keys.last().ok_or(KeyError::NotSigned)?;
        let grant = Grant {
            issuer: proof.issuer,
            subject: proof.owner.as_str(),
            tenant: Some(proof.tenant),
            audience: proof.audience,
            scopes: &[proof.scope],
            lifetime: LIFETIME,
        };
        key.sign_proof(TYPE, &grant, now, entropy)
    }

    /// The public halves, for the authorization server's document.
    #[must_use]
    pub fn public_jwks(&self) -> Vec<Value> {
        self.keys.iter().map(SigningKey::public_jwk).collect()
    }
}

/// Every tenant's proofs, by the documents at this template of an address (`https://idp.example/{tenant}/browsers.json`).
///
/// # Errors
/// [`KeyError::Issuer`] where it is no template.
pub fn issuers(template: &str) -> Result<Issuer, KeyError> {
    let told = json!({ "jwks_uri": template, "profile": { "types": [TYPE] } });
    serde_json::from_value(told)
        .map_err(|_| KeyError::Issuer("the address of browsers' keys has no {tenant}"))
}

/// Whether what a proof says is still so, to the second: its life is too short for clocks that are a minute apart.
#[must_use]
pub fn is_fresh(proof: &Verified, now: Timestamp) -> bool {
    proof.expires_at > now
}

/// By what a proof is known again. Not by its whole text: a signature can be written in two ways.
#[must_use]
pub fn mark(proof: &str) -> String {
    let signed = proof.rsplit_once('.').map_or(proof, |(signed, _)| signed);
    crate::token::hash(signed)
}

#[cfg(test)]
mod tests {
    use domain::{ExposeSecret as _, SystemEntropy};

    use super::*;
    use crate::{KeyPlace, Profile, Refusal, TenantRule, Verifier};

    const AGENT: &str = "https://agents.example/a/calendar";
    const ISSUER: &str = "https://acme.example";

    fn sealer(keys: usize) -> Sealer {
        let key = |byte: usize| {
            let text = base64::Engine::encode(
                &base64::engine::general_purpose::URL_SAFE_NO_PAD,
                [u8::try_from(byte).unwrap(); 32],
            );
            (format!("k{byte}"), SecretString::from(text))
        };
        Sealer::new((1..=keys).rev().map(key).collect()).unwrap()
    }

    fn signed(keys: &BrowserKeys, tenant: &Tenant, now: Timestamp) -> SecretString {
        let owner = Owner::parse("ada").unwrap();
        let proof = BrowserProof {
            issuer: ISSUER,
            tenant,
            owner: &owner,
            audience: AGENT,
            scope: "consent:1",
        };
        keys.sign(&proof, now, &SystemEntropy).unwrap()
    }

    fn verifier(keys: Vec<Value>, types: &[&str]) -> Verifier {
        let issuer = Issuer {
            issuer: ISSUER.to_owned(),
            tenants: TenantRule::One(Tenant::parse("acme").unwrap()),
            profile: Profile {
                types: types.iter().map(|&one| one.to_owned()).collect(),
                ..Profile::default()
            },
            algorithms: vec![crate::Algorithm::Es256],
            keys: KeyPlace::Static(keys),
        };
        let cache = crate::JwksCache::new(std::sync::Arc::new(Nobody));
        Verifier::with_issuers(AGENT.to_owned(), vec![issuer], &cache).unwrap()
    }

    struct Nobody;

    #[async_trait::async_trait]
    impl crate::KeySource for Nobody {
        async fn fetch(&self, _: &url::Url) -> Result<Value, crate::NoKeys> {
            unreachable!("its keys are known")
        }
    }

    #[test]
    fn a_proof_is_good_for_its_audience_and_no_access_token() {
        let now = Timestamp::from_millis(1_767_225_600_000);
        let acme = Tenant::parse("acme").unwrap();
        let keys = BrowserKeys::of(&sealer(2), &acme).unwrap();
        let proof = signed(&keys, &acme, now);
        let proof = proof.expose_secret();
        let read = verifier(keys.public_jwks(), &[TYPE]).verify(proof, now).unwrap();
        assert!(is_fresh(&read, now) && !is_fresh(&read, now.after(LIFETIME)));
        assert_eq!(read.subject, "ada");
        assert!(read.scopes.contains("consent:1"));
        // A host that knew the very key would still not take it for a token.
        let host = verifier(keys.public_jwks(), &["at+jwt"]);
        assert_eq!(host.verify(proof, now), Err(Refusal::Malformed));
        // Before a new sealing key is known everywhere, the one before signs.
        let before = BrowserKeys::of(&sealer(1), &acme).unwrap();
        assert!(verifier(before.public_jwks(), &[TYPE]).verify(proof, now).is_ok());
    }

    #[test]
    fn each_tenant_has_keys_of_its_own() {
        let now = Timestamp::from_millis(1_767_225_600_000);
        let (acme, globex) = (Tenant::parse("acme").unwrap(), Tenant::parse("globex").unwrap());
        let (own, others) = (
            BrowserKeys::of(&sealer(1), &acme).unwrap(),
            BrowserKeys::of(&sealer(1), &globex).unwrap(),
        );
        assert_ne!(own.public_jwks(), others.public_jwks());
        let forged = signed(&others, &acme, now);
        let refused = verifier(own.public_jwks(), &[TYPE]).verify(forged.expose_secret(), now);
        assert_eq!(refused, Err(Refusal::Malformed));
    }

    #[test]
    fn a_proof_is_known_again_by_what_is_signed() {
        assert_eq!(mark("a.b.c"), mark("a.b.d"));
        assert_ne!(mark("a.b.c"), mark("a.c.c"));
        assert!(issuers("https://idp.example/{tenant}/browsers.json").is_ok());
        assert!(issuers("https://idp.example/browsers.json").is_err());
    }
}
