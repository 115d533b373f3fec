//! What is kept of people beside their sessions: from when on their proofs count, and whose work they took over.
//!
//! A person is an issuer and a subject there. Users of our own authorization server have an epoch of their own
//! ([`crate::User::not_before`]); a person of another issuer has theirs here.

use std::collections::BTreeSet;

use domain::{InvalidId, Owner, Tenant, Timestamp};
use serde::{Deserialize, Serialize};

use super::Sessions;
use crate::StoreError;
use crate::change::{Change, number, text};
use crate::codec::{Item, Key, document, inconsistent, parse, text_of};
use crate::dynamo::Written;
use crate::record::{digest, fits_key};
use crate::transact::{Transacted, Writes};

/// The id under which a person's things are kept, unless they took over a guest's. `since` tells apart people who had one name
/// at our own authorization server, one after the other.
///
/// # Errors
/// Never in practice: a digest is a good id.
pub fn person_id(issuer: &str, subject: &Owner, since: Option<Timestamp>) -> Result<Owner, InvalidId> {
    let since = since.map_or(0, Timestamp::millis);
    let one = digest(&format!("{issuer}\n{subject}\n{since}"));
    Owner::parse(&format!("person-{one}"))
}

/// What another issuer says of a person, as of their last sign-in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// The issuer.
    pub issuer: String,
    /// What it calls them for good.
    pub subject: Owner,
    /// What they sign in with there, where it says so; for people to read, never to recognise anybody by.
    pub username: String,
    /// What to call them.
    pub display_name: String,
    /// What they may do in the tenant beside what every member may.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
}

/// What is kept of a person.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownPerson {
    /// What their issuer says of them, where that is not our own.
    pub profile: Option<Profile>,
    /// What was proved before this counts no more.
    pub not_before: Option<Timestamp>,
    /// The guest whose work is theirs now.
    pub owner: Option<Owner>,
}

impl KnownPerson {
    /// True where a proof of that time still counts.
    #[must_use]
    pub fn admits(&self, auth_time: Timestamp) -> bool {
        self.not_before.is_none_or(|from| auth_time >= from)
    }
}

/// What became of taking over a guest's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adopted {
    /// It is this person's, now or by an earlier try.
    Yes,
    /// Somebody has taken it over before.
    ByAnother,
    /// The person has taken over another guest's: nobody has two.
    HasAnother,
}

/// Where everything about an owner's sessions lies. No hash of a token begins with this character.
pub(super) fn owner_place(tenant: &Tenant, owner: &Owner) -> String {
    format!("{}#session#@{owner}", tenant.prefix())
}

fn person_key(tenant: &Tenant, person: &Owner) -> Key {
    (owner_place(tenant, person), "PERSON".to_owned())
}

fn adopted_key(tenant: &Tenant, guest: &Owner) -> Key {
    (owner_place(tenant, guest), "ADOPTED".to_owned())
}

/// Raises the time from which on proofs count; a later one stays.
fn raised(at: Timestamp) -> Change {
    Change::new()
        .set("not_before", number(at.millis()))
        .when("attribute_not_exists(#not_before) OR #not_before < :not_before")
}

impl Sessions<'_> {
    /// Keeps what an issuer says of a person who signs in; what was known of them is given back. One write.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] where it does not fit; otherwise what the database says.
    pub async fn meet_person(
        &self,
        tenant: &Tenant,
        person: &Owner,
        profile: &Profile,
    ) -> Result<KnownPerson, StoreError> {
        let key = person_key(tenant, person);
        fits_key("the person", &key)?;
        let change = Change::new().set("body", text(document("the person", profile)?));
        match self.store.update(self.table(), &key, change).await? {
            Written::Done(item) => self.person(&key, &item),
            Written::Refused(_) => Err(inconsistent(self.table(), &key, "refused without a condition")),
        }
    }

    /// What is kept of a person.
    ///
    /// # Errors
    /// What the database says.
    pub async fn find_person(
        &self,
        tenant: &Tenant,
        person: &Owner,
    ) -> Result<Option<KnownPerson>, StoreError> {
        let key = person_key(tenant, person);
        let found = self.store.item_at(self.table(), &key).await?;
        found.map(|item| self.person(&key, &item)).transpose()
    }

    /// Ends all sign-ins of a person of another issuer that were proved before this time, also one that is under way.
    ///
    /// # Errors
    /// What the database says.
    pub async fn end_person(&self, tenant: &Tenant, person: &Owner, at: Timestamp) -> Result<(), StoreError> {
        // Also of somebody who is not known yet: their first sign-in may be under way.
        let key = person_key(tenant, person);
        self.store.update_at(self.table(), &key, raised(at)).await?;
        Ok(())
    }

    /// Says for good whose work a guest's is, and in the same write that the person takes over no other guest's: of two guests
    /// whom one person takes over at once, one stays as they are.
    ///
    /// # Errors
    /// What the database says.
    pub async fn adopt(&self, tenant: &Tenant, guest: &Owner, person: &Owner) -> Result<Adopted, StoreError> {
        let adopted = Change::new()
            .set("person", text(person))
            .when("attribute_not_exists(#person) OR #person = :person");
        let adopting = Change::new()
            .set("adopts", text(guest))
            .when("attribute_not_exists(#adopts) OR #adopts = :adopts")
            .when("attribute_not_exists(#owner) OR #owner = :adopts");
        let mut writes = Writes::default();
        writes.update(self.table(), &adopted_key(tenant, guest), adopted)?;
        writes.update(self.table(), &person_key(tenant, person), adopting)?;
        Ok(match self.store.transact(writes).await? {
            Transacted::Done => Adopted::Yes,
            Transacted::Refused(refused) if refused.iter().any(|(place, _)| *place == 0) => {
                Adopted::ByAnother
            }
            Transacted::Refused(_) => Adopted::HasAnother,
        })
    }

    /// Who has taken over a guest's work.
    ///
    /// # Errors
    /// What the database says.
    pub async fn adopted_by(&self, tenant: &Tenant, guest: &Owner) -> Result<Option<Owner>, StoreError> {
        let key = adopted_key(tenant, guest);
        let found = self.store.item_at(self.table(), &key).await?;
        found
            .and_then(|item| self.owner_in(&key, &item, "person").transpose())
            .transpose()
    }

    /// Gives a person a guest's work as theirs. False where they have another's already.
    ///
    /// # Errors
    /// What the database says.
    pub async fn give_work(
        &self,
        tenant: &Tenant,
        person: &Owner,
        guest: &Owner,
    ) -> Result<bool, StoreError> {
        let change = Change::new()
            .set("owner", text(guest))
            .when("attribute_not_exists(#owner) OR #owner = :owner");
        let key = person_key(tenant, person);
        let written = self.store.update_at(self.table(), &key, change).await?;
        Ok(matches!(written, Written::Done(_)))
    }

    /// Under which ids things of somebody lie: a person's own, and those of the guest whose work they took over.
    pub(crate) async fn same_as(&self, tenant: &Tenant, owner: &Owner) -> Result<Vec<String>, StoreError> {
        let (adopted, person) = (adopted_key(tenant, owner), person_key(tenant, owner));
        let mut found = self
            .store
            .items(self.table(), &[adopted.clone(), person.clone()])
            .await?;
        let mut same = BTreeSet::from([owner.to_string()]);
        for (key, names) in [(adopted, &["person"][..]), (person, &["adopts", "owner"])] {
            let item = found.remove(&key).unwrap_or_default();
            same.extend(
                names
                    .iter()
                    .filter_map(|name| text_of(&item, name).map(str::to_owned)),
            );
        }
        Ok(same.into_iter().collect())
    }

    fn person(&self, key: &Key, item: &Item) -> Result<KnownPerson, StoreError> {
        let profile = text_of(item, "body").map(|body| parse(self.table(), key, body));
        let not_before = item.get("not_before").map(|value| {
            let millis = value.as_n().ok().and_then(|text| text.parse().ok());
            let millis = millis.ok_or_else(|| inconsistent(self.table(), key, "an epoch that is no time"))?;
            Ok::<_, StoreError>(Timestamp::from_millis(millis))
        });
        Ok(KnownPerson {
            profile: profile.transpose()?,
            not_before: not_before.transpose()?,
            owner: self.owner_in(key, item, "owner")?,
        })
    }

    fn owner_in(&self, key: &Key, item: &Item, name: &str) -> Result<Option<Owner>, StoreError> {
        let owner = text_of(item, name).map(Owner::parse).transpose();
        owner.map_err(|error| inconsistent(self.table(), key, error))
    }
}
