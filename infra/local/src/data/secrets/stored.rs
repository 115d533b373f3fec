//! What the file of secrets holds, how it is completed, and how it changes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use auth::{Algorithm, KeyError, KeySet, Sealer, SigningKey};
use domain::{AgentName, Entropy, ExposeSecret, SecretString, Tenant, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{SignIn, Wanted};
use crate::data::{folder, incarnation};
use crate::error::{ChangeError, StartError};

/// What the name of the file ends in that tells of tenants who came since the file was written.
const ADDED: &str = "added";
/// The form of the file.
const VERSION: u32 = 1;
/// How long after a rotation of signing keys the tokens before it may still live: their ten minutes, and as long as
/// everybody who keeps keys takes to see the new ones.
pub const OVERLAP: Duration = Duration::from_secs(15 * 60);

/// Most clients of one tenant at the MQTT broker, its agents among them.
const BROKER_CLIENTS_MAX: usize = 200;

/// What the file of secrets holds.
// What came later than the first form of the file has a default: it is made where it is missing.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Stored {
    version: u32,
    pub(super) platform_key: String,
    /// What [`KeySet`] keeps.
    #[serde(default)]
    pub(super) idp_keys: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    idp_keys_rotated_at: Option<i64>,
    /// A database was begun with these keys.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) begun: bool,
    /// Newest first.
    pub(super) sealing_keys: Vec<(String, String)>,
    pub(super) tenants: BTreeMap<Tenant, StoredTenant>,
    /// Tenants that are here no more, with the users that they had: the next start clears away what is left of them,
    /// and none comes back because it is one of the demo tenants.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) removed: BTreeMap<Tenant, BTreeSet<String>>,
    pub(super) slugs: BTreeMap<AgentName, String>,
    /// The path below which AWS's own services are imitated.
    #[serde(default)]
    pub(super) aws_slug: String,
    /// The passwords at the MQTT broker, by name: of the agents that serve every tenant, and of others who sign in there.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) mqtt: BTreeMap<String, String>,
    /// Which agents of the MQTT broker the registry is to know, beside those that the start names.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) mqtt_imports: BTreeSet<String>,
}

#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct StoredTenant {
    pub(super) session_key: String,
    /// The public half of the key before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) session_key_before: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session_key_rotated_at: Option<i64>,
    pub(super) slugs: BTreeMap<AgentName, String>,
    #[serde(default)]
    pub(super) client_secret: String,
    #[serde(default)]
    pub(super) users: BTreeMap<String, StoredPassword>,
    /// Users that are here no more: none comes back because it is one of the demo's.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    removed_users: BTreeSet<String>,
    /// What users may do beside what every member may.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) roles: BTreeMap<String, Vec<String>>,
    /// The passwords of its agents at the MQTT broker.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) mqtt: BTreeMap<String, String>,
    /// Where people sign in to the chat.
    #[serde(default)]
    pub(super) sign_in: SignIn,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct StoredPassword {
    pub(super) text: String,
    #[serde(skip)]
    pub(super) is_new: bool,
}

impl Stored {
    /// Reads the file; `None` where there is none.
    pub(crate) fn read(file: &Path) -> Result<Option<Self>, StartError> {
        let Some(text) = folder::read(file)? else {
            return Ok(None);
        };
        let damaged = |reason: String| StartError::Damaged {
            path: file.to_owned(),
            reason,
        };
        // Only where it stopped: the message itself would quote a key.
        let stored: Self = serde_json::from_str(&text).map_err(|fault| {
            damaged(format!(
                "cannot be read (line {}, column {})",
                fault.line(),
                fault.column()
            ))
        })?;
        if stored.version != VERSION {
            return Err(damaged(format!(
                "is of version {}, this program knows {VERSION}",
                stored.version
            )));
        }
        stored.with_added(&added(file)).map(Some)
    }

    /// With the tenants who came since, a line each. What a crash left half written was never answered, and is none.
    fn with_added(mut self, file: &Path) -> Result<Self, StartError> {
        let text = folder::read(file)?.unwrap_or_default();
        for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            let (tenant, own): (Tenant, StoredTenant) =
                serde_json::from_str(line).map_err(|fault| StartError::Damaged {
                    path: file.to_owned(),
                    reason: format!("cannot be read (column {})", fault.column()),
                })?;
            // Who has left since, or is in the file already, is not added by what was not cleared away.
            if !self.removed.contains_key(&tenant) {
                self.tenants.entry(tenant).or_insert(own);
            }
        }
        Ok(self)
    }

    /// Writes of a tenant who was added, beside the file, so that the next one costs no more than this.
    pub(super) fn append(file: &Path, added_one: (&Tenant, &StoredTenant)) -> Result<(), StartError> {
        let line = serde_json::to_string(&added_one).map_err(StartError::part("key maker"))?;
        folder::append(&added(file), &format!("{line}\n"))
    }

    /// Writes the file.
    pub(crate) fn write(&self, file: &Path) -> Result<(), StartError> {
        let text = serde_json::to_string_pretty(self).map_err(StartError::part("key maker"))?;
        folder::write(file, &text)?;
        // It is whole now.
        folder::remove(&added(file))
    }

    /// Makes what is missing; true where something was.
    pub(super) fn complete(&mut self, wanted: &Wanted<'_>, entropy: &dyn Entropy) -> Result<bool, KeyError> {
        let mut changed = false;
        if self.version == 0 {
            self.version = VERSION;
            self.platform_key = new_key()?;
            self.sealing_keys = vec![("k1".to_owned(), new_sealing_key(entropy))];
            changed = true;
        }
        if self.idp_keys.is_empty() {
            let (_, keys) = KeySet::generate(Algorithm::Es256)?;
            self.idp_keys = keys.expose_secret().to_owned();
            changed = true;
        }
        if self.aws_slug.is_empty() {
            self.aws_slug = slug(entropy);
            changed = true;
        }
        for tenant in wanted.tenants {
            let removed = incarnation(&self.removed, tenant);
            if incarnation(&self.tenants, tenant).is_none() && removed.is_none() {
                self.tenants.insert(tenant.clone(), StoredTenant::new()?);
                changed = true;
            }
        }
        if let Some(others) = wanted.mqtt_users {
            let agents = wanted.agents.iter().map(AgentName::as_str);
            let names = agents.chain(others.iter().map(String::as_str));
            changed |= add_passwords(&mut self.mqtt, names, entropy);
        }
        for (name, tenant) in &mut self.tenants {
            changed |= tenant.complete(name, wanted, entropy);
        }
        changed |= add_slugs(&mut self.slugs, wanted.agents, entropy);
        Ok(changed)
    }

    /// The tenant of that name.
    pub(crate) fn named(&self, name: &Tenant) -> Result<Tenant, ChangeError> {
        let found = incarnation(&self.tenants, name).map(|(tenant, _)| tenant.clone());
        found.ok_or_else(|| self.unknown(name))
    }

    /// Adds a tenant, a new incarnation of its name, for `complete` to complete.
    ///
    /// # Errors
    /// Where a tenant of that name is here.
    pub fn add_tenant(&mut self, tenant: &Tenant) -> Result<(), ChangeError> {
        let own = self.new_tenant(tenant)?;
        self.tenants.insert(tenant.clone(), own);
        Ok(())
    }

    /// The same, not yet among the others.
    pub(super) fn new_tenant(&self, tenant: &Tenant) -> Result<StoredTenant, ChangeError> {
        match incarnation(&self.tenants, tenant) {
            Some(_) => Err(ChangeError::Exists(tenant.clone())),
            None => Ok(StoredTenant::new()?),
        }
    }

    /// Takes a tenant away, with its keys.
    ///
    /// # Errors
    /// Where no such tenant is here, or it is the last one.
    pub fn remove_tenant(&mut self, name: &Tenant) -> Result<(), ChangeError> {
        let tenant = self.named(name)?;
        if self.tenants.len() == 1 {
            return Err(ChangeError::Last(tenant));
        }
        let gone = self.tenants.remove(&tenant).ok_or_else(|| self.unknown(name))?;
        let users = gone.users.into_keys().collect();
        self.removed.insert(tenant, users);
        Ok(())
    }

    /// Keeps the password of a user, who may be new.
    pub(crate) fn put_user(
        &mut self,
        name: &Tenant,
        (user, roles): (&str, &[String]),
        password: &SecretString,
    ) -> Result<(), ChangeError> {
        let tenant = self.own(name)?;
        let text = password.expose_secret().to_owned();
        let kept = StoredPassword { text, is_new: false };
        tenant.users.insert(user.to_owned(), kept);
        tenant.removed_users.remove(user);
        match roles {
            [] => tenant.roles.remove(user),
            roles => tenant.roles.insert(user.to_owned(), roles.to_vec()),
        };
        Ok(())
    }

    /// Forgets a user, for ever.
    pub(crate) fn remove_user(&mut self, name: &Tenant, user: &str) -> Result<(), ChangeError> {
        let tenant = self.own(name)?;
        tenant.users.remove(user);
        tenant.roles.remove(user);
        tenant.removed_users.insert(user.to_owned());
        Ok(())
    }

    /// Keeps the password of a tenant's client at the MQTT broker, or forgets it.
    ///
    /// # Errors
    /// Where there is none to forget, or the tenant has too many.
    pub(crate) fn put_broker_client(
        &mut self,
        name: &Tenant,
        client: &str,
        password: Option<&SecretString>,
    ) -> Result<(), ChangeError> {
        let clients = &mut self.own(name)?.mqtt;
        match password {
            Some(password) => clients.insert(client.to_owned(), password.expose_secret().to_owned()),
            None => Some(
                clients
                    .remove(client)
                    .ok_or_else(|| ChangeError::NoBrokerClient(client.to_owned()))?,
            ),
        };
        match clients.len() > BROKER_CLIENTS_MAX {
            true => Err(ChangeError::ManyBrokerClients(BROKER_CLIENTS_MAX)),
            false => Ok(()),
        }
    }

    /// Changes where people sign in at a tenant.
    pub(crate) fn change_sign_in(
        &mut self,
        name: &Tenant,
        change: impl FnOnce(&mut SignIn) -> Result<(), ChangeError>,
    ) -> Result<(), ChangeError> {
        change(&mut self.own(name)?.sign_in)
    }

    /// The authorization server signs with its next key from now on.
    pub(crate) fn rotate_idp(&mut self, now: Timestamp, force: bool) -> Result<(), ChangeError> {
        overlaps(self.idp_keys_rotated_at, now, force)?;
        let before = SecretString::from(self.idp_keys.clone());
        let after = KeySet::rotated(&before, Algorithm::Es256)?;
        self.idp_keys = after.expose_secret().to_owned();
        self.idp_keys_rotated_at = Some(now.millis());
        Ok(())
    }

    /// A tenant's chat and host sign with a new key from now on.
    pub(crate) fn rotate_session(
        &mut self,
        name: &Tenant,
        now: Timestamp,
        force: bool,
    ) -> Result<(), ChangeError> {
        let tenant = self.own(name)?;
        overlaps(tenant.session_key_rotated_at, now, force)?;
        let before = SigningKey::from_pem(&tenant.session_key.clone().into())?;
        tenant.session_key = new_key()?;
        tenant.session_key_before = Some(before.public_jwk());
        tenant.session_key_rotated_at = Some(now.millis());
        Ok(())
    }

    /// What is sealed from now on is sealed with a new key; the keys before still open what they sealed.
    pub(crate) fn rotate_sealing(&mut self, entropy: &dyn Entropy) {
        let name = (self.sealing_keys.len() + 1..)
            .map(|number| format!("k{number}"))
            .find(|name| self.sealing_keys.iter().all(|(known, _)| known != name));
        let key = new_sealing_key(entropy);
        self.sealing_keys.insert(0, (name.unwrap_or_default(), key));
    }

    fn own(&mut self, name: &Tenant) -> Result<&mut StoredTenant, ChangeError> {
        let (tenant, unknown) = (self.named(name)?, self.unknown(name));
        self.tenants.get_mut(&tenant).ok_or(unknown)
    }

    fn unknown(&self, name: &Tenant) -> ChangeError {
        ChangeError::Unknown {
            name: name.clone(),
            known: self.tenants.keys().cloned().collect(),
        }
    }
}

impl StoredTenant {
    fn new() -> Result<Self, KeyError> {
        Ok(Self {
            session_key: new_key()?,
            ..Self::default()
        })
    }

    /// Makes what is missing; true where something was.
    pub(super) fn complete(&mut self, name: &Tenant, wanted: &Wanted<'_>, entropy: &dyn Entropy) -> bool {
        let mut changed = add_slugs(&mut self.slugs, wanted.tenant_agents, entropy);
        if wanted.mqtt_users.is_some() {
            let names = wanted.tenant_agents.iter().map(AgentName::as_str);
            changed |= add_passwords(&mut self.mqtt, names, entropy);
        }
        if self.client_secret.is_empty() {
            let secret = auth::token::random("", entropy);
            self.client_secret = secret.expose_secret().to_owned();
            changed = true;
        }
        for (user, roles) in (wanted.users)(name) {
            if self.removed_users.contains(*user) || self.users.contains_key(*user) {
                continue;
            }
            let roles: Vec<String> = roles.iter().map(|role| (*role).to_owned()).collect();
            if !roles.is_empty() {
                self.roles.insert((*user).to_owned(), roles);
            }
            let text = idp::new_password(entropy).expose_secret().to_owned();
            self.users
                .insert((*user).to_owned(), StoredPassword { text, is_new: true });
            changed = true;
        }
        changed
    }
}

/// The file beside the file of secrets that tells of tenants who were added since.
fn added(file: &Path) -> PathBuf {
    file.with_extension(ADDED)
}

/// Refuses a rotation so soon after another that tokens which still live would lose their key.
fn overlaps(last: Option<i64>, now: Timestamp, force: bool) -> Result<(), ChangeError> {
    let Some(last) = last.map(Timestamp::from_millis) else {
        return Ok(());
    };
    let ago = now.since(last);
    if force || ago >= OVERLAP {
        return Ok(());
    }
    let minutes = |time: Duration| time.as_secs().div_ceil(60);
    Err(ChangeError::TooSoon {
        minutes: minutes(OVERLAP.saturating_sub(ago)),
    })
}

fn new_key() -> Result<String, KeyError> {
    let (_, pem) = SigningKey::generate()?;
    Ok(pem.expose_secret().to_owned())
}

fn new_sealing_key(entropy: &dyn Entropy) -> String {
    Sealer::generate_key(entropy).expose_secret().to_owned()
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

fn add_passwords<'n>(
    passwords: &mut BTreeMap<String, String>,
    names: impl Iterator<Item = &'n str>,
    entropy: &dyn Entropy,
) -> bool {
    let mut changed = false;
    for name in names {
        if !passwords.contains_key(name) {
            passwords.insert(name.to_owned(), slug(entropy));
            changed = true;
        }
    }
    changed
}

/// 160 random bits: the path of an agent cannot be guessed, and two agents' paths have nothing in common.
pub fn slug(entropy: &dyn Entropy) -> String {
    let mut bytes = [0; 20];
    entropy.fill(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
