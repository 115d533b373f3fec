//! Users, clients, and what users have let clients do.

use domain::{Owner, Tenant, Timestamp};

use super::{Client, Identity, User};
use crate::change::{Change, text};
use crate::codec::{Item, Key, key_of, keyed, text_of};
use crate::dynamo::{Query, ROUNDS, Written};
use crate::record::{digest, document_of, record};
use crate::transact::{Transacted, Writes};
use crate::{Page, PageRequest, StoreError};

pub(super) fn user_key(tenant: &Tenant, username: &str) -> Key {
    (format!("{}#user#{username}", tenant.prefix()), "USER".to_owned())
}

pub(super) fn client_key(tenant: &Tenant, client_id: &str) -> Key {
    (
        format!("{}#client#{client_id}", tenant.prefix()),
        "CLIENT".to_owned(),
    )
}

/// The resource's digest comes first: its length is fixed, so that no client id can be mistaken for a part of it.
fn consent_key(tenant: &Tenant, subject: &Owner, client_id: &str, resource: &str) -> Key {
    (
        format!("{}#subject#{subject}", tenant.prefix()),
        format!("CONSENT#{}#{client_id}", digest(resource)),
    )
}

/// Which users a tenant has, for whoever lists them: an item each in one partition, without anything but the name.
pub(super) fn listed_key(tenant: &Tenant, username: &str) -> Key {
    (format!("{}#users", tenant.prefix()), username.to_owned())
}

impl Identity<'_> {
    /// Stores a user, over the one of that name.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] where it does not fit; otherwise what the database says.
    pub async fn put_user(&self, tenant: &Tenant, user: &User) -> Result<(), StoreError> {
        let (key, listed) = (
            user_key(tenant, &user.username),
            listed_key(tenant, &user.username),
        );
        // Listed first: a name without a user is passed over, a user without one would not be seen.
        self.store
            .put_record(self.table(), listed, "the user's name", &(), None)
            .await?;
        self.store
            .put_record(self.table(), key, "the user", user, None)
            .await
    }

    /// Stores a user whose name nobody has; false where somebody has it.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] where it does not fit; otherwise what the database says.
    pub async fn add_user(&self, tenant: &Tenant, user: &User) -> Result<bool, StoreError> {
        let (key, listed) = (
            user_key(tenant, &user.username),
            listed_key(tenant, &user.username),
        );
        // Both or neither: a user whom somebody removes at the same moment is not left without a name in the list, where no admin
        // would see them.
        let mut writes = Writes::default();
        let absent = Change::new().when("attribute_not_exists(#pk)");
        writes.put(self.table(), record(key, "the user", user, None)?, absent)?;
        let listed = record(listed, "the user's name", &(), None)?;
        writes.put(self.table(), listed, Change::new())?;
        let known = match self.store.transact(writes).await? {
            Transacted::Done => return Ok(true),
            Transacted::Refused(refused) => refused.into_iter().find_map(|(_, known)| known),
        };
        // Somebody who adds the very same user once more finds their own.
        let known = known
            .map(|known| document_of::<User>(self.table(), known))
            .transpose()?;
        Ok(known.is_some_and(|known| known == *user))
    }

    /// Changes a user as it is; what became of it, and nothing where there is none of that name.
    ///
    /// # Errors
    /// What the database says; [`StoreError::Throttled`] where others change it all the time.
    pub async fn change_user(
        &self,
        tenant: &Tenant,
        username: &str,
        change: impl Fn(&mut User),
    ) -> Result<Option<User>, StoreError> {
        let key = user_key(tenant, username);
        for _ in 0..ROUNDS {
            let Some(item) = self.store.item_at(self.table(), &key).await? else {
                return Ok(None);
            };
            let seen = text_of(&item, "body").unwrap_or_default().to_owned();
            let mut user: User = document_of(self.table(), item)?;
            change(&mut user);
            let unchanged = Change::new().when("#body = :seen").value("seen", text(&seen));
            let item = record(key.clone(), "the user", &user, None)?;
            if let Written::Done(_) = self.store.put(self.table(), item, unchanged).await? {
                return Ok(Some(user));
            }
        }
        Err(StoreError::Throttled { operation: "PutItem" })
    }

    /// The users of a tenant, by their names. Of older releases those alone that were stored again since.
    ///
    /// # Errors
    /// What the database says.
    pub async fn list_users(&self, tenant: &Tenant) -> Result<Vec<User>, StoreError> {
        let partition = listed_key(tenant, "").0;
        let listed = self.store.query_all(Query {
            table: self.table(),
            condition: "#pk = :pk",
            values: vec![(":pk", text(&partition))],
            ..Query::default()
        });
        let mut users = Vec::new();
        for item in listed.await? {
            let (_, username) = key_of(self.table(), &item)?;
            users.extend(self.find_user(tenant, &username).await?);
        }
        Ok(users)
    }

    /// Some users of a tenant, by their names, behind the one of the cursor; of older releases as [`Identity::list_users`] has them.
    ///
    /// # Errors
    /// What the database says.
    pub async fn page_of_users(&self, tenant: &Tenant, page: &PageRequest) -> Result<Page<User>, StoreError> {
        let partition = listed_key(tenant, "").0;
        let start = page
            .cursor
            .as_deref()
            .map(|name| keyed(&listed_key(tenant, name)));
        let listed = self.store.query(Query {
            table: self.table(),
            condition: "#pk = :pk",
            values: vec![(":pk", text(&partition))],
            limit: Some(page.limit.clamp(1, 100)),
            start,
            ..Query::default()
        });
        let (listed, last) = listed.await?;
        let name = |item: &Item| key_of(self.table(), item).map(|(_, username)| username);
        let names: Vec<String> = listed.iter().map(name).collect::<Result<_, _>>()?;
        let keys: Vec<Key> = names.iter().map(|username| user_key(tenant, username)).collect();
        let mut found = self.store.items(self.table(), &keys).await?;
        // A name without a user is one that was being added or removed.
        let found = keys.iter().filter_map(|key| found.remove(key));
        let users = found.map(|item| document_of(self.table(), item));
        Ok(Page {
            items: users.collect::<Result<_, _>>()?,
            next: last.as_ref().map(name).transpose()?,
        })
    }

    /// Ends whatever a user has proved before this time, by the subject that tokens say; false where nobody has it.
    ///
    /// # Errors
    /// What the database says.
    pub async fn end_user(
        &self,
        tenant: &Tenant,
        subject: &Owner,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let users = self.list_users(tenant).await?;
        let Some(user) = users.into_iter().find(|user| user.subject == *subject) else {
            return Ok(false);
        };
        let ended = |user: &mut User| user.end(at);
        let changed = self.change_user(tenant, &user.username, ended).await?;
        Ok(changed.is_some())
    }

    /// Removes the user of that name, if there is one.
    ///
    /// # Errors
    /// What the database says.
    pub async fn remove_user(&self, tenant: &Tenant, username: &str) -> Result<(), StoreError> {
        let mut writes = Writes::default();
        for key in [user_key(tenant, username), listed_key(tenant, username)] {
            writes.delete(self.table(), &key, Change::new())?;
        }
        self.store.transact(writes).await.map(|_| ())
    }

    /// The user of that name.
    ///
    /// # Errors
    /// What the database says.
    pub async fn find_user(&self, tenant: &Tenant, username: &str) -> Result<Option<User>, StoreError> {
        self.store.record(self.table(), &user_key(tenant, username)).await
    }

    /// Stores a client, over the one of that id.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] where it does not fit; otherwise what the database says.
    pub async fn put_client(&self, tenant: &Tenant, client: &Client) -> Result<(), StoreError> {
        let key = client_key(tenant, &client.client_id);
        self.store
            .put_record(self.table(), key, "the client", client, None)
            .await
    }

    /// Removes the client of that id, if there is one.
    ///
    /// # Errors
    /// What the database says.
    pub async fn remove_client(&self, tenant: &Tenant, client_id: &str) -> Result<(), StoreError> {
        let key = client_key(tenant, client_id);
        self.store.take(self.table(), &key).await.map(|_| ())
    }

    /// The client of that id.
    ///
    /// # Errors
    /// What the database says.
    pub async fn find_client(&self, tenant: &Tenant, client_id: &str) -> Result<Option<Client>, StoreError> {
        self.store
            .record(self.table(), &client_key(tenant, client_id))
            .await
    }

    /// Remembers the scopes that a user has let a client have at a resource, instead of those before.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] where it does not fit; otherwise what the database says.
    pub async fn put_consent(
        &self,
        tenant: &Tenant,
        subject: &Owner,
        client_id: &str,
        resource: &str,
        scopes: &[String],
    ) -> Result<(), StoreError> {
        let key = consent_key(tenant, subject, client_id, resource);
        self.store
            .put_record(self.table(), key, "the consent", &scopes, None)
            .await
    }

    /// The scopes that a user has let a client have at a resource before.
    ///
    /// # Errors
    /// What the database says.
    pub async fn find_consent(
        &self,
        tenant: &Tenant,
        subject: &Owner,
        client_id: &str,
        resource: &str,
    ) -> Result<Vec<String>, StoreError> {
        let key = consent_key(tenant, subject, client_id, resource);
        let found = self.store.record(self.table(), &key).await?;
        Ok(found.unwrap_or_default())
    }
}
