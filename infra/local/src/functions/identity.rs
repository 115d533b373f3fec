//! The authorization server of the local system: who there is, and the client of each tenant's host.

use std::collections::BTreeSet;
use std::net::IpAddr;

use auth::{BrowserKeys, Sealer};
use domain::{Clock, Entropy, ExposeSecret, SecretString, Tenant};
use idp::{NewClient, NewUser, provision};
use store::{SessionIssuer, Store};

use crate::address::plain;
use crate::data::current::Own;
use crate::data::endpoints::DemoUser;
use crate::data::key_age::dated;
use crate::data::secrets::{DemoPeople, TenantSecrets};
use crate::error::StartError;

/// The names that users of a tenant sign in with, and their roles.
pub(crate) fn demo_users(tenant: &Tenant) -> DemoPeople {
    match tenant.name() {
        "acme" => &[
            ("ada", &[]),
            ("alan", &[]),
            ("olga", &["operator"]),
            ("adam", &["admin"]),
        ],
        "globex" => &[("grace", &[]), ("george", &[])],
        _ => &[("demo", &[])],
    }
}

/// Sets a tenant up; doing it again changes nothing but what is different now. Passwords are hashed only where the
/// database cannot have them: that is slow on purpose, and a start should not be.
pub(crate) async fn set_up(
    store: &Store,
    own: &Own<'_>,
    sealing: &[(String, SecretString)],
    this_machine: Option<IpAddr>,
    (clock, entropy): (&dyn Clock, &dyn Entropy),
) -> Result<(), StartError> {
    let mut users = Vec::new();
    // Whom an admin has removed since does not come back: a tenant that is there has its users.
    let host = store.identity().find_client(own.name, idp::HOST_CLIENT).await;
    let is_there = host.map_err(StartError::part("authorization server"))?.is_some();
    for (name, password) in &own.secrets.users {
        if !is_there || password.is_new {
            users.push(NewUser {
                username: name.clone(),
                display_name: display_name(name),
                password: password.text.clone(),
                roles: own.secrets.roles.get(name).cloned().unwrap_or_default(),
            });
        }
    }
    let part = "authorization server";
    let sealer = Sealer::new(sealing.to_vec()).map_err(StartError::part(part))?;
    let browsers = BrowserKeys::of(&sealer, own.name).map_err(StartError::part(part))?;
    let known = store.identity().find_session_issuer(own.name).await;
    let known = known.map_err(StartError::part(part))?;
    let now = clock.now();
    let issuer = SessionIssuer {
        issuer: plain(&own.endpoints.base),
        keys: dated(
            own.secrets.session_jwks().map_err(StartError::part(part))?,
            known.as_ref().map(|known| &*known.keys),
            now,
        ),
        browser_keys: dated(
            browsers.public_jwks(),
            known.as_ref().map(|known| &*known.browser_keys),
            now,
        ),
    };
    if known.as_ref() != Some(&issuer) {
        let put = store.identity().put_session_issuer(own.name, &issuer).await;
        put.map_err(StartError::part(part))?;
    }
    let host = NewClient {
        this_machine,
        ..NewClient::host(&own.endpoints.base, own.secrets.client_secret.clone())
    };
    provision(store, own.name, &[host], &users, entropy)
        .await
        .map_err(StartError::part("authorization server"))
}

/// Takes away what makes a tenant one here: its host's client, and its users.
pub(crate) async fn clear(
    store: &Store,
    tenant: &Tenant,
    users: &BTreeSet<String>,
) -> Result<(), StartError> {
    let part = "authorization server";
    let identity = store.identity();
    let client = identity.remove_client(tenant, idp::HOST_CLIENT).await;
    client.map_err(StartError::part(part))?;
    let sessions = identity.remove_session_issuer(tenant).await;
    sessions.map_err(StartError::part(part))?;
    for user in users {
        let removed = identity.remove_user(tenant, user).await;
        removed.map_err(StartError::part(part))?;
    }
    Ok(())
}

/// Who can sign in, as the list of endpoints says it.
#[must_use]
pub fn listed(own: &TenantSecrets) -> Vec<DemoUser> {
    let mut users: Vec<_> = own.users.iter().collect();
    // Members first: whoever tries things out is one.
    users.sort_by_key(|(name, _)| (own.roles.contains_key(*name), *name));
    users
        .into_iter()
        .map(|(name, password)| DemoUser {
            username: name.clone(),
            password: password.text.expose_secret().to_owned(),
            roles: own.roles.get(name).cloned().unwrap_or_default(),
        })
        .collect()
}

/// How a demo user is called.
#[must_use]
pub fn display_name(username: &str) -> String {
    let mut letters = username.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}
