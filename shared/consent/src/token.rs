//! The access token that a user granted, with every call that needs it.
//!
//! A token that has expired is renewed once, however many tasks find it expired at the same time, and the call is made
//! again without anybody seeing it. What cannot be renewed is removed, and the user is asked for consent again.

use std::future::Future;
use std::time::Duration;

use auth::GrantSecrets;
use domain::{GrantKey, Owner, SecretString};
use outbound::CallError;
use outbound::oauth::{Dialect, OAuthError, Provider, Refresh, Tokens};
use store::audit::{self, Action, Actor};
use store::{Claim, StoreError, StoredGrant};

use crate::consents::Consents;
use crate::scopes::{covers, union, wider};
use crate::stage::Consent;

/// How long one renewal has; then somebody else may try.
const CLAIM: Duration = Duration::from_secs(30);
/// How often another's renewal is looked at. Two refreshes of one token would revoke both.
const WAIT: Duration = Duration::from_millis(100);
/// How many looks that may take.
const WAITS: usize = 100;

/// The grant that a call needs.
#[derive(Debug, Clone, Copy)]
pub struct GrantNeed<'a> {
    /// In whose name the call is made.
    pub owner: &'a Owner,
    /// The id of the authorization server in our configuration.
    pub provider: &'a str,
    /// The resource that is called: the audience of its tokens.
    pub resource: &'a str,
    /// The scopes that the call needs.
    pub scopes: &'a [String],
}

impl GrantNeed<'_> {
    fn consent(&self) -> Obstacle {
        Obstacle::Consent(self.scopes.to_vec())
    }
}

/// Why a call was not made, or had no answer.
#[derive(Debug, thiserror::Error)]
pub enum Obstacle {
    /// The call failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The user must first consent to these scopes.
    #[error("the user must consent first")]
    Consent(Vec<String>),
    /// Not the fault of who is called; worth another try.
    #[error("{0}")]
    Later(&'static str),
}

impl Obstacle {
    /// True where the same call may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Call(error) => error.is_retryable(),
            Self::Consent(_) => false,
            Self::Later(_) => true,
        }
    }
}

impl From<StoreError> for Obstacle {
    fn from(error: StoreError) -> Self {
        tracing::warn!(
            error = &error as &dyn std::error::Error,
            "a grant cannot be read or written"
        );
        Self::Later("What you have agreed to cannot be looked up at the moment.")
    }
}

impl Consents {
    /// The grant, if its owner has given one; whatever its scopes are. One whose giver is let in no more is ended here.
    ///
    /// # Errors
    /// What the database says.
    pub async fn grant(&self, need: GrantNeed<'_>) -> Result<Option<StoredGrant>, StoreError> {
        let found = self.grants().find_grant(self.grant_key(need)).await?;
        let Some(grant) = found.filter(|grant| !grant.is_over(self.clock.now())) else {
            return Ok(None);
        };
        self.counting(need.owner, grant).await
    }

    /// What the user has granted before for what this consent asks for, where it is good for all of that and can be renewed.
    /// Asked of providers alone that give a refresh token once.
    ///
    /// # Errors
    /// What the database says.
    pub async fn renewable(&self, consent: &Consent) -> Result<Option<GrantSecrets>, StoreError> {
        let provider = self.provider(&consent.request.provider);
        if provider.is_none_or(|provider| provider.dialect == Dialect::Standard) {
            return Ok(None);
        }
        let request = &consent.request;
        let need = GrantNeed {
            owner: &request.owner,
            provider: &request.provider,
            resource: &request.resource,
            scopes: &[],
        };
        let opened = self.grant(need).await?.and_then(|grant| self.open(need, &grant));
        Ok(opened
            .filter(|held| held.refresh_token.is_some() && covers(&held.scopes, &consent.request.scopes)))
    }

    /// Makes a call with the user's token; once more with a renewed one where it has expired.
    ///
    /// # Errors
    /// [`Obstacle`]: what the call said, or what must happen before it can be made.
    pub async fn with_token<T, F>(
        &self,
        need: GrantNeed<'_>,
        call: impl Fn(SecretString) -> F,
    ) -> Result<T, Obstacle>
    where
        F: Future<Output = Result<T, CallError>>,
    {
        let grant = self.grant(need).await?.ok_or_else(|| need.consent())?;
        if !covers(&grant.scopes, need.scopes) {
            return Err(Obstacle::Consent(union(&grant.scopes, need.scopes)));
        }
        let granted = grant.scopes.clone();
        let token = self.token_of(need, &grant).await?;
        let answered = match call(token).await {
            Err(CallError::Unauthorized { expired, challenge }) => {
                if !expired && !self.may_be_over(need, &grant) {
                    return Err(CallError::Unauthorized { expired, challenge }.into());
                }
                let token = self.renew(need, grant).await?;
                tracing::info!(
                    provider = need.provider,
                    "grant renewed; the call is made once more"
                );
                call(token).await
            }
            answered => answered,
        };
        if let Err(CallError::Forbidden {
            challenge: Some(challenge),
        }) = &answered
            && let Some(needed) = wider(challenge, &granted)
        {
            return Err(Obstacle::Consent(needed));
        }
        Ok(answered?)
    }

    /// Whether a renewal may help where a call was refused without a word on why: many say no more than 401 of a token that has
    /// run out. A token that cannot be renewed is over where its record says so; any other is good, and it is something else that
    /// the agent wants.
    fn may_be_over(&self, need: GrantNeed<'_>, grant: &StoredGrant) -> bool {
        let secrets = self.open(need, grant);
        secrets
            .is_some_and(|secrets| secrets.refresh_token.is_some() || secrets.expires_at <= self.clock.now())
    }

    /// A new access token in place of the one that has expired.
    async fn renew(&self, need: GrantNeed<'_>, seen: StoredGrant) -> Result<SecretString, Obstacle> {
        let (grants, key) = (self.grants(), self.grant_key(need));
        for _ in 0..WAITS {
            let now = self.clock.now();
            match grants
                .claim_refresh(key, seen.version, now, now.after(CLAIM))
                .await?
            {
                Claim::Yes => return self.renew_claimed(need, &seen).await,
                Claim::Gone => return Err(need.consent()),
                Claim::Changed(grant) => return self.token_of(need, &grant).await,
                // Somebody else renews it: theirs is as good.
                Claim::Busy => tokio::time::sleep(WAIT).await,
            }
        }
        Err(Obstacle::Later("The sign-in service takes too long to answer."))
    }

    async fn renew_claimed(&self, need: GrantNeed<'_>, seen: &StoredGrant) -> Result<SecretString, Obstacle> {
        let (grants, key) = (self.grants(), self.grant_key(need));
        let (Some(secrets), Some(provider)) = (self.open(need, seen), self.provider(need.provider)) else {
            return self.unusable(need, seen).await;
        };
        let Some(refresh_token) = &secrets.refresh_token else {
            return self.unusable(need, seen).await;
        };
        let refresh = Refresh {
            token: refresh_token,
            resource: need.resource,
        };
        let refreshed = self.refresh(provider, refresh).await;
        let result = match &refreshed {
            Ok(_) => audit::DONE,
            Err(error) if error.is_refusal() => "refused",
            Err(_) => "failed",
        };
        let (tenant, owner) = (Some(&self.tenant), Actor::Owner(need.owner));
        let audit = self.store.audit(self.clock.now());
        audit
            .tell(Action::GrantRenew, tenant, owner, need.provider, result)
            .await;
        let renewed = match refreshed {
            Ok(tokens) => tokens.refreshed(&secrets, self.clock.now()),
            // Whatever word it has for that: tried again, it would say the same for ever.
            Err(error) if error.is_refusal() => {
                tracing::warn!(provider = need.provider, error = %error, "the provider renews the grant no more");
                return self.unusable(need, seen).await;
            }
            Err(error) => {
                tracing::warn!(
                    provider = need.provider,
                    error = &error as &dyn std::error::Error,
                    "the grant could not be renewed"
                );
                // Written as it was, it is free for the next try.
                grants
                    .replace_grant(key, seen.version, &seen.scopes, &seen.sealed, self.clock.now())
                    .await?;
                return Err(Obstacle::Later(
                    "The sign-in service cannot be reached at the moment.",
                ));
            }
        };
        let sealed = renewed.seal(&self.sealer, &key, self.entropy.as_ref());
        let now = self.clock.now();
        if grants
            .replace_grant(key, seen.version, &renewed.scopes, &sealed, now)
            .await?
        {
            return Ok(renewed.access_token);
        }
        // Taken back, or given anew, while it was being renewed: what is there now counts.
        match self.grant(need).await? {
            Some(grant) => self.token_of(need, &grant).await,
            None => Err(need.consent()),
        }
    }

    async fn refresh(&self, provider: &Provider, refresh: Refresh<'_>) -> Result<Tokens, OAuthError> {
        let server = self.outbound.server_metadata(&provider.issuer).await?;
        self.outbound
            .refresh(&server.token_endpoint, provider, refresh)
            .await
    }

    async fn token_of(&self, need: GrantNeed<'_>, grant: &StoredGrant) -> Result<SecretString, Obstacle> {
        match self.open(need, grant) {
            Some(secrets) => Ok(secrets.access_token),
            None => self.unusable(need, grant).await,
        }
    }

    /// Removes a grant that is good for nothing any more.
    async fn unusable(&self, need: GrantNeed<'_>, seen: &StoredGrant) -> Result<SecretString, Obstacle> {
        let key = self.grant_key(need);
        self.grants().drop_grant(key, seen.version).await?;
        Err(need.consent())
    }

    pub(crate) fn open(&self, need: GrantNeed<'_>, grant: &StoredGrant) -> Option<GrantSecrets> {
        let opened = GrantSecrets::open(&self.sealer, &grant.sealed, &self.grant_key(need));
        opened
            .inspect_err(
                |error| tracing::warn!(provider = need.provider, error = %error, "a grant does not open"),
            )
            .ok()
    }

    pub(crate) fn grant_key<'a>(&'a self, need: GrantNeed<'a>) -> GrantKey<'a> {
        GrantKey {
            tenant: &self.tenant,
            owner: need.owner,
            provider: need.provider,
            resource: need.resource,
        }
    }
}
