//! Who did what, and whether it is what was sealed.

use std::sync::Arc;

use auth::Sealer;
use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use domain::{Tenant, Timestamp};
use serde::Deserialize;
use serde_json::Value;

use super::{Admin, Operator, Refused};
use crate::error::StartError;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    since: Option<Timestamp>,
    #[serde(default)]
    verify: bool,
}

pub(super) async fn tenant(
    _: Operator,
    State(admin): State<Arc<Admin>>,
    name: Result<Path<Tenant>, PathRejection>,
    wanted: Result<Query<Parameters>, QueryRejection>,
) -> Result<Json<Value>, Refused> {
    let (Path(name), Query(wanted)) = (name?, wanted?);
    let tenant = admin.control.named(&name)?;
    looked(&admin, Some(&tenant), &wanted).await
}

pub(super) async fn platform(
    _: Operator,
    State(admin): State<Arc<Admin>>,
    wanted: Result<Query<Parameters>, QueryRejection>,
) -> Result<Json<Value>, Refused> {
    looked(&admin, None, &wanted?.0).await
}

async fn looked(admin: &Admin, tenant: Option<&Tenant>, wanted: &Parameters) -> Result<Json<Value>, Refused> {
    let site = &admin.control.site;
    let audit = site.store.audit(site.clock.now());
    if !wanted.verify {
        let listed = edge::audit::listed(audit, tenant, wanted.since).await;
        return Ok(Json(listed.map_err(StartError::part("table of the audit"))?));
    }
    let sealing = admin.control.now().secrets.sealing.clone();
    let sealer = Sealer::new(sealing).map_err(StartError::part("sealing keys"))?;
    let found = edge::audit::verified(audit, tenant, wanted.since, &sealer).await;
    Ok(Json(found.map_err(StartError::part("look at the audit"))?))
}
