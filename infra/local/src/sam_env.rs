//! What the environments of the functions are to hold so that they run outside of this process, by `sam local`, `cargo
//! lambda` or their `bootstrap` itself, against this system: its DynamoDB, its secrets, its queues, its addresses.

use std::collections::{BTreeMap, BTreeSet};

use auth::{Issuer, KeyPlace, TrustedIssuer};
use domain::Tenant;
use serde::Serialize;
use serde_json::json;
use url::Url;

use crate::assembly::{Names, open_meteo};
use crate::client::below;
use crate::control::Current;
use crate::functions::{idp_issuer, trusted};
use crate::onboarding::quoted;
use crate::{Live, StartError, aws};

/// The variables of one function.
pub(crate) type Environment = BTreeMap<&'static str, String>;

/// The environment of each function by its logical id in the templates; those of a tenant's functions are for this
/// tenant. `None` where there is no such tenant.
pub(crate) fn environments(
    current: &Current,
    tenant: &Tenant,
    names: &Names,
    live: &BTreeSet<Live>,
) -> Result<Option<BTreeMap<&'static str, Environment>>, StartError> {
    let Current { secrets, endpoints } = current;
    let Some(own) = endpoints.tenants.get(tenant) else {
        return Ok(None);
    };
    let sessions = trusted(secrets, endpoints);
    let queue = |agent: &domain::AgentName| (agent.clone(), below(&endpoints.sqs, &format!("/{agent}")));
    let queues: BTreeMap<_, Url> = names.all().map(queue).collect();
    let common = Environment::from([
        ("AWS_ENDPOINT_URL_DYNAMODB", endpoints.dynamodb.to_string()),
        (
            "AWS_ENDPOINT_URL_SECRETS_MANAGER",
            endpoints.secrets_manager.to_string(),
        ),
        ("AWS_ENDPOINT_URL_SQS", endpoints.sqs.to_string()),
        ("TABLE_PREFIX", crate::database::TABLE_PREFIX.to_owned()),
        ("WAKE_QUEUES", text(&queues)?),
        ("ANSWERS", "buffered".to_owned()),
        // The sample events carry the functions' own paths, without what the template puts in front of them.
        ("BASE_PATH", String::new()),
    ]);
    let with = |more: Vec<(&'static str, String)>| -> Environment {
        let mut all = common.clone();
        all.extend(more);
        all
    };
    let loopback = || ("ALLOW_LOOPBACK", true.to_string());
    let sealing = || ("SEALING_KEYS_SECRET", aws::SEALING_KEYS.to_owned());
    let tenant_id = || ("TENANT_ID", tenant.to_string());
    let base = || ("TENANT_BASE_URL", own.base.to_string());
    let host_url = || ("HOST_AGENT_URL", own.host_agent.to_string());
    let idp = || ("IDP_URL", endpoints.idp.to_string());
    let session = || ("SESSION_KEY_SECRET", aws::session_key(tenant));
    let providers = || ("OAUTH_PROVIDERS_SECRET", aws::oauth_providers(tenant));
    let registry = || ("REGISTRY_URL", endpoints.registry.to_string());
    let agent_url = |agents: &BTreeMap<domain::AgentName, Url>, name: &str| {
        let found = agents.iter().find(|(known, _)| known.as_str() == name);
        (
            "AGENT_URL",
            found.map(|(_, url)| url.to_string()).unwrap_or_default(),
        )
    };
    let issuers = |all: &[Issuer]| Ok::<_, StartError>(("TRUSTED_ISSUERS", text(&all)?));

    // Fetched, so that a function that runs for long sees rotated keys.
    let jwks = below(&endpoints.idp, &format!("/{tenant}/jwks.json"));
    let of_idp = idp_issuer(&endpoints.idp, KeyPlace::Jwks(jwks));
    let of_host: Vec<Issuer> = sessions
        .iter()
        .cloned()
        .map(Issuer::from)
        .chain([of_idp.clone()])
        .collect();
    let of_sessions = || Ok::<_, StartError>(("TRUSTED_ISSUERS", text::<Vec<TrustedIssuer>>(&sessions)?));
    let weather = open_meteo(live, endpoints)?;
    let webhook = below(&own.base, "/api/webhook/tasks");

    Ok(Some(BTreeMap::from([
        (
            "HostAgentFunction",
            with(vec![
                tenant_id(),
                host_url(),
                base(),
                registry(),
                idp(),
                ("A2A_WEBHOOK_URL", webhook.to_string()),
                issuers(&of_host)?,
                session(),
                sealing(),
                providers(),
                loopback(),
            ]),
        ),
        (
            "ChatApiFunction",
            with(vec![
                tenant_id(),
                base(),
                host_url(),
                session(),
                sealing(),
                providers(),
                loopback(),
            ]),
        ),
        (
            "OauthCallbackFunction",
            with(vec![tenant_id(), base(), sealing(), providers(), loopback()]),
        ),
        ("WebhookReceiverFunction", with(vec![tenant_id()])),
        (
            "HorizonAgentFunction",
            with(vec![
                tenant_id(),
                agent_url(&own.agents, horizon_agent::NAME),
                idp(),
                issuers(&[of_idp])?,
                sealing(),
                loopback(),
            ]),
        ),
        (
            "RegistryFunction",
            with(vec![registry(), of_sessions()?, loopback()]),
        ),
        (
            "IdpFunction",
            with(vec![idp(), ("IDP_KEYS_SECRET", aws::IDP_KEYS.to_owned())]),
        ),
        (
            "WeatherAgentFunction",
            with(vec![
                agent_url(&endpoints.agents, weather_agent::NAME),
                of_sessions()?,
                sealing(),
                ("OPEN_METEO_GEOCODING_URL", weather.geocoding.to_string()),
                ("OPEN_METEO_FORECAST_URL", weather.forecast.to_string()),
                loopback(),
            ]),
        ),
        (
            "ReportAgentFunction",
            with(vec![
                agent_url(&endpoints.agents, report_agent::NAME),
                of_sessions()?,
                sealing(),
                loopback(),
            ]),
        ),
        ("TaskSweeperFunction", with(Vec::new())),
    ])))
}

fn text<T: Serialize>(value: &T) -> Result<String, StartError> {
    serde_json::to_string(value).map_err(StartError::part("environment"))
}

/// The logical id of a function by that or by the name of its package.
pub(crate) fn logical_id(name: &str) -> String {
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
pub(crate) fn dotenv(environment: &BTreeMap<String, String>) -> String {
    let line = |(name, value): (&String, &String)| format!("{name}={}\n", quoted(value));
    environment.iter().map(line).collect()
}

/// An environment file that `sam local invoke --env-vars` reads.
pub(crate) fn sam(environments: &BTreeMap<String, BTreeMap<String, String>>) -> String {
    format!("{:#}\n", json!(environments))
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
