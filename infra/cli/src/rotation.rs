//! Rotations of a deployment on AWS: what changes in the folder that `switchyard platform add --aws` or `switchyard tenant add
//! --aws` wrote. `infra/deploy.sh rotate-keys` and `infra/deploy.sh move-agent` bring it there.
//!
//! A rotation is written down whole before the first file changes. A second run applies the same again, so that no key is
//! made twice and none is lost.

use std::collections::BTreeMap;

use auth::{Algorithm, BrowserKeys, KeyError, KeySet, Sealer, SigningKey};
use domain::{Clock as _, Entropy, ExposeSecret, SecretString, SystemClock, Tenant};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use store::{SessionIssuer, StoreError, session_issuer_item};

use crate::onboarding::{BASE_URL, PARAMETERS};
use local::data::key_age::dated;
use local::data::secrets::slug;

/// The file of a rotation of keys that is under way.
pub(crate) const ROTATION: &str = "rotation";
/// The file of an agent's move that is under way.
pub(crate) const MOVE: &str = "move";

/// The parameter of both templates whose change starts every function anew.
const EDITION: &str = "KeysEdition";
/// The file with a tenant's signing key, and the one with the platform's.
const SIGNING: (&str, &str) = ("session-key", "idp-keys");
/// The file with the keys that a tenant's host seals with.
const TENANTS_SEALING: &str = "sealing-keys";
/// The parameter with the public half of a tenant's signing key.
const PUBLIC: &str = "SessionPublicKey";

/// Why there is no rotation.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RotationError {
    /// A key cannot be read or made.
    #[error("a key")]
    Key(#[from] KeyError),
    /// A file does not hold what `switchyard` writes there.
    #[error("the file {0} does not hold what it should")]
    File(String),
    /// An item does not fit.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no such agent.
    #[error("there is no agent {agent:?} in this folder; there are {known}")]
    Agent {
        /// The one that was named.
        agent: String,
        /// Those that are there.
        known: String,
    },
}

/// New keys: the files as they are in the end.
#[derive(Serialize, Deserialize)]
pub(crate) struct KeyRotation {
    /// What the parameter `KeysEdition` begins with while the rotation runs: its steps append a digit.
    pub(crate) edition: String,
    /// The files that change, by name. New keys come first; those before stay known.
    pub(crate) files: BTreeMap<String, String>,
}

impl KeyRotation {
    /// New keys in the place of those in these files of a folder.
    pub(crate) fn of(files: &BTreeMap<String, String>, entropy: &dyn Entropy) -> Result<Self, RotationError> {
        let mut changed = BTreeMap::new();
        for (name, text) in files.iter().filter(|(name, _)| name.ends_with("sealing-keys")) {
            changed.insert(name.clone(), with_new_sealing_key(name, text, entropy)?);
        }
        if let Some(text) = files.get(SIGNING.1) {
            let rotated = KeySet::rotated(&text.as_str().into(), Algorithm::Es256)?;
            changed.insert(SIGNING.1.to_owned(), rotated.expose_secret().to_owned());
        }
        let mut parameters = parameters(files)?;
        if let Some(text) = files.get(SIGNING.0) {
            let before = SigningKey::from_pem(&text.as_str().into())?.public_jwk();
            let (new, pem) = SigningKey::generate()?;
            let public = vec![new.public_jwk(), before];
            changed.insert(SIGNING.0.to_owned(), pem.expose_secret().to_owned());
            let both: Vec<String> = public.iter().map(Value::to_string).collect();
            parameters.insert(PUBLIC.to_owned(), both.join(",").into());
            let sealing = changed.get(TENANTS_SEALING).map(String::as_str);
            let (name, item) = issuer(files, &parameters, (public, sealing.unwrap_or_default()))?;
            changed.insert(name, item.to_string());
        }
        let edition: String = slug(entropy).chars().take(16).collect();
        // As it is after the last step.
        parameters.insert(EDITION.to_owned(), format!("{edition}2").into());
        changed.insert(PARAMETERS.to_owned(), Value::from(parameters).to_string());
        Ok(Self {
            edition,
            files: changed,
        })
    }
}

/// Sealing keys with a new one in front of them.
fn with_new_sealing_key(name: &str, text: &str, entropy: &dyn Entropy) -> Result<String, RotationError> {
    let mut keys = sealing_keys(name, text)?;
    let id = (keys.len() + 1..)
        .map(|number| format!("k{number}"))
        .find(|id| keys.iter().all(|(known, _)| known != id));
    let key = Sealer::generate_key(entropy);
    keys.insert(0, (id.unwrap_or_default(), key.expose_secret().to_owned()));
    Ok(json!(keys).to_string())
}

fn sealing_keys(name: &str, text: &str) -> Result<Vec<(String, String)>, RotationError> {
    serde_json::from_str(text).map_err(|_| RotationError::File(name.to_owned()))
}

fn parameters(files: &BTreeMap<String, String>) -> Result<Map<String, Value>, RotationError> {
    let fault = || RotationError::File(PARAMETERS.to_owned());
    let text = files.get(PARAMETERS).ok_or_else(fault)?;
    serde_json::from_str(text).map_err(|_| fault())
}

/// The item by which the authorization server vouches for a tenant's keys, and the file that it is in.
fn issuer(
    files: &BTreeMap<String, String>,
    parameters: &Map<String, Value>,
    (keys, sealing): (Vec<Value>, &str),
) -> Result<(String, Value), RotationError> {
    let missing = || RotationError::File(PARAMETERS.to_owned());
    let text = |name: &str| parameters.get(name).and_then(Value::as_str);
    // A folder of before there were prefixes has none.
    let prefix = text("TenantPrefix")
        .or_else(|| text("Tenant"))
        .ok_or_else(missing)?;
    let tenant = Tenant::from_prefix(prefix).map_err(|_| missing())?;
    // The keys of a browser's proofs follow from the sealing keys, the new one too.
    let sealing = sealing_keys(TENANTS_SEALING, sealing)?.into_iter();
    let sealer = Sealer::new(sealing.map(|(id, key)| (id, SecretString::from(key))).collect())?;
    let sessions = |keys, browser_keys| SessionIssuer {
        issuer: BASE_URL.to_owned(),
        keys,
        browser_keys,
    };
    let place = session_issuer_item(&tenant, &sessions(Vec::new(), Vec::new()))?;
    let of_sessions = |text: &str| {
        let known: Value = serde_json::from_str(text).ok()?;
        (known.get("pk") == place.get("pk") && known.get("sk") == place.get("sk")).then_some(known)
    };
    let found = files
        .iter()
        .find_map(|(name, text)| Some((name, of_sessions(text)?)));
    let (name, known) = found.ok_or_else(|| RotationError::File("identity-*.json".to_owned()))?;
    let known = known.pointer("/body/S").and_then(Value::as_str);
    let known: SessionIssuer = known
        .and_then(|body| serde_json::from_str(body).ok())
        .ok_or_else(|| RotationError::File(name.clone()))?;
    let now = SystemClock.now();
    let browser_keys = BrowserKeys::of(&sealer, &tenant)?.public_jwks();
    let sessions = sessions(
        dated(keys, Some(&known.keys), now),
        dated(browser_keys, Some(&known.browser_keys), now),
    );
    Ok((name.clone(), session_issuer_item(&tenant, &sessions)?))
}

/// Another path for an agent.
#[derive(Serialize, Deserialize)]
pub(crate) struct AgentMove {
    /// Which agent, as the outputs of its stack begin, such as `Weather`.
    pub(crate) agent: String,
    /// Its path until now.
    pub(crate) before: String,
    /// Its path from now on.
    pub(crate) after: String,
}

impl AgentMove {
    /// A new path for the agent of this name, such as `weather`.
    pub(crate) fn of(
        parameters: &Map<String, Value>,
        agent: &str,
        entropy: &dyn Entropy,
    ) -> Result<Self, RotationError> {
        let known = || parameters.keys().filter_map(|name| name.strip_suffix("Path"));
        let found = known().find(|known| known.eq_ignore_ascii_case(agent));
        let before = found.and_then(|found| parameters.get(&format!("{found}Path"))?.as_str());
        let (Some(found), Some(before)) = (found, before) else {
            let known: Vec<String> = known().map(str::to_lowercase).collect();
            return Err(RotationError::Agent {
                agent: agent.to_owned(),
                known: known.join(", "),
            });
        };
        Ok(Self {
            agent: found.to_owned(),
            before: before.to_owned(),
            after: slug(entropy),
        })
    }

    /// The parameters with the new path.
    pub(crate) fn apply(&self, parameters: &mut Map<String, Value>) {
        parameters.insert(format!("{}Path", self.agent), self.after.as_str().into());
    }
}

#[cfg(test)]
mod tests {
    use domain::SystemEntropy;

    use super::*;
    use crate::onboarding::{Plan, PlatformPlan, TenantStack};

    fn platform() -> BTreeMap<String, String> {
        let plan = PlatformPlan::new("prod", "switchyard", &SystemEntropy).unwrap();
        plan.files().into_iter().collect()
    }

    fn keys(text: &str) -> Vec<(String, String)> {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn new_keys_come_first_and_those_before_stay() {
        let before = platform();
        let once = KeyRotation::of(&before, &SystemEntropy).unwrap();
        let mut now = before.clone();
        now.extend(once.files.clone());
        let twice = KeyRotation::of(&now, &SystemEntropy).unwrap();
        for (name, text) in &twice.files {
            if name.ends_with("sealing-keys") {
                let ids: Vec<String> = keys(text).into_iter().map(|(id, _)| id).collect();
                assert_eq!(ids, ["k3", "k2", "k1"], "{name}");
                assert_eq!(keys(text)[2], keys(&before[name])[0], "{name}");
                assert_eq!(keys(text)[1], keys(&once.files[name])[0], "{name}");
            }
        }
        let signs = |files: &BTreeMap<String, String>| {
            let set = KeySet::from_secret(&SecretString::from(files["idp-keys"].clone()));
            set.unwrap().public_jwks()
        };
        assert_eq!(signs(&once.files)[0], signs(&before)[1], "the next one signs");
        // Nothing else changes: an operator's key, a client at Google, a path.
        let same = |name: &str| !once.files.contains_key(name);
        assert!(same("operator-key") && same("calendar-providers") && same("stack"));
        let (old, new) = (parameters(&before).unwrap(), parameters(&once.files).unwrap());
        let changed: Vec<&String> = new
            .iter()
            .filter_map(|(name, value)| (old.get(name) != Some(value)).then_some(name))
            .collect();
        assert_eq!(changed, [EDITION]);
        assert_ne!(once.edition, twice.edition);
    }

    #[test]
    fn a_tenant_signs_with_a_new_key_and_vouches_for_both() {
        let tenant = Tenant::parse("acme").unwrap().incarnated(&SystemEntropy);
        let stack = TenantStack::new(tenant, "prod", "switchyard").unwrap();
        let plan = Plan::new(stack, &[], &SystemEntropy).unwrap();
        let before: BTreeMap<String, String> = plan.files().into_iter().collect();
        let rotation = KeyRotation::of(&before, &SystemEntropy).unwrap();
        let public = |pem: &str| {
            let key = SigningKey::from_pem(&SecretString::from(pem.to_owned()));
            key.unwrap().public_jwk()
        };
        let both = [
            public(&rotation.files["session-key"]),
            public(&before["session-key"]),
        ];
        let told = parameters(&rotation.files).unwrap()[PUBLIC].clone();
        let told: Value = serde_json::from_str(&format!("[{}]", told.as_str().unwrap())).unwrap();
        assert_eq!(told, json!(both));
        let (name, item) = rotation
            .files
            .iter()
            .find(|(name, _)| name.starts_with("identity-"))
            .unwrap();
        let (old, new): (Value, Value) = (
            serde_json::from_str(&before[name]).unwrap(),
            serde_json::from_str(item).unwrap(),
        );
        assert_eq!((&old["pk"], &old["sk"]), (&new["pk"], &new["sk"]));
        let body: Value = serde_json::from_str(new["body"]["S"].as_str().unwrap()).unwrap();
        // Each with the time from which it is there.
        let without_time = |keys: &Value| -> Vec<Value> {
            let mut keys = keys.as_array().unwrap().clone();
            let mut took = keys
                .iter_mut()
                .map(|key| key.as_object_mut().unwrap().remove("iat"));
            assert!(took.all(|iat| iat.is_some()));
            keys
        };
        assert_eq!(
            (without_time(&body["keys"]), &body["issuer"]),
            (both.to_vec(), &json!(BASE_URL))
        );
        let browsers = body["browser_keys"].as_array().unwrap();
        let before: Value = serde_json::from_str(old["body"]["S"].as_str().unwrap()).unwrap();
        assert_eq!(browsers.len(), 2);
        assert!(
            browsers.contains(&before["browser_keys"][0]),
            "the one before is kept"
        );
    }

    /// A folder of a release that vouched for no browsers: a rotation is what brings them.
    #[test]
    fn a_rotation_vouches_for_the_browsers_of_a_tenant_deployed_before() {
        let tenant = Tenant::parse("acme").unwrap().incarnated(&SystemEntropy);
        let stack = TenantStack::new(tenant, "prod", "switchyard").unwrap();
        let plan = Plan::new(stack, &[], &SystemEntropy).unwrap();
        let mut before: BTreeMap<String, String> = plan.files().into_iter().collect();
        let body = |text: &str| -> Value {
            let item: Value = serde_json::from_str(text).unwrap();
            serde_json::from_str(item["body"]["S"].as_str().unwrap_or("null")).unwrap()
        };
        let vouches = |text: &&mut String| body(text).get("browser_keys").is_some();
        let identity = before
            .iter_mut()
            .filter(|(name, _)| name.starts_with("identity-"));
        let mut vouching: Vec<&mut String> = identity.map(|(_, text)| text).filter(vouches).collect();
        let [text] = vouching.as_mut_slice() else {
            panic!("one item vouches for browsers");
        };
        let mut item: Value = serde_json::from_str(text).unwrap();
        let mut old = body(text);
        old.as_object_mut().unwrap().remove("browser_keys");
        item["body"]["S"] = old.to_string().into();
        **text = item.to_string();

        let rotation = KeyRotation::of(&before, &SystemEntropy).unwrap();
        let sealing = Sealer::new(
            keys(&rotation.files["sealing-keys"])
                .into_iter()
                .map(|(id, key)| (id, SecretString::from(key)))
                .collect(),
        );
        let parameters = parameters(&rotation.files).unwrap();
        let prefix = parameters["TenantPrefix"].as_str().unwrap();
        let tenant = Tenant::from_prefix(prefix).unwrap();
        let wanted = BrowserKeys::of(&sealing.unwrap(), &tenant).unwrap().public_jwks();
        let mut told = rotation
            .files
            .iter()
            .filter(|(name, _)| name.starts_with("identity-"));
        assert!(told.any(|(_, text)| body(text)["browser_keys"] == json!(wanted)));
        assert_eq!(wanted.len(), 2);
    }

    #[test]
    fn rubbish_in_a_folder_is_named_and_not_quoted() {
        for (name, text) in [
            ("weather-sealing-keys", "hunter2"),
            ("idp-keys", "hunter2"),
            (PARAMETERS, "hunter2"),
        ] {
            let mut files = platform();
            files.insert(name.to_owned(), text.to_owned());
            let refused = KeyRotation::of(&files, &SystemEntropy).err().unwrap();
            assert!(!format!("{refused} {refused:?}").contains("hunter2"), "{name}");
        }
    }

    #[test]
    fn an_agent_gets_another_path_and_one_that_is_not_there_is_refused() {
        let mut told = parameters(&platform()).unwrap();
        let moved = AgentMove::of(&told, "weather", &SystemEntropy).unwrap();
        assert_eq!(
            (moved.agent.as_str(), told["WeatherPath"].as_str()),
            ("Weather", Some(moved.before.as_str()))
        );
        moved.apply(&mut told);
        assert_eq!(told["WeatherPath"].as_str(), Some(moved.after.as_str()));
        assert_ne!(moved.before, moved.after);
        let refused = AgentMove::of(&told, "host", &SystemEntropy).err().unwrap();
        assert!(refused.to_string().contains("weather"), "{refused}");
    }
}
