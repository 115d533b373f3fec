//! What an OpenID provider signs for one client of its own: identity tokens and logout tokens.
//!
//! Unlike an access token these speak for no tenant; whose client it is says that.

use std::sync::Arc;

use domain::Timestamp;
use serde_json::{Map, Value};
use url::Url;

use super::parse::{Header, Parts};
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
    /// [`Refusal::Unavailable`] where the issuer's keys cannot be fetched, [`Refusal::Expired`], [`Refusal::Malformed`].
    pub async fn read(
        &self,
        token: &str,
        types: &[&str],
        now: Timestamp,
    ) -> Result<Map<String, Value>, Refusal> {
        if token.len() > TOKEN_LIMIT {
            return Err(Refusal::Malformed);
        }
        let parts = Parts::of(token).ok_or(Refusal::Malformed)?;
        let header = Header::read(&parts.header).ok_or(Refusal::Malformed)?;
        let types: Vec<String> = types.iter().map(|kind| (*kind).to_owned()).collect();
        if !header.is_one_of(&types) {
            return Err(Refusal::Malformed);
        }
        self.check_signature(&parts, (&header.kid, header.algorithm), now)
            .await?;
        let claims: Map<String, Value> =
            serde_json::from_slice(&parts.payload).map_err(|_| Refusal::Malformed)?;
        self.check_claims(&claims, now)?;
        Ok(claims)
    }

    async fn check_signature(
        &self,
        parts: &Parts<'_>,
        (kid, algorithm): (&str, Algorithm),
        now: Timestamp,
    ) -> Result<(), Refusal> {
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
                    None if !reached => return Err(Refusal::Unavailable),
                    None => false,
                }
            }
        };
        good.then_some(()).ok_or(Refusal::Malformed)
    }

    fn check_claims(&self, claims: &Map<String, Value>, now: Timestamp) -> Result<(), Refusal> {
        let is_issuer = claims.get("iss").and_then(Value::as_str) == Some(&self.issuer);
        let for_us = match claims.get("aud") {
            Some(Value::String(one)) => *one == self.client,
            Some(Value::Array(several)) => matches!(&several[..], [one] if *one == self.client),
            _ => false,
        };
        let party = claims.get("azp");
        let by_us = party.is_none_or(|party| party.as_str() == Some(&self.client));
        let second = |name: &str| {
            claims
                .get(name)
                .map(|value| value.as_i64().ok_or(Refusal::Malformed))
        };
        let (soon, past) = (now.after(LEEWAY).seconds(), now.before(LEEWAY).seconds());
        let made = second("iat").ok_or(Refusal::Malformed)??;
        let until = second("exp").transpose()?;
        let from = second("nbf").transpose()?;
        if !is_issuer || !for_us || !by_us || made > soon || from.is_some_and(|from| from > soon) {
            return Err(Refusal::Malformed);
        }
        match until {
            None => Err(Refusal::Malformed),
            Some(until) if until <= past => Err(Refusal::Expired),
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
