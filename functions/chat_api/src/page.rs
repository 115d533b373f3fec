//! The chat page: one document, one script, one style sheet, all from here. Nothing else is loaded, and the policy
//! says so to the browser.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};

use crate::state::AppState;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self' data:; base-uri 'self'; form-action 'none'; frame-ancestors 'none'";

pub(crate) async fn page(State(room): State<Arc<AppState>>) -> Response {
    // The base makes every address on the page relative to the tenant, with or without a slash at the end.
    let base = format!("{}/", room.base.path().trim_end_matches('/'));
    let html = include_str!("../page/index.html").replace("{{base}}", &escaped(&base));
    asset(
        "text/html; charset=utf-8",
        html.replace("{{tenant}}", room.tenant.name()),
    )
}

pub(crate) async fn script() -> Response {
    asset(
        "text/javascript; charset=utf-8",
        include_str!("../page/app.js").to_owned(),
    )
}

pub(crate) async fn style() -> Response {
    asset(
        "text/css; charset=utf-8",
        include_str!("../page/app.css").to_owned(),
    )
}

fn asset(media: &'static str, content: String) -> Response {
    let headers = [
        (CONTENT_TYPE, media),
        (CACHE_CONTROL, "no-cache"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
    ];
    (headers, content).into_response()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('"', "&quot;")
        .replace('<', "&lt;")
}
