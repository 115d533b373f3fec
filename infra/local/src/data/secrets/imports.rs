//! Which agents of an MQTT broker the registry is to know: rules that come and go while the system is there.

use domain::Tenant;
use mqtt_bridge::ImportRule;
use serde::{Deserialize, Serialize, Serializer};

use super::stored::Stored;
use crate::error::ChangeError;

/// Most rules that are kept.
const RULES_MAX: usize = 200;

/// Rules that come, and rules that go.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImportChange {
    /// Those that come.
    #[serde(default, serialize_with = "texts")]
    pub add: Vec<ImportRule>,
    /// Those that go.
    #[serde(default, serialize_with = "texts")]
    pub remove: Vec<ImportRule>,
}

fn texts<S: Serializer>(rules: &[ImportRule], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(rules.iter().map(ToString::to_string))
}

impl ImportChange {
    /// Makes the change in what is kept: all of it, or nothing.
    ///
    /// # Errors
    /// Where a rule that goes is not there, or too many are there in the end.
    pub fn apply(&self, stored: &mut Stored) -> Result<(), ChangeError> {
        let mut rules = stored.mqtt_imports.clone();
        for rule in &self.remove {
            let text = named(stored, rule)?.to_string();
            if !rules.remove(&text) {
                return Err(ChangeError::NoImport(text));
            }
        }
        for rule in &self.add {
            rules.insert(named(stored, rule)?.to_string());
        }
        if rules.len() > RULES_MAX {
            return Err(ChangeError::ManyImports(RULES_MAX));
        }
        stored.mqtt_imports = rules;
        Ok(())
    }
}

/// The rule for the tenant that has this name now.
fn named(stored: &Stored, rule: &ImportRule) -> Result<ImportRule, ChangeError> {
    let mut rule = rule.clone();
    if let Some(tenant) = &rule.tenant {
        let is_it = |known: &&Tenant| known.name() == tenant.name();
        let known = stored.tenants.keys().find(is_it).cloned();
        rule.tenant = Some(known.ok_or_else(|| ChangeError::Unknown {
            name: tenant.clone(),
            known: stored.tenants.keys().cloned().collect(),
        })?);
    }
    Ok(rule)
}
