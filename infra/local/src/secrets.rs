//! The system's own secrets: keys and unguessable paths, made once per data folder. On AWS they are entries of
//! Secrets Manager and of the stacks' outputs; functions here get them handed over. (A local endpoint that speaks
//! `GetSecretValue` comes with the first function that is run outside of this process.)

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use auth::{KeyError, Sealer, SigningKey};
use domain::{AgentName, Entropy, ExposeSecret, SecretString, Tenant};
use serde::{Deserialize, Serialize};

use crate::{StartError, folder};

/// The name of the file in a data folder.
pub(crate) const FILE: &str = "secrets.json";
/// The form of the file.
const VERSION: u32 = 1;

/// Keys and unguessable paths.
pub(crate) struct Secrets {
    /// Signs what the platform itself may do.
    pub(crate) platform: Arc<SigningKey>,
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
}

#[derive(Default, Serialize, Deserialize)]
struct Stored {
    version: u32,
    platform_key: String,
    sealing_keys: Vec<(String, String)>,
    tenants: BTreeMap<Tenant, StoredTenant>,
    slugs: BTreeMap<AgentName, String>,
}

#[derive(Default, Serialize, Deserialize)]
struct StoredTenant {
    session_key: String,
    slugs: BTreeMap<AgentName, String>,
}

/// Whom there must be secrets for.
pub(crate) struct Wanted<'a> {
    pub(crate) tenants: &'a [Tenant],
    /// Agents that each tenant has of its own.
    pub(crate) tenant_agents: &'a [AgentName],
    /// Agents that serve every tenant.
    pub(crate) agents: &'a [AgentName],
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
        read(file)?.map(|stored| Self::of(stored, Some(file))).transpose()
    }

    fn of(stored: Stored, file: Option<&Path>) -> Result<Self, StartError> {
        let key = |pem: String| {
            SigningKey::from_pem(&SecretString::from(pem))
                .map(Arc::new)
                .map_err(|fault| StartError::Damaged {
                    path: file.unwrap_or(Path::new(FILE)).to_owned(),
                    reason: format!("holds a key that cannot be used ({fault})"),
                })
        };
        let tenants = stored.tenants.into_iter().map(|(name, tenant)| {
            let session = key(tenant.session_key)?;
            Ok((
                name,
                TenantSecrets {
                    session,
                    slugs: tenant.slugs,
                },
            ))
        });
        Ok(Self {
            tenants: tenants.collect::<Result<_, StartError>>()?,
            platform: key(stored.platform_key)?,
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
        for tenant in wanted.tenants {
            if !self.tenants.contains_key(tenant) {
                let session_key = new_key()?;
                self.tenants.insert(
                    tenant.clone(),
                    StoredTenant {
                        session_key,
                        slugs: BTreeMap::new(),
                    },
                );
                changed = true;
            }
        }
        for tenant in self.tenants.values_mut() {
            changed |= add_slugs(&mut tenant.slugs, wanted.tenant_agents, entropy);
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

/// 160 random bits: the path of an agent cannot be guessed, and two agents' paths have nothing in common.
fn slug(entropy: &dyn Entropy) -> String {
    let mut bytes = [0; 20];
    entropy.fill(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use domain::SystemEntropy;

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
