//! `GET /signin`: sends a browser to the tenant's authorization server, to come back as somebody.
//!
//! Another site's link or script gets no further than a page that asks: whoever is signed in over there would otherwise be
//! signed in here without having wanted it.

use axum::extract::RawQuery;
use axum::response::{IntoResponse, Response};
use domain::ExposeSecret;
use edge::origin::comes_from_here;
use http::header::{CACHE_CONTROL, LOCATION, REFERRER_POLICY, SET_COOKIE};
use http::{HeaderValue, StatusCode};
use outbound::oauth::{AuthorizationAsk, Provider};

use crate::attempt::Attempt;
use crate::sign_in_page::SignInPage;
use crate::state::{State, Visit};
use crate::way_back::WayBack;

/// The provider that people sign in at.
const PROVIDER: &str = "idp";
/// What is asked there: who it is.
const SCOPES: [&str; 2] = ["openid", "profile"];

/// Where people sign in, where they can.
pub(crate) fn provider(app: &State) -> Result<&Provider, SignInPage> {
    let known = app.consents.provider(PROVIDER);
    // An agent of the platform has users in no tenant of its own.
    known.filter(|_| !app.serves_all()).ok_or(SignInPage::Nowhere)
}

pub(crate) async fn sign_in(visit: Visit, RawQuery(query): RawQuery) -> Response {
    let back = WayBack::of_query(&query.unwrap_or_default());
    match leave(&visit, &back).await {
        Ok(sent) => sent,
        Err(page) => page.respond(&visit.app, &visit.headers, &back),
    }
}

async fn leave(visit: &Visit, back: &WayBack) -> Result<Response, SignInPage> {
    let app = &visit.app;
    let provider = provider(app)?;
    if !comes_from_here(&visit.headers, &app.base) {
        return Err(SignInPage::Asked);
    }
    let metadata = app.consents.outbound.server_metadata(&provider.issuer).await;
    let metadata = metadata.map_err(|error| SignInPage::of_provider(&error))?;
    let attempt = Attempt::begin(app, &visit.headers, back.clone());
    let url = metadata.authorization_url(&AuthorizationAsk {
        client_id: &provider.client.id,
        redirect_uri: &app.signed_in_uri(),
        scopes: &SCOPES.map(str::to_owned),
        // What comes back besides is good at the issuer alone.
        resource: &provider.issuer,
        state: attempt.state(),
        nonce: attempt.nonce().expose_secret(),
        challenge: &auth::pkce::challenge(attempt.verifier().expose_secret()),
        dialect: provider.dialect,
        renewable: true,
    });
    let (Ok(location), Some(cookie)) = (HeaderValue::from_str(url.as_str()), attempt.cookie(app)) else {
        tracing::error!("the redirect to the provider cannot be written");
        return Err(SignInPage::Failed);
    };
    let headers = [
        (LOCATION, location),
        (SET_COOKIE, cookie),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ];
    Ok((StatusCode::FOUND, headers).into_response())
}
