//! The list of endpoints follows what the admins of tenants change while the system runs.

use std::sync::Arc;

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
