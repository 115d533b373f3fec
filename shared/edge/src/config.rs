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
//! | `TENANT_ID` | host_agent, chat_api, webhook_receiver | the one tenant of this deployment; `--tenant-id` of the host wins | required |
//! | `TENANT_BASE_URL` | host_agent, chat_api | the tenant's base URL, issuer of the tokens made there | required |
//! | `HOST_AGENT_URL` | host_agent, chat_api | the host's public URL, audience of tokens for it | required |
//! | `REGISTRY_URL` | registry, host_agent | the registry's public URL | required, at the host unless `A2A_AGENT_URL` is set |
//! | `AGENT_URL` | weather_agent | the agent's public URL, audience of tokens for it | required |
//! | `A2A_AGENT_URL` | host_agent | the card of one agent that gets everything, instead of the registry | the registry is asked |
//! | `A2A_WEBHOOK_URL` | host_agent | public HTTPS URL of the webhook receiver | required |
//! | `A2A_WEBHOOK_TOKEN_TTL` | host_agent, webhook_receiver | seconds after which an agent's news of a task is refused | 604800, a week |
//! | `A2A_TASK_TIMEOUT` | host_agent | seconds without news after which a task is `unknown` | 1800 |
//! | `A2A_ENABLED` | host_agent | `false` keeps the host from delegating anything new | `true` |
//! | `TRUSTED_ISSUERS` | host_agent, registry, weather_agent | whose tokens are good: JSON `[{"issuer", "tenant", "keys": [JWK]}]` | required |
//! | `SESSION_KEY_SECRET` | host_agent, chat_api | name of the secret with the tenant's signing key (PKCS#8 PEM) | required |
//! | `SEALING_KEYS_SECRET` | host_agent, weather_agent | name of the secret with the sealing keys: JSON `[["id", "key"]]`, newest first | required |
//! | `CHAT_GRACE` | chat_api | seconds in which an answer still comes within the chat turn | 20 |
//! | `OPEN_METEO_GEOCODING_URL` | weather_agent | where places are looked up | Open-Meteo's own |
//! | `OPEN_METEO_FORECAST_URL` | weather_agent | where forecasts come from | Open-Meteo's own |
//! | `ALLOW_LOOPBACK` | host_agent, chat_api, registry, weather_agent | plain http to loopback addresses, for local work | `false` |
//! | `WAKE_QUEUES` | all | queue of each agent: JSON `{"host": "https://sqs…"}` | none; required at task_sweeper |
//! | `TABLE_PREFIX` | all | first part of every table's name | `switchyard-` |
//! | `ANSWERS` | all | `buffered` or `streaming` (for a REST API that streams) | `buffered` |
//! | `BASE_PATH` | all | the path under which the gateway serves the function | none |
//! | `LOG_FILTER` | all | which log lines are written, such as `info,store=debug` | `info` |
//! | `AWS_REGION` | all | set by Lambda | the AWS SDK's own search |
//! | `AWS_ENDPOINT_URL_DYNAMODB` | all | another DynamoDB; over plain `http` it is taken for an emulator | AWS |
//! | `AWS_ENDPOINT_URL_SECRETS_MANAGER` | all | another Secrets Manager, likewise | AWS |
//! | `AWS_ENDPOINT_URL_SQS` | all | another SQS, likewise | AWS |
//!
//! # Example
//! ```
//! use edge::config::{ConfigError, Env};
//! use domain::Tenant;
//! use std::time::Duration;
//! use url::Url;
//!
//! struct Config { tenant: Tenant, registry: Url, token_ttl: Duration }
//!
//! fn read(mut env: Env) -> Result<Config, ConfigError> {
//!     let tenant = env.required("TENANT_ID");
//!     let registry = env.required("REGISTRY_URL");
//!     let token_ttl = env.seconds_or("A2A_WEBHOOK_TOKEN_TTL", Duration::from_secs(86_400));
//!     env.finish()?; // everything that is wrong
//!     Ok(Config { tenant: tenant?, registry: registry?, token_ttl: token_ttl? })
//! }
//!
//! let error = read(Env::of([("A2A_WEBHOOK_TOKEN_TTL", "soon")])).err().map(|e| e.to_string()).unwrap_or_default();
//! assert!(error.contains("TENANT_ID") && error.contains("REGISTRY_URL") && error.contains("A2A_WEBHOOK_TOKEN_TTL"));
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use domain::AgentName;
use serde::de::DeserializeOwned;
use url::Url;

use crate::queue::Queues;
use crate::secrets::SecretsPlace;
use crate::telemetry::LogFilter;

/// Reads variables, and remembers what was wrong with them.
pub struct Env {
    source: Source,
    given: BTreeMap<String, String>,
    problems: Vec<Problem>,
}

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

    /// A whole number of seconds with a default.
    ///
    /// # Errors
    /// As [`Env::optional`].
    pub fn seconds_or(&mut self, name: &str, default: Duration) -> Result<Duration, ConfigError> {
        Ok(self.optional(name)?.map_or(default, Duration::from_secs))
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
        let given = self.given.get(name).cloned();
        let found = match (given, &self.source) {
            (Some(given), _) => Some(given),
            (None, Source::Given) => None,
            (None, Source::Process) => {
                from_process(name).map_err(|reason| self.problem(name, reason.to_owned()))?
            }
        };
        Ok(found
            .map(|text| text.trim().to_owned())
            .filter(|text| !text.is_empty()))
    }

    fn problem(&mut self, name: &str, reason: String) -> ConfigError {
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

/// The settings that every function has.
#[derive(Debug, Clone, Default)]
pub struct Platform {
    /// `LOG_FILTER`
    pub log_filter: LogFilter,
    /// `AWS_REGION`
    pub region: Option<String>,
    /// `TABLE_PREFIX`
    pub table_prefix: String,
    /// `AWS_ENDPOINT_URL_DYNAMODB`
    pub dynamodb: Option<Url>,
    /// `AWS_ENDPOINT_URL_SECRETS_MANAGER`
    pub secrets: SecretsPlace,
    /// `WAKE_QUEUES`, `AWS_ENDPOINT_URL_SQS`
    pub queues: Queues,
    /// `ANSWERS`, `BASE_PATH`
    pub http: Http,
}

/// How HTTP events are read and answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Http {
    /// Buffered or streaming.
    pub answers: Answers,
    /// The path in front of the router's own paths.
    pub base_path: BasePath,
}

/// How HTTP events are answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Answers {
    /// One JSON document: what HTTP APIs, `sam local` and the runtime emulator understand.
    #[default]
    Buffered,
    /// Head first, then the body as it comes: for a REST API with response streaming.
    Streaming,
}

impl FromStr for Answers {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "buffered" => Ok(Self::Buffered),
            "streaming" => Ok(Self::Streaming),
            _ => Err("it is either buffered or streaming"),
        }
    }
}

/// The path under which a gateway serves a function, such as `/a/{unguessable}`; the router does not see it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BasePath(String);

impl BasePath {
    /// The rest of a path below the base; `None` when it lies elsewhere.
    #[must_use]
    pub fn strip<'a>(&self, path: &'a str) -> Option<&'a str> {
        match path.strip_prefix(self.0.as_str()) {
            Some("") => Some("/"),
            Some(rest) if rest.starts_with('/') => Some(rest),
            _ => None,
        }
    }
}

impl FromStr for BasePath {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let path = text.trim_end_matches('/');
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"/-._~".contains(&b);
        if !text.starts_with('/') {
            Err("it must start with a slash")
        } else if !path.bytes().all(plain) {
            Err("it may hold only unreserved characters and slashes")
        } else {
            Ok(Self(path.to_owned()))
        }
    }
}

impl Platform {
    /// Reads the settings that every function has.
    ///
    /// # Errors
    /// The first that is wrong; all of them by [`Env::finish`].
    pub fn read(env: &mut Env) -> Result<Self, ConfigError> {
        let log_filter = env.or("LOG_FILTER", LogFilter::default());
        let region = env.optional::<String>("AWS_REGION");
        let table_prefix = env.or("TABLE_PREFIX", "switchyard-".to_owned());
        let dynamodb = env.optional("AWS_ENDPOINT_URL_DYNAMODB");
        let secrets = env.optional("AWS_ENDPOINT_URL_SECRETS_MANAGER");
        let sqs = env.optional("AWS_ENDPOINT_URL_SQS");
        let urls = env.optional_json::<BTreeMap<AgentName, Url>>("WAKE_QUEUES");
        let answers = env.or("ANSWERS", Answers::default());
        let base_path = env.or("BASE_PATH", BasePath::default());
        let region = region?;
        Ok(Self {
            log_filter: log_filter?,
            table_prefix: table_prefix?,
            dynamodb: dynamodb?,
            secrets: SecretsPlace {
                endpoint: secrets?,
                region: region.clone(),
            },
            queues: Queues {
                urls: urls?.unwrap_or_default(),
                endpoint: sqs?,
                region: region.clone(),
            },
            http: Http {
                answers: answers?,
                base_path: base_path?,
            },
            region,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn platform(variables: &[(&str, &str)]) -> Result<Platform, ConfigError> {
        let mut env = Env::of(variables.iter().copied());
        let platform = Platform::read(&mut env);
        env.finish()?;
        platform
    }

    #[test]
    fn every_problem_is_told_at_once_and_no_value() {
        let error = platform(&[
            ("LOG_FILTER", "switchyard=loudest"),
            ("AWS_ENDPOINT_URL_SQS", "hunter2"),
            ("WAKE_QUEUES", r#"{"host": "hunter2"}"#),
            ("ANSWERS", "hunter2"),
            ("BASE_PATH", "hunter2"),
        ])
        .unwrap_err();
        let names: Vec<&str> = error
            .problems
            .iter()
            .map(|problem| problem.name.as_str())
            .collect();
        assert_eq!(
            names,
            [
                "LOG_FILTER",
                "AWS_ENDPOINT_URL_SQS",
                "WAKE_QUEUES",
                "ANSWERS",
                "BASE_PATH"
            ]
        );
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
    }

    #[test]
    fn the_defaults_are_those_of_the_table() {
        let platform = platform(&[("TABLE_PREFIX", "  ")]).unwrap();
        assert_eq!(platform.table_prefix, "switchyard-");
        assert_eq!(platform.log_filter, LogFilter::default());
        assert_eq!(platform.http, Http::default());
        assert_eq!(platform.http.answers, Answers::Buffered);
        assert!(platform.queues.urls.is_empty());
    }

    #[test]
    fn queues_are_read_by_agent() {
        let platform = platform(&[("WAKE_QUEUES", r#"{"host": "https://sqs.example/host"}"#)]).unwrap();
        let host = AgentName::parse("host").unwrap();
        assert_eq!(
            platform.queues.urls.get(&host).map(Url::as_str),
            Some("https://sqs.example/host")
        );
    }

    #[test]
    fn an_argument_wins_over_the_environment() {
        let read = |argument: Option<&str>| {
            let env = Env::of([("TENANT_ID", "globex")]).overridden("TENANT_ID", argument.map(str::to_owned));
            { env }
                .required::<domain::Tenant>("TENANT_ID")
                .map(|tenant| tenant.to_string())
        };
        assert_eq!(read(None).as_deref(), Ok("globex"));
        assert_eq!(read(Some("acme")).as_deref(), Ok("acme"));
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

    #[test]
    fn a_base_path_is_stripped_as_whole_segments() {
        let base: BasePath = "/a/xyz/".parse().unwrap();
        for (path, expect) in [
            ("/a/xyz", Some("/")),
            ("/a/xyz/", Some("/")),
            ("/a/xyz/tasks", Some("/tasks")),
            ("/a/xyzz", None),
            ("/a", None),
            ("", None),
        ] {
            assert_eq!(base.strip(path), expect, "{path}");
        }
        assert_eq!(BasePath::default().strip("/tasks"), Some("/tasks"));
    }
}
