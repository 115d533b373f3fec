//! `GET …/.well-known/oauth-authorization-server` (RFC 8414) and `…/openid-configuration` (OIDC Discovery): one
//! document at both, as RFC 8414 §5 has it.

use std::sync::Arc;

use axum::Json;
use axum::extract::State as Held;
use axum::response::{IntoResponse as _, Response};
use http::HeaderValue;
use http::header::CACHE_CONTROL;
use serde_json::json;

use crate::scope::SCOPES;
use crate::state::AppState;
use crate::tenant::Here;

pub(crate) async fn show(here: Here, Held(app): Held<Arc<AppState>>) -> Response {
    let Here { issuer, .. } = here;
    let below = |path: &str| format!("{issuer}/{path}");
    let algorithms: std::collections::BTreeSet<String> = app
        .keys()
        .public_jwks()
        .iter()
        .filter_map(|key| Some(key.get("alg")?.as_str()?.to_owned()))
        .collect();
    let client_authentication = ["client_secret_basic", "client_secret_post", "none"];
    let secret_only = ["client_secret_basic", "client_secret_post"];
    let document = json!({
        "issuer": issuer,
        "authorization_endpoint": below("authorize"),
        "token_endpoint": below("token"),
        "revocation_endpoint": below("revoke"),
        "introspection_endpoint": below("introspect"),
        "userinfo_endpoint": below("userinfo"),
        "end_session_endpoint": below("logout"),
        "jwks_uri": below("jwks.json"),
        "scopes_supported": SCOPES.map(|scope| scope.name),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token", "client_credentials"],
        "token_endpoint_auth_methods_supported": client_authentication,
        "revocation_endpoint_auth_methods_supported": client_authentication,
        "introspection_endpoint_auth_methods_supported": secret_only,
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": true,
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": algorithms,
        "claims_supported": ["iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "name", "preferred_username", "tenant_id"],
        "prompt_values_supported": ["none", "login", "consent", "select_account"],
        auth::occasion::SUPPORTED: true,
        "claims_parameter_supported": false,
        "request_parameter_supported": false,
        "request_uri_parameter_supported": false,
    });
    cached(Json(document).into_response())
}

/// For documents that anybody may keep for a while: half as long as a rotated secret takes to arrive everywhere.
pub(crate) fn cached(mut response: Response) -> Response {
    let value = HeaderValue::from_static("public, max-age=150");
    response.headers_mut().insert(CACHE_CONTROL, value);
    response
}
