//! The app state: what the function is given, and what its handlers share.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use auth::SigningKey;
use auth::web_push::WebPushKeys;
use domain::{AgentName, Clock, Entropy, Owner, Tenant};
use outbound::{Outbound, below};
use store::audit::{self, Action, Actor, Entry};
use store::{OwnSettings, Store, Tasks};
use url::Url;

use crate::chat::known_models::LastModels;
use crate::host::HostClient;
use crate::ops::registry::RegistryClient;
use crate::page::built::Built;
use crate::push::services::PushServices;

/// What the function works with, given by whoever starts it.
pub struct State {
    /// The one tenant it serves.
    pub tenant: Tenant,
    /// The tenant's base URL: where the page is, and the issuer of the tokens made here.
    pub base: Url,
    /// The host agent's name in keys.
    pub host: AgentName,
    /// The host agent's URL: where it is called, and the audience of the tokens made here.
    pub host_url: Url,
    /// The registry's URL.
    pub registry: Url,
    /// The authorization server's URL; the tenant's own lies below it.
    pub idp: Option<Url>,
    /// The tables.
    pub store: Store,
    /// The tenant's session key.
    pub key: Arc<SigningKey>,
    /// The keys that follow from it for browsers that are told of tasks.
    pub push: Arc<WebPushKeys>,
    /// The way to the host.
    pub outbound: Outbound,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Chance.
    pub entropy: Arc<dyn Entropy>,
    /// Whether nobody is let in who has not signed in.
    pub require_sign_in: bool,
    /// How many tokens of language models the host may use in a day where the tenant has set nothing; shown, and heeded by the host.
    pub tokens_per_day: Option<u64>,
    /// Where browsers may be reached beside the services of their makers.
    pub push_services: PushServices,
    /// A folder with a build of the page in place of the function's own.
    pub page: Option<PathBuf>,
    /// Times.
    pub settings: ChatSettings,
}

/// Times of the chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatSettings {
    /// How long a turn stays open at most, while the host itself works. Once all is handed over or waits, it ends soon.
    pub grace: Duration,
    /// How long a stream of a task's events stays open.
    pub events_limit: Duration,
    /// How often a stream looks whether its session is still good.
    pub session_look: Duration,
    /// How long a session lasts.
    pub session_lifetime: Duration,
}

impl Default for ChatSettings {
    fn default() -> Self {
        Self {
            grace: Duration::from_secs(60),
            events_limit: Duration::from_secs(60),
            session_look: Duration::from_secs(5),
            session_lifetime: Duration::from_secs(30 * 24 * 3600),
        }
    }
}

/// The state as the endpoints share it.
pub(crate) struct AppState {
    pub(crate) tenant: Tenant,
    pub(crate) base: Url,
    pub(crate) agent: AgentName,
    pub(crate) host: HostClient,
    pub(crate) registry: RegistryClient,
    /// The tenant's own authorization server, where that is known.
    pub(crate) authority: Option<Url>,
    /// Where the tenant's users are looked after, where that is known.
    pub(crate) users: Option<Url>,
    /// The keys for browsers that are told of tasks.
    pub(crate) push: Arc<WebPushKeys>,
    /// Where those may be reached.
    pub(crate) push_services: PushServices,
    /// The way to push services.
    pub(crate) outbound: Outbound,
    pub(crate) store: Store,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    /// Where people sign in.
    pub(crate) sign_in: Url,
    pub(crate) require_sign_in: bool,
    /// The host's own limit of a day.
    pub(crate) tokens_per_day: Option<u64>,
    pub(crate) built: Built,
    pub(crate) settings: ChatSettings,
    /// What the tenant has set, for users who do not say it themselves.
    pub(crate) own: OwnSettings,
    /// Whom messages can be for, as the host said last.
    pub(crate) models: LastModels,
}

impl AppState {
    /// The tasks as they are shown: the bytes of files are read one file at a time.
    pub(crate) fn tasks(&self) -> Tasks<'_> {
        self.store.tasks().without_files()
    }

    /// What somebody did here, for the audit.
    pub(crate) fn entry(&self, action: Action, owner: &Owner, object: &str) -> Entry {
        let audit = self.store.audit(self.clock.now());
        audit.entry(
            action,
            Some(&self.tenant),
            Actor::Owner(owner),
            object,
            audit::DONE,
        )
    }

    /// Tells the audit what somebody did, where no transaction does.
    pub(crate) async fn tell(&self, action: Action, owner: &Owner, object: &str, result: &str) {
        let audit = self.store.audit(self.clock.now());
        let (tenant, owner) = (Some(&self.tenant), Actor::Owner(owner));
        audit.tell(action, tenant, owner, object, result).await;
    }

    pub(crate) fn new(state: State) -> Self {
        let State {
            tenant,
            base,
            host,
            host_url,
            registry,
            idp,
            store,
            key,
            push,
            outbound,
            clock,
            entropy,
            require_sign_in,
            tokens_per_day,
            push_services,
            page,
            settings,
        } = state;
        let issuer = base.as_str().trim_end_matches('/').to_owned();
        let authority = idp.map(|idp| below(&idp, tenant.prefix()));
        let registry = RegistryClient {
            url: registry,
            tenant: tenant.clone(),
            issuer: issuer.clone(),
            key: Arc::clone(&key),
            outbound: outbound.clone(),
            clock: clock.clone(),
            entropy: entropy.clone(),
        };
        let host_client = HostClient {
            endpoint: HostClient::endpoint(host_url),
            tenant: tenant.clone(),
            issuer,
            key,
            outbound: outbound.clone(),
            tells_at: below(&base, "api/push/tasks"),
            push: Arc::clone(&push),
            clock: clock.clone(),
            entropy: entropy.clone(),
            tokens: Mutex::default(),
        };
        Self {
            sign_in: below(&base, "signin"),
            require_sign_in,
            tokens_per_day,
            built: page.map_or(Built::Held, Built::In),
            own: OwnSettings::new(store.clone(), tenant.clone(), clock.clone()),
            models: LastModels::default(),
            users: authority.as_ref().map(|authority| below(authority, "users")),
            authority,
            tenant,
            base,
            agent: host,
            host: host_client,
            registry,
            push,
            push_services,
            outbound,
            store,
            clock,
            entropy,
            settings,
        }
    }
}
