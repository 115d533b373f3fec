//! Tokens: codes and refresh tokens exchanged, tokens revoked, and whose a token is.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::{Form, Json};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{CLIENT, Google, Parameters, with};

/// How long an access token is good, in seconds.
const LIFETIME: i64 = 3599;
const ACCESS: &str = "ya29.sandbox-";
const REFRESH: &str = "1//sandbox-";

/// What a token says.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Claims {
    pub(super) user: String,
    pub(super) scopes: Vec<String>,
    /// Which grant it is of.
    grant: i64,
    /// Which token it is.
    number: i64,
    /// When it ends, in milliseconds; a refresh token does not.
    until: i64,
}

fn error(error: &str) -> Response {
    let body = json!({"error": error, "error_description": "Bad Request"});
    (StatusCode::BAD_REQUEST, Json(body)).into_response()
}

/// By fields of the form alone, as we say it.
fn knows(form: &Parameters) -> bool {
    let is = |name: &str, value: &str| form.get(name).is_some_and(|told| told == value);
    is("client_id", CLIENT.0) && is("client_secret", CLIENT.1)
}

pub(super) async fn token(State(google): State<Google>, Form(form): Form<Parameters>) -> Response {
    if !knows(&form) {
        let body = json!({"error": "invalid_client", "error_description": "Unauthorized"});
        return (StatusCode::UNAUTHORIZED, Json(body)).into_response();
    }
    let told = |name: &str| form.get(name).map_or("", String::as_str);
    match told("grant_type") {
        "authorization_code" => {
            let known = {
                let mut state = google.state();
                state.exchanged.push(told("code").to_owned());
                state.codes.remove(told("code"))
            };
            let good = known.filter(|code| {
                told("redirect_uri") == google.redirect_uri
                    && auth::pkce::verify(&code.challenge, told("code_verifier"))
            });
            let Some(code) = good else {
                return error("invalid_grant");
            };
            let grant = google.number();
            let renewable = code.renewable;
            given(&google, (code.user, code.scopes), grant, renewable)
        }
        "refresh_token" => {
            google.state().refreshes += 1;
            match google.claims(REFRESH, told("refresh_token")) {
                // The refresh token stays what it was, and is not told again.
                Some(claims) => given(&google, (claims.user, claims.scopes), claims.grant, false),
                None => error("invalid_grant"),
            }
        }
        _ => error("unsupported_grant_type"),
    }
}

fn given(google: &Google, (user, scopes): (String, Vec<String>), grant: i64, renewable: bool) -> Response {
    let now = google.clock.now().millis();
    let claims = Claims {
        user,
        scopes,
        grant,
        number: google.number(),
        until: now + LIFETIME * 1000,
    };
    let answer = json!({
        "access_token": google.written(ACCESS, &claims),
        "expires_in": LIFETIME,
        "token_type": "Bearer",
        "scope": claims.scopes.join(" "),
        "sandbox": true,
    });
    let answer = match renewable {
        true => with(answer, "refresh_token", google.written(REFRESH, &claims).into()),
        false => answer,
    };
    Json(answer).into_response()
}

pub(super) async fn revoke(State(google): State<Google>, Form(form): Form<Parameters>) -> Response {
    let token = form.get("token").map_or("", String::as_str);
    let claims = google
        .claims(REFRESH, token)
        .or_else(|| google.claims(ACCESS, token));
    match claims {
        // All that the account has granted to this client, wherever it is used.
        Some(claims) => {
            google.take_back(&claims.user);
            Json(json!({})).into_response()
        }
        None => error("invalid_token"),
    }
}

impl Google {
    fn written(&self, prefix: &str, claims: &Claims) -> String {
        let claims = serde_json::to_vec(claims).unwrap_or_default();
        let token = format!("{prefix}{}", URL_SAFE_NO_PAD.encode(claims));
        self.state().seen_tokens.insert(token.clone());
        token
    }

    /// What a token of this kind says, while it is good.
    fn claims(&self, prefix: &str, token: &str) -> Option<Claims> {
        let text = URL_SAFE_NO_PAD.decode(token.strip_prefix(prefix)?).ok()?;
        let claims: Claims = serde_json::from_slice(&text).ok()?;
        let state = self.state();
        let ended = state
            .ended
            .get(&claims.user)
            .is_some_and(|ended| claims.grant <= *ended);
        (!ended).then_some(claims)
    }

    /// Whose access token came with a call.
    pub(super) fn caller(&self, headers: &HeaderMap) -> Option<Claims> {
        let header = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
        let claims = self.claims(ACCESS, header.strip_prefix("Bearer ")?)?;
        let good = claims.until > self.clock.now().millis() && claims.number > self.state().expired;
        good.then_some(claims)
    }
}
