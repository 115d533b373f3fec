//! Sessions that are good now. Who has signed in is looked up each time: whoever was removed, got another password or signed
//! out everywhere since has no session any more.

use domain::{Owner, Tenant, Timestamp};

use super::Sessions;
use crate::StoreError;

/// A session that is good now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveSession {
    /// Whose things it leads to.
    pub owner: Owner,
    /// Until when.
    pub expires_at: Timestamp,
    /// Who has signed in; nobody where it is a guest's.
    pub signed_in: Option<SignedIn>,
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
        let signed_in = match session.person {
            None => None,
            Some(person) => {
                let found = self.store.identity().find_user(tenant, &person.username).await?;
                let still =
                    |user: &crate::User| user.subject == person.subject && user.admits(person.auth_time);
                let Some(user) = found.filter(still) else {
                    return Ok(None);
                };
                Some(SignedIn {
                    username: user.username,
                    display_name: user.display_name,
                    roles: user.roles,
                })
            }
        };
        Ok(Some(LiveSession {
            owner: session.owner,
            expires_at: session.expires_at,
            signed_in,
        }))
    }
}
