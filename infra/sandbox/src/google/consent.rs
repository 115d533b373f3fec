//! What leads to a code: the metadata, the page with boxes, and its answer.

use axum::Form;
use axum::Json;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse as _, Redirect, Response};
use serde_json::{Value, json};
use url::Url;

use super::{CLIENT, Google, Parameters, USERS, page};

/// A code that was given out.
pub(super) struct Code {
    pub(super) user: String,
    pub(super) scopes: Vec<String>,
    pub(super) challenge: String,
    /// A refresh token comes with it: the user saw the page, or had never agreed before.
    pub(super) renewable: bool,
}

pub(super) async fn metadata(State(google): State<Google>) -> Json<Value> {
    let at = |path: &str| format!("{}/{path}", google.issuer.as_str().trim_end_matches('/'));
    Json(json!({
        "issuer": google.issuer.as_str(),
        "authorization_endpoint": at("o/oauth2/v2/auth"),
        "token_endpoint": at("token"),
        "revocation_endpoint": at("revoke"),
        "code_challenge_methods_supported": ["plain", "S256"],
        "scopes_supported": ["openid", "email", "profile"],
        "sandbox": true,
    }))
}

/// What is wrong with a request; the browser is not sent anywhere then.
fn fault(google: &Google, asked: &Parameters) -> Option<&'static str> {
    let is = |name: &str, value: &str| asked.get(name).is_some_and(|told| told == value);
    if !is("client_id", CLIENT.0) {
        Some("invalid_client")
    } else if !is("redirect_uri", &google.redirect_uri) {
        Some("redirect_uri_mismatch")
    } else if !is("response_type", "code") || !is("code_challenge_method", "S256") {
        Some("invalid_request")
    } else if asked.contains_key("resource") || asked.contains_key("include_granted_scopes") {
        // The first Google does not know, the second would let one tenant have what another was granted.
        Some("invalid_request: resource, include_granted_scopes")
    } else {
        None
    }
}

pub(super) async fn page(State(google): State<Google>, Query(asked): Query<Parameters>) -> Response {
    match fault(&google, &asked) {
        Some(fault) => (StatusCode::BAD_REQUEST, Html(page::fault(fault))).into_response(),
        None => Html(page::asks(&asked)).into_response(),
    }
}

/// The page's answer: `user`, `agree` or not, and each ticked box as `box.N`.
pub(super) async fn answer(State(google): State<Google>, Form(told): Form<Parameters>) -> Response {
    if let Some(fault) = fault(&google, &told) {
        return (StatusCode::BAD_REQUEST, Html(page::fault(fault))).into_response();
    }
    let Ok(mut back) = Url::parse(&google.redirect_uri) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let told = |name: &str| told.get(name).map_or("", String::as_str);
    back.query_pairs_mut().append_pair("state", told("state"));
    let user = USERS.iter().find(|(name, _)| *name == told("user"));
    let ticked: Vec<String> = told("scope")
        .split(' ')
        .enumerate()
        .filter(|(number, _)| !told(&format!("box.{number}")).is_empty())
        .map(|(_, scope)| scope.to_owned())
        .collect();
    match user.filter(|_| !told("agree").is_empty() && !ticked.is_empty()) {
        None => {
            back.query_pairs_mut().append_pair("error", "access_denied");
        }
        Some((user, _)) => {
            let code = Code {
                user: (*user).to_owned(),
                challenge: told("code_challenge").to_owned(),
                renewable: told("access_type") == "offline" && told("prompt") == "consent",
                scopes: ticked.clone(),
            };
            let name = format!("4/sandbox-{}", google.entropy.uuid());
            back.query_pairs_mut()
                .append_pair("code", &name)
                .append_pair("scope", &ticked.join(" "));
            let mut state = google.state();
            state.seen_tokens.insert(name.clone());
            state.codes.insert(name, code);
        }
    }
    Redirect::to(back.as_str()).into_response()
}
