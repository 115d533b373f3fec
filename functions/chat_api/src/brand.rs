//! `GET /brand.css`, `GET /logo`: how the tenant's page looks. Whoever may open the page may see both.
//!
//! The page names both with a hash, so that a browser keeps them until there are others.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH,
};
use http::{HeaderMap, HeaderValue, StatusCode};
use store::Logo;

use crate::error::RouteError;
use crate::serving::{FOR_EVER, guarded, tag_of};
use crate::state::AppState;

/// A logo that is opened by itself runs and loads nothing, whatever it holds.
const ALONE: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'";
const ASKS: &str = "no-cache";
/// What a stored logo may say that it is.
const MEDIA: [&str; 2] = ["image/png", "image/svg+xml"];

/// The style sheet that gives the page its accent; empty where none is set.
pub(crate) async fn css(
    State(room): State<Arc<AppState>>,
    RawQuery(version): RawQuery,
    headers: HeaderMap,
) -> Response {
    let css = room.own.brand().await.css();
    let tag = tag_of(css.as_bytes());
    let media = HeaderValue::from_static("text/css; charset=utf-8");
    answered(version, &headers, &tag, (media, css.into_bytes()))
}

/// The logo, as its operator gave it.
pub(crate) async fn logo(
    State(room): State<Arc<AppState>>,
    RawQuery(version): RawQuery,
    headers: HeaderMap,
) -> Result<Response, RouteError> {
    // Known with the tenant's settings: where there is none, nothing more is read.
    let hash = room.own.brand().await.logo.ok_or(RouteError::NotFound)?;
    let Logo { media, bytes } = room
        .store
        .tenants()
        .logo(&room.tenant)
        .await?
        .ok_or(RouteError::NotFound)?;
    let media = MEDIA.into_iter().find(|known| *known == media);
    let media = HeaderValue::from_static(media.ok_or(RouteError::NotFound)?);
    let mut response = answered(version, &headers, &hash, (media, bytes));
    let own = response.headers_mut();
    own.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(ALONE));
    own.insert(
        CONTENT_DISPOSITION,
        HeaderValue::from_static("inline; filename=\"logo\""),
    );
    Ok(response)
}

fn answered(
    version: Option<String>,
    headers: &HeaderMap,
    tag: &str,
    (media, bytes): (HeaderValue, Vec<u8>),
) -> Response {
    let is_named = version.is_some_and(|query| query.strip_prefix("v=") == Some(tag));
    // Who asks for no version, or for one that is over, does not keep this for the other.
    let keeps = if is_named { FOR_EVER } else { ASKS };
    let entity = format!("\"{tag}\"");
    let known = headers.get(IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let is_known = known.is_some_and(|known| known.contains(&entity));
    let mut response = match is_known {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => bytes.into_response(),
    };
    let own = response.headers_mut();
    if !is_known {
        own.insert(CONTENT_TYPE, media);
    }
    own.insert(CACHE_CONTROL, HeaderValue::from_static(keeps));
    if let Ok(entity) = HeaderValue::from_str(&entity) {
        own.insert(ETAG, entity);
    }
    guarded(response)
}
