//! Leads a user to a provider's consent, or to sign in, and takes the provider's answer: for one tenant, or for one agent of the platform, which
//! asks users of every tenant.
//!
//! A link grants nothing to whoever holds it. In the browser with the starter's own session the grant is the starter's
//! at once; in any other (a terminal's user has no session in one) the page shows a short code, and nothing is granted
//! before the starter types it in the chat. The answer must come back to the browser that left, with the state it left
//! with, from the issuer it was sent to.
//!
//! An agent's deployment sees nobody's session. There the tenant's own page brings a proof that it is the starter's browser
//! (`proof`, `prove`), a form that is good for a minute, once, and for one consent.
//!
//! A tenant's deployment also signs people in to the chat (`/signin`), by the same rules: the answer counts in the browser that
//! left, with the state it left with, from the issuer it was sent to.
//!
//! What else the task does is the host's to decide. Whatever is wrong is a page that says what to do next, and grants
//! nothing. Before a code is exchanged the waiting task is due in the table, so that it goes on even where this process
//! ends before the wake is on the queue.

mod answer;
mod asked;
mod attempt;
mod backchannel;
mod before;
mod browser;
mod callback;
mod config;
mod connect;
mod id_token;
mod identified;
mod issuers;
mod logout_token;
mod page;
mod proof;
mod prove;
mod request;
mod sign_in;
mod sign_in_page;
mod sign_out;
mod signed_in;
mod state;
mod told_metadata;
mod waiting;
mod way_back;

use std::sync::Arc;

use auth::BrowserKeys;
use axum::Router;
use consent::Consents;
use domain::Tenant;
use edge::{Error, Front, Function, Ground};
use routes::{Route, Routes};

pub use config::{Config, Serves, TakenProofs};
pub use issuers::{SignInIssuer, SignInIssuers};
pub use proof::Proofs;
pub use state::State;

/// The function's name.
pub const NAME: &str = "oauth_callback";

/// Builds the function. `WAKE_QUEUES` must name the queue of each agent whose tasks wait for consent.
///
/// # Errors
/// Where a secret cannot be read, or does not hold what it should.
pub async fn build(ground: Ground, config: Config) -> Result<Function, Error> {
    let (sealer, providers) = tokio::try_join!(
        ground.sealer(&config.sealing_keys),
        ground.providers(Some(&config.providers)),
    )?;
    let keys = Arc::clone(&ground.keys);
    let (tenant, agent, proofs, sign_in) = match config.serves {
        Serves::Tenant(tenant) => {
            let browsers = BrowserKeys::of(&sealer, &tenant)?;
            let sign_in = SignInIssuers::new(config.sign_in.clone(), &providers, keys)?;
            (tenant, None, Proofs::Made(Arc::new(browsers)), sign_in)
        }
        // Whose a request is, its link or its state says; it has users in no tenant of its own.
        Serves::Agent(agent) => {
            let proofs = match config.proofs {
                Some(TakenProofs { agent, keys }) => {
                    Proofs::Taken(Arc::new(ground.verifier(&agent, vec![keys])?))
                }
                None => Proofs::Neither,
            };
            (Tenant::public(), Some(agent), proofs, SignInIssuers::none(keys))
        }
    };
    Ok(Function::new(router(State {
        consents: Consents {
            sealer,
            providers: Arc::new(providers),
            tenant,
            agent,
            store: ground.store.admitting(config.sign_in),
            outbound: ground.outbound,
            clock: ground.clock,
            entropy: ground.entropy,
        },
        base: config.base,
        proofs,
        sign_in,
        wake: ground.wake,
    })))
}

/// The whole function, paths relative to the tenant's base.
pub fn router(state: State) -> Router {
    let consents = &state.consents;
    let front =
        Front::new(NAME, &consents.clock, &consents.entropy).serving(&consents.store, &consents.tenant);
    edge::front(served().with_state(Arc::new(state)), front)
}

/// What the function serves, as a list.
pub fn routes() -> Vec<Route> {
    served().listed().to_vec()
}

fn served() -> Routes<Arc<State>> {
    Routes::new()
        .get("/connect/page.css", "the pages' style", page::style)
        .get(
            "/connect/{id}",
            "follows a request for consent: to the provider, with PKCE and a state that is good once",
            connect::connect,
        )
        .post(
            "/connect/{id}",
            "the same for an agent of the platform, with a proof that it is the browser of the task's starter",
            connect::connect_proved,
        )
        .get(
            "/callback",
            "takes the provider's answer: the grant is stored sealed, and the task that waits is woken",
            callback::callback,
        )
        .get(
            "/signin",
            "sends a browser to the authorization server, to sign in to the chat",
            sign_in::sign_in,
        )
        .get(
            "/signin/callback",
            "takes its answer: a session of whoever has signed in begins",
            signed_in::signed_in,
        )
        .post(
            "/signin/backchannel",
            "takes an issuer's word that somebody has signed out there",
            backchannel::backchannel,
        )
        .post(
            "/signout",
            "ends the session, and says where to sign out at the authorization server",
            sign_out::sign_out,
        )
}

#[cfg(test)]
mod tests;
