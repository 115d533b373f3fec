//! The system's own secrets: keys and unguessable paths, made once per data folder. On AWS they are entries of
//! Secrets Manager and of the stacks' outputs. `functions::named` has them by the names that functions ask for.

mod imports;
mod sign_in;
mod stored;
mod vault;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use auth::{KeyError, KeySet, SigningKey};
use domain::{AgentName, SecretString, SystemEntropy, Tenant};
use serde_json::Value;

use crate::error::StartError;
pub use imports::ImportChange;
pub use sign_in::{NamedIssuer, SignIn};
use stored::StoredPassword;
pub use stored::{OVERLAP, Stored, slug};
pub use vault::{Draft, Vault};

/// The name of the file in a data folder.
pub const FILE: &str = "secrets.json";

/// Keys, unguessable paths, passwords.
pub struct Secrets {
    /// Signs what the platform itself may do.
    pub platform: Arc<SigningKey>,
    /// The same as PKCS#8 PEM.
    pub platform_pem: SecretString,
    /// Sign what the authorization server says, whichever tenant it is for.
    pub idp: Arc<KeySet>,
    /// The same as the text that is kept of them.
    pub idp_text: SecretString,
    /// Seal what lies in the tables, newest first.
    pub sealing: Vec<(String, SecretString)>,
    /// Each tenant's own.
    pub tenants: BTreeMap<Tenant, TenantSecrets>,
    /// Tenants that were here, and the users they had.
    pub removed: BTreeMap<Tenant, BTreeSet<String>>,
    /// The path of each agent that serves every tenant.
    pub slugs: BTreeMap<AgentName, String>,
    /// The path below which AWS's own services are imitated.
    pub aws_slug: String,
    /// The passwords at the MQTT broker, by name: of the agents that serve every tenant, and of others who sign in there.
    pub mqtt: BTreeMap<String, SecretString>,
    /// Which agents of the MQTT broker the registry is to know, beside those that the start names.
    pub mqtt_imports: BTreeSet<String>,
}

/// What a tenant has of its own.
pub struct TenantSecrets {
    /// Signs the tokens of its sessions.
    pub session: Arc<SigningKey>,
    /// The same as PKCS#8 PEM.
    pub session_pem: SecretString,
    /// The public half of the session key before; its tokens may still live.
    pub session_before: Option<Value>,
    /// The path of each of its agents.
    pub slugs: BTreeMap<AgentName, String>,
    /// What its host proves itself with at the authorization server.
    pub client_secret: SecretString,
    /// Who can sign in, by name.
    pub users: BTreeMap<String, Password>,
    /// What users may do beside what every member may, by name.
    pub roles: BTreeMap<String, Vec<String>>,
    /// The passwords of its agents at the MQTT broker.
    pub mqtt: BTreeMap<String, SecretString>,
    /// Where people sign in to the chat.
    pub sign_in: SignIn,
}

/// A user's password.
pub struct Password {
    /// The password itself.
    pub text: SecretString,
    /// Made just now, so that the database cannot have it yet.
    pub is_new: bool,
}

/// The names that users sign in with, and their roles.
pub type DemoPeople = &'static [(&'static str, &'static [&'static str])];

/// Whom there must be secrets for.
pub struct Wanted<'a> {
    /// The tenants that there must be at least.
    pub tenants: &'a [Tenant],
    /// Agents that each tenant has of its own.
    pub tenant_agents: &'a [AgentName],
    /// Agents that serve every tenant.
    pub agents: &'a [AgentName],
    /// The names that users of a tenant sign in with.
    pub users: fn(&Tenant) -> DemoPeople,
    /// Who signs in at the MQTT broker beside the agents; `None` where there is no broker.
    pub mqtt_users: Option<&'a [String]>,
}

impl Secrets {
    /// Reads the file as it is; `None` where there is none.
    ///
    /// # Errors
    /// Where it cannot be read, or does not hold what it should.
    pub fn load(file: &Path) -> Result<Option<Self>, StartError> {
        let Some(mut stored) = Stored::read(file)? else {
            return Ok(None);
        };
        // What a file of an earlier version lacks, only a start needs: it is made up here, and forgotten.
        let nobody = Wanted {
            tenants: &[],
            tenant_agents: &[],
            agents: &[],
            users: |_| &[],
            mqtt_users: None,
        };
        stored
            .complete(&nobody, &SystemEntropy)
            .map_err(StartError::part("key maker"))?;
        Self::of(stored, Some(file)).map(Some)
    }

    /// What the tenant of that name has, whichever incarnation it is.
    #[must_use]
    pub fn named(&self, name: &Tenant) -> Option<&TenantSecrets> {
        let mut tenants = self.tenants.iter();
        tenants
            .find(|(known, _)| known.name() == name.name())
            .map(|(_, own)| own)
    }

    fn of(stored: Stored, file: Option<&Path>) -> Result<Self, StartError> {
        let damaged = |fault: KeyError| StartError::Damaged {
            path: file.unwrap_or(Path::new(FILE)).to_owned(),
            reason: format!("holds a key that cannot be used ({fault})"),
        };
        let key = |pem: &SecretString| SigningKey::from_pem(pem).map(Arc::new).map_err(damaged);
        let password = |(name, stored): (String, StoredPassword)| {
            let StoredPassword { text, is_new } = stored;
            let text = text.into();
            (name, Password { text, is_new })
        };
        let passwords = |stored: BTreeMap<String, String>| {
            let stored = stored.into_iter();
            stored.map(|(name, password)| (name, password.into())).collect()
        };
        let tenants = stored.tenants.into_iter().map(|(name, tenant)| {
            let session_pem = tenant.session_key.into();
            Ok((
                name,
                TenantSecrets {
                    session: key(&session_pem)?,
                    session_pem,
                    session_before: tenant.session_key_before,
                    slugs: tenant.slugs,
                    client_secret: tenant.client_secret.into(),
                    users: tenant.users.into_iter().map(password).collect(),
                    roles: tenant.roles,
                    mqtt: passwords(tenant.mqtt),
                    sign_in: tenant.sign_in,
                },
            ))
        });
        let (idp_text, platform_pem) = (stored.idp_keys.into(), stored.platform_key.into());
        Ok(Self {
            tenants: tenants.collect::<Result<_, StartError>>()?,
            removed: stored.removed,
            platform: key(&platform_pem)?,
            platform_pem,
            idp: Arc::new(KeySet::from_secret(&idp_text).map_err(damaged)?),
            idp_text,
            sealing: stored
                .sealing_keys
                .into_iter()
                .map(|(id, key)| (id, key.into()))
                .collect(),
            slugs: stored.slugs,
            aws_slug: stored.aws_slug,
            mqtt: passwords(stored.mqtt),
            mqtt_imports: stored.mqtt_imports,
        })
    }
}

impl TenantSecrets {
    /// The public keys that tokens of the tenant's sessions may be signed with.
    pub(crate) fn session_jwks(&self) -> Vec<Value> {
        let before = self.session_before.clone();
        std::iter::once(self.session.public_jwk()).chain(before).collect()
    }
}

#[cfg(test)]
mod tests {
    use domain::ExposeSecret;

    use super::*;

    fn load(file: &Path, tenants: &[&str]) -> Result<Secrets, StartError> {
        let tenants: Vec<Tenant> = tenants.iter().map(|name| Tenant::parse(name).unwrap()).collect();
        let (host, weather) = (
            AgentName::parse("host").unwrap(),
            AgentName::parse("weather").unwrap(),
        );
        let wanted = Wanted {
            tenants: &tenants,
            tenant_agents: &[host],
            agents: &[weather],
            users: |_| &[("ada", &[])],
            mqtt_users: None,
        };
        Vault::open(Some(file.to_owned()), &wanted, &SystemEntropy).map(|(_, secrets)| secrets)
    }

    #[test]
    fn secrets_stay_and_a_new_tenant_gets_its_own() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join(FILE);
        let first = load(&file, &["acme"]).unwrap();
        let second = load(&file, &["acme", "globex"]).unwrap();
        assert_eq!(first.slugs, second.slugs);
        assert_eq!(first.platform.kid(), second.platform.kid());
        let (acme, globex) = (Tenant::parse("acme").unwrap(), Tenant::parse("globex").unwrap());
        assert_eq!(first.tenants[&acme].slugs, second.tenants[&acme].slugs);
        assert_eq!(
            first.tenants[&acme].session.kid(),
            second.tenants[&acme].session.kid()
        );
        assert_ne!(second.tenants[&acme].slugs, second.tenants[&globex].slugs);
        assert_eq!(second.slugs.values().next().unwrap().len(), 40);
        let third = Secrets::load(&file).unwrap().unwrap();
        assert_eq!(
            third.tenants[&globex].session.kid(),
            second.tenants[&globex].session.kid()
        );
        assert!(Secrets::load(&place.path().join("none")).unwrap().is_none());
    }

    #[test]
    fn an_earlier_file_gets_what_it_lacks_and_keeps_what_it_has() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join(FILE);
        let acme = Tenant::parse("acme").unwrap();
        let before = load(&file, &["acme"]).unwrap();
        let mut stored: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        stored.as_object_mut().unwrap().remove("idp_keys").unwrap();
        let tenant = stored["tenants"]["acme"].as_object_mut().unwrap();
        tenant.remove("client_secret").unwrap();
        tenant.remove("users").unwrap();
        let earlier = stored.to_string();
        std::fs::write(&file, &earlier).unwrap();

        assert!(Secrets::load(&file).unwrap().is_some(), "the commands read it");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), earlier, "and leave it");
        let first = load(&file, &["acme"]).unwrap();
        let second = load(&file, &["acme"]).unwrap();
        assert_eq!(first.slugs, before.slugs);
        assert_eq!(
            first.tenants[&acme].session.kid(),
            before.tenants[&acme].session.kid()
        );
        let kept = |secrets: &Secrets| {
            let tenant = &secrets.tenants[&acme];
            (
                secrets.idp.public_jwks(),
                tenant.client_secret.expose_secret().to_owned(),
                tenant.users["ada"].text.expose_secret().to_owned(),
            )
        };
        assert_eq!(kept(&first), kept(&second));
        assert_ne!(kept(&first).1, kept(&before).1);
        assert!(first.tenants[&acme].users["ada"].is_new && !second.tenants[&acme].users["ada"].is_new);
    }

    #[test]
    fn a_damaged_file_is_told_without_its_content() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join(FILE);
        for rubbish in [
            "",
            "{",
            "[]",
            "\u{0}",
            r#"{"version":9,"platform_key":"TOPSECRET","sealing_keys":[],"tenants":{},"slugs":{}}"#,
            r#"{"version":1,"platform_key":"TOPSECRET","sealing_keys":[],"tenants":{},"slugs":{}}"#,
            r#"{"version":1,"platform_key":"","idp_keys":"TOPSECRET","sealing_keys":[],"tenants":{},"slugs":{}}"#,
            r#"{"version":"TOPSECRET"}"#,
        ] {
            std::fs::write(&file, rubbish).unwrap();
            let fault = load(&file, &["acme"]).err().unwrap();
            assert!(matches!(fault, StartError::Damaged { .. }), "{rubbish}");
            assert!(!fault.to_string().contains("TOPSECRET"), "{fault}");
            assert_eq!(std::fs::read_to_string(&file).unwrap(), rubbish, "left as it was");
        }
    }
}
