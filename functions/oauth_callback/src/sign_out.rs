//! `POST /signout`: ends the browser's session here, and says where to go to end the one at the authorization server.
//!
//! The page goes there itself, so the answer is JSON: a form's redirect to another site is what its policy forbids.

use std::sync::Arc;

use axum::Json;
use axum::extract::FromRequestParts;
use axum::response::{IntoResponse, Response};
use edge::origin::comes_from_here;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, SET_COOKIE};
use http::request::Parts;
use http::{HeaderName, StatusCode};
use outbound::below;
use serde_json::json;
use store::audit::{self, Action, Actor};
use store::{Session, StoreError};
use url::Url;

use crate::issuers::SignInIssuer;
use crate::signed_in::earlier;
use crate::state::{State, Visit};

/// What the browser forgets of this origin: all that pages keep there. Cookies it has of others here stay.
const FORGETS: HeaderName = HeaderName::from_static("clear-site-data");

/// Proof that a request comes from the page and not from another site.
pub(crate) struct FromThePage;

impl FromRequestParts<Arc<State>> for FromThePage {
    type Rejection = Response;
    async fn from_request_parts(parts: &mut Parts, app: &Arc<State>) -> Result<Self, Response> {
        if !comes_from_here(&parts.headers, &app.base) {
            let words = "the request comes from another site";
            return Err(edge::refused(StatusCode::FORBIDDEN, "cross_origin", words));
        }
        let media = parts.headers.get(CONTENT_TYPE);
        let media = media.and_then(|value| value.to_str().ok()).unwrap_or_default();
        let media = media.split(';').next().unwrap_or_default().trim();
        if !media.eq_ignore_ascii_case("application/json") {
            let words = "the content type must be application/json";
            let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            return Err(edge::refused(status, "unsupported_media_type", words));
        }
        Ok(Self)
    }
}

pub(crate) async fn sign_out(visit: Visit, _: FromThePage) -> Response {
    let app = &visit.app;
    if app.sign_in.all().is_empty() {
        return edge::not_found();
    }
    let ended = match end(&visit).await {
        Ok(ended) => ended,
        Err(error) => {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "a session was not ended"
            );
            return edge::later("unavailable", "you are still signed in; try again shortly");
        }
    };
    let person = ended.and_then(|session| session.person);
    // Whoever has no session any more may still be signed in over there, at the only place there is.
    let issuer = match person {
        Some(person) => app.sign_in.of_name(&person.issuer),
        None => app.sign_in.all().first(),
    };
    let told = Json(json!({ "next": farewell(app, issuer).await }));
    let mut response = ([(CACHE_CONTROL, "no-store"), (FORGETS, "\"storage\"")], told).into_response();
    if let Some(taken) = edge::session::taken(app.tenant(), &app.base) {
        response.headers_mut().append(SET_COOKIE, taken);
    }
    response
}

/// Ends the session; what it was.
async fn end(visit: &Visit) -> Result<Option<Session>, StoreError> {
    let app = &visit.app;
    let Some((hash, session)) = earlier(visit).await? else {
        return Ok(None);
    };
    app.consents
        .store
        .sessions()
        .end_session(app.tenant(), &hash)
        .await?;
    let (tenant, owner) = (Some(app.tenant()), Actor::Owner(&session.owner));
    let audit = app.consents.store.audit(app.clock().now());
    audit
        .tell(Action::ChatSignOut, tenant, owner, "session", audit::DONE)
        .await;
    Ok(Some(session))
}

/// Where the sign-in over there is ended; the chat, where that cannot be known now.
async fn farewell(app: &State, issuer: Option<&SignInIssuer>) -> Url {
    let chat = below(&app.base, "");
    let Some(provider) = issuer.map(|issuer| &issuer.provider) else {
        return chat;
    };
    match app.consents.outbound.server_metadata(&provider.issuer).await {
        Ok(metadata) => match metadata.end_session_endpoint {
            Some(mut url) => {
                url.query_pairs_mut()
                    .append_pair("client_id", &provider.client.id)
                    .append_pair("post_logout_redirect_uri", chat.as_str());
                url
            }
            None => chat,
        },
        Err(error) => {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "where to sign out at the provider is not known"
            );
            chat
        }
    }
}
