//! `GET /connect/{id}`: follows a request for consent to its provider.
//!
//! Whoever follows it once more starts anew: the newest state alone is good. But where the starter's own browser is on
//! its way already, no other can take its place.

use std::sync::Arc;

use auth::ConsentSecrets;
use axum::extract::rejection::PathRejection;
use axum::extract::{Extension, Path, State};
use axum::response::{IntoResponse, Response};
use domain::{ExposeSecret, TraceParent};
use http::header::{CACHE_CONTROL, LOCATION, REFERRER_POLICY, SET_COOKIE};
use http::{HeaderMap, HeaderValue, StatusCode};
use outbound::oauth::AuthorizationAsk;
use store::{Consent, ConsentStatus};
use tracing::Span;
use tracing::field::display;

use crate::page::Page;
use crate::request::{self, Ended};
use crate::{Desk, browser, waiting};

/// The scope that brings a refresh token (OIDC Core §11).
const OFFLINE: &str = "offline_access";
/// How often it is begun anew where somebody else follows the same link at the same time.
const ROUNDS: u32 = 4;

pub(crate) async fn connect(
    State(desk): State<Arc<Desk>>,
    trace: Option<Extension<TraceParent>>,
    headers: HeaderMap,
    id: Result<Path<String>, PathRejection>,
) -> Response {
    Span::current().record("tenant.id", display(&desk.tenant));
    let trace = trace.map(|Extension(trace)| trace);
    let done = match id {
        Ok(Path(id)) => follow(&desk, &id, &headers, trace.as_ref()).await,
        Err(_) => Err(Page::Unknown),
    };
    done.unwrap_or_else(|page| page.respond(&desk, &headers))
}

async fn follow(
    desk: &Desk,
    id: &str,
    headers: &HeaderMap,
    trace: Option<&TraceParent>,
) -> Result<Response, Ended> {
    for _ in 0..ROUNDS {
        let consent = request::find(desk, id).await?.ok_or(Page::Unknown)?;
        request::running(desk, &consent, trace).await?;
        if !waiting::still_waits(desk, &consent).await? {
            return Err(Page::NotNeeded);
        }
        let owner = browser::owner(desk, headers).await?;
        let starters_browser = owner.as_ref() == Some(&consent.owner);
        if !starters_browser && is_under_way_at_the_starter(desk, &consent) {
            return Err(Page::Elsewhere);
        }
        if let Some(response) = start(desk, consent, starters_browser, trace).await? {
            return Ok(response);
        }
    }
    Err(Page::Busy)
}

fn is_under_way_at_the_starter(desk: &Desk, consent: &Consent) -> bool {
    consent.status == ConsentStatus::Started
        && ConsentSecrets::open(&desk.sealer, &consent.sealed, &request::binding(desk, consent))
            .is_ok_and(|secrets| secrets.starters_browser)
}

/// Sends the browser to the provider; `None` where the consent changed meanwhile.
async fn start(
    desk: &Desk,
    consent: Consent,
    starters_browser: bool,
    trace: Option<&TraceParent>,
) -> Result<Option<Response>, Ended> {
    let provider = request::provider(desk, &consent)?;
    let again = || Some(request::link(desk, &consent));
    let metadata = match desk.outbound.server_metadata(&consent.issuer, trace).await {
        Ok(metadata) => metadata,
        Err(error) => return Err(Page::of_provider(&error, again())),
    };
    let entropy = desk.entropy.as_ref();
    let secrets = ConsentSecrets {
        // The id in front tells the callback what the answer was about, also when the state is used up.
        state: auth::token::random(&consent.id, entropy),
        pkce_verifier: auth::pkce::verifier(entropy),
        nonce: auth::token::random("nonce", entropy),
        token_endpoint: metadata.token_endpoint.to_string(),
        iss_required: metadata.iss_in_answer,
        starters_browser,
    };
    let tie = browser::binding(desk);
    let started = Consent {
        sealed: secrets.seal(&desk.sealer, &request::binding(desk, &consent), entropy),
        browser_hash: Some(auth::token::hash(tie.expose_secret())),
        code_hash: None,
        sealed_result: None,
        ..consent.clone()
    };
    let state_hash = auth::token::hash(secrets.state.expose_secret());
    let grants = desk.store.grants();
    if !grants.start_consent(&desk.tenant, &started, &state_hash).await? {
        return Ok(None);
    }
    // Without it the server would give nothing to renew the access with, and the user would be asked every few minutes.
    let mut scopes = consent.scopes.clone();
    let renewable = metadata.scopes_supported.iter().any(|scope| scope == OFFLINE);
    if renewable && !scopes.iter().any(|scope| scope == OFFLINE) {
        scopes.push(OFFLINE.to_owned());
    }
    let url = metadata.authorization_url(&AuthorizationAsk {
        client_id: &provider.client.id,
        redirect_uri: &request::redirect_uri(desk),
        scopes: &scopes,
        resource: &consent.resource,
        state: secrets.state.expose_secret(),
        nonce: secrets.nonce.expose_secret(),
        challenge: &auth::pkce::challenge(secrets.pkce_verifier.expose_secret()),
    });
    let cookie = browser::binding_cookie(desk, &consent, &tie);
    let (Ok(location), Some(cookie)) = (HeaderValue::from_str(url.as_str()), cookie) else {
        tracing::error!("the redirect to the provider cannot be written");
        return Err(Page::Failed);
    };
    tracing::info!(
        tenant.id = %desk.tenant, task.id = %consent.task_id, provider = %consent.provider, starters_browser,
        "browser sent to the provider"
    );
    let headers = [
        (LOCATION, location),
        (SET_COOKIE, cookie),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ];
    Ok(Some((StatusCode::FOUND, headers).into_response()))
}
