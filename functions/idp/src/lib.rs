//! The authorization server: who somebody is, and what they let a client do. OAuth 2.0 with RFC 9700 as the yardstick,
//! and as much of OpenID Connect as signing in needs. One function serves every tenant; each has an issuer of its own,
//! `{IDP_URL}/{tenant}`, and nothing of one is good at another.
//!
//! | route, below the function's URL | |
//! |---|---|
//! | `GET`, `POST /{tenant}/authorize` | the pages to sign in and to agree; answers with a code (PKCE S256 only, `iss`) |
//! | `POST /{tenant}/token`, `/{tenant}/generate-token` | `authorization_code`, `refresh_token`, `client_credentials` |
//! | `POST /{tenant}/revoke` | ends a refresh token and all that follow from the same consent (RFC 7009) |
//! | `POST /{tenant}/introspect` | what a token stands for, to clients with a secret (RFC 7662) |
//! | `GET`, `POST /{tenant}/userinfo` | whom a token with `openid` speaks of |
//! | `GET /{tenant}/jwks.json` | the public keys, the next one among them |
//! | `GET /{tenant}/sessions.json` | who issues the tenant's own sessions, and its public keys |
//! | `GET /{tenant}/.well-known/openid-configuration`, `/{tenant}/.well-known/oauth-authorization-server` and both as `/.well-known/…/{tenant}` | metadata (RFC 8414, OIDC Discovery) |
//!
//! A tenant is here once it has a client named `host`; [`provision()`] sets one up. What a redirect answers is decided in
//! two steps: until client and redirect URI are known to belong together, errors are shown on a page; from then on they
//! go to the client.
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
mod keys;
mod login;
mod metadata;
mod own_token;
mod pages;
mod password;
mod provision;
mod refresh;
mod request;
mod resource;
mod revoke;
mod scope;
mod state;
mod tenant;
mod token;
mod userinfo;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use edge::{Front, front};

pub use config::{Config, StartError};
pub use keys::Keyring;
pub use password::HashError;
pub use provision::{NewClient, NewUser, ProvisionError, items, provision};
pub use state::{Settings, State};
pub use tenant::{HOST_CLIENT, issuer};

/// The whole function, paths relative to its URL.
pub fn router(state: State) -> Router {
    let dress = Front {
        clock: state.clock.clone(),
        entropy: state.entropy.clone(),
        function: "idp",
    };
    let routes = Router::new()
        .route("/{tenant}/authorize", get(authorize::show).post(authorize::step))
        .route("/{tenant}/token", post(token::issue))
        .route("/{tenant}/generate-token", post(token::issue))
        .route("/{tenant}/revoke", post(revoke::revoke))
        .route("/{tenant}/introspect", post(introspect::answer))
        .route("/{tenant}/userinfo", get(userinfo::show).post(userinfo::show))
        .route("/{tenant}/jwks.json", get(jwks::show))
        .route("/{tenant}/sessions.json", get(jwks::sessions))
        .route("/{tenant}/.well-known/openid-configuration", get(metadata::show))
        .route(
            "/{tenant}/.well-known/oauth-authorization-server",
            get(metadata::show),
        )
        .route("/.well-known/openid-configuration/{tenant}", get(metadata::show))
        .route(
            "/.well-known/oauth-authorization-server/{tenant}",
            get(metadata::show),
        )
        .with_state(Arc::new(state::Room::new(state)));
    front(routes, dress)
}
