//! Access tokens that come back: verified with our own keys, for whatever service they are.

use auth::{Algorithm, Issuer, JwksCache, KeyPlace, Profile, Refusal, TenantRule, Verifier};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::Timestamp;
use serde::Deserialize;

use crate::error::TokenError;
use crate::state::AppState;
use crate::tenant::Here;

/// Longest token that is looked at.
const MAX: usize = 8 * 1024;

/// What one of our access tokens says.
#[derive(Deserialize)]
pub(crate) struct OwnToken {
    pub(crate) sub: String,
    pub(crate) aud: String,
    pub(crate) exp: i64,
    pub(crate) iat: i64,
    pub(crate) jti: String,
    pub(crate) client_id: String,
    pub(crate) scope: String,
}

/// The audience that a token claims, before anything of it is verified.
#[derive(Deserialize)]
struct Unverified {
    aud: String,
}

impl OwnToken {
    pub(crate) fn has_scope(&self, scope: &str) -> bool {
        self.scope.split(' ').any(|word| word == scope)
    }

    /// True where the token was not issued before that time, to the second.
    pub(crate) fn is_after(&self, not_before: Option<Timestamp>) -> bool {
        not_before.is_none_or(|from| self.iat >= from.seconds())
    }

    /// True where the token has ended by now, to the second.
    pub(crate) fn is_past(&self, now: Timestamp) -> bool {
        self.exp <= now.seconds()
    }
}

/// Verifies that a token is an access token that this tenant's issuer gave out, and good for somebody now.
pub(crate) fn verify(app: &AppState, here: &Here, token: &str) -> Result<OwnToken, TokenError> {
    let told: OwnToken = told(app, here, token)?;
    match told.is_past(app.now()) {
        true => Err(Refusal::Expired.into()),
        false => Ok(told),
    }
}

/// What a token says that this tenant's issuer signed, whatever it is for.
pub(crate) fn told<T: for<'de> Deserialize<'de>>(
    app: &AppState,
    here: &Here,
    token: &str,
) -> Result<T, TokenError> {
    let Unverified { aud } = payload(token).ok_or(Refusal::Malformed)?;
    let issuer = Issuer {
        issuer: here.issuer.clone(),
        tenants: TenantRule::One(here.tenant.clone()),
        profile: Profile::default(),
        algorithms: vec![Algorithm::Es256, Algorithm::Rs256],
        keys: KeyPlace::Static(app.keys().public_jwks()),
    };
    // Whoever the token is for: it is ours, and it is asked about here.
    let verifier = Verifier::with_issuers(aud, vec![issuer], &JwksCache::offline())?;
    verifier.verify(token, app.now())?;
    Ok(payload(token).ok_or(Refusal::Malformed)?)
}

pub(crate) fn payload<T: for<'de> Deserialize<'de>>(token: &str) -> Option<T> {
    if token.len() > MAX {
        return None;
    }
    let payload = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    serde_json::from_slice(&payload).ok()
}
