//! `endpoints.json`: where everything is, for people, the other commands and tests.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use domain::{AgentName, Tenant};
use dynamodb::AccessKey;
use serde::{Deserialize, Serialize};
use url::{Host, Url};

use crate::data::{folder, incarnation};
use crate::error::StartError;

/// The name of the file in a data folder.
pub const FILE: &str = "endpoints.json";

/// Where everything is. It holds a token and passwords, so the file is its owner's alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoints {
    /// The gateway in front of every function.
    pub gateway: Url,
    /// The embedded DynamoDB.
    pub dynamodb: Url,
    /// The access key that it wants to see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dynamodb_key: Option<AccessKey>,
    /// The registry.
    pub registry: Url,
    /// The authorization server; each tenant's issuer lies below it, under the tenant's name.
    pub idp: Url,
    /// The agents that serve every tenant.
    pub agents: BTreeMap<AgentName, Url>,
    /// The tenants; in JSON by their names, with their prefixes.
    #[serde(with = "by_name")]
    pub tenants: BTreeMap<Tenant, Arc<TenantEndpoints>>,
    /// Who can sign in, by the tenant's name.
    pub users: BTreeMap<String, Arc<Vec<DemoUser>>>,
    /// Lets its bearer change the registry.
    pub registry_token: String,
    /// Lets its bearer add and remove tenants and rotate keys.
    pub admin_token: String,
    /// What stands in for AWS Secrets Manager. Whoever has this address has every secret of this system.
    pub secrets_manager: Url,
    /// What stands in for AWS SQS.
    pub sqs: Url,
    /// The MQTT broker that agents are on as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mqtt: Option<MqttEndpoints>,
}

/// Where agents are over MQTT.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MqttEndpoints {
    /// The broker.
    pub broker: Url,
    /// The bridge between it and the agents.
    pub bridge: Url,
    /// What topics begin with.
    pub prefix: String,
    /// Organisations that replies go to, beside the system's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub orgs: Vec<String>,
    /// The passwords of those who sign in at the broker and are no agents of the system, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub users: BTreeMap<String, String>,
}

/// Where a tenant's functions are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TenantEndpoints {
    /// The page, and below it the chat and task routes.
    pub base: Url,
    /// The tenant's host agent.
    pub host_agent: Url,
    /// The tenant's other agents.
    pub agents: BTreeMap<AgentName, Url>,
}

/// A user of the authorization server, for trying things out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DemoUser {
    /// The name to sign in with.
    pub username: String,
    /// The password, generated for this data folder.
    pub password: String,
    /// What the user may do beside what every member may: `operator`, `admin`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
}

impl Endpoints {
    /// The tenant of that name, whichever incarnation it is.
    #[must_use]
    pub fn named(&self, name: &Tenant) -> Option<(&Tenant, &TenantEndpoints)> {
        let (tenant, own) = incarnation(&self.tenants, name)?;
        Some((tenant, own))
    }

    /// The address of this machine that everything here has, where that is not a loopback one.
    pub(crate) fn container_host(&self) -> Option<IpAddr> {
        let ip = match self.gateway.host()? {
            Host::Ipv4(ip) => IpAddr::from(ip),
            Host::Ipv6(ip) => IpAddr::from(ip),
            Host::Domain(_) => return None,
        };
        (!ip.is_loopback()).then_some(ip)
    }

    /// The embedded DynamoDB's address with its access key in it, as the functions' settings have it.
    #[must_use]
    pub fn database(&self) -> Url {
        let key = self.dynamodb_key.as_ref();
        key.map_or_else(|| self.dynamodb.clone(), |key| key.within(&self.dynamodb))
    }

    /// Writes the list, and makes the folder for it where that is missing.
    pub(crate) fn write(&self, path: &Path) -> Result<(), StartError> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            folder::make(folder)?;
        }
        let text = serde_json::to_string_pretty(self).map_err(StartError::part("list of endpoints"))?;
        folder::write(path, &format!("{text}\n"))
    }
}

/// Tenants as people write them.
mod by_name {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use domain::Tenant;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::TenantEndpoints;

    #[derive(Serialize)]
    struct Told<'a> {
        prefix: &'a Tenant,
        #[serde(flatten)]
        endpoints: &'a TenantEndpoints,
    }

    #[derive(Deserialize)]
    struct Read {
        prefix: Tenant,
        #[serde(flatten)]
        endpoints: TenantEndpoints,
    }

    pub(super) fn serialize<S: Serializer>(
        tenants: &BTreeMap<Tenant, Arc<TenantEndpoints>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(
            tenants
                .iter()
                .map(|(prefix, endpoints)| (prefix.name(), Told { prefix, endpoints })),
        )
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<Tenant, Arc<TenantEndpoints>>, D::Error> {
        let read = BTreeMap::<String, Read>::deserialize(deserializer)?;
        Ok(read
            .into_values()
            .map(|tenant| (tenant.prefix, Arc::new(tenant.endpoints)))
            .collect())
    }
}
