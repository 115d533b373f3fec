//! The authorization server: who somebody is, and what they let a client do. OAuth 2.0 with RFC 9700 as the yardstick,
//! and as much of OpenID Connect as signing in needs. One function serves every tenant; each has an issuer of its own,
//! `{IDP_URL}/{tenant}`, and nothing of one is good at another.
//!
//! A tenant is here once it has a client named `host`; [`provision()`] sets one up. What a redirect answers is decided in
//! two steps: until client and redirect URI are known to belong together, errors are shown on a page; from then on they
//! go to the client.
//!
//! `/{tenant}/users…` is for a tenant's admins: the users as the operator's command has them, and never another tenant's.
//!
//! Not here: who may call an agent (the agents check that themselves, offline, by `auth`), and passwords' recovery: the
//! users are demo users; a tenant with a provider of its own lists that as a trusted issuer instead.

mod authorize;
mod browser;
mod client;
mod config;
mod error;
mod fields;
mod introspect;
mod jwks;
mod login;
mod logout;
mod metadata;
mod own_token;
mod pages;
mod password;
mod people;
mod provision;
mod refresh;
mod request;
mod resource;
mod revoke;
mod scope;
mod state;
mod tenant;
mod token;
mod user;
mod userinfo;
mod users;
mod work;

use std::sync::Arc;

use auth::KeySet;
use axum::Router;
use edge::{Error, Front, Function, Ground};
use routes::{Route, Routes};

pub use config::Config;
pub use password::{HashError, matches as is_password_of};
pub use people::{People, UserChange, new_password, new_user};
pub use provision::{NewClient, NewUser, ProvisionError, ROLES, items, provision};
pub use state::{HOST_CLIENT, Lifetimes, State};
pub use tenant::issuer;

/// The function's name.
pub const NAME: &str = "idp";

/// Builds the function.
///
/// # Errors
/// Where the secret of its keys cannot be read, or holds none.
pub async fn build(ground: Ground, config: Config) -> Result<Function, Error> {
    let keys = KeySet::from_secret(&ground.secrets.value(&config.keys).await?);
    Ok(Function::new(router(State {
        keys: Arc::new(keys.map_err(|error| edge::broken(&config.keys, &error))?),
        url: config.url,
        store: ground.store,
        clock: ground.clock,
        entropy: ground.entropy,
        settings: Lifetimes {
            access_token: config.access_token,
            ..Lifetimes::default()
        },
    })))
}

/// The whole function, paths relative to its URL.
pub fn router(state: State) -> Router {
    let front = Front::new(NAME, &state.clock, &state.entropy);
    edge::front(served().with_state(Arc::new(state::AppState::new(state))), front)
}

/// What the function serves, as a list.
pub fn routes() -> Vec<Route> {
    served().listed().to_vec()
}

fn served() -> Routes<Arc<state::AppState>> {
    let (authorize, userinfo) = ("/{tenant}/authorize", "/{tenant}/userinfo");
    // Below the issuer, where OpenID Connect Discovery has them, and where RFC 8414 puts them for issuers with a path.
    let metadata = [
        "/{tenant}/.well-known/openid-configuration",
        "/{tenant}/.well-known/oauth-authorization-server",
        "/.well-known/openid-configuration/{tenant}",
        "/.well-known/oauth-authorization-server/{tenant}",
    ];
    let routes = Routes::new()
        .get(
            authorize,
            "the pages to sign in and to agree (PKCE S256 only)",
            authorize::show,
        )
        .post(
            authorize,
            "a step of signing in; ends with a code and `iss`",
            authorize::step,
        )
        .post(
            "/{tenant}/token",
            "issues tokens for a code, a refresh token or a client",
            token::issue,
        )
        .post(
            "/{tenant}/generate-token",
            "issues tokens, under another name",
            token::issue,
        )
        .post(
            "/{tenant}/revoke",
            "ends a refresh token and what follows from it (RFC 7009)",
            revoke::revoke,
        )
        .post(
            "/{tenant}/introspect",
            "what a token stands for, to clients with a secret (RFC 7662)",
            introspect::answer,
        )
        .get(
            userinfo,
            "the user whom a token with `openid` is about",
            userinfo::show,
        )
        .post(
            userinfo,
            "the user whom a token with `openid` is about",
            userinfo::show,
        )
        .get(
            "/{tenant}/logout",
            "the page to sign out (OpenID Connect RP-Initiated Logout)",
            logout::show,
        )
        .post("/{tenant}/logout", "signs out: here, or everywhere", logout::step)
        .get(
            "/{tenant}/jwks.json",
            "the public keys, the next one among them",
            jwks::show,
        )
        .get(
            "/{tenant}/sessions.json",
            "the issuer of the tenant's own sessions, and its keys",
            jwks::sessions,
        )
        .get(
            "/{tenant}/browsers.json",
            "the issuer of the tenant's own sessions, and the keys of its browsers' proofs",
            jwks::browsers,
        )
        .get(
            "/{tenant}/users",
            "lists the tenant's users, for its admins",
            users::list,
        )
        .post(
            "/{tenant}/users",
            "adds a user; tells the first password once",
            users::add,
        )
        .patch(
            "/{tenant}/users/{username}",
            "changes a user's name or roles",
            user::change,
        )
        .delete(
            "/{tenant}/users/{username}",
            "removes a user, and ends whatever they had",
            user::remove,
        )
        .post(
            "/{tenant}/users/{username}/reset",
            "gives a user another password, which is told once",
            user::reset,
        )
        .post(
            "/{tenant}/users/{username}/end",
            "ends every sign-in of a user",
            user::end,
        );
    metadata.into_iter().fold(routes, |routes, path| {
        routes.get(path, "metadata (RFC 8414, OIDC Discovery)", metadata::show)
    })
}
