//! Sessions that are good now. Who has signed in is looked up each time: whoever was removed, got another password or signed
//! out everywhere since has no session any more.

use domain::{Owner, Tenant, Timestamp};

use super::{GuestBefore, Person, Session, Sessions};
use crate::StoreError;

/// So many sessions of an owner are looked at for who it is.
const LOOKED_AT: usize = 20;

/// A session that is good now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveSession {
    /// Whose things it leads to.
    pub owner: Owner,
    /// Until when.
    pub expires_at: Timestamp,
    /// Who has signed in; nobody where it is a guest's.
    pub signed_in: Option<SignedIn>,
    /// What they proved it by, which their shares hang on.
    pub person: Option<Person>,
    /// The guest who was in the browser before, while the person has not said whose work that is.
    pub guest: Option<GuestBefore>,
    /// Whether any browser of the owner is told of tasks.
    pub pushes: bool,
}

/// Who has signed in, as they are called now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedIn {
    /// What they sign in with.
    pub username: String,
    /// What to call them.
    pub display_name: String,
    /// What they may do in the tenant beside what every member may.
    pub roles: Vec<String>,
    /// Their own id ([`super::person_id`]); sessions of older releases do not say it.
    pub id: Option<Owner>,
    /// Whether they signed in at another issuer than our own authorization server, where their name is somebody else's.
    pub is_foreign: bool,
}

impl Sessions<'_> {
    /// The session of that token, where it is still good: a guest's by one read, a person's by two.
    ///
    /// # Errors
    /// What the database says.
    pub async fn live_session(
        &self,
        tenant: &Tenant,
        token_hash: &str,
        now: Timestamp,
    ) -> Result<Option<LiveSession>, StoreError> {
        let Some(session) = self.find_session(tenant, token_hash, now).await? else {
            return Ok(None);
        };
        let person = session.person;
        let signed_in = match person.clone() {
            None => None,
            Some(person) => match self.still(tenant, person, now).await? {
                Some(signed_in) => Some(signed_in),
                None => return Ok(None),
            },
        };
        Ok(Some(LiveSession {
            owner: session.owner,
            expires_at: session.expires_at,
            signed_in,
            person,
            guest: session.guest,
            pushes: session.pushes.anywhere,
        }))
    }

    /// Whether what somebody proved when they signed in still counts; one read.
    ///
    /// # Errors
    /// What the database says.
    pub async fn still_counts(
        &self,
        tenant: &Tenant,
        person: &Person,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        Ok(self.still(tenant, person.clone(), now).await?.is_some())
    }

    /// Who an owner has signed in as last, as far as sessions of theirs tell that have not ended.
    ///
    /// # Errors
    /// What the database says.
    pub async fn person_of(
        &self,
        tenant: &Tenant,
        owner: &Owner,
        now: Timestamp,
    ) -> Result<Option<Person>, StoreError> {
        let mut last: Option<Session> = None;
        for hash in self.open_sessions(tenant, owner).await?.iter().take(LOOKED_AT) {
            let found = self.find_session(tenant, hash, now).await?;
            let later = |one: &Session| last.as_ref().is_none_or(|last| last.created_at < one.created_at);
            last = found.filter(|one| one.person.is_some() && later(one)).or(last);
        }
        Ok(last.and_then(|session| session.person))
    }

    /// Who has signed in, where what they proved still counts; one read.
    pub(super) async fn still(
        &self,
        tenant: &Tenant,
        person: Person,
        now: Timestamp,
    ) -> Result<Option<SignedIn>, StoreError> {
        if !self.store.admits(tenant, &person, now).await? {
            return Ok(None);
        }
        if person.is_foreign() {
            let Some(id) = person.id else { return Ok(None) };
            let found = self.find_person(tenant, &id).await?;
            let known = found.filter(|known| known.admits(person.auth_time));
            let profile = known.and_then(|known| known.profile);
            return Ok(profile.map(|profile| SignedIn {
                username: profile.username,
                display_name: profile.display_name,
                roles: profile.roles,
                id: Some(id),
                is_foreign: true,
            }));
        }
        let found = self.store.identity().find_user(tenant, &person.username).await?;
        let found = found.filter(|user| user.subject == person.subject && user.admits(person.auth_time));
        Ok(found.map(|user| SignedIn {
            username: user.username,
            display_name: user.display_name,
            roles: user.roles,
            id: person.id,
            is_foreign: false,
        }))
    }
}
