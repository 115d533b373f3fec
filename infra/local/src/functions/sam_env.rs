//! The settings of every function, as its environment would hold them. The local system starts its functions from this
//! table; `switchyard sam-env` prints it, for those that run outside of this process, by `sam local`, `cargo lambda` or their
//! `bootstrap` itself, against this system: its DynamoDB, its secrets, its queues, its addresses.

use std::collections::BTreeMap;

use domain::{AgentName, Tenant};
use edge::config::Env;
use serde::Serialize;
use serde_json::json;
use url::Url;

use crate::address::{below, plain};
use crate::data::current::{Current, Own};
use crate::error::StartError;
use crate::functions::{CALENDAR_CALLBACK, HOST, Mounting, Spec, Trust, named};
use crate::google;
use crate::mqtt::{self, MqttBroker};
use crate::options::{Live, Outside};

/// Settings by their names.
type Variables = BTreeMap<String, String>;

/// The settings of one function; of one tenant's where each has its own.
pub(crate) struct Environment<'a> {
    pub(crate) spec: &'a Spec,
    pub(crate) tenant: Option<Own<'a>>,
    pub(crate) variables: Variables,
}

/// The settings of the functions that serve everybody, or of this tenant's own.
pub(crate) fn all<'a>(
    functions: &'a [Spec],
    current: &Current,
    outside: &Outside,
    tenant: Option<Own<'a>>,
) -> Result<Vec<Environment<'a>>, StartError> {
    let queues = queues(functions, current)?;
    let are_asked = functions
        .iter()
        .filter(|spec| spec.is_of_tenant() == tenant.is_some());
    let filled = are_asked.map(|spec| {
        let mut environment = Environment {
            spec,
            tenant,
            variables: Variables::new(),
        };
        environment.fill(current, &queues, outside)?;
        Ok(environment)
    });
    filled.collect()
}

/// The settings of the functions that serve this tenant, by their logical ids in the templates. `None` where there is no such
/// tenant.
pub(crate) fn environments(
    functions: &[Spec],
    current: &Current,
    tenant: &Tenant,
    outside: &Outside,
) -> Result<Option<BTreeMap<String, Variables>>, StartError> {
    let Some(own) = current.tenant(tenant) else {
        return Ok(None);
    };
    let mut found = all(functions, current, outside, None)?;
    found.extend(all(functions, current, outside, Some(own))?);
    let found = found.into_iter();
    let found = found.map(|environment| (logical_id(environment.spec.name), environment.variables));
    Ok(Some(found.collect()))
}

/// The agents' queues.
fn queues(functions: &[Spec], current: &Current) -> Result<String, StartError> {
    let agents = functions.iter().filter_map(Spec::agent);
    let agents = agents.collect::<Result<Vec<AgentName>, _>>();
    let queue = |agent: AgentName| {
        let url = below(&current.endpoints.sqs, &format!("/{agent}"));
        (agent, url)
    };
    let queues: BTreeMap<_, Url> = agents
        .map_err(StartError::part("list of agents"))?
        .into_iter()
        .map(queue)
        .collect();
    text(&queues)
}

impl<'a> Environment<'a> {
    /// Where the agent is that this function is.
    pub(crate) fn agent_url<'c>(&self, current: &'c Current) -> Option<&'c Url>
    where
        'a: 'c,
    {
        let (agents, name) = match (self.spec.place, self.tenant) {
            (Mounting::TenantAgent(HOST, _), Some(own)) => return Some(&own.endpoints.host_agent),
            (Mounting::TenantAgent(name, _), Some(own)) => (&own.endpoints.agents, name),
            (Mounting::Agent(name), _) => (&current.endpoints.agents, name),
            _ => return None,
        };
        let found = agents.iter().find(|(known, _)| known.as_str() == name);
        found.map(|(_, url)| url)
    }

    /// Gives the function each setting that it reads; one that is not known here has its default.
    fn fill(&mut self, current: &Current, queues: &str, outside: &Outside) -> Result<(), StartError> {
        let mut known = shared(current, queues, outside)?;
        known.insert("TRUSTED_ISSUERS", self.trusted(current)?);
        known.extend(self.agent_url(current).map(|url| ("AGENT_URL", url.to_string())));
        known.extend(self.tenant.iter().flat_map(of_tenant));
        if let (Some(broker), Some(Ok(name))) = (&outside.mqtt, self.spec.agent()) {
            let unit = self.tenant.map(|own| own.name.prefix());
            let url = mqtt::interface(broker, unit, name.as_str());
            known.extend(url.map(|url| ("AGENT_MQTT_URL", url.to_string())));
        }
        if self.spec.name == CALENDAR_CALLBACK {
            known.insert("CONSENT_AGENT", calendar_agent::AGENT.to_owned());
            known.insert("TENANT_BASE_URL", consent_base(current));
            let agent = current.endpoints.agents.iter();
            let mut agent = agent.filter(|(name, _)| name.as_str() == calendar_agent::AGENT);
            known.extend(agent.next().map(|(_, url)| ("AGENT_URL", url.to_string())));
            let keys = format!("{}/{{tenant}}/browsers.json", plain(&current.endpoints.idp));
            known.insert("BROWSER_KEYS_URL", keys);
        }
        let mut env = Env::of(known.clone());
        // What is wrong is told by whoever starts it.
        let _read = self.spec.read(&mut env);
        // Lambda sets the region.
        let asked = env.asked().iter().filter(|name| *name != "AWS_REGION");
        let given = asked.map(|name| (name.clone(), known.remove(name.as_str()).unwrap_or_default()));
        self.variables = given.collect();
        Ok(())
    }

    /// Whose tokens it takes.
    fn trusted(&self, current: &Current) -> Result<String, StartError> {
        // Fetched, so that a function that runs for long sees rotated keys.
        let sign_in = |own: Own<'_>| {
            let jwks = format!("/{}/jwks.json", own.name.prefix());
            current.sign_in(below(&current.endpoints.idp, &jwks))
        };
        match (self.spec.place, self.tenant) {
            (Mounting::TenantAgent(_, Trust::SignedIn), Some(own)) => text(&[sign_in(own)]),
            (Mounting::TenantAgent(_, Trust::SessionsToo), Some(own)) => {
                let mut trusted = current.sessions().map_err(StartError::part("environment"))?;
                trusted.push(sign_in(own));
                text(&trusted)
            }
            _ => text(&current.sessions().map_err(StartError::part("environment"))?),
        }
    }
}

/// What every function may be told.
fn shared(
    current: &Current,
    queues: &str,
    outside: &Outside,
) -> Result<BTreeMap<&'static str, String>, StartError> {
    let endpoints = &current.endpoints;
    let this_machine = endpoints.container_host();
    let this_machine = this_machine.map_or_else(|| true.to_string(), |ip| ip.to_string());
    let mut known = BTreeMap::from([
        ("AWS_ENDPOINT_URL_DYNAMODB", endpoints.database().to_string()),
        (
            "AWS_ENDPOINT_URL_SECRETS_MANAGER",
            endpoints.secrets_manager.to_string(),
        ),
        ("AWS_ENDPOINT_URL_SQS", endpoints.sqs.to_string()),
        // There is no S3 here: the functions in this process have a folder.
        ("AWS_ENDPOINT_URL_S3", String::new()),
        ("BLOBS_BUCKET", String::new()),
        ("AUDIT_BUCKET", String::new()),
        ("TABLE_PREFIX", crate::data::database::TABLE_PREFIX.to_owned()),
        ("KEYS_EDITION", "1".to_owned()),
        ("WAKE_QUEUES", queues.to_owned()),
        ("ANSWERS", "buffered".to_owned()),
        // Everything here is at addresses of this machine; deployed functions never call one.
        ("ALLOW_LOOPBACK", this_machine),
        ("REGISTRY_URL", endpoints.registry.to_string()),
        ("IDP_URL", endpoints.idp.to_string()),
        ("IDP_KEYS_SECRET", named::IDP_KEYS.to_owned()),
        ("SEALING_KEYS_SECRET", named::SEALING_KEYS.to_owned()),
    ]);
    if !outside.live.contains(&Live::Weather) {
        let sandbox = below(&endpoints.gateway, "/sandbox/open-meteo").to_string();
        known.insert("OPEN_METEO_GEOCODING_URL", sandbox.clone());
        known.insert("OPEN_METEO_FORECAST_URL", sandbox);
    }
    if let Some(broker) = &outside.mqtt {
        known.extend(of_bridge(broker, current)?);
    }
    known.extend(outside.homes.settings(&endpoints.gateway));
    known.insert("GOOGLE_CALENDAR_URL", outside.google.calendar(&endpoints.gateway));
    known.insert("CONSENT_BASE_URL", consent_base(current));
    known.insert("OAUTH_PROVIDERS_SECRET", named::CALENDAR_PROVIDERS.to_owned());
    if let Some(models) = &outside.models {
        known.insert("MODELS", models.list.clone());
        known.insert("EMBED", models.embed.clone());
        known.insert("TOKENS_PER_DAY", models.tokens_per_day.to_string());
        let bedrock = models.bedrock.as_ref().map(Url::to_string);
        known.extend(bedrock.map(|url| ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", url)));
    }
    known.insert("PLAN_APPROVAL", outside.plan_approval.to_string());
    known.insert("PUBLIC_AGENTS", "true".to_owned());
    known.insert("ACCESS_TOKEN_TTL", outside.access_token_ttl.to_string());
    known.insert("REQUIRE_SIGN_IN", outside.require_sign_in.to_string());
    known.insert("PUSH_SERVICES", outside.push_services.join(","));
    Ok(known)
}

/// What the bridge to an MQTT broker is told.
fn of_bridge(broker: &MqttBroker, current: &Current) -> Result<Vec<(&'static str, String)>, StartError> {
    let endpoints = &current.endpoints;
    let agents = mqtt::agents(endpoints).map_err(StartError::part("list of agents"))?;
    let orgs = broker.orgs.iter().map(String::as_str).chain([mqtt::ORG]);
    let passwords = broker.signs_in().then(|| named::MQTT_PASSWORDS.to_owned());
    let passwords = passwords.map(|secret| ("MQTT_PASSWORDS_SECRET", secret));
    let started = broker.imports.iter().map(ToString::to_string);
    let imports = started.chain(current.secrets.mqtt_imports.iter().cloned());
    let settings = [
        ("BRIDGE_URL", below(&endpoints.gateway, mqtt::BRIDGE).to_string()),
        (
            "MQTT_BRIDGE_URL",
            below(&endpoints.gateway, mqtt::BRIDGE).to_string(),
        ),
        ("MQTT_BROKER", broker.url.url().to_string()),
        ("MQTT_PREFIX", broker.prefix.to_string()),
        ("MQTT_ORGS", text(&orgs.collect::<Vec<_>>())?),
        ("MQTT_AGENTS", text(&agents)?),
        ("MQTT_IMPORTS", text(&imports.collect::<Vec<_>>())?),
        ("PLATFORM_KEY_SECRET", named::PLATFORM_KEY.to_owned()),
    ];
    Ok(settings.into_iter().chain(passwords).collect())
}

/// Where users go to agree to what the calendar agent asks for.
fn consent_base(current: &Current) -> String {
    below(&current.endpoints.gateway, google::CONSENT).to_string()
}

/// What a tenant's functions may be told besides.
fn of_tenant(own: &Own<'_>) -> [(&'static str, String); 9] {
    let webhook = below(&own.endpoints.base, mqtt::WEBHOOK);
    [
        ("TENANT_ID", own.name.name().to_owned()),
        ("TENANT_PREFIX", own.name.prefix().to_owned()),
        ("TENANT_BASE_URL", own.endpoints.base.to_string()),
        ("HOST_AGENT_URL", own.endpoints.host_agent.to_string()),
        ("A2A_WEBHOOK_URL", webhook.to_string()),
        ("SESSION_KEY_SECRET", named::session_key(own.name)),
        ("OAUTH_PROVIDERS_SECRET", named::oauth_providers(own.name)),
        ("SIGN_IN_ISSUERS", own.secrets.sign_in.offered_issuers()),
        ("REQUIRE_ACR", own.secrets.sign_in.require_acr.clone()),
    ]
}

fn text<T: Serialize + ?Sized>(value: &T) -> Result<String, StartError> {
    serde_json::to_string(value).map_err(StartError::part("environment"))
}

/// The logical id of a function by that or by the name of its package.
#[must_use]
pub fn logical_id(name: &str) -> String {
    if name.ends_with("Function") {
        return name.to_owned();
    }
    let words = name.split('_').map(|word| {
        let mut letters = word.chars();
        let first = letters.next().map(|first| first.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    });
    words.chain(["Function".to_owned()]).collect()
}

/// An environment as `cargo lambda watch --env-file` and shells read it.
#[must_use]
pub fn dotenv(environment: &BTreeMap<String, String>) -> String {
    let line = |(name, value): (&String, &String)| format!("{name}={}\n", quoted(value));
    environment.iter().map(line).collect()
}

/// An environment file that `sam local invoke --env-vars` reads.
#[must_use]
pub fn sam(environments: &BTreeMap<String, BTreeMap<String, String>>) -> String {
    format!("{:#}\n", json!(environments))
}

/// In single quotes, where nothing but a single quote means anything to a shell.
#[must_use]
pub fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_named_by_its_package_too() {
        for (name, id) in [
            ("host_agent", "HostAgentFunction"),
            ("idp", "IdpFunction"),
            ("TaskSweeperFunction", "TaskSweeperFunction"),
        ] {
            assert_eq!(logical_id(name), id);
        }
    }

    #[test]
    fn values_stay_whole_in_an_environment_file() {
        let environment = BTreeMap::from([("A".to_owned(), r#"{"a": "it's $HOME"}"#.to_owned())]);
        assert_eq!(dotenv(&environment), "A='{\"a\": \"it'\\''s $HOME\"}'\n");
    }
}
