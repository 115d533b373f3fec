//! The function's settings.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use domain::{SignInRule, Tenant, parse_tokens};
use edge::config::{ConfigError, Env};
use url::Url;

use crate::{ChatSettings, PushServices};

/// The function's settings, read once.
#[derive(Debug, Clone)]
pub struct Config {
    /// `TENANT_ID`: the one tenant it serves.
    pub tenant: Tenant,
    /// `TENANT_BASE_URL`: the tenant's base URL, where its page is; also the issuer of the tokens made here.
    pub base: Url,
    /// `HOST_AGENT_URL`: the tenant's host agent.
    pub host_url: Url,
    /// `REGISTRY_URL`: the registry, which the tenant's operators look at through the page.
    pub registry: Url,
    /// `IDP_URL`: the authorization servers' URL; the tenant's own lies below it, under its name. The tenant's admins look after its users
    /// there through the page; not without it, as where the template is an older release's.
    pub idp: Option<Url>,
    /// `SESSION_KEY_SECRET`: the name or ARN of the secret that holds the tenant's session key.
    pub session_key: String,
    /// `REQUIRE_SIGN_IN` (default `true`): whether nobody is let in who has not signed in; with `false` there are guests.
    pub require_sign_in: bool,
    /// `SIGN_IN_ISSUERS` (default `idp`) and `REQUIRE_ACR`: where people sign in, and what that must have been. A session that began
    /// otherwise is none.
    pub sign_in: SignInRule,
    /// `TOKENS_PER_DAY`: the host's own limit of tokens of language models in a day, for the tenant's operators to see.
    pub tokens_per_day: Option<u64>,
    /// `PUSH_SERVICES` (hosts with commas between them): push services that browsers may be reached at beside those of their makers.
    pub push_services: PushServices,
    /// `CHAT_GRACE` (seconds, default 60): how long a turn stays open at most, while the host itself works.
    pub grace: Duration,
    /// A folder with a build of the page in place of the function's own. No variable says it: only the local system does, for whoever
    /// works on the page.
    pub page: Option<PathBuf>,
}

impl Config {
    /// Reads the settings.
    ///
    /// # Errors
    /// The first that is missing or wrong; all of them by [`Env::finish`].
    pub fn read(env: &mut Env) -> Result<Self, ConfigError> {
        let usual = ChatSettings::default();
        let tenant = env.tenant();
        let base = env.required("TENANT_BASE_URL");
        let host_url = env.required("HOST_AGENT_URL");
        let registry = env.required("REGISTRY_URL");
        let idp = env.optional("IDP_URL");
        let session_key = env.required("SESSION_KEY_SECRET");
        let require_sign_in = env.or("REQUIRE_SIGN_IN", true);
        let sign_in = env.sign_in();
        let tokens_per_day: Result<Option<DailyTokens>, ConfigError> = env.optional("TOKENS_PER_DAY");
        let push_services = env.or("PUSH_SERVICES", PushServices::default());
        let grace = env.seconds_or("CHAT_GRACE", usual.grace, 0..=60);
        Ok(Self {
            tenant: tenant?,
            base: base?,
            host_url: host_url?,
            registry: registry?,
            idp: idp?,
            session_key: session_key?,
            require_sign_in: require_sign_in?,
            sign_in: sign_in?,
            tokens_per_day: tokens_per_day?.map(|DailyTokens(tokens)| tokens),
            push_services: push_services?,
            grace: grace?,
            page: None,
        })
    }
}

/// A count of tokens, as an operator writes it.
struct DailyTokens(u64);

impl FromStr for DailyTokens {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        parse_tokens(text).map(Self)
    }
}
