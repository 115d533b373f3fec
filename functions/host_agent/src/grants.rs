//! The access token that goes to an agent with a call: ours for our own, the user's grant for one that is protected.
//!
//! A grant that has run out is renewed once, whoever else finds it run out at the same time, and the call is made again
//! without anybody seeing it. What cannot be renewed is removed, and the user is asked for consent again.

use std::future::Future;
use std::time::Duration;

use auth::{GrantBinding, GrantSecrets};
use domain::{Job, Protection, SecretString, Task, Timestamp, TraceParent};
use outbound::CallError;
use outbound::oauth::{OAuthError, Provider, Refresh, Tokens};
use store::{Claim, GrantKey, StoreError, StoredGrant};

use crate::host::Host;

/// How long one renewal has; then somebody else may try.
const CLAIM: Duration = Duration::from_secs(30);
/// How long another's renewal is waited for, and how often it is looked at.
const WAIT: Duration = Duration::from_millis(100);
const WAITS: usize = 100;
/// Most scopes that one challenge is believed to need.
const SCOPES_MAX: usize = 20;

/// Why an agent was not called, or did not answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Obstacle {
    /// The call failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The user must first consent to these scopes.
    #[error("the user must consent first")]
    Consent(Vec<String>),
    /// Not its agent's fault; worth another try.
    #[error("{0}")]
    Later(&'static str),
}

impl Obstacle {
    /// True where the same call may succeed later.
    pub(crate) fn is_retryable(&self) -> bool {
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

impl Host {
    /// Makes a call with the token that the job's agent takes; once more where that token has run out.
    pub(crate) async fn with_token<T, F>(
        &self,
        task: &Task,
        job: &Job,
        now: Timestamp,
        call: impl Fn(SecretString) -> F,
    ) -> Result<T, Obstacle>
    where
        F: Future<Output = Result<T, CallError>>,
    {
        let Some(protection) = &job.protection else {
            return match call(self.own_token(task, job, now)?).await {
                // The agent's clock is ahead of ours, or the call waited too long: once more with a fresh token.
                Err(CallError::Unauthorized { expired: true, .. }) => {
                    Ok(call(self.own_token(task, job, self.clock.now())?).await?)
                }
                answered => Ok(answered?),
            };
        };
        let key = grant_key(task, job, protection);
        let Some(grant) = self.store.grants().find_grant(key).await? else {
            return Err(Obstacle::Consent(protection.scopes.clone()));
        };
        if !covers(&grant.scopes, &protection.scopes) {
            return Err(Obstacle::Consent(union(&grant.scopes, &protection.scopes)));
        }
        let granted = grant.scopes.clone();
        let held = Held { key, protection };
        let token = match self.open(&held, &grant) {
            Some(secrets) => secrets.access_token,
            None => self.unusable(&held, &grant).await?,
        };
        let answered = match call(token).await {
            Err(CallError::Unauthorized { expired: true, .. }) => {
                let token = self.renew(task, &held, grant).await?;
                tracing::info!(task.id = %task.id, job = job.number, "grant renewed; the call is made once more");
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

    fn own_token(&self, task: &Task, job: &Job, now: Timestamp) -> Result<SecretString, CallError> {
        let signed = self.access.agent(&task.owner, job.endpoint.url.as_str(), now);
        signed.map_err(|error| CallError::NotAllowed(error.to_string()))
    }

    /// A new access token in place of the one that was seen to have run out.
    async fn renew(&self, task: &Task, held: &Held<'_>, seen: StoredGrant) -> Result<SecretString, Obstacle> {
        let grants = self.store.grants();
        for _ in 0..WAITS {
            let now = self.clock.now();
            match grants
                .claim_refresh(held.key, seen.version, now, now.after(CLAIM))
                .await?
            {
                Claim::Yes => return self.renew_claimed(task, held, &seen).await,
                Claim::Gone => return Err(held.consent()),
                Claim::Changed(grant) => return self.token_of(held, &grant).await,
                // Somebody else renews it: theirs is as good.
                Claim::Busy => tokio::time::sleep(WAIT).await,
            }
        }
        Err(Obstacle::Later("The sign-in service takes too long to answer."))
    }

    async fn renew_claimed(
        &self,
        task: &Task,
        held: &Held<'_>,
        seen: &StoredGrant,
    ) -> Result<SecretString, Obstacle> {
        let grants = self.store.grants();
        let (Some(secrets), Some(provider)) =
            (self.open(held, seen), self.provider(&held.protection.provider))
        else {
            return self.unusable(held, seen).await;
        };
        let Some(refresh_token) = &secrets.refresh_token else {
            return self.unusable(held, seen).await;
        };
        let refresh = Refresh {
            token: refresh_token,
            resource: held.key.resource,
        };
        let renewed = match self.exchange(provider, refresh, task.trace.as_ref()).await {
            Ok(tokens) => tokens.refreshed(&secrets, self.clock.now()),
            Err(error) if error.is_invalid_grant() => {
                tracing::info!(provider = held.key.provider, error = %error, "the provider renews the grant no more");
                return self.unusable(held, seen).await;
            }
            Err(error) => {
                tracing::warn!(
                    provider = held.key.provider,
                    error = &error as &dyn std::error::Error,
                    "the grant could not be renewed"
                );
                // Written as it was, it is free for the next try.
                let scopes = &seen.scopes;
                grants
                    .replace_grant(held.key, seen.version, scopes, &seen.sealed, self.clock.now())
                    .await?;
                return Err(Obstacle::Later(
                    "The sign-in service cannot be reached at the moment.",
                ));
            }
        };
        let sealed = renewed.seal(&self.sealer, &held.binding(), self.entropy.as_ref());
        let now = self.clock.now();
        if grants
            .replace_grant(held.key, seen.version, &renewed.scopes, &sealed, now)
            .await?
        {
            return Ok(renewed.access_token);
        }
        // Taken back, or given anew, while it was being renewed: what is there now counts.
        match grants.find_grant(held.key).await? {
            Some(grant) => self.token_of(held, &grant).await,
            None => Err(held.consent()),
        }
    }

    async fn exchange(
        &self,
        provider: &Provider,
        refresh: Refresh<'_>,
        trace: Option<&TraceParent>,
    ) -> Result<Tokens, OAuthError> {
        let server = self.outbound.server_metadata(&provider.issuer, trace).await?;
        self.outbound
            .refresh(&server.token_endpoint, &provider.client, refresh, trace)
            .await
    }

    async fn token_of(&self, held: &Held<'_>, grant: &StoredGrant) -> Result<SecretString, Obstacle> {
        match self.open(held, grant) {
            Some(secrets) => Ok(secrets.access_token),
            None => self.unusable(held, grant).await,
        }
    }

    /// Removes a grant that is good for nothing any more.
    async fn unusable(&self, held: &Held<'_>, seen: &StoredGrant) -> Result<SecretString, Obstacle> {
        self.store.grants().drop_grant(held.key, seen.version).await?;
        Err(held.consent())
    }

    fn open(&self, held: &Held<'_>, grant: &StoredGrant) -> Option<GrantSecrets> {
        let opened = GrantSecrets::open(&self.sealer, &grant.sealed, &held.binding());
        opened
            .inspect_err(
                |error| tracing::warn!(provider = held.key.provider, error = %error, "a grant does not open"),
            )
            .ok()
    }
}

/// A grant that a call needs.
struct Held<'a> {
    key: GrantKey<'a>,
    protection: &'a Protection,
}

impl Held<'_> {
    fn consent(&self) -> Obstacle {
        Obstacle::Consent(self.protection.scopes.clone())
    }

    fn binding(&self) -> GrantBinding<'_> {
        binding(self.key)
    }
}

/// The grant that a job's calls need: of the task's owner, for that agent alone.
pub(crate) fn grant_key<'a>(task: &'a Task, job: &'a Job, protection: &'a Protection) -> GrantKey<'a> {
    GrantKey {
        tenant: &task.tenant,
        owner: &task.owner,
        provider: &protection.provider,
        resource: job.endpoint.url.as_str(),
    }
}

/// What a grant's secrets are bound to.
pub(crate) fn binding(key: GrantKey<'_>) -> GrantBinding<'_> {
    let GrantKey {
        tenant,
        owner,
        provider,
        resource,
    } = key;
    GrantBinding {
        tenant,
        owner,
        provider,
        resource,
    }
}

/// True where everything needed was granted.
pub(crate) fn covers(granted: &[String], needed: &[String]) -> bool {
    needed.iter().all(|scope| granted.contains(scope))
}

/// Both, each scope once.
pub(crate) fn union(known: &[String], more: &[String]) -> Vec<String> {
    let mut all = known.to_vec();
    for scope in more {
        if !all.contains(scope) {
            all.push(scope.clone());
        }
    }
    all
}

/// The scopes that a 403's challenge asks for beyond those granted; `None` where more consent would not help.
fn wider(challenge: &str, granted: &[String]) -> Option<Vec<String>> {
    if !challenge.contains("insufficient_scope") {
        return None;
    }
    let (before, rest) = challenge.split_once("scope=\"")?;
    // `error_scope="…"` or the like is another parameter.
    before.ends_with([' ', ',']).then_some(())?;
    let (list, _) = rest.split_once('"')?;
    let plain = |scope: &&str| scope.bytes().all(|b| b.is_ascii_graphic() && b != b'\\');
    let told: Vec<String> = list
        .split(' ')
        .filter(|scope| !scope.is_empty())
        .filter(plain)
        .take(SCOPES_MAX)
        .map(str::to_owned)
        .collect();
    (!covers(granted, &told)).then(|| union(granted, &told))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scopes(list: &[&str]) -> Vec<String> {
        list.iter().map(|scope| (*scope).to_owned()).collect()
    }

    #[test]
    fn a_challenge_widens_only_by_what_is_not_granted_yet() {
        let granted = scopes(&["tasks"]);
        let challenge = "Bearer realm=\"x\", error=\"insufficient_scope\", error_description=\"no\", scope=\"tasks orders:read\"";
        assert_eq!(
            wider(challenge, &granted),
            Some(scopes(&["tasks", "orders:read"]))
        );
        assert_eq!(
            wider(challenge, &scopes(&["orders:read", "tasks"])),
            None,
            "asking again would not help"
        );
        for other in [
            "",
            "Bearer",
            "Bearer error=\"insufficient_scope\"",
            "Bearer error=\"insufficient_scope\", scope=\"",
            "Bearer error=\"wrong_tenant\", scope=\"orders:read\"",
        ] {
            assert_eq!(wider(other, &granted), None, "{other}");
        }
    }
}
