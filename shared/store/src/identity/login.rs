//! Login sessions of browsers, and which browsers somebody has signed in with before.

use domain::{Tenant, Timestamp};

use super::{Identity, Login};
use crate::StoreError;
use crate::codec::Key;

fn login_key(tenant: &Tenant, token_hash: &str) -> Key {
    (
        format!("{}#login#{token_hash}", tenant.prefix()),
        "LOGIN".to_owned(),
    )
}

fn device_key(tenant: &Tenant, token_hash: &str) -> Key {
    (
        format!("{}#device#{token_hash}", tenant.prefix()),
        "DEVICE".to_owned(),
    )
}

impl Identity<'_> {
    /// Stores a signed-in browser under the hash of its token.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] where it does not fit; otherwise what the database says.
    pub async fn put_login(
        &self,
        tenant: &Tenant,
        token_hash: &str,
        login: &Login,
    ) -> Result<(), StoreError> {
        let (key, until) = (login_key(tenant, token_hash), Some(login.expires_at));
        self.store
            .put_record(self.table(), key, "the login", login, until)
            .await
    }

    /// Who is signed in with that token. An expired login is absent.
    ///
    /// # Errors
    /// What the database says.
    pub async fn find_login(
        &self,
        tenant: &Tenant,
        token_hash: &str,
        now: Timestamp,
    ) -> Result<Option<Login>, StoreError> {
        let key = login_key(tenant, token_hash);
        let found: Option<Login> = self.store.record(self.table(), &key).await?;
        Ok(found.filter(|login| login.expires_at > now))
    }

    /// Signs a browser out.
    ///
    /// # Errors
    /// What the database says.
    pub async fn delete_login(&self, tenant: &Tenant, token_hash: &str) -> Result<(), StoreError> {
        let key = login_key(tenant, token_hash);
        self.store.remove(self.table(), &key).await
    }

    /// Remembers that a user has signed in with the browser that has this token.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] where it does not fit; otherwise what the database says.
    pub async fn put_device(
        &self,
        tenant: &Tenant,
        token_hash: &str,
        username: &str,
        until: Timestamp,
    ) -> Result<(), StoreError> {
        let key = device_key(tenant, token_hash);
        self.store
            .put_record(self.table(), key, "the device", &username, Some(until))
            .await
    }

    /// True where that user has signed in with the browser that has this token.
    ///
    /// # Errors
    /// What the database says.
    pub async fn knows_device(
        &self,
        tenant: &Tenant,
        token_hash: &str,
        username: &str,
    ) -> Result<bool, StoreError> {
        let key = device_key(tenant, token_hash);
        let found: Option<String> = self.store.record(self.table(), &key).await?;
        Ok(found.as_deref() == Some(username))
    }
}
