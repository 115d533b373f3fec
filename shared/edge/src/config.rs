//! Settings: the only place that reads the environment. A function reads all of its variables into one typed
//! `Config`; what is missing or wrong is told at once, in one error.
//!
//! # Every variable
//!
//! A test keeps this table complete. An empty variable counts as absent. Secrets are never in a variable, only their
//! names in Secrets Manager.
//!
//! | variable | who reads it | meaning | default |
//! |---|---|---|---|
//! | `TENANT_ID` | host_agent, chat_api, horizon_agent, oauth_callback, webhook_receiver | the one tenant of this deployment; `--tenant-id` of the host wins | required |
//! | `TENANT_PREFIX` | host_agent, chat_api, horizon_agent, oauth_callback, webhook_receiver | what the tenant's keys, issuer and cookies begin with | the name in `TENANT_ID` |
//! | `TENANCY` | all | `isolated`, at a tenant's own function: Lambda isolates its sandboxes by tenant (`PER_TENANT`), and each serves the tenant that Lambda names with its first event, by its prefix, and no other; a `TENANT_ID` beside it must be of that tenant | `single` |
//! | `TENANT_ROLE` | all | ARN of the role whose sessions an isolated function calls AWS in, tagged `tenant` (the prefix) and `tenant_name`; then its secrets are those of the tenant's record, and in its variables `{tenant_name}`, `{tenant_prefix}`, `{base_url}`, `{host_path}`, `{horizon_path}` and `{session_public_key}` stand for what that says | the function's own role, and Secrets Manager |
//! | `TENANT_BASE_URL` | host_agent, chat_api, oauth_callback | the tenant's base URL, issuer of the tokens made there; with `CONSENT_AGENT` this deployment's own | required |
//! | `HOST_AGENT_URL` | host_agent, chat_api | the host's public URL, audience of tokens for it | required |
//! | `REGISTRY_URL` | registry, host_agent, chat_api, mqtt_bridge | the registry's public URL | required, at the host unless `A2A_AGENT_URL` is set, at mqtt_bridge with `MQTT_IMPORTS` |
//! | `IDP_URL` | chat_api, host_agent, horizon_agent, idp | the authorization server's public URL; each tenant's issuer lies below it | required; without it the host's card names no authorization server, and the chat has no users to look after |
//! | `ACCESS_TOKEN_TTL` | idp | seconds for which an access token is good, 60 to 600 | 600 |
//! | `IDP_KEYS_SECRET` | idp | name of the secret with its signing keys, current, next and previous: what `auth::KeySet` keeps | required |
//! | `AGENT_URL` | horizon_agent, weather_agent, report_agent, airbnb_agent, calendar_agent, oauth_callback | the agent's public URL, audience of tokens for it; at oauth_callback that of `CONSENT_AGENT` | required; oauth_callback: every user types a code |
//! | `A2A_AGENT_URL` | host_agent | the card of one agent that gets everything, instead of the registry | the registry is asked |
//! | `A2A_WEBHOOK_URL` | host_agent | public HTTPS URL of the webhook receiver | required |
//! | `A2A_WEBHOOK_TOKEN_TTL` | host_agent, webhook_receiver, mqtt_bridge | seconds after which an agent's news of a task is refused, 60 to a year | 604800, a week |
//! | `A2A_TASK_TIMEOUT` | host_agent | seconds without news after which a task is `unknown`, 1 to a year | 1800 |
//! | `A2A_PUSH_SCHEDULE` | horizon_agent, host_agent, weather_agent, report_agent, airbnb_agent, calendar_agent | waits before a failed push notification is tried again, each up to a fifth shorter; after the last it is parked. Whole seconds with commas between them: at most 20, each from 1 to 86400, a week together | `5,300,1800,7200,18000,36000,36000` |
//! | `A2A_RETRY_SCHEDULE` | horizon_agent, host_agent, weather_agent, report_agent, airbnb_agent, calendar_agent | waits before an execution that failed is tried again, and at host_agent a send that an agent did not answer; after the last the task is `unknown` at host_agent, and failed elsewhere. Written as `A2A_PUSH_SCHEDULE` is | `1,5,30,120,300,600,744`, half an hour |
//! | `PUBLIC_AGENTS` | horizon_agent, weather_agent, report_agent, airbnb_agent, calendar_agent | `true`: an agent that is open to everybody takes callers without a token, who share one small quota; one that is secured never does | `false` |
//! | `A2A_ENABLED` | host_agent | `false` keeps the host from delegating anything new | `true` |
//! | `TRUSTED_ISSUERS` | horizon_agent, host_agent, registry, mqtt_bridge, weather_agent, report_agent, airbnb_agent, calendar_agent | whose tokens are good: JSON `[{"issuer", "tenant", "keys": [JWK]}]`; horizon_agent and host_agent take every form of `auth::Issuer` | required |
//! | `SESSION_KEY_SECRET` | host_agent, chat_api | name of the secret with the tenant's signing key (PKCS#8 PEM) | required |
//! | `SEALING_KEYS_SECRET` | horizon_agent, host_agent, mqtt_bridge, weather_agent, oauth_callback, report_agent, airbnb_agent, calendar_agent, task_sweeper | name of the secret with the sealing keys: JSON `[["id", "key"]]`, newest first | required; without it task_sweeper does not seal the audit |
//! | `CONSENT_AGENT` | oauth_callback | the agent of the platform whose consents it takes, in every tenant; it has no `TENANT_ID` then | those of the tenant's host |
//! | `OAUTH_PROVIDERS_SECRET` | oauth_callback, host_agent, calendar_agent | name of the secret with the authorization servers that know us: JSON `{"idp": {"issuer", "client_id", "client_secret"}}`, with `"dialect": "google"` for Google | required at oauth_callback and calendar_agent; without it agents behind a sign-in are not asked |
//! | `MODELS` | host_agent | the language models that it asks, in their order: JSON `[{"kind": "bedrock", "model"}, {"kind": "openai", "url", "model", "key"}, {"kind": "rules"}]`, `key` the name of a secret; any of the first two may say `max_tokens`, `prompt_tokens`, and `first_byte` and `idle` in seconds (4096, 32000, 20 and 15), `bedrock` a `region` | the rules decide |
//! | `EMBED` | host_agent | where `MODELS` is empty: the hosted model of sentences that words are understood by, JSON `{"kind": "bedrock", "model"}` (Titan Text Embeddings V2, Cohere Embed 3) or `{"kind": "openai", "url", "model", "key"}` (any server with `/embeddings` below `url`); each may say `dimensions`; another model wants another name, as vectors are kept under it | words alone |
//! | `PLAN_APPROVAL` | host_agent | which plans wait until their user says go: `always` (every task in which more than one piece of work is handed out), `over:N` (those of more than N) or `never` | `never` |
//! | `TOKENS_PER_DAY` | host_agent, chat_api | tokens of language models that the tenant may use in a day (UTC), unless its plan or its own setting `tokens_per_day` says otherwise | required where `MODELS` has a hosted one |
//! | `SIGN_IN_ISSUERS` | oauth_callback, chat_api, host_agent | where people sign in to the chat: ids of the secret's providers, with commas between them; `id=ISSUER` names the one it must be | `idp`, the tenant's authorization server |
//! | `REQUIRE_ACR` | oauth_callback, chat_api, host_agent | what a sign-in must have been, one of these: values of `acr`, and of `amr` behind `amr:`, with blanks between them | anything |
//! | `REQUIRE_SIGN_IN` | chat_api | `true`: nobody is let in who has not signed in at the tenant's authorization server; `false`: there are guests too | `true` |
//! | `PUSH_SERVICES` | chat_api | hosts of push services that browsers may be reached at beside those of their makers (Google, Mozilla, Apple, Microsoft), with commas between them; `*.push.example.com` is every host below that one | none |
//! | `CHAT_GRACE` | chat_api | seconds for which a chat's turn stays open at most while the host itself works, 60 at most; once all is handed over or waits it ends 2 s later | 60 |
//! | `BRIDGE_URL` | mqtt_bridge | its own URL, below which agents reach it | required |
//! | `MQTT_BROKER` | mqtt_bridge, host_agent | the broker: `mqtts://HOST[:PORT]`, or `mqtt://` on this machine | required at mqtt_bridge, and at host_agent with `MQTT_BRIDGE_URL` |
//! | `MQTT_BRIDGE_URL` | host_agent, registry | the bridge to the broker: hosts call agents there through it, the registry gets their cards from it | no agents on a broker |
//! | `AGENT_MQTT_URL` | horizon_agent, host_agent, weather_agent, report_agent, airbnb_agent, calendar_agent | its own interface on a broker, which its card then names behind those over HTTP | none |
//! | `MQTT_IMPORTS` | mqtt_bridge | the agents of the broker that the registry is to know: JSON `["ORG/UNIT[/AGENT]:TYPE[@TENANT]"]` | none |
//! | `PLATFORM_KEY_SECRET` | mqtt_bridge, registry | name of the secret with the platform's signing key (PKCS#8 PEM): the bridge registers agents by it, and the registry shows it to the bridge | required with `MQTT_IMPORTS`, and at the registry with `MQTT_BRIDGE_URL` |
//! | `MQTT_PREFIX` | mqtt_bridge | what topics on it begin with | `$a2a/v1` |
//! | `MQTT_ORGS` | mqtt_bridge | organisations that replies go to: JSON `["acme"]` | required |
//! | `MQTT_AGENTS` | mqtt_bridge | the agents that it answers for: JSON `[{"address": "ORG/UNIT/AGENT", "url", "webhook"}]`; those with a webhook are hosts, which may call agents on the broker | required |
//! | `AWS_ENDPOINT_URL_IOT_DATA_PLANE` | mqtt_bridge | the broker is AWS IoT Core: rules hand over requests, and replies are published here | a connection to the broker for each agent |
//! | `MQTT_PASSWORDS_SECRET` | mqtt_bridge | name of the secret with their passwords at the broker: JSON `{"ORG/UNIT/AGENT": "…"}` | no passwords |
//! | `OPEN_METEO_GEOCODING_URL` | weather_agent | where places are looked up | Open-Meteo's own |
//! | `OPEN_METEO_FORECAST_URL` | weather_agent | where forecasts come from | Open-Meteo's own |
//! | `MCP_URL` | airbnb_agent | the MCP server that is asked for places to stay | required |
//! | `MCP_TOOLS` | airbnb_agent | its tools that may be called, as they were read: JSON `{"name": "SHA-256"}`, which `switchyard mcp pin` writes | required |
//! | `MCP_NAMES` | airbnb_agent | what tools and arguments are called there: JSON, as `airbnb_agent::Tools` has it | the names of `@openbnb/mcp-server-airbnb` |
//! | `MCP_LINK_HOSTS` | airbnb_agent | hosts of links that are shown, a JSON list; others are left out | `["www.airbnb.com"]` |
//! | `MCP_CURRENCY` | airbnb_agent | the currency of its prices, an ISO 4217 code | a highest price in a currency that its user names is not searched for |
//! | `BROWSER_KEYS_URL` | oauth_callback | with `CONSENT_AGENT` and `AGENT_URL`: where the keys of each tenant's browsers are vouched for, with `{tenant}` | every user types a code |
//! | `CONSENT_BASE_URL` | calendar_agent | where users go to agree: `oauth_callback`, deployed for this agent | required |
//! | `GOOGLE_CALENDAR_URL` | calendar_agent | the calendar's API, in front of `/freeBusy` | Google's own |
//! | `REPORT_STEP` | report_agent | seconds that each step of a report takes | 5 |
//! | `CHECK_SHARDS` | registry | into how many shards the agents fall, of which each minute's look at their cards has one | 1 |
//! | `AUDIT_BUCKET` | task_sweeper | the bucket of S3 into which sealed entries of the audit go beside the table | nowhere |
//! | `SWEEP_LOOKS` | task_sweeper | how many times a sweep looks for what is due, five seconds apart, 47 seconds in all | 1 |
//! | `ALLOW_LOOPBACK` | all | `true`: plain http to loopback addresses, for local work; an IP address: to those and to this one, at which containers reach the local system | `false` |
//! | `WAKE_QUEUES` | all | queue of each agent: JSON `{"host": "https://sqs…"}`; `{tenant}` in a URL stands for the tenant that is woken, or for `pool` where it is there | none; required at task_sweeper |
//! | `WAKE_FUNCTIONS` | wake_router | function of each agent: JSON `{"host": "arn:aws:lambda:…"}` | required |
//! | `TABLE_PREFIX` | all | first part of every table's name | `switchyard-` |
//! | `ANSWERS` | all | `buffered` or `streaming` (for a REST API that streams) | `buffered` |
//! | `BASE_PATH` | all | the path under which the gateway serves the function | none |
//! | `LOG_FILTER` | all | which log lines are written, such as `info,store=debug` | `info` |
//! | `KEYS_EDITION` | all | changed by a rotation of keys; nothing depends on its value, but a new one makes Lambda start each function anew, which then reads its keys | none |
//! | `METRICS_NAMESPACE` | all | the namespace of its metrics in CloudWatch | `Switchyard` |
//! | `OTEL_EXPORTER_OTLP_ENDPOINT` | all | where spans go: a collector that takes OTLP/JSON below `/v1/traces`, over https or at a loopback address; an invocation waits 2 s for it at most, and for one that did not answer not again for 30 s | no spans |
//! | `OTEL_EXPORTER_OTLP_HEADERS` | all | headers of each request to it: `name=value,name=value`, values percent-encoded | none |
//! | `AWS_REGION` | all | set by Lambda | none; required by AWS itself, not by an emulator |
//! | `AWS_ENDPOINT_URL_DYNAMODB` | all | another DynamoDB; over plain `http` it is taken for an emulator | AWS |
//! | `BLOBS_BUCKET` | all | the bucket of S3 in which large things lie | they lie in the tables |
//! | `AWS_ENDPOINT_URL_S3` | all | another S3, likewise | AWS |
//! | `AWS_ENDPOINT_URL_SECRETS_MANAGER` | all | another Secrets Manager, likewise | AWS |
//! | `AWS_ENDPOINT_URL_BEDROCK_RUNTIME` | host_agent | another Bedrock, likewise | AWS |
//! | `AWS_ENDPOINT_URL_STS` | all | another STS, likewise; asked with `TENANT_ROLE` alone | AWS |
//! | `AWS_ENDPOINT_URL_KMS` | all | where KMS is, which opens what is sealed in a tenant's record | required with `TENANT_ROLE` |
//! | `AWS_ENDPOINT_URL_LAMBDA` | wake_router | where Lambda is | required |
//! | `AWS_ENDPOINT_URL_SQS` | all | another SQS, likewise | AWS |
//!
//! In place of those in [`domain::DEPLOYMENT`], the record of a function's tenant may say otherwise (`switchyard tenant set`): it wins,
//! since it changes while the environment stays as it was deployed. No other variable is taken from there ([`Env::with_record`]).
//!
//! No settings, but Lambda's own words, are the credentials (`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`,
//! `AWS_SESSION_TOKEN`: [`crate::aws`]).
//!
//! # Example
//! ```
//! use edge::config::{ConfigError, Env, YEAR};
//! use domain::Tenant;
//! use std::time::Duration;
//! use url::Url;
//!
//! struct Config { tenant: Tenant, registry: Url, token_ttl: Duration }
//!
//! fn read(env: &mut Env) -> Result<Config, ConfigError> {
//!     let tenant = env.tenant();
//!     let registry = env.required("REGISTRY_URL");
//!     let token_ttl = env.seconds_or("A2A_WEBHOOK_TOKEN_TTL", Duration::from_secs(86_400), 60..=YEAR);
//!     Ok(Config { tenant: tenant?, registry: registry?, token_ttl: token_ttl? })
//! }
//!
//! // Everything that is wrong, with what every function has, at once.
//! let read = edge::config::read(Env::of([("A2A_WEBHOOK_TOKEN_TTL", "soon")]), read);
//! let error = read.err().map(|e| e.to_string()).unwrap_or_default();
//! assert!(error.contains("TENANT_ID") && error.contains("REGISTRY_URL") && error.contains("A2A_WEBHOOK_TOKEN_TTL"));
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use domain::{DEPLOYMENT, Demands, IssuerIds, SignInRule, Tenant};
use serde::de::DeserializeOwned;

use crate::Error;

mod platform;
mod tenancy;

pub use platform::{Answers, BasePath, Http, Platform, ThisMachine};
pub use tenancy::{Tenancy, TenancyError};

/// The most seconds that anything is waited for.
pub const YEAR: u64 = 31_536_000;

/// Reads variables, and remembers what was wrong with them.
#[derive(Clone)]
pub struct Env {
    source: Source,
    given: BTreeMap<String, String>,
    /// What the tenant's record says.
    record: BTreeMap<String, String>,
    /// What stands in place of `{name}` in the variables of a pooled function.
    filled: BTreeMap<&'static str, String>,
    asked: BTreeSet<String>,
    problems: Vec<Problem>,
}

/// Reads a function's own settings and those that every function has, from one table.
///
/// # Errors
/// Everything that is missing or wrong in it, in one error.
pub fn read<C, E: Into<Error>>(
    mut env: Env,
    own: impl FnOnce(&mut Env) -> Result<C, E>,
) -> Result<(Platform, C), Error> {
    let platform = Platform::read(&mut env);
    let own = own(&mut env);
    env.finish()?;
    Ok((platform?, own.map_err(Into::into)?))
}

#[derive(Clone, Copy)]
enum Source {
    Process,
    Given,
}

/// One variable that is missing or wrong. It does not hold the value, which may be a secret put in the wrong place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The variable's name.
    pub name: String,
    /// What is wrong.
    pub reason: String,
}

/// Every variable that is missing or wrong.
#[derive(Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// At least one.
    pub problems: Vec<Problem>,
}

impl ConfigError {
    /// This variable must be there, and is not.
    pub(crate) fn unset(name: &str) -> Self {
        let problem = Problem {
            name: name.to_owned(),
            reason: "is not set".to_owned(),
        };
        Self {
            problems: vec![problem],
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the configuration is incomplete")?;
        for (position, Problem { name, reason }) in self.problems.iter().enumerate() {
            write!(f, "{} {name} {reason}", if position == 0 { ":" } else { ";" })?;
        }
        Ok(())
    }
}

/// The same as the text for people: this is what a failing `main` prints.
impl fmt::Debug for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for ConfigError {}

impl Env {
    /// The environment of the process.
    #[must_use]
    pub fn process() -> Self {
        Self {
            source: Source::Process,
            given: BTreeMap::new(),
            record: BTreeMap::new(),
            filled: BTreeMap::new(),
            asked: BTreeSet::new(),
            problems: Vec::new(),
        }
    }

    /// Just these variables, whatever the process has.
    #[must_use]
    pub fn of<N: Into<String>, V: Into<String>>(variables: impl IntoIterator<Item = (N, V)>) -> Self {
        let given = variables
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        Self {
            source: Source::Given,
            given,
            record: BTreeMap::new(),
            filled: BTreeMap::new(),
            asked: BTreeSet::new(),
            problems: Vec::new(),
        }
    }

    /// With a value that wins over the environment, such as a command-line argument, where there is one.
    #[must_use]
    pub fn overridden(mut self, name: &str, value: Option<String>) -> Self {
        if let Some(value) = value {
            self.given.insert(name.to_owned(), value);
        }
        self
    }

    /// With what the tenant's record says in place of these variables, wherever they are from: of [`DEPLOYMENT`], and nothing else of it.
    #[must_use]
    pub fn with_record(mut self, settings: &BTreeMap<String, String>) -> Self {
        let taken = settings
            .iter()
            .filter(|(name, _)| DEPLOYMENT.contains(&name.as_str()));
        self.record = taken.map(|(name, value)| (name.clone(), value.clone())).collect();
        self
    }

    /// The same without what the tenant's record says: what the function was deployed with.
    #[must_use]
    pub fn without_record(&self) -> Self {
        Self {
            record: BTreeMap::new(),
            ..self.clone()
        }
    }

    /// The names that were asked for so far, whether they were there or not: which settings somebody has.
    #[must_use]
    pub fn asked(&self) -> &BTreeSet<String> {
        &self.asked
    }

    /// A variable that must be there.
    ///
    /// # Errors
    /// When it is missing or no `T`; also told by [`Env::finish`].
    pub fn required<T>(&mut self, name: &str) -> Result<T, ConfigError>
    where
        T: FromStr<Err: fmt::Display>,
    {
        let value = self.optional(name)?;
        value.ok_or_else(|| self.problem(name, "is not set".to_owned()))
    }

    /// A variable that may be absent. An empty one counts as absent.
    ///
    /// # Errors
    /// When it is no `T`; also told by [`Env::finish`].
    pub fn optional<T>(&mut self, name: &str) -> Result<Option<T>, ConfigError>
    where
        T: FromStr<Err: fmt::Display>,
    {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        text.parse()
            .map(Some)
            .map_err(|error: T::Err| self.problem(name, format!("is not valid: {error}")))
    }

    /// The tenant of a function that serves one: its name in `TENANT_ID`, and what everything kept for it begins with in
    /// `TENANT_PREFIX`, where that is not the name.
    ///
    /// # Errors
    /// When it is missing or wrong, or the two are not of one tenant; also told by [`Env::finish`].
    pub fn tenant(&mut self) -> Result<Tenant, ConfigError> {
        let name = self.required::<Tenant>("TENANT_ID");
        let Some(prefix) = self.optional::<String>("TENANT_PREFIX")? else {
            return name;
        };
        let name = name?;
        match Tenant::from_prefix(&prefix) {
            Ok(tenant) if tenant.name() == name.name() => Ok(tenant),
            Ok(_) => Err(self.problem("TENANT_PREFIX", "is of another tenant than TENANT_ID".to_owned())),
            Err(error) => Err(self.problem("TENANT_PREFIX", format!("is not valid: {error}"))),
        }
    }

    /// Whom a tenant lets in: `SIGN_IN_ISSUERS` and `REQUIRE_ACR`.
    ///
    /// # Errors
    /// When one is wrong; also told by [`Env::finish`].
    pub fn sign_in(&mut self) -> Result<SignInRule, ConfigError> {
        let issuers = self.or("SIGN_IN_ISSUERS", IssuerIds::default());
        let demands = self.or("REQUIRE_ACR", Demands::default());
        Ok(SignInRule {
            issuers: issuers?,
            demands: demands?,
        })
    }

    /// A variable with a default.
    ///
    /// # Errors
    /// As [`Env::optional`].
    pub fn or<T>(&mut self, name: &str, default: T) -> Result<T, ConfigError>
    where
        T: FromStr<Err: fmt::Display>,
    {
        Ok(self.optional(name)?.unwrap_or(default))
    }

    /// A whole number of seconds with a default, within bounds.
    ///
    /// # Errors
    /// As [`Env::optional`], also where it is beyond them.
    pub fn seconds_or(
        &mut self,
        name: &str,
        default: Duration,
        within: RangeInclusive<u64>,
    ) -> Result<Duration, ConfigError> {
        match self.optional(name)? {
            None => Ok(default),
            Some(seconds) if within.contains(&seconds) => Ok(Duration::from_secs(seconds)),
            Some(_) => {
                let (least, most) = within.into_inner();
                Err(self.problem(name, format!("must be between {least} and {most} seconds")))
            }
        }
    }

    /// A variable that holds JSON and must be there.
    ///
    /// # Errors
    /// As [`Env::required`].
    pub fn required_json<T: DeserializeOwned>(&mut self, name: &str) -> Result<T, ConfigError> {
        let value = self.optional_json(name)?;
        value.ok_or_else(|| self.problem(name, "is not set".to_owned()))
    }

    /// A variable that holds JSON and may be absent.
    ///
    /// # Errors
    /// As [`Env::optional`].
    pub fn optional_json<T: DeserializeOwned>(&mut self, name: &str) -> Result<Option<T>, ConfigError> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        // Only where it stopped, not serde's message: that one quotes the value.
        serde_json::from_str(&text).map(Some).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            self.problem(
                name,
                format!("is not the JSON it should be (line {line}, column {column})"),
            )
        })
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// [`ConfigError`] with everything that was missing or wrong.
    pub fn finish(self) -> Result<(), ConfigError> {
        if self.problems.is_empty() {
            Ok(())
        } else {
            Err(ConfigError {
                problems: self.problems,
            })
        }
    }

    fn text(&mut self, name: &str) -> Result<Option<String>, ConfigError> {
        self.asked.insert(name.to_owned());
        if let Some(said) = self.record.get(name) {
            // As it was said: what it holds is the tenant's, and nothing is filled in there.
            return Ok(Some(said.trim().to_owned()).filter(|text| !text.is_empty()));
        }
        let given = self.given.get(name).cloned();
        let found = match (given, &self.source) {
            (Some(given), _) => Some(given),
            (None, Source::Given) => None,
            (None, Source::Process) => {
                from_process(name).map_err(|reason| self.problem(name, reason.to_owned()))?
            }
        };
        let filled = self.filled.iter();
        let found = found.map(|text| filled.fold(text, |text, (name, value)| text.replace(name, value)));
        Ok(found
            .map(|text| text.trim().to_owned())
            .filter(|text| !text.is_empty()))
    }

    /// Says of a variable what is wrong with it, where only its reader can tell.
    pub fn problem(&mut self, name: &str, reason: String) -> ConfigError {
        let problem = Problem {
            name: name.to_owned(),
            reason,
        };
        self.problems.push(problem.clone());
        ConfigError {
            problems: vec![problem],
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the environment"
)]
fn from_process(name: &str) -> Result<Option<String>, &'static str> {
    match std::env::var(name) {
        Ok(text) => Ok(Some(text)),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => Err("is not text"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_wins_over_the_environment() {
        let read = |argument: Option<&str>| {
            let env = Env::of([("TENANT_ID", "globex")]).overridden("TENANT_ID", argument.map(str::to_owned));
            { env }
                .required::<domain::Tenant>("TENANT_ID")
                .map(|tenant| tenant.name().to_owned())
        };
        assert_eq!(read(None).as_deref(), Ok("globex"));
        assert_eq!(read(Some("acme")).as_deref(), Ok("acme"));
    }

    #[test]
    fn a_prefix_is_its_own_tenants() {
        let read = |prefix: &str| Env::of([("TENANT_ID", "acme"), ("TENANT_PREFIX", prefix)]).tenant();
        assert_eq!(read("").unwrap().prefix(), "acme");
        let tenant = read("acme.7f3a9c2e").unwrap();
        assert_eq!((tenant.name(), tenant.prefix()), ("acme", "acme.7f3a9c2e"));
        for bad in ["globex", "globex.7f3a9c2e", "acme.7f3a", "acme#"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    /// The names of the table above.
    fn documented() -> Vec<&'static str> {
        let rows = include_str!("config.rs").lines();
        let rows = rows.filter_map(|row| row.strip_prefix("//! | `")?.split_once('`'));
        rows.map(|(name, _)| name).collect()
    }

    #[test]
    fn a_record_says_otherwise_of_its_own_settings_and_of_nothing_else() {
        let names = documented();
        assert!(names.len() > DEPLOYMENT.len() + 40, "{names:?}");
        let record: BTreeMap<String, String> = names
            .iter()
            .map(|name| ((*name).to_owned(), "the record's".to_owned()))
            .collect();
        let deployed = names.iter().map(|name| (*name, "the process's"));
        let mut env = Env::of(deployed).with_record(&record);
        let mut said: Vec<&str> = names
            .iter()
            .filter(|name| env.required::<String>(name).unwrap() == "the record's")
            .copied()
            .collect();
        let mut own = DEPLOYMENT;
        own.sort_unstable();
        said.sort_unstable();
        assert_eq!(said, own, "each is in the table, and no other is taken");

        // Nor where the process says nothing, nor by another case of its letters.
        let other = record
            .into_iter()
            .chain([("table_prefix".to_owned(), "x".to_owned())]);
        let mut env = Env::of::<&str, &str>([]).with_record(&other.collect());
        for name in [
            "TENANT_ID",
            "TENANT_PREFIX",
            "TABLE_PREFIX",
            "SESSION_KEY_SECRET",
            "table_prefix",
        ] {
            assert_eq!(env.optional::<String>(name), Ok(None), "{name}");
        }
        assert_eq!(env.required::<String>("MODELS").as_deref(), Ok("the record's"));
        assert_eq!(env.without_record().optional::<String>("MODELS"), Ok(None));
    }

    #[test]
    fn seconds_have_bounds() {
        let read = |text: &str| {
            let mut env = Env::of([("CHAT_GRACE", text)]);
            let read = env.seconds_or("CHAT_GRACE", Duration::from_secs(7), 1..=60);
            read.map(|grace| grace.as_secs())
                .map_err(|error| error.to_string())
        };
        assert_eq!((read(""), read("1"), read("60")), (Ok(7), Ok(1), Ok(60)));
        for beyond in ["0", "61"] {
            assert!(
                read(beyond)
                    .unwrap_err()
                    .contains("CHAT_GRACE must be between 1 and 60 seconds")
            );
        }
        assert!(read("-1").is_err() && read("1.5").is_err());
    }

    #[test]
    fn the_process_is_asked_where_nothing_is_given() {
        assert!(Env::process().required::<String>("PATH").is_ok());
        let error = Env::process()
            .required::<String>("SWITCHYARD_NO_SUCH_VARIABLE")
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "the configuration is incomplete: SWITCHYARD_NO_SUCH_VARIABLE is not set"
        );
    }
}
