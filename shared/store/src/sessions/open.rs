//! Which sessions are open: of an owner, and of an issuer's own session (`sid`). So that all of them can be ended by whoever
//! has no cookie of them.

use domain::{Owner, Tenant, Timestamp};

use super::Sessions;
use super::people::owner_place;
use crate::StoreError;
use crate::change::{Change, text};
use crate::codec::{Key, key_of};
use crate::dynamo::{Query, Written};
use crate::record::{digest, record};

/// What the sort keys of open sessions begin with; the hash of the session's token follows.
pub(super) const OPEN: &str = "OPEN#";
/// How often open sessions are looked for once more while there are any.
const LOOKS: usize = 10;

/// Where the sessions lie that began with an issuer's own session of this id.
pub(super) fn sid_place(tenant: &Tenant, issuer: &str, sid: &str) -> String {
    let sid = digest(&format!("{issuer}\n{sid}"));
    format!("{}#session#sid-{sid}", tenant.prefix())
}

fn ended_key(tenant: &Tenant, issuer: &str, sid: &str) -> Key {
    (sid_place(tenant, issuer, sid), "ENDED".to_owned())
}

fn told_key(tenant: &Tenant, issuer: &str, jti: &str) -> Key {
    let jti = digest(&format!("{issuer}\n{jti}"));
    (
        format!("{}#session#jti-{jti}", tenant.prefix()),
        "TOLD".to_owned(),
    )
}

fn open_at<'q>(table: &'q str, place: &str) -> Query<'q> {
    Query {
        table,
        condition: "#pk = :pk AND begins_with(#sk, :open)",
        values: vec![(":pk", text(place)), (":open", text(OPEN))],
        ..Query::default()
    }
}

impl Sessions<'_> {
    /// Notes that an owner has this session. To be done before the session is stored, so that none is missed.
    pub(super) async fn note_open(
        &self,
        tenant: &Tenant,
        owner: &Owner,
        token_hash: &str,
        until: Timestamp,
    ) -> Result<(), StoreError> {
        self.note(owner_place(tenant, owner), token_hash, until).await
    }

    /// Notes that a session began with an issuer's own session of this id. False where that one was ended: then the session that
    /// was begun is not to be used.
    ///
    /// To be called once the session is stored: whoever ends the issuer's session says so first and looks for sessions
    /// then, so that one of the two always sees the other.
    ///
    /// # Errors
    /// What the database says.
    pub async fn note_sid(
        &self,
        tenant: &Tenant,
        (issuer, sid): (&str, &str),
        token_hash: &str,
        until: Timestamp,
    ) -> Result<bool, StoreError> {
        self.note(sid_place(tenant, issuer, sid), token_hash, until)
            .await?;
        let ended = self
            .store
            .item_at(self.table(), &ended_key(tenant, issuer, sid))
            .await?;
        Ok(ended.is_none())
    }

    /// Ends the sessions that began with an issuer's own session of this id; how many those were. `until`: as long as one that is
    /// under way may still come.
    ///
    /// # Errors
    /// What the database says. What was not ended then is there for another try.
    pub async fn end_sid(
        &self,
        tenant: &Tenant,
        (issuer, sid): (&str, &str),
        until: Timestamp,
    ) -> Result<usize, StoreError> {
        let key = ended_key(tenant, issuer, sid);
        self.store
            .put_record(self.table(), key, "the end of a session", &(), Some(until))
            .await?;
        self.end_all(tenant, sid_place(tenant, issuer, sid), None).await
    }

    /// Ends every session of an owner, but for the one of this token; how many those were. Where none is left, no browser is told of
    /// the owner's tasks any more, not even one whose session had run out.
    ///
    /// # Errors
    /// What the database says. What was not ended then is there for another try.
    pub async fn end_sessions_of(
        &self,
        tenant: &Tenant,
        owner: &Owner,
        but: Option<&str>,
    ) -> Result<usize, StoreError> {
        let ended = self.end_all(tenant, owner_place(tenant, owner), but).await?;
        if but.is_none() {
            self.drop_subscriptions(tenant, owner).await?;
        }
        Ok(ended)
    }

    /// True where a logout token of this id was taken before.
    ///
    /// # Errors
    /// What the database says.
    pub async fn knows_logout(&self, tenant: &Tenant, issuer: &str, jti: &str) -> Result<bool, StoreError> {
        let found = self
            .store
            .item_at(self.table(), &told_key(tenant, issuer, jti))
            .await?;
        Ok(found.is_some())
    }

    /// Notes that a logout token of this id was taken; false where it had been before.
    ///
    /// # Errors
    /// What the database says.
    pub async fn note_logout(
        &self,
        tenant: &Tenant,
        (issuer, jti): (&str, &str),
        until: Timestamp,
    ) -> Result<bool, StoreError> {
        let key = told_key(tenant, issuer, jti);
        let item = record(key, "the logout token", &(), Some(until))?;
        let absent = Change::new().when("attribute_not_exists(#pk)");
        let written = self.store.put(self.table(), item, absent).await?;
        Ok(matches!(written, Written::Done(_)))
    }

    pub(super) fn open_key(tenant: &Tenant, owner: &Owner, token_hash: &str) -> Key {
        (owner_place(tenant, owner), format!("{OPEN}{token_hash}"))
    }

    /// The hashes of the tokens of an owner's open sessions.
    pub(super) async fn open_sessions(
        &self,
        tenant: &Tenant,
        owner: &Owner,
    ) -> Result<Vec<String>, StoreError> {
        let items = self
            .store
            .query_all(open_at(self.table(), &owner_place(tenant, owner)))
            .await?;
        let keys = items.iter().map(|item| key_of(self.table(), item));
        let hash = |key: Key| key.1.strip_prefix(OPEN).unwrap_or_default().to_owned();
        keys.map(|key| key.map(hash)).collect()
    }

    async fn note(&self, place: String, token_hash: &str, until: Timestamp) -> Result<(), StoreError> {
        let key = (place, format!("{OPEN}{token_hash}"));
        self.store
            .put_record(self.table(), key, "the open session", &(), Some(until))
            .await
    }

    async fn end_all(&self, tenant: &Tenant, place: String, but: Option<&str>) -> Result<usize, StoreError> {
        let query = open_at(self.table(), &place);
        let mut ended = 0;
        for _ in 0..LOOKS {
            let before = ended;
            for item in self.store.query_all(query.clone()).await? {
                let key = key_of(self.table(), &item)?;
                let hash = key.1.strip_prefix(OPEN).unwrap_or_default();
                if but == Some(hash) {
                    continue;
                }
                // The session first: what breaks off in between is found again.
                self.end_session(tenant, hash).await?;
                self.store.remove(self.table(), &key).await?;
                ended += 1;
            }
            // One of them may have got another token while they were ended.
            if ended == before {
                break;
            }
        }
        Ok(ended)
    }
}
