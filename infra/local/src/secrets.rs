//! The system's own secrets: keys and unguessable paths, made once per data folder. On AWS they are entries of
//! Secrets Manager and of the stacks' outputs; functions here get them handed over. (A local endpoint that speaks
//! `GetSecretValue` comes with the first function that is run outside of this process.)

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use auth::{Algorithm, KeyError, KeySet, Sealer, SigningKey};
use domain::{AgentName, Entropy, ExposeSecret, SecretString, SystemEntropy, Tenant};
use idp::Keyring;
use serde::{Deserialize, Serialize};

use crate::{StartError, folder};

/// The name of the file in a data folder.
pub(crate) const FILE: &str = "secrets.json";
/// The form of the file.
const VERSION: u32 = 1;

/// Keys, unguessable paths, passwords.
pub(crate) struct Secrets {
    /// Signs what the platform itself may do.
    pub(crate) platform: Arc<SigningKey>,
    /// Sign what the authorization server says, whichever tenant it is for.
    pub(crate) idp: Keyring,
    /// Seal what lies in the tables, newest first.
    pub(crate) sealing: Vec<(String, SecretString)>,
    /// Each tenant's own.
    pub(crate) tenants: BTreeMap<Tenant, TenantSecrets>,
    /// The path of each agent that serves every tenant.
    pub(crate) slugs: BTreeMap<AgentName, String>,
}

/// What a tenant has of its own.
pub(crate) struct TenantSecrets {
    /// Signs the tokens of its sessions.
    pub(crate) session: Arc<SigningKey>,
    /// The path of each of its agents.
    pub(crate) slugs: BTreeMap<AgentName, String>,
    /// What its host proves itself with at the authorization server.
    pub(crate) client_secret: SecretString,
    /// Who can sign in, by name.
    pub(crate) users: BTreeMap<String, Password>,
}

/// A user's password.
pub(crate) struct Password {
    pub(crate) text: SecretString,
    /// Made just now, so that the database cannot have it yet.
    pub(crate) is_new: bool,
}

// What came later than the first form of the file has a default: it is made where it is missing.
#[derive(Default, Serialize, Deserialize)]
struct Stored {
    version: u32,
    platform_key: String,
    /// What [`KeySet`] keeps.
    #[serde(default)]
    idp_keys: String,
    sealing_keys: Vec<(String, String)>,
    tenants: BTreeMap<Tenant, StoredTenant>,
    slugs: BTreeMap<AgentName, String>,
}

#[derive(Default, Serialize, Deserialize)]
struct StoredTenant {
    session_key: String,
    slugs: BTreeMap<AgentName, String>,
    #[serde(default)]
    client_secret: String,
    #[serde(default)]
    users: BTreeMap<String, StoredPassword>,
}

#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct StoredPassword {
    text: String,
    #[serde(skip)]
    is_new: bool,
}

/// Whom there must be secrets for.
pub(crate) struct Wanted<'a> {
    pub(crate) tenants: &'a [Tenant],
    /// Agents that each tenant has of its own.
    pub(crate) tenant_agents: &'a [AgentName],
    /// Agents that serve every tenant.
    pub(crate) agents: &'a [AgentName],
    /// The names that users of a tenant sign in with.
    pub(crate) users: fn(&Tenant) -> &'static [&'static str],
}

impl Secrets {
    /// Reads the file, makes what is missing, and keeps it. Without a file all of it is new and forgotten at the end.
    pub(crate) fn load_or_make(
        file: Option<&Path>,
        wanted: &Wanted<'_>,
        entropy: &dyn Entropy,
    ) -> Result<Self, StartError> {
        let mut stored = match file {
            Some(file) => read(file)?.unwrap_or_default(),
            None => Stored::default(),
        };
        let changed = stored
            .complete(wanted, entropy)
            .map_err(StartError::part("key maker"))?;
        let text = serde_json::to_string_pretty(&stored).map_err(StartError::part("key maker"))?;
        // A file whose keys cannot be used is not written over.
        let secrets = Self::of(stored, file)?;
        if let Some(file) = file.filter(|_| changed) {
            folder::write(file, &text)?;
        }
        Ok(secrets)
    }

    /// Reads the file as it is; `None` where there is none.
    pub(crate) fn load(file: &Path) -> Result<Option<Self>, StartError> {
        let Some(mut stored) = read(file)? else {
            return Ok(None);
        };
        // What a file of an earlier version lacks, only a start needs: it is made up here, and forgotten.
        let nobody = Wanted {
            tenants: &[],
            tenant_agents: &[],
            agents: &[],
            users: |_| &[],
        };
        stored
            .complete(&nobody, &SystemEntropy)
            .map_err(StartError::part("key maker"))?;
        Self::of(stored, Some(file)).map(Some)
    }

    fn of(stored: Stored, file: Option<&Path>) -> Result<Self, StartError> {
        let damaged = |fault: KeyError| StartError::Damaged {
            path: file.unwrap_or(Path::new(FILE)).to_owned(),
            reason: format!("holds a key that cannot be used ({fault})"),
        };
        let key = |pem: String| {
            SigningKey::from_pem(&SecretString::from(pem))
                .map(Arc::new)
                .map_err(damaged)
        };
        let password = |(name, stored): (String, StoredPassword)| {
            let StoredPassword { text, is_new } = stored;
            let text = text.into();
            (name, Password { text, is_new })
        };
        let tenants = stored.tenants.into_iter().map(|(name, tenant)| {
            let session = key(tenant.session_key)?;
            Ok((
                name,
                TenantSecrets {
                    session,
                    slugs: tenant.slugs,
                    client_secret: tenant.client_secret.into(),
                    users: tenant.users.into_iter().map(password).collect(),
                },
            ))
        });
        Ok(Self {
            tenants: tenants.collect::<Result<_, StartError>>()?,
            platform: key(stored.platform_key)?,
            idp: Keyring::new(KeySet::from_secret(&stored.idp_keys.into()).map_err(damaged)?),
            sealing: stored
                .sealing_keys
                .into_iter()
                .map(|(id, key)| (id, key.into()))
                .collect(),
            slugs: stored.slugs,
        })
    }
}

impl Stored {
    /// Makes what is missing; true where something was.
    fn complete(&mut self, wanted: &Wanted<'_>, entropy: &dyn Entropy) -> Result<bool, KeyError> {
        let mut changed = false;
        if self.version == 0 {
            self.version = VERSION;
            self.platform_key = new_key()?;
            let sealing = Sealer::generate_key(entropy).expose_secret().to_owned();
            self.sealing_keys = vec![("k1".to_owned(), sealing)];
            changed = true;
        }
        if self.idp_keys.is_empty() {
            let (_, keys) = KeySet::generate(Algorithm::Es256)?;
            self.idp_keys = keys.expose_secret().to_owned();
            changed = true;
        }
        for tenant in wanted.tenants {
            if !self.tenants.contains_key(tenant) {
                let session_key = new_key()?;
                self.tenants.insert(
                    tenant.clone(),
                    StoredTenant {
                        session_key,
                        ..StoredTenant::default()
                    },
                );
                changed = true;
            }
        }
        for (name, tenant) in &mut self.tenants {
            changed |= add_slugs(&mut tenant.slugs, wanted.tenant_agents, entropy);
            if tenant.client_secret.is_empty() {
                let secret = auth::token::random("", entropy);
                tenant.client_secret = secret.expose_secret().to_owned();
                changed = true;
            }
            for user in (wanted.users)(name) {
                tenant.users.entry((*user).to_owned()).or_insert_with(|| {
                    changed = true;
                    let text = password(entropy);
                    StoredPassword { text, is_new: true }
                });
            }
        }
        changed |= add_slugs(&mut self.slugs, wanted.agents, entropy);
        Ok(changed)
    }
}

fn read(file: &Path) -> Result<Option<Stored>, StartError> {
    let Some(text) = folder::read(file)? else {
        return Ok(None);
    };
    let damaged = |reason: String| StartError::Damaged {
        path: file.to_owned(),
        reason,
    };
    // Only where it stopped: the message itself would quote a key.
    let stored: Stored = serde_json::from_str(&text).map_err(|fault| {
        damaged(format!(
            "cannot be read (line {}, column {})",
            fault.line(),
            fault.column()
        ))
    })?;
    if stored.version == VERSION {
        Ok(Some(stored))
    } else {
        Err(damaged(format!(
            "is of version {}, this program knows {VERSION}",
            stored.version
        )))
    }
}

fn new_key() -> Result<String, KeyError> {
    let (_, pem) = SigningKey::generate()?;
    Ok(pem.expose_secret().to_owned())
}

fn add_slugs(slugs: &mut BTreeMap<AgentName, String>, names: &[AgentName], entropy: &dyn Entropy) -> bool {
    let mut changed = false;
    for name in names {
        slugs.entry(name.clone()).or_insert_with(|| {
            changed = true;
            slug(entropy)
        });
    }
    changed
}

/// 80 random bits, in groups that can be typed. Behind argon2 and a throttle nobody finds them by trying.
fn password(entropy: &dyn Entropy) -> String {
    let mut bytes = [0; 10];
    entropy.fill(&mut bytes);
    let groups: Vec<String> = bytes
        .chunks(2)
        .map(|pair| pair.iter().map(|byte| format!("{byte:02x}")).collect())
        .collect();
    groups.join("-")
}

/// 160 random bits: the path of an agent cannot be guessed, and two agents' paths have nothing in common.
fn slug(entropy: &dyn Entropy) -> String {
    let mut bytes = [0; 20];
    entropy.fill(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
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
            users: |_| &["ada"],
        };
        Secrets::load_or_make(Some(file), &wanted, &SystemEntropy)
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
                secrets.idp.set().public_jwks(),
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
