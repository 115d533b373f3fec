//! Proofs that a browser is the starter's, for agents that ask users for a consent of their own: made where the tenant's sessions
//! are, taken where the agent's consents are.

use std::sync::Arc;

use a2a::proof_scope;
use auth::{BrowserKeys, Verifier, browser_proof};
use axum::body::Bytes;
use consent::{Consent, UsedProof};
use domain::{SecretString, Tenant, Timestamp};
use http::HeaderMap;
use http::header::ORIGIN;
use url::{Url, form_urlencoded};

/// What a deployment does with proofs.
#[derive(Clone)]
pub enum Proofs {
    /// A tenant's own makes them.
    Made(Arc<BrowserKeys>),
    /// An agent's takes those for its URL.
    Taken(Arc<Verifier>),
    /// Nothing: no agent is named, or none vouches for browsers. Users type a code.
    Neither,
}

impl std::fmt::Debug for Proofs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Made(_) => "Made",
            Self::Taken(_) => "Taken",
            Self::Neither => "Neither",
        })
    }
}

/// Why a proof does not count. Nobody is told which: the page says how to begin once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoProof {
    /// There is none in the form, or it cannot be read.
    Rubbish,
    /// Of another tenant, agent, consent or owner; or its time is over, or nobody vouches for its key.
    NotOfThis,
    /// The form was on a page of another site.
    OtherSite,
    /// The keys cannot be asked for now.
    Unavailable,
}

/// The proof in a form.
pub(crate) fn in_form(body: &Bytes) -> Result<SecretString, NoProof> {
    let mut proofs = form_urlencoded::parse(body).filter(|(name, _)| name == a2a::PROOF_FIELD);
    match (proofs.next(), proofs.next()) {
        (Some((_, proof)), None) if !proof.is_empty() => Ok(proof.into_owned().into()),
        _ => Err(NoProof::Rubbish),
    }
}

/// Checks a proof for this consent of this tenant.
pub(crate) async fn check(
    verifier: &Verifier,
    proof: &str,
    headers: &HeaderMap,
    (consent, tenant, now): (&Consent, &Tenant, Timestamp),
) -> Result<UsedProof, NoProof> {
    let read = verifier.checked(proof, now, Some(tenant)).await;
    let read = read.map_err(|refusal| match refusal {
        auth::Refusal::Unavailable => NoProof::Unavailable,
        _ => NoProof::NotOfThis,
    })?;
    let is_for_this = read.scopes.contains(&proof_scope(&consent.id))
        && read.subject == consent.request.owner.as_str()
        && browser_proof::is_fresh(&read, now);
    if !is_for_this {
        return Err(NoProof::NotOfThis);
    }
    // Whoever has a session of their own could have their proof sent by a victim's browser, from a page of theirs. Browsers
    // say where a form stood.
    if !is_of_issuer(headers, &read.issuer) {
        return Err(NoProof::OtherSite);
    }
    Ok(UsedProof {
        mark: browser_proof::mark(proof),
        until: read.expires_at,
    })
}

/// Whether the form stood on a page of the issuer's own origin.
fn is_of_issuer(headers: &HeaderMap, issuer: &str) -> bool {
    let mut told = headers.get_all(ORIGIN).iter();
    let (Some(origin), None) = (told.next(), told.next()) else {
        return false;
    };
    let Ok(issuer) = Url::parse(issuer) else {
        return false;
    };
    origin.as_bytes() == issuer.origin().ascii_serialization().as_bytes()
}

#[cfg(test)]
mod tests {
    use domain::ExposeSecret as _;
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_form_has_one_proof() {
        let read = |body: &str| {
            let proof = in_form(&Bytes::from(body.to_owned()));
            proof.map(|proof| proof.expose_secret().to_owned())
        };
        assert_eq!(read("proof=a.b.c").as_deref(), Ok("a.b.c"));
        assert_eq!(read("x=y&proof=a.b.c").as_deref(), Ok("a.b.c"));
        for rubbish in [
            "",
            "proof",
            "proof=",
            "proof=a&proof=b",
            "Proof=a",
            "%ff=%00",
            "\0",
        ] {
            assert_eq!(read(rubbish), Err(NoProof::Rubbish), "{rubbish:?}");
        }
    }

    #[test]
    fn a_form_of_another_site_is_none_of_the_issuer() {
        let of = |origins: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for origin in origins {
                headers.append(ORIGIN, HeaderValue::from_static(origin));
            }
            is_of_issuer(&headers, "https://chat.example/t/acme")
        };
        assert!(of(&["https://chat.example"]));
        for other in [
            &[][..],
            &["null"],
            &["https://evil.example"],
            &["https://chat.example.evil.example"],
            &["http://chat.example"],
            &["https://chat.example:8443"],
            &["https://chat.example", "https://evil.example"],
        ] {
            assert!(!of(other), "{other:?}");
        }
    }
}
