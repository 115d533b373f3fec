//! The list of endpoints follows what the admins of tenants change while the system runs.

use std::sync::Arc;
use std::time::Duration;

use domain::Tenant;
use tokio::sync::{mpsc, watch};

use crate::control::Control;
use crate::queue;

/// Keeps the list of endpoints as the changes leave it.
pub(crate) async fn users(
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

/// How often a long list of endpoints is written at most.
const LISTED: Duration = Duration::from_secs(1);

/// Writes the list of endpoints where it is long, once for all that changed of late.
pub(crate) async fn list(control: Arc<Control>, mut stop: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            () = control.unlisted.notified() => {}
            () = queue::stopped(&mut stop) => return,
        }
        // What is asked for in the meantime is one writing more, and at the end there is one in any case.
        tokio::select! {
            () = tokio::time::sleep(LISTED) => {}
            () = queue::stopped(&mut stop) => {}
        }
        let now = control.now();
        let writer = Arc::clone(&control);
        let written = tokio::task::spawn_blocking(move || writer.list_now(&now.endpoints)).await;
        if let Ok(Err(error)) = written {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "the list of endpoints was not written"
            );
        }
    }
}
