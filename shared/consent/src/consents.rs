//! What a consent leads to: a grant at once, a code that the user types back, or a refusal.

use std::sync::Arc;
use std::time::Duration;

use auth::{ConsentSecrets, GrantSecrets, SealError, Sealer, consent_code};
use domain::{
    AgentName, Clock, Entropy, ExposeSecret as _, GrantKey, Message, MessageId, SecretString, Tenant,
    Timestamp,
};
use outbound::Outbound;
use outbound::oauth::{Provider, Providers};
use store::audit::{self, Action, Actor, Entry};
use store::{GivenGrant, Grants, Store, StoreError};

use crate::records::{ConsentStore, Unrevised};
use crate::stage::{Consent, ConsentRequest, InvalidMove, Stage, Started};

/// How long a link is good. It is worth nothing to anybody but the one who asked, so it may outlast a lunch break.
const LINK_LIFETIME: Duration = Duration::from_secs(24 * 3600);
/// How long a code can be typed back: a few letters must not be good for long.
const CODE_LIFETIME: Duration = Duration::from_secs(600);

/// The consents and grants of one tenant; a cheap clone.
#[derive(Clone)]
pub struct Consents {
    /// The tenant.
    pub tenant: Tenant,
    /// The agent of the platform that they are of; none for the tenant's own, which its host asks for.
    pub agent: Option<AgentName>,
    /// The database, through the one room that names it.
    pub store: Store,
    /// Seals grants, and the secrets of consents that are under way.
    pub sealer: Arc<Sealer>,
    /// The authorization servers that know us as a client.
    pub providers: Arc<Providers>,
    /// The HTTP client that calls them.
    pub outbound: Outbound,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The RNG of states, codes and seals.
    pub entropy: Arc<dyn Entropy>,
}

/// A code that a user typed back, and the message it stood in.
#[derive(Debug, Clone)]
pub struct TypedCode {
    code: consent_code::Typed,
    message: MessageId,
}

impl TypedCode {
    /// The code in the message, plain or masked; `None` where there is none.
    #[must_use]
    pub fn of(message: &Message) -> Option<Self> {
        Some(Self {
            code: consent_code::Typed::of(message)?,
            message: message.message_id.clone(),
        })
    }

    /// Whether it can be the code of the consent with this id; of an agent that asks itself, of this task of its.
    #[must_use]
    pub fn can_be_of(&self, place: &str) -> bool {
        self.code.can_be_of(place)
    }
}

/// The result of typing a code back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redeemed {
    /// It was right: the grant is the user's.
    Yes,
    /// It was wrong, or another consent's, or no code is awaited.
    No,
    /// It was wrong once too often: the consent has ended.
    Void,
}

impl Consents {
    /// The records.
    #[must_use]
    pub fn records(&self) -> ConsentStore {
        ConsentStore::new(self.store.clone(), self.tenant.clone()).of(self.agent.clone())
    }

    pub(crate) fn grants(&self) -> Grants<'_> {
        self.store.grants().of(self.agent.as_ref())
    }

    /// The same of another tenant.
    #[must_use]
    pub fn in_tenant(&self, tenant: Tenant) -> Self {
        Self {
            tenant,
            ..self.clone()
        }
    }

    /// The authorization server with this id, if it is configured.
    #[must_use]
    pub fn provider(&self, id: &str) -> Option<&Provider> {
        self.providers.get(id)
    }

    /// Stores a new consent, whose link is good for a day.
    ///
    /// # Errors
    /// What the database says.
    pub async fn request(&self, request: ConsentRequest) -> Result<Consent, StoreError> {
        let (id, now) = (self.entropy.uuid().to_string(), self.clock.now());
        let consent = Consent::new(id, request, now, now.after(LINK_LIFETIME));
        let entry = self.entry(Action::ConsentAsk, &consent, audit::DONE);
        self.telling(&entry).records().put(&consent).await?;
        entry.tell(&self.store).await;
        Ok(consent)
    }

    /// The same, whose next transaction carries this entry into the audit.
    fn telling(&self, entry: &Entry) -> Self {
        Self {
            store: self.store.telling(entry),
            ..self.clone()
        }
    }

    /// What was done about a consent, for the audit. Who did it is its owner, or a browser that nobody knows, which is shown a code.
    fn entry(&self, action: Action, consent: &Consent, result: &str) -> Entry {
        let owner = Actor::Owner(&consent.request.owner);
        self.store.audit(self.clock.now()).entry(
            action,
            Some(&self.tenant),
            if action == Action::ConsentHold {
                Actor::Unknown
            } else {
                owner
            },
            &format!("{}/{}", consent.request.provider, consent.request.task_id),
            result,
        )
    }

    async fn told(&self, action: Action, consent: &Consent, result: &str) {
        self.entry(action, consent, result).tell(&self.store).await;
    }

    /// The consent's start with these secrets, in the browser that got this cookie.
    #[must_use]
    pub fn started(&self, consent: &Consent, secrets: &ConsentSecrets, cookie: &SecretString) -> Started {
        Started {
            state_hash: auth::token::hash(secrets.state.expose_secret()),
            browser_hash: auth::token::hash(cookie.expose_secret()),
            sealed: secrets.seal(&self.sealer, &self.key(consent), self.entropy.as_ref()),
        }
    }

    /// The secrets that a consent was started with.
    ///
    /// # Errors
    /// [`SealError`] where they do not open.
    pub fn secrets(&self, consent: &Consent, started: &Started) -> Result<ConsentSecrets, SealError> {
        ConsentSecrets::open(&self.sealer, &started.sealed, &self.key(consent))
    }

    /// The user has consented in a browser with the user's own session: the grant counts at once.
    ///
    /// Grant and consent's end are one write. False where the user has refused in another tab at the same moment: no is no,
    /// and nothing is granted.
    ///
    /// # Errors
    /// What the database says.
    pub async fn give(&self, consent: &Consent, granted: &GrantSecrets) -> Result<bool, StoreError> {
        let sealed = self.seal(consent, granted);
        self.granted(consent, (&granted.scopes, &sealed)).await
    }

    async fn granted(&self, consent: &Consent, granted: (&[String], &str)) -> Result<bool, StoreError> {
        let entry = self.entry(Action::ConsentGive, consent, audit::DONE);
        let given = self.telling(&entry).write_grant(consent, granted).await?;
        match given {
            true => entry.tell(&self.store).await,
            false => self.told(Action::ConsentGive, consent, "refused_before").await,
        }
        Ok(given)
    }

    /// What was granted, and the consent's end.
    async fn write_grant(
        &self,
        consent: &Consent,
        (scopes, sealed): (&[String], &str),
    ) -> Result<bool, StoreError> {
        let (now, owner) = (self.clock.now(), &consent.request.owner);
        // An agent of the platform sees nobody's session.
        let person = match self.agent {
            Some(_) => None,
            None => self.store.sessions().person_of(&self.tenant, owner, now).await?,
        };
        let brought = GivenGrant {
            key: self.key(consent),
            scopes,
            sealed,
            person: person.as_ref(),
            now,
        };
        let records = self.records();
        let given = records.revise_with(consent.clone(), Consent::give, Some(brought));
        match given.await {
            Ok(_) => Ok(true),
            Err(Unrevised::Refused(_)) => Ok(false),
            Err(Unrevised::Store(error)) => Err(error),
            Err(Unrevised::Missing | Unrevised::Contended) => {
                // Others follow the link as fast as we write. The grant counts; the link runs out by itself.
                tracing::warn!(tenant.id = self.tenant.name(), task.id = %consent.request.task_id, "the consent's end was not written");
                self.grants().put_grant(brought).await?;
                Ok(true)
            }
        }
    }

    /// What the code of a consent is bound to and begins by, so that one consent's code is no other's. Whoever masks what is typed to an
    /// agent knows that agent's task, and not its consent.
    fn code_place(&self, consent: &Consent) -> String {
        match self.agent {
            Some(_) => consent.request.task_id.to_string(),
            None => consent.id.clone(),
        }
    }

    /// The user has consented in some other browser: the grant is held back until the code, which this gives, was typed
    /// back. `None` where this answer is not awaited any more.
    ///
    /// # Errors
    /// What the database says.
    pub async fn hold(
        &self,
        consent: &Consent,
        started: &Started,
        granted: &GrantSecrets,
    ) -> Result<Option<SecretString>, StoreError> {
        let place = self.code_place(consent);
        let code = consent_code::random(&place, self.entropy.as_ref());
        let hash = consent_code::hash(&place, &code);
        let sealed = self.seal(consent, granted);
        let until = self.clock.now().after(CODE_LIFETIME);
        let held = |consent: Consent| consent.hold(&started.state_hash, hash.clone(), sealed.clone(), until);
        match self.records().revise(consent.clone(), held).await {
            Ok(_) => {
                self.told(Action::ConsentHold, consent, audit::DONE).await;
                Ok(Some(code))
            }
            Err(Unrevised::Store(error)) => Err(error),
            Err(_) => Ok(None),
        }
    }

    /// The user has refused. False where the user has consented before.
    ///
    /// # Errors
    /// What the database says.
    pub async fn deny(&self, consent: &Consent) -> Result<bool, StoreError> {
        let denied = self.settle(consent, Consent::deny).await?.is_ok();
        let result = if denied { audit::DONE } else { "given_before" };
        self.told(Action::ConsentRefuse, consent, result).await;
        Ok(denied)
    }

    /// Writes down that the consent's time is over. Where it is not, or something else ended it, that stays.
    ///
    /// # Errors
    /// What the database says.
    pub async fn end(&self, consent: &Consent) -> Result<(), StoreError> {
        let now = self.clock.now();
        let _ended_otherwise = self.settle(consent, |consent| consent.end(now)).await?;
        Ok(())
    }

    /// Whether the code is the one that this consent waits for. Nothing is done, nor counted.
    #[must_use]
    pub fn fits(&self, consent: &Consent, typed: &TypedCode) -> bool {
        let running = consent.running(self.clock.now()).is_ok();
        let hash = match &consent.stage {
            Stage::AwaitingCode { code_hash, .. } if running => code_hash,
            _ => return false,
        };
        typed.code.matches(hash, &self.code_place(consent))
    }

    /// Takes the code that the callback's page showed in another browser: what was granted there is the user's from now
    /// on. A wrong one is counted; one that begins with another letter is another consent's, and is not.
    ///
    /// # Errors
    /// What the database says.
    pub async fn redeem(&self, consent: &Consent, typed: &TypedCode) -> Result<Redeemed, StoreError> {
        let now = self.clock.now();
        let Stage::AwaitingCode {
            code_hash,
            sealed_grant,
        } = &consent.stage
        else {
            return Ok(Redeemed::No);
        };
        let place = self.code_place(consent);
        if consent.running(now).is_err() || !typed.can_be_of(&place) {
            return Ok(Redeemed::No);
        }
        if !typed.code.matches(code_hash, &place) {
            return self.count_wrong_code(consent, typed, now).await;
        }
        let Ok(secrets) = GrantSecrets::open(&self.sealer, sealed_grant, &self.key(consent)) else {
            tracing::warn!(task.id = %consent.request.task_id, "what a consent brought does not open");
            return Ok(Redeemed::No);
        };
        match self.granted(consent, (&secrets.scopes, sealed_grant)).await? {
            true => Ok(Redeemed::Yes),
            false => Ok(Redeemed::No),
        }
    }

    async fn count_wrong_code(
        &self,
        consent: &Consent,
        typed: &TypedCode,
        now: Timestamp,
    ) -> Result<Redeemed, StoreError> {
        let counted = |consent: Consent| consent.count_wrong_code(typed.message.clone(), now);
        match self.records().revise(consent.clone(), counted).await {
            Ok(counted) => {
                let (wrong, void) = (counted.wrong_codes(), matches!(counted.stage, Stage::Ended));
                tracing::warn!(tenant.id = self.tenant.name(), task.id = %consent.request.task_id, wrong, void, "wrong consent code typed back");
                let result = if void { "void" } else { "wrong" };
                self.told(Action::ConsentCode, consent, result).await;
                Ok(if void { Redeemed::Void } else { Redeemed::No })
            }
            Err(Unrevised::Store(error)) => Err(error),
            Err(_) => Ok(Redeemed::No),
        }
    }

    /// Brings the consent to an end, whatever was started anew meanwhile; or the reason why it has another one.
    async fn settle(
        &self,
        consent: &Consent,
        end: impl FnMut(Consent) -> Result<Consent, InvalidMove>,
    ) -> Result<Result<(), InvalidMove>, StoreError> {
        match self.records().revise(consent.clone(), end).await {
            Ok(_) | Err(Unrevised::Missing) => Ok(Ok(())),
            Err(Unrevised::Refused(other)) => Ok(Err(other)),
            Err(Unrevised::Store(error)) => Err(error),
            Err(Unrevised::Contended) => {
                tracing::warn!(tenant.id = self.tenant.name(), task.id = %consent.request.task_id, "the consent's end was not written");
                Ok(Ok(()))
            }
        }
    }

    fn seal(&self, consent: &Consent, granted: &GrantSecrets) -> String {
        granted.seal(&self.sealer, &self.key(consent), self.entropy.as_ref())
    }

    /// What a consent's secrets are sealed for: moved to another user, server or resource, they do not open.
    fn key<'a>(&'a self, consent: &'a Consent) -> GrantKey<'a> {
        GrantKey {
            tenant: &self.tenant,
            owner: &consent.request.owner,
            provider: &consent.request.provider,
            resource: &consent.request.resource,
        }
    }
}
