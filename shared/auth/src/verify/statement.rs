//! What an OpenID provider signs for one client of its own: identity tokens and logout tokens.
//!
//! Unlike an access token these speak for no tenant; whose client it is says that.

use std::sync::Arc;

use domain::Timestamp;
use serde_json::{Map, Value};
use url::Url;

use super::parse::{Header, Parts, numeric_date};
use super::{LEEWAY, TOKEN_LIMIT};
use crate::jwks::JwksCache;
use crate::slot::{Slot, usable};
use crate::{Algorithm, Refusal};

/// Verifies what one issuer signs for one client.
pub struct Statements {
    issuer: String,
    client: String,
    slot: Arc<Slot>,
}

/// Why a token is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct NotTaken {
    /// What that means for whoever brought it.
    pub refusal: Refusal,
    /// What is wrong with it, for the log: which claim, never its value.
    pub reason: &'static str,
}

/// It is none of this issuer's for us.
const fn malformed(reason: &'static str) -> NotTaken {
    NotTaken {
        refusal: Refusal::Malformed,
        reason,
    }
}

impl Statements {
    /// Of this issuer, to the letter, for the client of this id; the issuer's keys are fetched from `jwks`.
    #[must_use]
    pub fn new(issuer: &str, client: &str, jwks: &Url, cache: &JwksCache) -> Self {
        Self {
            issuer: issuer.to_owned(),
            client: client.to_owned(),
            slot: cache.slot(jwks),
        }
    }

    /// The claims of a token: its signature, its type, issuer, audience (this client and nobody else) and times are good.
    /// Keys are fetched where that may help, so that an issuer may rotate them at any time.
    ///
    /// # Errors
    /// [`NotTaken`], with [`Refusal::Unavailable`] where the issuer's keys cannot be fetched, [`Refusal::Expired`] or
    /// [`Refusal::Malformed`].
    pub async fn read(
        &self,
        token: &str,
        types: &[&str],
        now: Timestamp,
    ) -> Result<Map<String, Value>, NotTaken> {
        if token.len() > TOKEN_LIMIT {
            return Err(malformed("it is too long"));
        }
        let parts = Parts::of(token).ok_or(malformed("it is no signed JWT"))?;
        let header = Header::read_of_issuer(&parts.header).ok_or(malformed(
            "its header has no key id, an algorithm that is not taken (ES256 and RS256 are), or parameters that must be understood",
        ))?;
        let types: Vec<String> = types.iter().map(|kind| (*kind).to_owned()).collect();
        if !header.is_one_of(&types) {
            return Err(malformed("its typ is another"));
        }
        self.check_signature(&parts, (&header.kid, header.algorithm), now)
            .await?;
        let claims: Map<String, Value> =
            serde_json::from_slice(&parts.payload).map_err(|_| malformed("its claims are no JSON object"))?;
        self.check_claims(&claims, now)?;
        Ok(claims)
    }

    async fn check_signature(
        &self,
        parts: &Parts<'_>,
        (kid, algorithm): (&str, Algorithm),
        now: Timestamp,
    ) -> Result<(), NotTaken> {
        // `None`: its key is not here, or those that are here are old.
        let look = |accept_old: bool| {
            let kept = self.slot.keys(now)?;
            let key = usable(&kept.keys, kid, algorithm)?;
            let is_fresh = accept_old || !kept.is_old(now);
            is_fresh.then(|| key.signed(parts.signed, &parts.signature))
        };
        let good = match look(false) {
            Some(good) => good,
            None => {
                let reached = self.slot.refresh(now).await;
                match look(true) {
                    Some(good) => good,
                    None if !reached => {
                        return Err(NotTaken {
                            refusal: Refusal::Unavailable,
                            reason: "its issuer's keys cannot be fetched",
                        });
                    }
                    None => return Err(malformed("its key is none of its issuer's")),
                }
            }
        };
        good.then_some(()).ok_or(malformed("its signature is wrong"))
    }

    fn check_claims(&self, claims: &Map<String, Value>, now: Timestamp) -> Result<(), NotTaken> {
        let is_issuer = claims.get("iss").and_then(Value::as_str) == Some(&self.issuer);
        let for_us = match claims.get("aud") {
            Some(Value::String(one)) => *one == self.client,
            Some(Value::Array(several)) => matches!(&several[..], [one] if *one == self.client),
            _ => false,
        };
        // What is null is not said.
        let told = |name: &str| claims.get(name).filter(|value| !value.is_null());
        let party = told("azp");
        let by_us = party.is_none_or(|party| party.as_str() == Some(&self.client));
        let second = |name: &str| {
            told(name).map(|value| numeric_date(value).ok_or(malformed("iat, exp or nbf is no time")))
        };
        let (soon, past) = (now.after(LEEWAY).seconds(), now.before(LEEWAY).seconds());
        let made = second("iat").ok_or(malformed("iat is missing"))??;
        let until = second("exp").transpose()?;
        let from = second("nbf").transpose()?;
        let faults = [
            (!is_issuer, "iss is another issuer"),
            (!for_us, "aud is not this client alone"),
            (!by_us, "azp is another client"),
            (made > soon, "iat is in the future"),
            (from.is_some_and(|from| from > soon), "nbf is in the future"),
        ];
        if let Some((_, reason)) = faults.into_iter().find(|(is_wrong, _)| *is_wrong) {
            return Err(malformed(reason));
        }
        match until {
            None => Err(malformed("exp is missing")),
            Some(until) if until <= past => Err(NotTaken {
                refusal: Refusal::Expired,
                reason: "exp is over",
            }),
            Some(_) => Ok(()),
        }
    }
}

impl std::fmt::Debug for Statements {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Statements")
            .field("issuer", &self.issuer)
            .field("client", &self.client)
            .finish_non_exhaustive()
    }
}
