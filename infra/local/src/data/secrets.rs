//! The system's own secrets: keys and unguessable paths, made once per data folder. On AWS they are entries of
//! Secrets Manager and of the stacks' outputs. `functions::named` has them by the names that functions ask for.

mod imports;
mod sign_in;
mod stored;
mod vault;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use auth::{KeyError, KeySet, SigningKey};
use domain::{AgentName, SecretString, SystemEntropy, Tenant};
use serde_json::Value;

use crate::data::incarnation;
use crate::error::StartError;
pub use imports::ImportChange;
pub use sign_in::{NamedIssuer, SignIn};
pub use stored::{OVERLAP, Stored, slug};
use stored::{StoredPassword, StoredTenant};
pub use vault::{Draft, Kept, Vault};

/// The name of the file in a data folder.
pub const FILE: &str = "secrets.json";

/// Keys, unguessable paths, passwords.
#[derive(Clone)]
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
    pub tenants: BTreeMap<Tenant, Arc<TenantSecrets>>,
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
    /// What signs the tokens of its sessions, as PKCS#8 PEM.
    pub session_pem: SecretString,
    /// The same, read when it is first asked for: few of many tenants ever are.
    session: OnceLock<Arc<SigningKey>>,
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
        incarnation(&self.tenants, name).map(|(_, own)| &**own)
    }

    fn of(stored: Stored, file: Option<&Path>) -> Result<Self, StartError> {
        let damaged = |fault: KeyError| StartError::Damaged {
            path: file.unwrap_or(Path::new(FILE)).to_owned(),
            reason: format!("holds a key that cannot be used ({fault})"),
        };
        let key = |pem: &SecretString| SigningKey::from_pem(pem).map(Arc::new).map_err(damaged);
        let tenants = stored.tenants.into_iter();
        let tenants = tenants.map(|(name, tenant)| (name, Arc::new(tenant.into())));
        let (idp_text, platform_pem) = (stored.idp_keys.into(), stored.platform_key.into());
        Ok(Self {
            tenants: tenants.collect(),
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

fn passwords(stored: BTreeMap<String, String>) -> BTreeMap<String, SecretString> {
    let stored = stored.into_iter();
    stored.map(|(name, password)| (name, password.into())).collect()
}

impl From<StoredTenant> for TenantSecrets {
    fn from(tenant: StoredTenant) -> Self {
        let password = |(name, stored): (String, StoredPassword)| {
            let StoredPassword { text, is_new } = stored;
            let text = text.into();
            (name, Password { text, is_new })
        };
        Self {
            session_pem: tenant.session_key.into(),
            session: OnceLock::new(),
            session_before: tenant.session_key_before,
            slugs: tenant.slugs,
            client_secret: tenant.client_secret.into(),
            users: tenant.users.into_iter().map(password).collect(),
            roles: tenant.roles,
            mqtt: passwords(tenant.mqtt),
            sign_in: tenant.sign_in,
        }
    }
}

impl TenantSecrets {
    /// What signs the tokens of its sessions.
    ///
    /// # Errors
    /// Where what is kept is no key.
    pub fn session(&self) -> Result<&Arc<SigningKey>, KeyError> {
        if let Some(read) = self.session.get() {
            return Ok(read);
        }
        let read = SigningKey::from_pem(&self.session_pem)?;
        Ok(self.session.get_or_init(|| Arc::new(read)))
    }

    /// The public keys that tokens of the tenant's sessions may be signed with.
    pub(crate) fn session_jwks(&self) -> Result<Vec<Value>, KeyError> {
        let before = self.session_before.clone();
        Ok([self.session()?.public_jwk()].into_iter().chain(before).collect())
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
            first.tenants[&acme].session().unwrap().kid(),
            second.tenants[&acme].session().unwrap().kid()
        );
        assert_ne!(second.tenants[&acme].slugs, second.tenants[&globex].slugs);
        assert_eq!(second.slugs.values().next().unwrap().len(), 40);
        let third = Secrets::load(&file).unwrap().unwrap();
        assert_eq!(
            third.tenants[&globex].session().unwrap().kid(),
            second.tenants[&globex].session().unwrap().kid()
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
            first.tenants[&acme].session().unwrap().kid(),
            before.tenants[&acme].session().unwrap().kid()
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
    fn a_tenant_who_is_added_is_a_line_more_and_half_a_line_is_nobody() {
        let place = tempfile::tempdir().unwrap();
        let (file, added) = (place.path().join(FILE), place.path().join("secrets.added"));
        let wanted = Wanted {
            tenants: &[Tenant::parse("acme").unwrap()],
            tenant_agents: &[AgentName::parse("host").unwrap()],
            agents: &[],
            users: |_| &[("ada", &[])],
            mqtt_users: None,
        };
        let open = || Vault::open(Some(file.clone()), &wanted, &SystemEntropy).unwrap();
        let (mut vault, secrets) = open();
        let before = std::fs::read_to_string(&file).unwrap();
        let with = |secrets: &Secrets, vault: &mut Vault, prefix: &str| {
            let tenant = Tenant::from_prefix(prefix).unwrap();
            let draft = vault
                .draft_added(secrets, &tenant, (&wanted, &SystemEntropy))
                .unwrap();
            vault.keep(draft.kept).unwrap();
            draft.secrets
        };
        let secrets = with(&secrets, &mut vault, "globex.00000001");
        let secrets = with(&secrets, &mut vault, "initech.00000002");
        assert_eq!(
            std::fs::read_to_string(&file).unwrap(),
            before,
            "it is not written again"
        );
        let again = Tenant::from_prefix("globex.00000003").unwrap();
        assert!(
            vault
                .draft_added(&secrets, &again, (&wanted, &SystemEntropy))
                .is_err()
        );

        let kid = |secrets: &Secrets, name: &str| {
            let own = secrets.named(&Tenant::parse(name).unwrap())?;
            Some((own.session().unwrap().kid().to_owned(), own.slugs.clone()))
        };
        let kept = [kid(&secrets, "globex"), kid(&secrets, "initech")];
        assert!(kept.iter().all(Option::is_some));
        let half = std::fs::read_to_string(&added).unwrap() + r#"["hooli.00000004",{"sess"#;
        std::fs::write(&added, &half).unwrap();
        let (mut vault, read) = open();
        assert_eq!([kid(&read, "globex"), kid(&read, "initech")], kept);
        assert!(kid(&read, "hooli").is_none());
        let read = with(&read, &mut vault, "hooli.00000005");
        assert_eq!(
            kid(&Secrets::load(&file).unwrap().unwrap(), "hooli"),
            kid(&read, "hooli")
        );

        // Any other change is one of the whole file; what was left beside it brings nobody back.
        let lines = std::fs::read_to_string(&added).unwrap();
        let gone = Tenant::parse("globex").unwrap();
        let draft = vault.draft(&wanted, &SystemEntropy, |stored| stored.remove_tenant(&gone));
        vault.keep(draft.unwrap().kept).unwrap();
        assert!(!added.exists());
        std::fs::write(&added, lines).unwrap();
        let (_, read) = open();
        assert!(kid(&read, "globex").is_none() && kid(&read, "hooli").is_some());

        std::fs::write(&added, "[\"TOPSECRET\"]\n").unwrap();
        let fault = Secrets::load(&file).err().unwrap();
        assert!(matches!(fault, StartError::Damaged { .. }) && !fault.to_string().contains("TOPSECRET"));
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
