//! Users whom an admin of a tenant changes while the system runs: the authorization server is asked past the operator's own commands,
//! and the list of endpoints must not go on naming whoever is gone, or a password that is none any more.

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use domain::Tenant;
use http::Method;
use tokio::sync::mpsc;

/// Tells whose users were changed.
pub(crate) type Changed = mpsc::UnboundedSender<Tenant>;

/// The authorization server, whose changes of users are told.
pub(crate) fn watched(router: Router, changed: &Changed) -> Router {
    router.layer(from_fn_with_state(changed.clone(), tell))
}

async fn tell(State(changed): State<Changed>, request: Request, next: Next) -> Response {
    let mut parts = request.uri().path().split('/').skip(1);
    let tenant = parts.next().and_then(|prefix| Tenant::from_prefix(prefix).ok());
    let is_change = parts.next() == Some("users") && *request.method() != Method::GET;
    let response = next.run(request).await;
    if let Some(tenant) = tenant.filter(|_| is_change && response.status().is_success()) {
        let _nobody_lists_them = changed.send(tenant);
    }
    response
}
