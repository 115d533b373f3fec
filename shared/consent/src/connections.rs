//! Where a user is connected, and the end of that by the user's word.

use std::collections::BTreeMap;
use std::time::Duration;

use a2a::Connection;
use domain::{AgentName, Owner, Task, TaskState};
use outbound::oauth::{OAuthError, TokenKind};
use store::audit::{self, Action, Actor};
use store::{StoreError, StoredGrant, TaskKey, TaskQuery};

use crate::consents::Consents;
use crate::records::Unrevised;
use crate::stage::{Consent, Stage};
use crate::token::GrantNeed;

/// Most tasks of a user that are looked through for consents that are waited for.
const WAITING_MAX: u32 = 100;
/// How long a process has, from ending a consent to waking its task, before somebody else looks.
const IN_HAND: Duration = Duration::from_secs(30);

/// The tasks that may wait for consents.
pub struct Waiting<'a> {
    /// The agent that works on them.
    pub agent: &'a AgentName,
    /// The ids of the consents that a task waits for.
    pub consents: &'a (dyn Fn(&Task) -> Vec<String> + Sync),
}

/// The end of a connection.
#[derive(Debug)]
pub struct Ended {
    /// Whether its provider could be told.
    pub revoked: bool,
    /// The tasks that waited for more of it. They are due; whoever called wakes them.
    pub tasks: Vec<TaskKey>,
}

impl Consents {
    /// Where a user is connected, by provider; `named` says who the agent at a resource is.
    ///
    /// # Errors
    /// What the database says.
    pub async fn connections(
        &self,
        owner: &Owner,
        named: impl Fn(&str) -> Option<String>,
    ) -> Result<Vec<Connection>, StoreError> {
        let mut grants = Vec::new();
        for grant in self.granted_by(owner, None).await? {
            if !grant.is_over(self.clock.now()) {
                grants.extend(self.counting(owner, grant).await?);
            }
        }
        let mut providers: BTreeMap<&str, Vec<&StoredGrant>> = BTreeMap::new();
        for grant in &grants {
            providers.entry(&grant.provider).or_default().push(grant);
        }
        let connection = |(provider, grants): (&str, Vec<&StoredGrant>)| {
            let mut scopes: Vec<String> = grants.iter().flat_map(|grant| grant.scopes.clone()).collect();
            scopes.sort();
            scopes.dedup();
            let account = |grant: &&StoredGrant| self.open(needed(owner, grant), grant)?.id_token_subject;
            let mut agents: Vec<String> = grants.iter().filter_map(|grant| named(&grant.resource)).collect();
            agents.sort();
            agents.dedup();
            // A use whose token has run out fetches another: the last of these is the last use, to a token's life.
            Some(Connection {
                id: provider.to_owned(),
                provider: provider.to_owned(),
                account: grants.iter().find_map(account),
                scopes,
                agent: Some(agents.join(", ")).filter(|names| !names.is_empty()),
                agents: grants.len(),
                connected_at: grants.iter().map(|grant| grant.created_at).min()?,
                last_used_at: grants.iter().map(|grant| grant.updated_at).max()?,
            })
        };
        Ok(providers.into_iter().filter_map(connection).collect())
    }

    /// Ends all that a user has granted at a provider, and what is still asked for there: it is gone here first, and then
    /// revoked at the provider. `None` where there is nothing.
    ///
    /// # Errors
    /// What the database says. What was not ended then is there for another try.
    pub async fn disconnect(
        &self,
        owner: &Owner,
        provider: &str,
        waiting: Waiting<'_>,
    ) -> Result<Option<Ended>, StoreError> {
        if self.granted_by(owner, Some(provider)).await?.is_empty() {
            return Ok(None);
        }
        self.end_connections(owner, Some(provider), waiting)
            .await
            .map(Some)
    }

    /// Ends all that a user has granted anywhere, and all that is still asked for, also where nothing was granted yet.
    ///
    /// # Errors
    /// As [`Consents::disconnect`].
    pub async fn disconnect_all(&self, owner: &Owner, waiting: Waiting<'_>) -> Result<Ended, StoreError> {
        self.end_connections(owner, None, waiting).await
    }

    async fn end_connections(
        &self,
        owner: &Owner,
        provider: Option<&str>,
        waiting: Waiting<'_>,
    ) -> Result<Ended, StoreError> {
        // First, so that what is under way in a browser brings nothing back; what it has just brought is there then.
        let tasks = self.withdraw(owner, provider, waiting).await?;
        let mut gone = Vec::new();
        for grant in self.granted_by(owner, provider).await? {
            let need = needed(owner, &grant);
            // What was there last has the newest tokens; where that answer is lost, what was listed must do.
            let last = self.grants().delete_grant(self.grant_key(need)).await?;
            gone.push(last.unwrap_or(grant));
        }
        let revoked = self.ended(owner, provider.unwrap_or("every one"), &gone).await;
        Ok(Ended { revoked, tasks })
    }

    /// A grant whose giver is let in now as they were then; any other is ended.
    pub(crate) async fn counting(
        &self,
        owner: &Owner,
        grant: StoredGrant,
    ) -> Result<Option<StoredGrant>, StoreError> {
        let counts = match &grant.person {
            Some(person) => self.store.admits(&self.tenant, person, self.clock.now()).await?,
            None => true,
        };
        if counts {
            return Ok(Some(grant));
        }
        let key = self.grant_key(needed(owner, &grant));
        if self.grants().drop_grant(key, grant.version).await? {
            self.ended(owner, &grant.provider, std::slice::from_ref(&grant))
                .await;
        }
        Ok(None)
    }

    /// Has providers revoke what is gone here, and tells of it; whether each could be told. Nobody else has these tokens: whatever the
    /// provider says, they are good for nothing from here on.
    async fn ended(&self, owner: &Owner, object: &str, gone: &[StoredGrant]) -> bool {
        let mut revoked = true;
        for grant in gone {
            if let Err(error) = self.revoke(owner, grant).await {
                tracing::warn!(
                    tenant.id = self.tenant.name(),
                    provider = grant.provider,
                    error = &error as &dyn std::error::Error,
                    "a grant was not revoked at its provider"
                );
                revoked = false;
            }
        }
        // Nothing ended, nothing to tell of.
        if !gone.is_empty() {
            let result = if revoked { audit::DONE } else { "not_revoked_there" };
            let (tenant, owner) = (Some(&self.tenant), Actor::Owner(owner));
            let audit = self.store.audit(self.clock.now());
            audit.tell(Action::GrantEnd, tenant, owner, object, result).await;
        }
        revoked
    }

    /// What a user has granted at a provider, or anywhere.
    async fn granted_by(
        &self,
        owner: &Owner,
        provider: Option<&str>,
    ) -> Result<Vec<StoredGrant>, StoreError> {
        let mut grants = self.grants().list_grants(&self.tenant, owner).await?;
        grants.retain(|grant| provider.is_none_or(|provider| grant.provider == provider));
        Ok(grants)
    }

    /// The other tasks of its user that wait for a consent at a task's agent: what was given for this one may be what they wait for
    /// too. They are due; whoever called wakes them.
    ///
    /// # Errors
    /// What the database says.
    pub async fn others_waiting(&self, task: &Task) -> Result<Vec<TaskKey>, StoreError> {
        let mut keys = Vec::new();
        for other in self.waiting(&task.owner, &task.agent).await? {
            if other.id != task.id {
                let key = TaskKey::from(&other);
                self.store.tasks().make_due(&key, self.clock.now()).await?;
                keys.push(key);
            }
        }
        Ok(keys)
    }

    /// The tasks of a user that wait for a consent at an agent.
    async fn waiting(&self, owner: &Owner, agent: &AgentName) -> Result<Vec<Task>, StoreError> {
        let query = TaskQuery {
            tenant: &self.tenant,
            agent,
            owner,
            context: None,
            state: Some(TaskState::AuthRequired),
            changed_since: None,
            limit: WAITING_MAX,
            cursor: None,
            now: self.clock.now(),
        };
        Ok(self.store.tasks().query(query).await?.tasks)
    }

    /// Refuses what a user is still asked for at a provider, or anywhere; the tasks that waited for it.
    async fn withdraw(
        &self,
        owner: &Owner,
        provider: Option<&str>,
        waiting: Waiting<'_>,
    ) -> Result<Vec<TaskKey>, StoreError> {
        let (records, tasks, now) = (self.records(), self.store.tasks(), self.clock.now());
        let mut ended = Vec::new();
        for task in self.waiting(owner, waiting.agent).await? {
            let key = TaskKey::from(&task);
            for id in (waiting.consents)(&task) {
                let Some(consent) = records.find(&id).await? else {
                    continue;
                };
                let request = &consent.request;
                let is_there = provider.is_none_or(|provider| request.provider == provider);
                let is_asked = is_there && request.owner == *owner;
                if !is_asked || matches!(consent.stage, Stage::Done | Stage::Denied) {
                    continue;
                }
                // Before it is written: whoever dies in between leaves a task that somebody looks at.
                tasks.make_due(&key, now.after(IN_HAND)).await?;
                match records.revise(consent, Consent::withdraw).await {
                    Ok(_) => ended.push(key.clone()),
                    Err(Unrevised::Store(error)) => return Err(error),
                    // It was given at the same moment: what that brought ends with the rest.
                    Err(Unrevised::Refused(_) | Unrevised::Missing | Unrevised::Contended) => {}
                }
            }
        }
        ended.dedup();
        Ok(ended)
    }

    /// Revokes the refresh token, and with it all that came of it; or what there is.
    async fn revoke(&self, owner: &Owner, grant: &StoredGrant) -> Result<(), OAuthError> {
        let provider = self.provider(&grant.provider);
        let provider = provider.ok_or(OAuthError::Metadata("the provider is not set up any more"))?;
        let secrets = self.open(needed(owner, grant), grant);
        let secrets = secrets.ok_or(OAuthError::Metadata("the grant does not open"))?;
        let server = self.outbound.server_metadata(&provider.issuer).await?;
        let endpoint = server
            .revocation_endpoint
            .ok_or(OAuthError::Metadata("it revokes nothing"))?;
        let token = match &secrets.refresh_token {
            Some(token) => (TokenKind::Refresh, token),
            None => (TokenKind::Access, &secrets.access_token),
        };
        self.outbound.revoke(&endpoint, provider, token).await
    }
}

/// A grant as calls name it.
fn needed<'a>(owner: &'a Owner, grant: &'a StoredGrant) -> GrantNeed<'a> {
    GrantNeed {
        owner,
        provider: &grant.provider,
        resource: &grant.resource,
        scopes: &[],
    }
}
