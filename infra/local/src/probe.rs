//! What tests and benches may ask of a running system beyond its HTTP: tokens, faults, counts.

use std::time::Duration;

use auth::Grant;
use domain::{ExposeSecret, Tenant};
use url::Url;

use crate::System;

/// How long a token of [`System::token`] lives.
const LIFETIME: Duration = Duration::from_secs(300);

impl System {
    /// A token of a tenant's user for the agent at that URL, as the chat API signs it; `None` where there is no such
    /// tenant.
    #[must_use]
    pub fn token(&self, tenant: &str, owner: &str, audience: &str) -> Option<String> {
        self.sign(tenant, owner, audience, "tasks")
    }

    /// A token of a tenant for the registry.
    #[must_use]
    pub fn registry_token(&self, tenant: &str, scope: &str) -> Option<String> {
        let registry = plain(&self.endpoints().registry);
        self.sign(tenant, "host", &registry, scope)
    }

    /// From now on the queues lose every wake, or none.
    pub fn lose_wakes(&self, all: bool) {
        self.door.lose(all);
    }

    /// How many items lie in all tables together.
    ///
    /// # Errors
    /// What the database says.
    pub fn stored_items(&self) -> Result<i64, String> {
        self.database.items()
    }

    /// The gateway's router, for calls without a socket.
    pub fn router(&self) -> axum::Router {
        self.router.clone()
    }

    fn sign(&self, tenant: &str, subject: &str, audience: &str, scope: &str) -> Option<String> {
        let tenant = Tenant::parse(tenant).ok()?;
        let base = plain(&self.endpoints().tenants.get(&tenant)?.base);
        let grant = Grant {
            issuer: &base,
            subject,
            tenant: Some(&tenant),
            audience,
            scopes: &[scope],
            lifetime: LIFETIME,
        };
        let key = &self.secrets.tenants.get(&tenant)?.session;
        let signed = key.sign(&grant, self.clock.now(), self.entropy.as_ref()).ok()?;
        Some(signed.expose_secret().to_owned())
    }
}

fn plain(url: &Url) -> String {
    url.as_str().trim_end_matches('/').to_owned()
}
