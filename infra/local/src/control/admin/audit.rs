//! Who did what, and whether it is what was sealed.

use std::sync::Arc;

use auth::Sealer;
use auth::card_signature::{self, CardKeys, Checked};
use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use domain::{Tenant, Timestamp};
use serde::Deserialize;
use serde_json::{Value, json};
use store::audit::AuditQuery;

use super::{Admin, Operator, Refused};
use crate::error::StartError;

/// Most entries of an answer.
const MOST: usize = 1000;

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
    let part = StartError::part("table of the audit");
    if !wanted.verify {
        let asked = AuditQuery {
            from: wanted.since,
            most: MOST,
            ..AuditQuery::default()
        };
        let page = audit.list(tenant, &asked).await.map_err(part)?;
        return Ok(Json(
            json!({ "entries": page.items, "isWhole": page.next.is_none() }),
        ));
    }
    let sealing = admin.control.now().secrets.sealing.clone();
    let keys = Sealer::new(sealing).map_err(StartError::part("sealing keys"))?;
    let keys = CardKeys::of(&keys, task_sweeper::SEALS).map_err(StartError::part("keys of seals"))?;
    let jwks = json!({ "keys": keys.public_jwks() });
    let is_signed = |[protected, signature]: &[String; 2], bytes: &[u8]| {
        let checked = card_signature::check(protected, signature, bytes, &jwks);
        matches!(checked, Checked::Good { .. })
    };
    let since = wanted.since.unwrap_or(Timestamp::from_millis(0));
    let found = audit.verify(tenant, since, &is_signed).await.map_err(part)?;
    Ok(Json(json!(found)))
}
