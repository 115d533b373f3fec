//! Users, clients, and what users have let clients do.

use domain::{Owner, Tenant};

use super::{Client, Identity, User};
use crate::StoreError;
use crate::codec::Key;
use crate::record::digest;

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

impl Identity<'_> {
    /// Stores a user, over the one of that name.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] where it does not fit; otherwise what the database says.
    pub async fn put_user(&self, tenant: &Tenant, user: &User) -> Result<(), StoreError> {
        let key = user_key(tenant, &user.username);
        self.store
            .put_record(self.table(), key, "the user", user, None)
            .await
    }

    /// Removes the user of that name, if there is one.
    ///
    /// # Errors
    /// What the database says.
    pub async fn remove_user(&self, tenant: &Tenant, username: &str) -> Result<(), StoreError> {
        let key = user_key(tenant, username);
        self.store.take(self.table(), &key).await.map(|_| ())
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
