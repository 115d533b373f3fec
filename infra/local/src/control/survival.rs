//! "See it survive": the page of the local system kills the workers in the middle of their work, and what they did goes on where
//! it was stored. Nothing like it is deployed.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use edge::origin::comes_from_here;
use edge::refused;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use routes::{Route, Routes};
use serde_json::json;

use crate::control::Control;

/// What the gateway serves of it, as a list.
pub(crate) fn routes() -> Vec<Route> {
    served().listed().to_vec()
}

pub(crate) fn served() -> Routes<Arc<Control>> {
    Routes::new().post(
        "/local/workers/kill",
        "kills the workers of the local system in the middle of their work",
        kill,
    )
}

/// Drops what every worker is doing, as a crash does. The leases of their tasks end by themselves; then others go on.
async fn kill(State(control): State<Arc<Control>>, headers: HeaderMap) -> Response {
    if !comes_from_here(&headers, &control.now().endpoints.gateway) {
        return refused(
            StatusCode::FORBIDDEN,
            "cross_origin",
            "the request comes from another site",
        );
    }
    // No form can send this type.
    let media = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    if !media.eq_ignore_ascii_case("application/json") {
        return refused(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "not_json",
            "the content type must be application/json",
        );
    }
    let killed = control.site.door.kill();
    if killed > 0 {
        tracing::info!(killed, "workers killed by hand");
    }
    Json(json!({ "killed": killed })).into_response()
}
