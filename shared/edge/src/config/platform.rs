//! The settings that every function has.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::str::FromStr;

use domain::{AgentName, Tenant};
use url::Url;

use super::{ConfigError, Env};
use crate::aws::{Caller, Sessions};
use crate::blobs::Bucket;
use crate::queue::Queues;
use crate::secrets::SecretsPlace;
use crate::telemetry::{Collector, Headers, LogFilter};
use crate::well_known::below_its_subject;

/// The settings that every function has.
#[derive(Debug, Clone, Default)]
pub struct Platform {
    /// `LOG_FILTER`
    pub log_filter: LogFilter,
    /// `METRICS_NAMESPACE`
    pub metrics_namespace: String,
    /// `OTEL_EXPORTER_OTLP_ENDPOINT`
    pub collector: Option<Url>,
    /// `OTEL_EXPORTER_OTLP_HEADERS`
    pub collector_headers: Headers,
    /// Who calls AWS.
    pub caller: Caller,
    /// `AWS_REGION`
    pub region: Option<String>,
    /// `TABLE_PREFIX`
    pub table_prefix: String,
    /// `ALLOW_LOOPBACK`
    pub this_machine: ThisMachine,
    /// `AWS_ENDPOINT_URL_DYNAMODB`
    pub dynamodb: Option<Url>,
    /// `AWS_ENDPOINT_URL_SECRETS_MANAGER`
    pub secrets: SecretsPlace,
    /// `BLOBS_BUCKET`, `AWS_ENDPOINT_URL_S3`
    pub blobs: Option<Bucket>,
    /// `WAKE_QUEUES`, `AWS_ENDPOINT_URL_SQS`
    pub queues: Queues,
    /// `ANSWERS`, `BASE_PATH`
    pub http: Http,
    /// `TENANT_ROLE`, `AWS_ENDPOINT_URL_STS`: how a sandbox of the pool comes by credentials of its tenant.
    pub sessions: Option<Sessions>,
    /// `AWS_ENDPOINT_URL_KMS`, which opens what is sealed in its record.
    pub kms: Option<Url>,
}

/// Which addresses of the machine itself may be called, by plain http: for local work alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ThisMachine {
    /// None: deployed.
    #[default]
    Closed,
    /// Its loopback addresses.
    Loopback,
    /// Those, and the one at which containers reach it.
    AndAt(IpAddr),
}

impl FromStr for ThisMachine {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "false" => Ok(Self::Closed),
            "true" => Ok(Self::Loopback),
            text => {
                let ip = text.parse().map(Self::AndAt);
                ip.map_err(|_| "it is either true, false, or an IP address of this machine")
            }
        }
    }
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

    /// The path that the router sees: [`BasePath::strip`], also of a document that is asked for before the base path
    /// ([`below_its_subject`]). `None` when it lies elsewhere.
    #[must_use]
    pub fn seen<'a>(&self, path: &'a str) -> Option<Cow<'a, str>> {
        if let Some(rest) = self.strip(path) {
            return Some(Cow::Borrowed(rest));
        }
        let moved = below_its_subject(path)?;
        self.strip(&moved).map(|rest| Cow::Owned(rest.to_owned()))
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
    /// Where spans go, if anywhere.
    #[must_use]
    pub fn collector(&self) -> Option<Collector> {
        let endpoint = self.collector.clone()?;
        Some(Collector::at(endpoint, self.collector_headers.clone()))
    }

    /// The same for a sandbox of this tenant: where there is a role of tenants, everything is called in a session of it.
    #[must_use]
    pub fn for_tenant(mut self, tenant: &Tenant) -> Self {
        if let Some(sessions) = &self.sessions {
            let caller = Caller::of_tenant(sessions, tenant);
            self.secrets.caller = caller.clone();
            if let Some(bucket) = &mut self.blobs {
                bucket.caller = caller.clone();
            }
            self.queues.caller = caller.clone();
            self.caller = caller;
        }
        self
    }

    /// Reads the settings that every function has.
    ///
    /// # Errors
    /// The first that is wrong; all of them by [`Env::finish`].
    pub fn read(env: &mut Env) -> Result<Self, ConfigError> {
        let log_filter = env.or("LOG_FILTER", LogFilter::default());
        // Its value says nothing: that it changes makes Lambda start the function anew.
        let _edition = env.optional::<String>("KEYS_EDITION");
        let metrics_namespace = env.or("METRICS_NAMESPACE", "Switchyard".to_owned());
        let collector = env.optional("OTEL_EXPORTER_OTLP_ENDPOINT");
        let collector_headers = env.or("OTEL_EXPORTER_OTLP_HEADERS", Headers::default());
        let region = env.optional::<String>("AWS_REGION");
        let table_prefix = env.or("TABLE_PREFIX", "switchyard-".to_owned());
        let this_machine = env.or("ALLOW_LOOPBACK", ThisMachine::default());
        let dynamodb = env.optional("AWS_ENDPOINT_URL_DYNAMODB");
        let secrets = env.optional("AWS_ENDPOINT_URL_SECRETS_MANAGER");
        let sqs = env.optional("AWS_ENDPOINT_URL_SQS");
        let sts = env.optional("AWS_ENDPOINT_URL_STS");
        let kms = env.optional("AWS_ENDPOINT_URL_KMS");
        let role = env.optional::<String>("TENANT_ROLE");
        let urls = env.optional_json::<BTreeMap<AgentName, Url>>("WAKE_QUEUES");
        let answers = env.or("ANSWERS", Answers::default());
        let base_path = env.or("BASE_PATH", BasePath::default());
        let bucket = env.optional::<String>("BLOBS_BUCKET");
        let s3 = env.optional("AWS_ENDPOINT_URL_S3");
        let (region, sts) = (region?, sts?);
        let (bucket, s3) = (bucket?, s3?);
        Ok(Self {
            blobs: bucket.map(|name| Bucket {
                name,
                endpoint: s3,
                region: region.clone(),
                caller: Caller::own(),
            }),
            caller: Caller::own(),
            sessions: role?.map(|role| Sessions {
                role,
                endpoint: sts,
                region: region.clone(),
            }),
            kms: kms?,
            collector: collector?,
            collector_headers: collector_headers?,
            log_filter: log_filter?,
            metrics_namespace: metrics_namespace?,
            table_prefix: table_prefix?,
            this_machine: this_machine?,
            dynamodb: dynamodb?,
            secrets: SecretsPlace {
                endpoint: secrets?,
                region: region.clone(),
                caller: Caller::own(),
            },
            queues: Queues {
                urls: urls?.unwrap_or_default(),
                endpoint: sqs?,
                region: region.clone(),
                caller: Caller::own(),
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
    fn the_machine_itself_is_called_only_where_that_is_said() {
        for (text, expect) in [
            ("", ThisMachine::Closed),
            ("false", ThisMachine::Closed),
            ("true", ThisMachine::Loopback),
            ("172.17.0.1", ThisMachine::AndAt([172, 17, 0, 1].into())),
        ] {
            assert_eq!(
                platform(&[("ALLOW_LOOPBACK", text)]).unwrap().this_machine,
                expect
            );
        }
        assert!(platform(&[("ALLOW_LOOPBACK", "localhost")]).is_err());
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

    #[test]
    fn a_document_before_the_base_path_is_seen_below_it() {
        let base: BasePath = "/idp".parse().unwrap();
        for (path, expect) in [
            ("/idp/acme/token", Some("/acme/token")),
            (
                "/.well-known/oauth-authorization-server/idp/acme",
                Some("/acme/.well-known/oauth-authorization-server"),
            ),
            (
                "/.well-known/openid-configuration/idp/acme/",
                Some("/acme/.well-known/openid-configuration"),
            ),
            ("/.well-known/openid-configuration/idps/acme", None),
            ("/.well-known/openid-configuration", None),
            ("/.well-known/security.txt/idp/acme", None),
            ("/.well-known//idp/acme", None),
        ] {
            assert_eq!(base.seen(path).as_deref(), expect, "{path}");
        }
        // At the root every path is the function's own.
        let own = "/.well-known/oauth-protected-resource/x";
        assert_eq!(BasePath::default().seen(own).as_deref(), Some(own));
    }
}
