//! A tenant's archive.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use domain::Tenant;
use futures_util::stream;
use http::header;
use store::audit::Action;
use tokio::sync::mpsc;

use super::{Admin, Operator, Refused};

pub(super) async fn tenant(
    _: Operator,
    State(admin): State<Arc<Admin>>,
    name: Result<Path<Tenant>, PathRejection>,
) -> Result<Response, Refused> {
    let Path(name) = name?;
    let tenant = admin.control.named(&name)?;
    let site = &admin.control.site;
    site.told(Action::TenantExport, Some(&tenant), tenant.prefix())
        .await;
    let (store, now) = (site.store.clone(), site.clock.now());
    let (send, receive) = mpsc::channel(1);
    let sent = tokio::spawn(async move { store.export().send(&tenant, now, send).await });
    // Where the archive breaks off, so does the answer.
    let pieces = stream::unfold((receive, Some(sent)), |(mut receive, sent)| async move {
        if let Some(piece) = receive.recv().await {
            return Some((Ok(piece), (receive, sent)));
        }
        let broke_off: Box<dyn std::error::Error + Send + Sync> = match sent?.await {
            Ok(Ok(())) => return None,
            Ok(Err(fault)) => fault.into(),
            Err(fault) => fault.into(),
        };
        tracing::error!(
            error = &*broke_off as &dyn std::error::Error,
            "an archive broke off"
        );
        Some((Err(broke_off), (receive, None)))
    });
    let kind = [(header::CONTENT_TYPE, "application/x-tar")];
    Ok((kind, Body::from_stream(pieces)).into_response())
}
