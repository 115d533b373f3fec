//! Users whom an admin of a tenant changes while the system runs: the authorization server is asked past the operator's own commands,
//! and the list of endpoints must not go on naming whoever is gone, or a password that is none any more.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use domain::Tenant;
use http::Method;
use tokio::sync::{mpsc, watch};

use crate::control::Control;
use crate::queue;

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

/// Keeps the list of endpoints as the changes leave it.
pub(crate) async fn follow(
    control: Arc<Control>,
    mut changed: mpsc::UnboundedReceiver<Tenant>,
    mut stop: watch::Receiver<bool>,
) {
    loop {
        tokio::select! {
            tenant = changed.recv() => {
                let Some(tenant) = tenant else { return };
                if let Err(error) = control.see_users(&tenant).await {
                    tracing::error!(error = &error as &dyn std::error::Error, "the list of endpoints may name users who are gone");
                }
            }
            () = queue::stopped(&mut stop) => return,
        }
    }
}
