//! The host's settings.

use std::fmt;
use std::pin::Pin;
use std::str::FromStr;
use std::sync::Arc;

use agent::{PushSchedule, RetrySchedule};
use auth::Issuer;
use domain::{SignInRule, Tenant};
use edge::agent_parts;
use edge::config::{ConfigError, Env, YEAR};
use edge::{Error, Function, Ground};
use llm::{ModelList, SentenceSetting};
use url::Url;

use crate::broker::MqttBridge;
use crate::model::{self, BedrockPlace};
use crate::{Directory, NAME, Parts, Patience, PlanApproval, host};

/// The command line.
#[derive(Debug, Clone, Default, clap::Parser)]
#[command(name = "host_agent", about = "The host agent of one tenant")]
pub struct Args {
    /// The one tenant this host serves; wins over `TENANT_ID`.
    #[arg(long)]
    pub tenant_id: Option<String>,
}

/// The host's settings, read once.
pub struct Config {
    /// `TENANT_ID` or `--tenant-id` (which wins): the one tenant it serves.
    pub tenant: Tenant,
    /// `HOST_AGENT_URL`: its own public URL.
    pub url: Url,
    /// `TENANT_BASE_URL`: the tenant's base URL, the issuer of the tokens made here.
    pub base: Url,
    /// `REGISTRY_URL`, or instead `A2A_AGENT_URL`: the card of the one agent that gets everything.
    pub directory: DirectorySource,
    /// `A2A_WEBHOOK_URL`: the public URL of the webhook receiver; https, unless loopback is allowed.
    pub webhook: Url,
    /// `A2A_WEBHOOK_TOKEN_TTL` (seconds, default a week): how long after the task's creation an agent's news is taken;
    /// `A2A_TASK_TIMEOUT` (seconds, default 1800): how long a task hears nothing before it is `unknown`.
    pub patience: Patience,
    /// `A2A_ENABLED` (default `true`): `false` keeps the host from delegating anything new.
    pub enabled: bool,
    /// `PLAN_APPROVAL` (`always`, `over:N` or `never`, the default): which plans wait until their user says go.
    pub approval: PlanApproval,
    /// `TRUSTED_ISSUERS`: JSON list of `{issuer, tenant, keys}` and what else an [`Issuer`] may say: the tenant's own
    /// sessions, and its authorization server.
    pub issuers: Vec<Issuer>,
    /// `IDP_URL`: the authorization servers' URL; the tenant's own lies below it, under its name. Without it the card
    /// names none.
    pub idp: Option<Url>,
    /// `SESSION_KEY_SECRET`: the name or ARN of the secret that holds the tenant's session key (PKCS#8 PEM).
    pub session_key: String,
    /// `SEALING_KEYS_SECRET`: the name or ARN of the secret that holds the sealing keys, newest first, as JSON
    /// `[["key id", "32 bytes in base64url"]]`.
    pub sealing_keys: String,
    /// `OAUTH_PROVIDERS_SECRET`: the name or ARN of the secret that holds the authorization servers that know the host,
    /// as JSON `{"idp": {"issuer", "client_id", "client_secret"}}`; without it agents behind a sign-in are not asked.
    pub providers: Option<String>,
    /// `MODELS`: the language models that it asks, in their order; without it the rules decide. Beside it
    /// `TOKENS_PER_DAY`: how many tokens of them the tenant may use in a day (UTC), where its own settings do not say;
    /// without default, unless `MODELS` has the rules alone.
    pub models: Option<(ModelList, u64)>,
    /// `EMBED`: the hosted model of sentences that words are understood by where `MODELS` names none.
    pub sentences: Option<SentenceSetting>,
    /// `SIGN_IN_ISSUERS` and `REQUIRE_ACR`: whom the tenant lets in; what others have granted is not used.
    pub sign_in: SignInRule,
    /// Where those of Bedrock are.
    pub bedrock: BedrockPlace,
    /// `AGENT_MQTT_URL`: its own interface on an MQTT broker, where it is on one; its card names it.
    pub mqtt: Option<Url>,
    /// `MQTT_BRIDGE_URL` and `MQTT_BROKER`: the bridge to a broker, and that broker; agents whose cards name it are called
    /// there, where they have no interface over HTTP. Without them none is.
    pub bridge: Option<MqttBridge>,
    /// `A2A_PUSH_SCHEDULE`: when a delivery that failed is tried again; the ground's settings say it where this does not.
    pub push_schedule: Option<PushSchedule>,
    /// `A2A_RETRY_SCHEDULE`: when a send or an execution that failed is tried again; likewise.
    pub retry_schedule: Option<RetrySchedule>,
}

/// Where agents are found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DirectorySource {
    /// In the registry at this URL.
    Registry(Url),
    /// Nowhere: the agent of this card gets everything.
    Fixed(Url),
}

/// Why the host cannot start.
#[derive(thiserror::Error)]
pub enum HostConfigError {
    /// It was not told whose it is.
    #[error(
        "a host agent serves exactly one tenant, and it was not told which: set TENANT_ID or pass --tenant-id NAME"
    )]
    NoTenant,
    /// Settings are missing or wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

/// The same as the text for people: this is what a failing `main` prints.
impl fmt::Debug for HostConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Config {
    /// Reads the settings.
    ///
    /// # Errors
    /// [`HostConfigError::NoTenant`] before everything else; otherwise the first that is missing or wrong, and all of them by
    /// [`Env::finish`].
    pub fn read(env: &mut Env) -> Result<Self, HostConfigError> {
        if matches!(env.optional::<String>("TENANT_ID"), Ok(None)) {
            return Err(HostConfigError::NoTenant);
        }
        let tenant = env.tenant();
        let url = env.required("HOST_AGENT_URL");
        let base = env.required("TENANT_BASE_URL");
        let fixed = env.optional::<Url>("A2A_AGENT_URL");
        let directory = match fixed {
            Ok(Some(card)) => Ok(DirectorySource::Fixed(card)),
            Ok(None) => env.required("REGISTRY_URL").map(DirectorySource::Registry),
            Err(error) => Err(error),
        };
        let webhook = env.required("A2A_WEBHOOK_URL");
        let usual = Patience::default();
        let token_ttl = env.seconds_or("A2A_WEBHOOK_TOKEN_TTL", usual.token_ttl, 60..=YEAR);
        let limit = env.seconds_or("A2A_TASK_TIMEOUT", usual.limit, 1..=YEAR);
        let enabled = env.or("A2A_ENABLED", true);
        let approval = env.or("PLAN_APPROVAL", PlanApproval::default());
        let issuers = env.required_json("TRUSTED_ISSUERS");
        let idp = env.optional("IDP_URL");
        let session_key = env.required("SESSION_KEY_SECRET");
        let sealing_keys = env.required("SEALING_KEYS_SECRET");
        let providers = env.optional("OAUTH_PROVIDERS_SECRET");
        let models = models(env);
        let sentences = env.optional("EMBED");
        let sentences = sentences.and_then(|found| keyed(env, "EMBED", found, SentenceSetting::has_keys_of));
        let bedrock = BedrockPlace::read(env);
        let sign_in = env.sign_in();
        let (mqtt, bridge) = (env.optional("AGENT_MQTT_URL"), bridge(env));
        let push_schedule = env.optional("A2A_PUSH_SCHEDULE");
        let retry_schedule: Result<Option<RetrySchedule>, ConfigError> = env.optional("A2A_RETRY_SCHEDULE");
        Ok(Self {
            tenant: tenant?,
            url: url?,
            base: base?,
            directory: directory?,
            webhook: webhook?,
            patience: Patience {
                limit: limit?,
                token_ttl: token_ttl?,
                ..usual
            },
            enabled: enabled?,
            approval: approval?,
            issuers: issuers?,
            idp: idp?,
            session_key: session_key?,
            sealing_keys: sealing_keys?,
            providers: providers?,
            models: models?,
            sentences: sentences?,
            bedrock: bedrock?,
            sign_in: sign_in?,
            mqtt: mqtt?,
            bridge: bridge?,
            push_schedule: push_schedule?,
            retry_schedule: retry_schedule?,
        })
    }
}

/// Both settings of a broker, or neither.
fn bridge(env: &mut Env) -> Result<Option<MqttBridge>, ConfigError> {
    let (url, broker) = (
        env.optional::<Url>("MQTT_BRIDGE_URL"),
        env.optional::<Url>("MQTT_BROKER"),
    );
    match (url?, broker?) {
        (Some(url), Some(broker)) => Ok(Some(MqttBridge { url, broker })),
        (Some(_), None) => Err(env.problem("MQTT_BROKER", "a bridge wants its broker".to_owned())),
        (None, _) => Ok(None),
    }
}

/// The models with the budget of a day: nobody spends money on them without a limit.
fn models(env: &mut Env) -> Result<Option<(ModelList, u64)>, ConfigError> {
    let models = env.optional("MODELS");
    let models = models.and_then(|found| keyed(env, "MODELS", found, ModelList::has_keys_of));
    let tokens: Result<Option<DailyTokens>, ConfigError> = env.optional("TOKENS_PER_DAY");
    let (Some(models), tokens) = (models?, tokens?) else {
        return Ok(None);
    };
    let tokens = match tokens {
        None if models.has_hosted() => env.required("TOKENS_PER_DAY")?,
        tokens => tokens.unwrap_or(DailyTokens(0)),
    };
    Ok(Some((models, tokens.0)))
}

/// What the tenant's record says of models names no secret, and sends none anywhere, but as the function was deployed with.
fn keyed<T: FromStr<Err: fmt::Display>>(
    env: &mut Env,
    name: &str,
    found: Option<T>,
    has_keys_of: impl FnOnce(&T, Option<&T>) -> bool,
) -> Result<Option<T>, ConfigError> {
    let deployed = env.without_record().optional(name).ok().flatten();
    match found {
        Some(found) if !has_keys_of(&found, deployed.as_ref()) => {
            let reason = "has a key that the function was not deployed with for that url";
            Err(env.problem(name, reason.to_owned()))
        }
        found => Ok(found),
    }
}

/// A count of tokens, as an operator writes it.
#[derive(Debug, Clone, Copy)]
struct DailyTokens(u64);

impl FromStr for DailyTokens {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        domain::parse_tokens(text).map(Self)
    }
}

/// Builds the whole function: HTTP, with paths relative to the host's URL, and its queue. `WAKE_QUEUES` must name the queue of
/// `host`.
///
/// # Errors
/// What is missing or wrong: keys, secrets, addresses.
pub async fn build(ground: Ground, config: Config) -> Result<Function, Error> {
    let sign_in = match &config.idp {
        Some(idp) => {
            let base = idp.as_str().trim_end_matches('/');
            Some(Url::parse(&format!("{base}/{}", config.tenant.prefix()))?)
        }
        None => None,
    };
    let directory = match config.directory {
        DirectorySource::Registry(url) => {
            Directory::registry(ground.outbound.clone(), url, config.bridge.clone())
        }
        DirectorySource::Fixed(card) => Directory::fixed(ground.outbound.clone(), card),
    };
    let wanted = model::Wanted {
        models: config.models,
        sentences: config.sentences,
        bedrock: config.bedrock,
    };
    // Side by side: whoever waits for the first answer waits for the slowest of them, not for their sum.
    // In boxes: the whole of it is what every caller's future holds.
    let (key, sealer, providers, (model, understanding)) = tokio::try_join!(
        in_a_box(ground.signing_key(&config.session_key)),
        in_a_box(ground.sealer(&config.sealing_keys)),
        in_a_box(ground.providers(config.providers.as_deref())),
        in_a_box(model::made(&ground, &config.tenant, wanted)),
    )?;
    let patience = match &config.retry_schedule {
        Some(schedule) => Patience {
            retries: schedule.waits().to_vec(),
            ..config.patience
        },
        None => config.patience,
    };
    let validator = Arc::new(ground.verifier(&config.url, config.issuers)?);
    let host = host(Parts {
        tenant: config.tenant,
        issuer: config.base.as_str().trim_end_matches('/').to_owned(),
        key,
        sealer,
        providers,
        url: config.url,
        validator,
        sign_in,
        directory,
        webhook: config.webhook,
        mqtt: config.mqtt,
        bridge: config.bridge,
        store: ground.store.admitting(config.sign_in),
        wake: ground.wake,
        outbound: ground.outbound,
        understanding,
        model,
        clock: ground.clock,
        entropy: ground.entropy,
        patience,
        enabled: config.enabled,
        approval: config.approval,
        settings: ground.settings.with(config.push_schedule, config.retry_schedule),
    })?;
    Ok(agent_parts::function(host.agent, NAME))
}

fn in_a_box<'f, T, E: Into<Error>>(
    part: impl Future<Output = Result<T, E>> + Send + 'f,
) -> Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'f>> {
    Box::pin(async move { part.await.map_err(Into::into) })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const ALL: [(&str, &str); 8] = [
        ("TENANT_ID", "acme"),
        ("HOST_AGENT_URL", "https://gateway.example/a/x/"),
        ("TENANT_BASE_URL", "https://gateway.example/t/acme"),
        ("REGISTRY_URL", "https://gateway.example/registry"),
        (
            "A2A_WEBHOOK_URL",
            "https://gateway.example/t/acme/api/webhook/tasks",
        ),
        ("TRUSTED_ISSUERS", "[]"),
        ("SESSION_KEY_SECRET", "session"),
        ("SEALING_KEYS_SECRET", "sealing"),
    ];

    fn without(name: &str) -> Env {
        Env::of(ALL.into_iter().filter(|(known, _)| *known != name))
    }

    #[test]
    fn without_a_tenant_it_refuses_to_start_and_says_so() {
        let refusal = edge::config::read(without("TENANT_ID"), Config::read)
            .err()
            .unwrap();
        assert_eq!(
            format!("{refusal:?}"),
            "a host agent serves exactly one tenant, and it was not told which: set TENANT_ID or pass --tenant-id NAME"
        );
    }

    fn read(env: Env) -> Result<Config, String> {
        let read = edge::config::read(env, Config::read);
        read.map(|(_, config)| config).map_err(|error| error.to_string())
    }

    #[test]
    fn the_argument_wins_over_the_environment() {
        let tenant = |argument: Option<&str>| {
            let env = Env::of(ALL).overridden("TENANT_ID", argument.map(str::to_owned));
            read(env).map(|config| config.tenant.name().to_owned())
        };
        assert_eq!(tenant(Some("globex")).as_deref(), Ok("globex"));
        assert_eq!(tenant(None).as_deref(), Ok("acme"));
        assert!(tenant(Some("Not A Tenant")).unwrap_err().contains("TENANT_ID"));
    }

    #[test]
    fn a_hosted_model_wants_a_limit() {
        let with = |more: &[(&'static str, &'static str)]| {
            read(Env::of(ALL.into_iter().chain(more.iter().copied())))
                .map(|config| config.models.map(|(_, tokens)| tokens))
        };
        let hosted = (
            "MODELS",
            r#"[{"kind": "bedrock", "model": "m"}, {"kind": "rules"}]"#,
        );
        assert!(with(&[hosted]).unwrap_err().contains("TOKENS_PER_DAY"));
        assert!(
            with(&[hosted, ("TOKENS_PER_DAY", "-1")])
                .unwrap_err()
                .contains("TOKENS_PER_DAY")
        );
        assert_eq!(with(&[hosted, ("TOKENS_PER_DAY", "500000")]), Ok(Some(500_000)));
        assert_eq!(with(&[("MODELS", r#"[{"kind": "rules"}]"#)]), Ok(Some(0)));
        assert_eq!(with(&[]), Ok(None));
    }

    #[test]
    fn a_record_sends_no_key_elsewhere_and_names_no_other() {
        let list = |url: &str, key: &str| {
            format!(r#"[{{"kind":"openai","url":"https://{url}/v1","model":"m","key":"{key}"}}]"#)
        };
        let one = |url: &str, key: &str| list(url, key).trim_matches(['[', ']']).to_owned();
        let (models, embed) = (list("a.example", "k"), one("a.example", "k"));
        let deployed = [("MODELS", &*models), ("EMBED", &*embed), ("TOKENS_PER_DAY", "9")];
        let with = |name: &str, value: String| {
            let record = [(name.to_owned(), value)].into();
            read(Env::of(ALL.into_iter().chain(deployed)).with_record(&record)).err()
        };
        let another = |name: &str, written: &dyn Fn(&str, &str) -> String| {
            let other_model = written("a.example", "k").replace(r#""m""#, r#""n""#);
            assert_eq!(with(name, other_model), None);
            for (url, key) in [("b.example", "k"), ("a.example", "other")] {
                let refused = with(name, written(url, key)).unwrap();
                assert!(refused.contains(&format!("{name} has a key")), "{refused}");
            }
        };
        another("MODELS", &list);
        another("EMBED", &one);
        assert_eq!(
            with("MODELS", r#"[{"kind":"bedrock","model":"m"}]"#.to_owned()),
            None
        );
    }

    #[test]
    fn a_fixed_agent_stands_in_for_the_registry() {
        let mut all: Vec<_> = ALL
            .into_iter()
            .filter(|(name, _)| *name != "REGISTRY_URL")
            .collect();
        let missing = read(Env::of(all.clone())).err().unwrap();
        assert!(missing.contains("REGISTRY_URL"), "{missing}");
        all.push(("A2A_AGENT_URL", "https://agent.example/card.json"));
        let config = read(Env::of(all)).unwrap();
        assert!(matches!(config.directory, DirectorySource::Fixed(_)));
        assert!(config.enabled);
        assert_eq!(config.patience.limit, Duration::from_secs(1_800));
    }
}
