//! A session under another token: what leads to more than before is led to by a token that nobody has seen before.

use domain::Tenant;

use super::{Session, Sessions, session_item, session_key};
use crate::StoreError;
use crate::change::Change;
use crate::codec::encode;
use crate::record::record;
use crate::transact::{Transacted, Writes};

impl Sessions<'_> {
    /// Puts a session under a new token's hash in place of the one under the old; both are hashes. False where that one has ended
    /// meanwhile: then nothing is begun.
    ///
    /// One write, so that whoever ends an owner's sessions at the same moment ends this one too, in whichever order.
    ///
    /// # Errors
    /// What the database says.
    pub async fn replace_session(
        &self,
        tenant: &Tenant,
        (old, new): (&str, &str),
        session: &Session,
    ) -> Result<bool, StoreError> {
        let mut writes = Writes::default();
        let was_there = Change::new().when("attribute_exists(#pk)");
        writes.delete(self.table(), &session_key(tenant, old), was_there)?;
        writes.put(
            self.table(),
            encode(&session_item(tenant, new, session))?,
            Change::new(),
        )?;
        let open = Self::open_key(tenant, &session.owner, new);
        let open = record(open, "the open session", &(), Some(session.expires_at))?;
        writes.put(self.table(), open, Change::new())?;
        if let Transacted::Refused(_) = self.store.transact(writes).await? {
            return Ok(false);
        }
        self.note_member(tenant, session).await?;
        let person = session.person.as_ref();
        let Some((issuer, sid)) = person.and_then(|person| Some((&person.issuer, person.sid.as_ref()?)))
        else {
            return Ok(true);
        };
        let is_open = self
            .note_sid(tenant, (issuer, sid), new, session.expires_at)
            .await?;
        if !is_open {
            self.end_session(tenant, new).await?;
        }
        Ok(is_open)
    }
}
