//! Leads a user to a provider's consent and takes the provider's answer, for one tenant.
//!
//! A link grants nothing to whoever holds it. In the browser with the starter's own session the grant is the starter's
//! at once; in any other (a terminal's user has no session in one) the page shows a short code, and nothing is granted
//! before the starter types it in the chat. The answer must come back to the browser that left, with the state it left
//! with, from the issuer it was sent to.
//!
//! What else the task does is the host's to decide. Whatever is wrong is a page that says what to do next, and grants
//! nothing. Before a code is exchanged the waiting task is due in the table, so that it goes on even where this process
//! ends before the wake is on the queue.

mod answer;
mod app;
mod browser;
mod callback;
mod config;
mod connect;
mod id_token;
mod page;
mod request;
mod waiting;

use std::sync::Arc;

use agent::WakeDoor;
use auth::Sealer;
use axum::Router;
use consent::Consents;
use domain::{Clock, Entropy, Tenant};
use edge::{Error, Front, Function, Ground};
use outbound::Outbound;
use outbound::oauth::Providers;
use routes::{Route, Routes};
use store::Store;
use url::Url;

use app::App;
pub use config::Config;

/// What the function is built of.
pub struct State {
    /// The one tenant it serves.
    pub tenant: Tenant,
    /// The tenant's base URL; the redirect URI is `callback` below it.
    pub base: Url,
    /// The tables.
    pub store: Store,
    /// Seals grants.
    pub sealer: Arc<Sealer>,
    /// The providers that know us.
    pub providers: Providers,
    /// The way to them.
    pub outbound: Outbound,
    /// The queue of the agent whose task waits.
    pub wake: Arc<dyn WakeDoor>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Chance.
    pub entropy: Arc<dyn Entropy>,
}

/// The function's name.
pub const NAME: &str = "oauth_callback";

/// Builds the function. `WAKE_QUEUES` must name the queue of each agent whose tasks wait for consent.
///
/// # Errors
/// Where a secret cannot be read, or does not hold what it should.
pub async fn build(ground: Ground, config: Config) -> Result<Function, Error> {
    Ok(Function::new(router(State {
        sealer: ground.sealer(&config.sealing_keys).await?,
        providers: ground.providers(Some(&config.providers)).await?,
        tenant: config.tenant,
        base: config.base,
        store: ground.store,
        outbound: ground.outbound,
        wake: ground.wake,
        clock: ground.clock,
        entropy: ground.entropy,
    })))
}

/// The whole function, paths relative to the tenant's base.
pub fn router(state: State) -> Router {
    let front = Front {
        clock: state.clock.clone(),
        entropy: state.entropy.clone(),
        function: NAME,
    };
    let app = App {
        consents: Consents {
            tenant: state.tenant,
            store: state.store,
            sealer: state.sealer,
            providers: Arc::new(state.providers),
            outbound: state.outbound,
            clock: state.clock,
            entropy: state.entropy,
        },
        base: state.base,
        wake: state.wake,
    };
    edge::front(served().with_state(Arc::new(app)), front)
}

/// What the function serves, as a list.
pub fn routes() -> Vec<Route> {
    served().listed().to_vec()
}

fn served() -> Routes<Arc<App>> {
    Routes::new()
        .get("/connect/page.css", "the pages' style", page::style)
        .get(
            "/connect/{id}",
            "follows a request for consent: to the provider, with PKCE and a state that is good once",
            connect::connect,
        )
        .get(
            "/callback",
            "takes the provider's answer: the grant is stored sealed, and the task that waits is woken",
            callback::callback,
        )
}

#[cfg(test)]
mod tests;
