//! Items as the database's own command line takes them, for whoever sets a tenant up without a client of ours.

use domain::{RECORDS, Tenant};
use serde::Serialize;
use serde_json::{Value, json};

use super::account::{client_key, listed_key, user_key};
use super::vouched;
use super::{Client, SessionIssuer, User};
use crate::StoreError;
use crate::codec::{Key, VERSION, document};
use crate::record::fits_key;

/// The item of a client, in DynamoDB's JSON.
///
/// # Errors
/// [`StoreError::TooLarge`] where it does not fit.
pub fn client_item(tenant: &Tenant, client: &Client) -> Result<Value, StoreError> {
    item(client_key(tenant, &client.client_id), "the client", client)
}

/// The item of a user, in DynamoDB's JSON.
///
/// # Errors
/// [`StoreError::TooLarge`] where it does not fit.
pub fn user_item(tenant: &Tenant, user: &User) -> Result<Value, StoreError> {
    item(user_key(tenant, &user.username), "the user", user)
}

/// The item by which a user is listed, in DynamoDB's JSON.
///
/// # Errors
/// [`StoreError::TooLarge`] where it does not fit.
pub fn user_name_item(tenant: &Tenant, username: &str) -> Result<Value, StoreError> {
    item(listed_key(tenant, username), "the user's name", &())
}

/// The item of a tenant's own issuer, in DynamoDB's JSON.
///
/// # Errors
/// [`StoreError::TooLarge`] where it does not fit.
pub fn session_issuer_item(tenant: &Tenant, issuer: &SessionIssuer) -> Result<Value, StoreError> {
    item(vouched::key(tenant), "the sessions' issuer", issuer)
}

fn item<T: Serialize>(key: Key, name: &'static str, value: &T) -> Result<Value, StoreError> {
    fits_key(name, &key)?;
    let body = document(name, value)?;
    Ok(json!({
        "pk": { "S": key.0 }, "sk": { "S": key.1 }, "body": { "S": body }, VERSION: { "N": RECORDS.to_string() },
    }))
}
