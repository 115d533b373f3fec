//! What tests with OAuth clients share: clients and users of the authorization server, and a person who signs in.

use domain::{SystemEntropy, Tenant};
use idp::{NewClient, NewUser};
use serde_json::Value;
use store::Store;

use crate::Local;
use crate::browser::{Browser, Page};

/// Where the tests' clients are sent back to; nothing listens there.
pub const REDIRECT_URI: &str = "http://127.0.0.1:9/cb";
/// What the confidential client proves itself with.
pub const SECRET: &str = "a-secret-of-the-tests-with-more-than-32-letters";
/// The public client.
pub const PUBLIC: &str = "test-app";
/// The client with a secret.
pub const CONFIDENTIAL: &str = "test-server";
/// What both may ask for.
pub const SCOPES: &str = "openid profile offline_access orders:read tasks";

/// A client with all that a host may do; without a secret it is public, and bound to this resource.
#[must_use]
pub fn client(id: &str, secret: Option<&str>, resource: &str) -> NewClient {
    let mut grant_types = vec!["authorization_code".to_owned(), "refresh_token".to_owned()];
    grant_types.extend(secret.map(|_| "client_credentials".to_owned()));
    NewClient {
        client_id: id.to_owned(),
        name: "A test".to_owned(),
        secret: secret.map(Into::into),
        redirect_uris: vec![REDIRECT_URI.to_owned()],
        signed_out_uris: Vec::new(),
        grant_types,
        scopes: SCOPES.split(' ').map(str::to_owned).collect(),
        resources: vec![resource.to_owned()],
        this_machine: None,
    }
}

/// Registers clients and users with the authorization server of the tenant with this prefix.
pub async fn register(store: &Store, tenant: &str, clients: &[NewClient], users: &[NewUser]) {
    let tenant = Tenant::from_prefix(tenant).expect("a tenant");
    idp::provision(store, &tenant, clients, users, &SystemEntropy)
        .await
        .expect("it is registered");
}

/// Registers [`PUBLIC`] and [`CONFIDENTIAL`] with a tenant, for its Horizon agent.
pub async fn register_both(local: &Local, tenant: &str) {
    let resource = local.resource(tenant);
    let clients = [
        client(PUBLIC, None, &resource),
        client(CONFIDENTIAL, Some(SECRET), &resource),
    ];
    let prefix = local.endpoint(&format!("/tenants/{tenant}/prefix"));
    register(local.system.store(), prefix, &clients, &[]).await;
}

impl Local {
    /// The resource that tokens for a tenant's Horizon agent name, as the agent itself says it.
    #[must_use]
    pub fn resource(&self, tenant: &str) -> String {
        let url = self.endpoint(&format!("/tenants/{tenant}/agents/horizon"));
        url.trim_end_matches('/').to_owned()
    }

    /// A tenant's issuer.
    #[must_use]
    pub fn issuer(&self, tenant: &str) -> String {
        let prefix = self.endpoint(&format!("/tenants/{tenant}/prefix"));
        format!("{}/{prefix}", self.endpoint("/idp").trim_end_matches('/'))
    }

    /// A demo user of a tenant.
    #[must_use]
    pub fn login(&self, tenant: &str, number: usize) -> &Value {
        &self.endpoints()["users"][tenant][number]
    }
}

/// A person follows an authorization request, signs in where they are asked to, and agrees. Where the browser was sent
/// to is the page's address.
pub async fn agree(browser: &mut Browser, url: &str, login: &Value) -> Page {
    let name = login["username"].as_str().expect("a name");
    let password = login["password"].as_str().expect("a password");
    let mut page = browser.open(url).await;
    if page.html.contains("name=\"password\"") {
        page = browser
            .submit(&page, &[("username", name), ("password", password)])
            .await;
    }
    if page.html.contains("value=\"allow\"") {
        page = browser.submit(&page, &[]).await;
    }
    page
}

/// A browser that gives back to the application what is sent to [`REDIRECT_URI`].
#[must_use]
pub fn apps_browser() -> Browser {
    let mut browser = Browser::default();
    browser.stop_at = Some(REDIRECT_URI.to_owned());
    browser
}
