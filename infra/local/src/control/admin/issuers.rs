//! Where people sign in to a tenant's chat, for its operator.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{Path, State};
use domain::Tenant;
use domain::{Demands, IssuerIds};
use http::StatusCode;
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::{Admin, Operator, Refused};
use crate::data::secrets::NamedIssuer;
use crate::error::ChangeError;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Offered {
    #[serde(default)]
    offered: Option<Vec<String>>,
    #[serde(default)]
    require_acr: Option<String>,
}

pub(super) async fn list(
    _: Operator,
    State(admin): State<Arc<Admin>>,
    name: Result<Path<Tenant>, PathRejection>,
) -> Result<Json<Value>, Refused> {
    Ok(Json(admin.control.sign_in(&name?.0)?))
}

pub(super) async fn put(
    _: Operator,
    State(admin): State<Arc<Admin>>,
    path: Result<Path<(Tenant, String)>, PathRejection>,
    body: Result<Json<NamedIssuer>, JsonRejection>,
) -> Result<Json<Value>, Refused> {
    let (Path((name, id)), Json(issuer)) = (path?, body?);
    checked::<IssuerIds>(&id)?;
    if Url::parse(&issuer.issuer).is_err() || issuer.client_id.is_empty() {
        return Err(wrong("an issuer is a URL, and knows us by a client_id"));
    }
    let mut roles = issuer.sign_in.roles.values();
    if let Some(unknown) = roles.find(|role| !store::ROLES.contains(&role.as_str())) {
        return Err(wrong(&format!(
            "there is no role {unknown}: operator and admin it is"
        )));
    }
    let change = |sign_in: &mut crate::data::secrets::SignIn| sign_in.put(&id, issuer);
    admin.control.change_sign_in(&name, change).await?;
    Ok(Json(admin.control.sign_in(&name)?))
}

pub(super) async fn offer(
    _: Operator,
    State(admin): State<Arc<Admin>>,
    name: Result<Path<Tenant>, PathRejection>,
    body: Result<Json<Offered>, JsonRejection>,
) -> Result<Json<Value>, Refused> {
    let (Path(name), Json(Offered { offered, require_acr })) = (name?, body?);
    if let Some(offered) = &offered {
        checked::<IssuerIds>(&offered.join(","))?;
    }
    if let Some(demands) = &require_acr {
        checked::<Demands>(demands)?;
    }
    let change = |sign_in: &mut crate::data::secrets::SignIn| {
        if let Some(offered) = offered {
            sign_in.offer(offered)?;
        }
        if let Some(demands) = require_acr {
            sign_in.require_acr = demands;
        }
        Ok(())
    };
    admin.control.may_offer(&name).await?;
    admin.control.change_sign_in(&name, change).await?;
    Ok(Json(admin.control.sign_in(&name)?))
}

pub(super) async fn remove(
    _: Operator,
    State(admin): State<Arc<Admin>>,
    path: Result<Path<(Tenant, String)>, PathRejection>,
) -> Result<StatusCode, Refused> {
    let Path((name, id)) = path?;
    let change = |sign_in: &mut crate::data::secrets::SignIn| sign_in.remove(&id);
    admin.control.change_sign_in(&name, change).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What the functions would not start with is not kept.
fn checked<T: std::str::FromStr<Err = String>>(text: &str) -> Result<(), ChangeError> {
    text.parse::<T>().map(|_| ()).map_err(ChangeError::SignIn)
}

fn wrong(reason: &str) -> Refused {
    ChangeError::SignIn(reason.to_owned()).into()
}
