//! What tests and benches may ask of a running system beyond its HTTP: tokens, faults, counts.

use std::time::Duration;

use crate::address::plain;
use crate::system::System;
use auth::web_push::WebPushKeys;
use auth::{AccessToken, Grant};
use domain::{ExposeSecret, Owner, Tenant};

/// How long a token of [`System::token`] lives.
const LIFETIME: Duration = Duration::from_secs(300);

/// Whose key signs a token for a test.
#[derive(Debug, Clone, Copy)]
pub enum Signer<'a> {
    /// The chat API of this tenant, for the tenant's own functions.
    Session(&'a str),
    /// The authorization server, for this tenant.
    Idp(&'a str),
    /// The platform itself.
    Platform,
}

impl System {
    /// A token as one of the system's own keys signed it so long ago; `None` where there is no such tenant.
    #[must_use]
    pub fn signed(
        &self,
        signer: Signer<'_>,
        subject: &str,
        audience: &str,
        scope: &str,
        ago: Duration,
    ) -> Option<String> {
        let (now, entropy) = (self.clock.now().before(ago), self.entropy.as_ref());
        let current = self.control.now();
        let tenant = match signer {
            Signer::Session(name) | Signer::Idp(name) => {
                let name = Tenant::from_prefix(name).ok()?;
                Some(current.endpoints.named(&name)?.0.clone())
            }
            Signer::Platform => None,
        };
        let signed = match signer {
            Signer::Idp(_) => {
                let issuer = idp::issuer(&self.endpoints().idp, tenant.as_ref()?);
                let token = AccessToken {
                    issuer: &issuer,
                    subject,
                    tenant: tenant.as_ref(),
                    audience,
                    client_id: idp::HOST_CLIENT,
                    scope,
                    auth_time: Some(now),
                    lifetime: LIFETIME,
                };
                let keys = &current.secrets.idp;
                keys.current().sign_access_token(&token, now, entropy)
            }
            Signer::Session(_) | Signer::Platform => {
                let own = tenant.as_ref();
                let (issuer, key) = match own {
                    Some(own) => {
                        let base = plain(&current.endpoints.tenants.get(own)?.base);
                        (base, current.secrets.tenants.get(own)?.session().ok()?)
                    }
                    None => (plain(&self.endpoints().gateway), &current.secrets.platform),
                };
                let grant = Grant {
                    issuer: &issuer,
                    subject,
                    tenant: own,
                    audience,
                    scopes: &[scope],
                    lifetime: LIFETIME,
                };
                key.sign(&grant, now, entropy)
            }
        };
        Some(signed.ok()?.expose_secret().to_owned())
    }

    /// A token of a tenant's user for the agent at that URL, as the chat API signs it; `None` where there is no such
    /// tenant.
    #[must_use]
    pub fn token(&self, tenant: &str, owner: &str, audience: &str) -> Option<String> {
        self.signed(Signer::Session(tenant), owner, audience, "tasks", Duration::ZERO)
    }

    /// The pass by which a tenant's host tells the chat of this owner's tasks; `None` where there is no such tenant.
    #[must_use]
    pub fn push_pass(&self, tenant: &str, owner: &str) -> Option<String> {
        let current = self.control.now();
        let name = Tenant::from_prefix(tenant).ok()?;
        let own = current.endpoints.named(&name)?.0;
        let session = current.secrets.tenants.get(own)?.session().ok()?;
        let pass = WebPushKeys::of(session, own)
            .ok()?
            .pass(&Owner::parse(owner).ok()?);
        Some(pass.expose_secret().to_owned())
    }

    /// A token of a tenant for the registry.
    #[must_use]
    pub fn registry_token(&self, tenant: &str, scope: &str) -> Option<String> {
        let registry = plain(&self.endpoints().registry);
        self.signed(Signer::Session(tenant), "host", &registry, scope, Duration::ZERO)
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

    /// Puts items into a table (named without its prefix) as they are, in DynamoDB's JSON: a quick way to a full one.
    ///
    /// # Errors
    /// What the database says.
    pub fn import(&self, table: &str, items: Vec<serde_json::Value>) -> Result<(), String> {
        self.database.import(table, items)
    }

    /// The gateway's router, for calls without a socket.
    pub fn router(&self) -> axum::Router {
        self.router.clone()
    }
}
