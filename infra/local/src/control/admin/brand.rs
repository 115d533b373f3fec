//! The logo of a tenant, for its operator. Its name and its colours are settings.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{Path, State};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::Tenant;
use edge::refused;
use http::StatusCode;
use serde::Deserialize;

use super::{Admin, Operator, Refused};
use crate::logo::{self, InvalidLogo};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewLogo {
    /// The file in Base64. What it is, it says itself.
    logo: String,
}

pub(super) async fn put(
    _: Operator,
    State(admin): State<Arc<Admin>>,
    name: Result<Path<Tenant>, PathRejection>,
    body: Result<Json<NewLogo>, JsonRejection>,
) -> Result<StatusCode, Refused> {
    let (Path(name), Json(NewLogo { logo })) = (name?, body?);
    let bytes = STANDARD.decode(logo).map_err(|_| InvalidLogo::Type)?;
    let media = logo::check(&bytes)?;
    let hash = logo::hash(&bytes);
    let stored = store::Logo {
        media: media.to_string(),
        bytes,
    };
    admin.control.set_logo(&name, Some((&hash, stored))).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn remove(
    _: Operator,
    State(admin): State<Arc<Admin>>,
    name: Result<Path<Tenant>, PathRejection>,
) -> Result<StatusCode, Refused> {
    admin.control.set_logo(&name?.0, None).await?;
    Ok(StatusCode::NO_CONTENT)
}

impl From<InvalidLogo> for Refused {
    fn from(error: InvalidLogo) -> Self {
        let status = match &error {
            InvalidLogo::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            InvalidLogo::Type => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            _ => StatusCode::BAD_REQUEST,
        };
        Self(refused(status, "invalid_logo", &error.to_string()))
    }
}
