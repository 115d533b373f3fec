//! Setting up a tenant: its clients and users. Doing it again changes nothing but what is different now.

use std::net::IpAddr;

use domain::{Entropy, ExposeSecret as _, InvalidId, Owner, SecretString, Tenant};
use serde_json::Value;
use store::{Client, Store, StoreError, User, client_item, user_item, user_name_item};
use url::{Host, Url};

use crate::login::username;
use crate::password::{HashError, hash, matches};
use crate::request::MAX_CLIENT_ID;
use crate::scope::SCOPES;
use crate::state::HOST_CLIENT;
use crate::userinfo::{SUBJECT_PREFIX, subject_of};

/// A client to set up.
#[derive(Debug, Clone)]
pub struct NewClient {
    /// Its `client_id`.
    pub client_id: String,
    /// What it is called on the consent page.
    pub name: String,
    /// Its secret; a client without one is public, and must prove itself by PKCE alone.
    pub secret: Option<SecretString>,
    /// Where the browser may be sent back to, to the letter.
    pub redirect_uris: Vec<String>,
    /// Where the browser may be sent back to after signing out, to the letter.
    pub signed_out_uris: Vec<String>,
    /// The grant types it may use.
    pub grant_types: Vec<String>,
    /// The scopes it may ask for.
    pub scopes: Vec<String>,
    /// The resources it may ask for; any, for a client with a secret, where there are none.
    pub resources: Vec<String>,
    /// An address beside the loopback ones to which the browser may be sent by plain http: this machine's, in the local
    /// system.
    pub this_machine: Option<IpAddr>,
}

/// A user to set up.
#[derive(Debug, Clone)]
pub struct NewUser {
    /// What the user signs in with: in lower case, without blanks.
    pub username: String,
    /// What the user is called.
    pub display_name: String,
    /// The password.
    pub password: SecretString,
    /// What the user may do beside what every member may: [`ROLES`].
    pub roles: Vec<String>,
}

pub use store::ROLES;

/// Why a tenant was not set up, or only in part.
#[derive(Debug, thiserror::Error)]
pub enum ProvisionError {
    /// A client's description is wrong.
    #[error("the client {client_id}: {reason}")]
    Client {
        /// Which.
        client_id: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A user's name is none, or no subject can be made of it.
    #[error("the user {username} cannot have that name")]
    Username {
        /// The name.
        username: String,
    },
    /// There is no such role.
    #[error("there is no role {0}; there are operator and admin")]
    Role(String),
    /// Somebody has that name already.
    #[error("there is a user {0} already")]
    Taken(String),
    /// Nobody has that name.
    #[error("there is no user {0}")]
    Nobody(String),
    /// A password is empty or too long.
    #[error("a user's password")]
    Password(#[from] HashError),
    /// A name is none.
    #[error(transparent)]
    Id(#[from] InvalidId),
    /// The tables.
    #[error("the tables")]
    Store(#[from] StoreError),
}

impl NewClient {
    /// The tenant's host agent: signs people in by `{base}/callback`, and acts for itself.
    #[must_use]
    pub fn host(base: &Url, secret: SecretString) -> Self {
        let below = |path: &str| format!("{}{path}", base.as_str().trim_end_matches('/'));
        Self {
            client_id: HOST_CLIENT.to_owned(),
            name: "Your assistant".to_owned(),
            secret: Some(secret),
            redirect_uris: vec![below("/callback"), below("/signin/callback")],
            signed_out_uris: vec![below("/")],
            grant_types: ["authorization_code", "refresh_token", "client_credentials"]
                .map(str::to_owned)
                .to_vec(),
            scopes: Self::scopes_of_people(),
            resources: Vec::new(),
            this_machine: None,
        }
    }

    /// The scopes that everybody can allow an application. What is a role's, an operator's own application asks for.
    #[must_use]
    pub fn scopes_of_people() -> Vec<String> {
        let scopes = SCOPES.iter().filter(|scope| !auth::scope::is_of_role(scope.name));
        scopes.map(|scope| scope.name.to_owned()).collect()
    }

    fn stored(&self) -> Result<Client, ProvisionError> {
        let wrong = |reason| {
            Err(ProvisionError::Client {
                client_id: self.client_id.clone(),
                reason,
            })
        };
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
        if self.client_id.is_empty()
            || self.client_id.len() > MAX_CLIENT_ID
            || !self.client_id.bytes().all(plain)
        {
            return wrong("its id may hold letters, digits and -._~ alone");
        }
        // A client's own tokens have its id as subject (RFC 9700 §4.15).
        if self.client_id.starts_with(SUBJECT_PREFIX) {
            return wrong("its id looks like a person's subject");
        }
        let mut uris = self.redirect_uris.iter().chain(&self.signed_out_uris);
        if !uris.all(|uri| is_redirect_uri(uri, self.this_machine)) {
            return wrong(
                "a redirect URI is neither https, nor http to this machine, nor an app's own scheme",
            );
        }
        if self.secret.is_none() && self.grant_types.iter().any(|grant| grant == "client_credentials") {
            return wrong("only a client with a secret can act for itself");
        }
        if self
            .secret
            .as_ref()
            .is_some_and(|secret| secret.expose_secret().len() < 32)
        {
            return wrong("its secret is too short to be random");
        }
        if let Some(unknown) = self
            .scopes
            .iter()
            .find(|name| SCOPES.iter().all(|known| known.name != *name))
        {
            tracing::error!(scope = unknown, "no such scope");
            return wrong("one of its scopes is unknown");
        }
        Ok(Client {
            client_id: self.client_id.clone(),
            name: self.name.clone(),
            // The secret is random, so that a plain hash keeps it; a password would need more.
            secret_hash: self
                .secret
                .as_ref()
                .map(|secret| auth::token::hash(secret.expose_secret())),
            redirect_uris: self.redirect_uris.clone(),
            signed_out_uris: self.signed_out_uris.clone(),
            grant_types: self.grant_types.clone(),
            scopes: self.scopes.clone(),
            resources: self.resources.clone(),
            public: self.secret.is_none(),
        })
    }
}

/// Sets a tenant up: its users first, then its clients, the host among them last, as the tenant is there for others
/// once that one is. What is stored already and still right is not written again; a password that has not changed keeps its hash.
///
/// # Errors
/// [`ProvisionError`] says what is wrong; what stood before it is set up by then.
pub async fn provision(
    store: &Store,
    tenant: &Tenant,
    clients: &[NewClient],
    users: &[NewUser],
    entropy: &dyn Entropy,
) -> Result<(), ProvisionError> {
    // Everything that can be wrong with the clients is found before anything is written.
    let clients = in_order(clients)?;
    let identity = store.identity();
    for user in users {
        put_user(store, tenant, user, entropy).await?;
    }
    for client in clients {
        if identity.find_client(tenant, &client.client_id).await?.as_ref() != Some(&client) {
            identity.put_client(tenant, &client).await?;
        }
    }
    Ok(())
}

/// What [`provision()`] writes, as items that the database's own command line takes, in the order in which they are to be
/// put.
///
/// # Errors
/// [`ProvisionError`] says what is wrong.
pub fn items(
    tenant: &Tenant,
    clients: &[NewClient],
    users: &[NewUser],
    entropy: &dyn Entropy,
) -> Result<Vec<Value>, ProvisionError> {
    let clients = in_order(clients)?;
    let mut items = Vec::new();
    for user in users {
        let stored = user.stored(hash(&user.password, entropy)?)?;
        items.push(user_name_item(tenant, &stored.username)?);
        items.push(user_item(tenant, &stored)?);
    }
    for client in clients {
        items.push(client_item(tenant, &client)?);
    }
    Ok(items)
}

/// The host comes last: from then on the tenant is there, and whoever finds it finds its users too.
fn in_order(clients: &[NewClient]) -> Result<Vec<Client>, ProvisionError> {
    let mut clients: Vec<Client> = clients.iter().map(NewClient::stored).collect::<Result<_, _>>()?;
    clients.sort_by_key(|client| client.client_id == HOST_CLIENT);
    Ok(clients)
}

impl NewUser {
    pub(crate) fn named(&self) -> Result<(), ProvisionError> {
        if username(&self.username).as_ref() == Some(&self.username) {
            return Ok(());
        }
        Err(ProvisionError::Username {
            username: self.username.clone(),
        })
    }

    pub(crate) fn stored(&self, password_hash: String) -> Result<User, ProvisionError> {
        self.named()?;
        known_roles(&self.roles)?;
        Ok(User {
            subject: Owner::parse(&subject_of(&self.username))?,
            username: self.username.clone(),
            display_name: self.display_name.clone(),
            password_hash,
            roles: self.roles.clone(),
            since: None,
            not_before: None,
        })
    }
}

/// Refuses roles that there are none of.
pub(crate) fn known_roles<'a>(roles: impl IntoIterator<Item = &'a String>) -> Result<(), ProvisionError> {
    match roles.into_iter().find(|role| !ROLES.contains(&role.as_str())) {
        Some(unknown) => Err(ProvisionError::Role(unknown.clone())),
        None => Ok(()),
    }
}

async fn put_user(
    store: &Store,
    tenant: &Tenant,
    user: &NewUser,
    entropy: &dyn Entropy,
) -> Result<(), ProvisionError> {
    user.named()?;
    let identity = store.identity();
    let known = identity.find_user(tenant, &user.username).await?;
    let password_hash = match &known {
        Some(known) if matches(&known.password_hash, &user.password) => known.password_hash.clone(),
        _ => hash(&user.password, entropy)?,
    };
    let stored = user.stored(password_hash)?;
    let wanted = User {
        subject: known
            .as_ref()
            .map_or_else(|| stored.subject.clone(), |known| known.subject.clone()),
        since: known.as_ref().and_then(|known| known.since),
        not_before: known.as_ref().and_then(|known| known.not_before),
        ..stored
    };
    if known.as_ref() != Some(&wanted) {
        identity.put_user(tenant, &wanted).await?;
    }
    Ok(())
}

/// Where a browser may be sent: https anywhere, http to this machine only (RFC 8252 §7.3), or an app's own scheme,
/// which is somebody's domain name turned round. Never with a fragment, a user or a password.
fn is_redirect_uri(text: &str, this_machine: Option<IpAddr>) -> bool {
    let Ok(uri) = Url::parse(text) else { return false };
    let place = match uri.scheme() {
        "https" => uri.has_host(),
        "http" => match uri.host() {
            Some(Host::Ipv4(address)) => address.is_loopback() || this_machine == Some(address.into()),
            Some(Host::Ipv6(address)) => address.is_loopback() || this_machine == Some(address.into()),
            Some(Host::Domain(name)) => name == "localhost",
            None => false,
        },
        scheme => scheme.contains('.'),
    };
    place && uri.fragment().is_none() && uri.username().is_empty() && uri.password().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_sent_only_where_it_is_safe() {
        for good in [
            "https://acme.example/callback",
            "http://127.0.0.1:3000/t/acme/callback",
            "http://localhost:9/cb",
            "http://[::1]:9/cb",
            "com.example.app:/cb",
        ] {
            assert!(is_redirect_uri(good, None), "{good}");
        }
        for bad in [
            "",
            "/callback",
            "http://acme.example/callback",
            "https://acme.example/callback#x",
            "https://user@acme.example/callback",
            "javascript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "http://172.17.0.1:3000/t/acme/callback",
        ] {
            assert!(!is_redirect_uri(bad, None), "{bad}");
        }
        let bridge = Some([172, 17, 0, 1].into());
        for (uri, good) in [
            ("http://172.17.0.1:3000/t/acme/callback", true),
            ("http://172.17.0.2:3000/t/acme/callback", false),
            ("http://127.0.0.1:3000/t/acme/callback", true),
        ] {
            assert_eq!(is_redirect_uri(uri, bridge), good, "{uri}");
        }
    }
}
