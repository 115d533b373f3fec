//! Verifying access tokens against a configured list of issuers: offline, with keys that are known or were fetched
//! before.

mod parse;
mod statement;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use domain::{Caller, Owner, Scopes, Tenant, Timestamp};

use crate::issuer::{Issuer, KeyPlace, TenantRule};
use crate::jwks::JwksCache;
use crate::public_key::PublicKey;
use crate::scope::DELEGATED;
use crate::slot::{Keys, Slot, usable};
use crate::slots::Slots;
use crate::{Algorithm, KeyError, Profile, Refusal, TrustedIssuer};
use parse::{Claims, Header, Parts, UnverifiedClaims};

pub use parse::numeric_date;
pub use statement::{NotTaken, Statements};

/// How far clocks may be apart.
const LEEWAY: Duration = Duration::from_secs(60);

/// Longest token that is looked at.
const TOKEN_LIMIT: usize = 8 * 1024;

/// Longest life of a token that speaks for a tenant, in seconds: one that lives on after its user has gone is no good,
/// whoever issued it.
const LONGEST: i64 = 24 * 3600;

/// Scopes that only the platform's own issuer can grant, whatever a tenant's key signs.
const PLATFORM_SCOPES: [&str; 1] = ["registry:admin"];

/// What tenants' hosts are called at our authorization server.
const HOST_CLIENT: &str = "host";

/// Verifies the tokens for one service.
pub struct Verifier {
    audience: String,
    /// By the issuer's name or template; the one that tenants' documents vouch for by no name.
    issuers: HashMap<String, IssuerKeys>,
}

struct IssuerKeys {
    tenants: TenantRule,
    profile: Profile,
    algorithms: Vec<Algorithm>,
    keys: KnownKeys,
}

enum KnownKeys {
    Static(Keys),
    Fetched(Arc<Slot>),
    Each(Arc<Slots>),
}

/// What a verified token says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// Who issued it.
    pub issuer: String,
    /// Whom it speaks of: the text of an owner.
    pub subject: String,
    /// Whose data it is for; none for the platform's own.
    pub tenant: Option<Tenant>,
    /// What it allows.
    pub scopes: Scopes,
    /// Until when it says so.
    pub expires_at: Timestamp,
}

/// Why a look at a token came to no end.
enum Unverified {
    Refused(Refusal),
    /// Its key is not here, but its issuer may have it.
    NoKey(Arc<Slot>),
}

impl From<Refusal> for Unverified {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl Verifier {
    /// A verifier for the service `audience` that trusts our own issuers. Several entries of one issuer are one, as
    /// long as they agree on its tenant.
    ///
    /// # Errors
    /// [`KeyError::Unusable`] where one of the keys is not an ES256 key; [`KeyError::Contradiction`] where an issuer
    /// is said to speak for two.
    pub fn new(audience: String, issuers: Vec<TrustedIssuer>) -> Result<Self, KeyError> {
        Self::build(audience, issuers.into_iter().map(Issuer::from).collect(), None)
    }

    /// A verifier that trusts any issuers, with the keys of some fetched through `cache`.
    ///
    /// # Errors
    /// As [`Verifier::new`], and [`KeyError::Issuer`] where an issuer is described wrongly.
    pub fn with_issuers(audience: String, issuers: Vec<Issuer>, cache: &JwksCache) -> Result<Self, KeyError> {
        Self::build(audience, issuers, Some(cache))
    }

    fn build(audience: String, issuers: Vec<Issuer>, cache: Option<&JwksCache>) -> Result<Self, KeyError> {
        let mut known: HashMap<String, IssuerKeys> = HashMap::new();
        for issuer in issuers {
            let issuer = issuer.checked()?;
            let keys = match (&issuer.keys, cache) {
                (KeyPlace::Static(jwks), _) => KnownKeys::Static(static_keys(jwks, &issuer.algorithms)?),
                (KeyPlace::Jwks(url), Some(cache)) => KnownKeys::Fetched(cache.slot(url)),
                (KeyPlace::Each(template), Some(cache)) => KnownKeys::Each(cache.each(template)),
                (KeyPlace::Jwks(_) | KeyPlace::Each(_), None) => {
                    return Err(KeyError::Issuer("nobody fetches its keys"));
                }
            };
            let Issuer {
                issuer,
                tenants,
                profile,
                algorithms,
                ..
            } = issuer;
            match known.get_mut(&issuer) {
                None => {
                    let entry = IssuerKeys {
                        tenants,
                        profile,
                        algorithms,
                        keys,
                    };
                    known.insert(issuer, entry);
                }
                Some(entry) => {
                    let same = entry.tenants == tenants
                        && entry.profile == profile
                        && entry.algorithms == algorithms;
                    match (&mut entry.keys, keys) {
                        (KnownKeys::Static(known), KnownKeys::Static(more)) if same => known.extend(more),
                        _ => return Err(KeyError::Contradiction),
                    }
                }
            }
        }
        Ok(Self {
            audience,
            issuers: known,
        })
    }

    /// Verifies a token with the keys that are here: signature, form, issuer, audience, time, and that its issuer may
    /// speak for its tenant. Never waits.
    ///
    /// # Errors
    /// [`Refusal`] says which answer the caller gets.
    pub fn verify(&self, token: &str, now: Timestamp) -> Result<Verified, Refusal> {
        self.look(token, now, None, Fetch::Never)
            .map_err(|stop| match stop {
                Unverified::Refused(refusal) => refusal,
                Unverified::NoKey(_) => Refusal::Malformed,
            })
    }

    /// The caller behind a token: as [`Verifier::verify`], but fetches the issuer's keys where that may help; and
    /// checks that the tenant is the service's own, where it has one, and that the token allows all the words of
    /// `needed_scope`.
    ///
    /// A token of another tenant is told so before anything else is said of it.
    ///
    /// # Errors
    /// [`Refusal`] says which answer the caller gets.
    pub async fn admit(
        &self,
        token: &str,
        now: Timestamp,
        own: Option<&Tenant>,
        needed_scope: &str,
    ) -> Result<Caller, Refusal> {
        self.checked(token, now, own).await?.caller(own, needed_scope)
    }

    /// What a token says: as [`Verifier::verify`], but fetches the issuer's keys where that may help; and refuses
    /// another tenant's where the service has one of its own.
    ///
    /// # Errors
    /// [`Refusal`] says which answer the caller gets.
    pub async fn checked(
        &self,
        token: &str,
        now: Timestamp,
        own: Option<&Tenant>,
    ) -> Result<Verified, Refusal> {
        match self.look(token, now, own, Fetch::Wanted) {
            Err(Unverified::NoKey(slot)) => {
                let reached = slot.refresh(now).await;
                match self.look(token, now, own, Fetch::Never) {
                    // Nobody knows whether it is a good one; saying that it is not would make clients throw it away.
                    Err(Unverified::NoKey(_)) if !reached => Err(Refusal::Unavailable),
                    Err(Unverified::NoKey(_)) => Err(Refusal::Malformed),
                    Err(Unverified::Refused(refusal)) => Err(refusal),
                    Ok(verified) => Ok(verified),
                }
            }
            Err(Unverified::Refused(refusal)) => Err(refusal),
            Ok(verified) => Ok(verified),
        }
    }

    /// The issuer of that name, with the name of the tenant that it says it is: by its own name where it is one of a
    /// template; where tenants' documents vouch for it, by the token's claim, which nobody has checked yet.
    fn issuer<'i>(&self, iss: &'i str, payload: &'i [u8]) -> Option<(&IssuerKeys, Cow<'i, str>)> {
        // The empty name stands for issuers that tenants vouch for; no token may ask for it by name.
        if let Some(known) = self.issuers.get(iss).filter(|_| !iss.is_empty()) {
            return Some((known, "".into()));
        }
        if let Some((template, name)) = Issuer::template(iss)
            && let Some(known) = self.issuers.get(&template)
        {
            return Some((known, name.into()));
        }
        let vouched = self.issuers.get("")?;
        let claimed = Claims::read(payload, &vouched.profile, "")?.tenant?;
        Some((vouched, claimed))
    }

    /// The keys of the tenant. A name that is none leads nowhere.
    fn slot(
        slots: &Slots,
        tenant: Option<Tenant>,
        now: Timestamp,
        fetch: Fetch,
    ) -> Result<Arc<Slot>, Refusal> {
        let tenant = tenant.ok_or(Refusal::Malformed)?;
        let slot = match fetch {
            Fetch::Never => slots.find(&tenant, now),
            Fetch::Wanted => slots.open(&tenant, now),
        };
        slot.ok_or(Refusal::Unavailable)
    }

    fn look(
        &self,
        token: &str,
        now: Timestamp,
        own: Option<&Tenant>,
        fetch: Fetch,
    ) -> Result<Verified, Unverified> {
        if token.len() > TOKEN_LIMIT {
            return Err(Refusal::Malformed.into());
        }
        let parts = Parts::of(token).ok_or(Refusal::Malformed)?;
        let header = Header::read(&parts.header).ok_or(Refusal::Malformed)?;
        let UnverifiedClaims { iss } =
            serde_json::from_slice(&parts.payload).map_err(|_| Refusal::Malformed)?;
        let (issuer, name) = self.issuer(&iss, &parts.payload).ok_or(Refusal::Malformed)?;
        let profile = &issuer.profile;
        if !issuer.algorithms.contains(&header.algorithm) || !header.is_one_of(&profile.types) {
            return Err(Refusal::Malformed.into());
        }
        let good = |key: &PublicKey| key.signed(parts.signed, &parts.signature);
        let fetched = |slot: Arc<Slot>| {
            let Some(kept) = slot.keys(now) else {
                return Err(Unverified::NoKey(slot));
            };
            let named = issuer.tenants != TenantRule::Vouched || kept.issuer.as_deref() == Some(&*iss);
            match usable(&kept.keys, &header.kid, header.algorithm).filter(|_| named) {
                None => Err(Unverified::NoKey(slot)),
                Some(_) if kept.is_old(now) && fetch == Fetch::Wanted => Err(Unverified::NoKey(slot)),
                Some(key) => Ok((good(key), kept.tenant)),
            }
        };
        let (signed, vouched) = match &issuer.keys {
            KnownKeys::Static(keys) => {
                let key = usable(keys, &header.kid, header.algorithm);
                (key.is_some_and(good), None)
            }
            KnownKeys::Fetched(slot) => fetched(Arc::clone(slot))?,
            KnownKeys::Each(slots) => fetched(Self::slot(slots, named(&issuer.tenants, &name), now, fetch)?)?,
        };
        if !signed {
            return Err(Refusal::Malformed.into());
        }

        let audience = profile.audience.as_ref().unwrap_or(&self.audience);
        let claims = Claims::read(&parts.payload, profile, audience).ok_or(Refusal::Malformed)?;
        let tenant = tenant_of(issuer, (&name, vouched), claims.tenant.as_deref());
        let tenant = tenant.ok_or(Refusal::WrongTenant)?;
        if own.is_some() && own != tenant.as_ref() {
            return Err(Refusal::WrongTenant.into());
        }
        let nobody = claims.sub == Owner::anonymous().as_str();
        if !claims.for_us || nobody || Owner::parse(&claims.sub).is_err() {
            return Err(Refusal::Malformed.into());
        }
        let soon = now.after(LEEWAY).seconds();
        if claims.nbf.is_some_and(|from| from > soon) || claims.iat.is_some_and(|made| made > soon) {
            return Err(Refusal::Malformed.into());
        }
        let lasts = claims.exp.saturating_sub(claims.iat.unwrap_or(soon));
        if issuer.tenants != TenantRule::Platform && lasts > LONGEST {
            return Err(Refusal::Malformed.into());
        }
        if claims.exp <= now.before(LEEWAY).seconds() {
            return Err(Refusal::Expired.into());
        }
        let mut scopes = claims.scopes;
        if issuer.tenants != TenantRule::Platform {
            // No issuer of tenants can grant the platform's own rights.
            scopes.retain(|scope| !PLATFORM_SCOPES.contains(&scope.as_str()));
        }
        match (&issuer.tenants, &issuer.keys) {
            // A tenant's own key, vouched for or written down; whose keys are fetched from elsewhere may be anybody's.
            (TenantRule::Vouched, _) | (TenantRule::One(_), KnownKeys::Static(_)) => {}
            // What it let its client of that name do, the tenant's host alone can.
            (TenantRule::Named, _) if claims.client.is_some_and(|client| client == HOST_CLIENT) => {
                scopes.insert(DELEGATED.to_owned());
            }
            _ => {
                scopes.remove(DELEGATED);
            }
        }
        Ok(Verified {
            issuer: iss.into_owned(),
            subject: claims.sub.into_owned(),
            tenant,
            scopes,
            expires_at: Timestamp::from_millis(claims.exp.saturating_mul(1000)),
        })
    }
}

impl std::fmt::Debug for Verifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Verifier")
            .field("audience", &self.audience)
            .finish_non_exhaustive()
    }
}

/// Whether keys that are old are to be fetched again first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fetch {
    Never,
    Wanted,
}

/// Keys that are written down must all be usable: one that is not is a mistake that should be found at the start.
fn static_keys(jwks: &[serde_json::Value], algorithms: &[Algorithm]) -> Result<Keys, KeyError> {
    let mut keys = Keys::new();
    for jwk in jwks {
        let (kid, key) = PublicKey::read(jwk)?;
        if !algorithms.contains(&key.algorithm) {
            return Err(KeyError::Unusable("of an algorithm that its issuer does not use"));
        }
        keys.insert(kid, key);
    }
    Ok(keys)
}

/// The tenant that is named so: a template's `iss` ends in its prefix, a claim holds its name alone.
fn named(rule: &TenantRule, name: &str) -> Option<Tenant> {
    match rule {
        TenantRule::Named => Tenant::from_prefix(name).ok(),
        _ => Tenant::parse(name).ok(),
    }
}

/// The tenant a token is for, where its issuer may speak for it: the outer `None` where it may not, the inner one for
/// the platform. `name` is the tenant's in the issuer's own name, where it stands there, and `vouched` the incarnation that
/// the tenant's key document names: no claim is asked for that.
fn tenant_of(
    issuer: &IssuerKeys,
    (name, vouched): (&str, Option<Tenant>),
    told: Option<&str>,
) -> Option<Option<Tenant>> {
    let silent = issuer.profile.tenant_claim.is_none();
    match &issuer.tenants {
        TenantRule::Platform => told.is_none().then_some(None),
        TenantRule::One(tenant) => (silent || told == Some(tenant.name())).then(|| Some(tenant.clone())),
        TenantRule::Claim(allowed) => {
            let told = told?;
            allowed
                .iter()
                .find(|tenant| tenant.name() == told)
                .cloned()
                .map(Some)
        }
        rule @ (TenantRule::Named | TenantRule::Vouched) => {
            let tenant = match (rule, vouched) {
                (TenantRule::Vouched, Some(vouched)) => {
                    Some(vouched).filter(|tenant| tenant.name() == name)?
                }
                _ => named(rule, name)?,
            };
            (silent || told == Some(tenant.name())).then_some(Some(tenant))
        }
    }
}

impl Verified {
    /// The caller, where the token allows all the words of `needed_scope` and its tenant is the agent's own (or the
    /// agent has none).
    ///
    /// # Errors
    /// [`Refusal::WrongTenant`] where it is another tenant's or the platform's, [`Refusal::SmallScope`].
    pub fn caller(&self, own: Option<&Tenant>, needed_scope: &str) -> Result<Caller, Refusal> {
        let tenant = self.tenant.as_ref().ok_or(Refusal::WrongTenant)?;
        if own.is_some_and(|own| own != tenant) {
            return Err(Refusal::WrongTenant);
        }
        let mut words = needed_scope.split_ascii_whitespace();
        if !words.all(|scope| self.scopes.contains(scope)) {
            return Err(Refusal::SmallScope {
                needed: needed_scope.to_owned(),
            });
        }
        Ok(Caller {
            tenant: tenant.clone(),
            owner: Owner::parse(&self.subject).map_err(|_| Refusal::Malformed)?,
            scopes: self.scopes.clone(),
        })
    }
}

#[cfg(test)]
mod tests;
