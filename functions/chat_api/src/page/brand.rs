//! `GET /brand.css`, `GET /logo`, `GET /manifest.webmanifest`: how the tenant's page looks, and what it is called once it is installed.
//! Whoever may open the page may see them.
//!
//! The page names each with a hash, so that a browser keeps them until there are others.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::response::Response;
use domain::Brand;
use http::header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY};
use http::{HeaderMap, HeaderValue};
use serde_json::{Map, Value, json};
use store::Logo;

use crate::error::RouteError;
use crate::page::serving::{answered, tag_of};
use crate::state::AppState;

/// A logo that is opened by itself runs and loads nothing, whatever it holds.
const ALONE: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'";
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

/// What an installed page is called, its colour and its icon.
pub(crate) async fn manifest(
    State(room): State<Arc<AppState>>,
    RawQuery(version): RawQuery,
    headers: HeaderMap,
) -> Result<Response, RouteError> {
    let text = manifest_of(&room, &room.own.brand().await).ok_or(RouteError::NotFound)?;
    let tag = tag_of(text.as_bytes());
    let media = HeaderValue::from_static("application/manifest+json");
    Ok(answered(version, &headers, &tag, (media, text.into_bytes())))
}

/// The page's own manifest, with what the brand says; it lies at the page's base, where the page's own lies below it.
pub(crate) fn manifest_of(room: &AppState, brand: &Brand) -> Option<String> {
    let names = room.built.names();
    let own = names.iter().find(|name| name.ends_with(".webmanifest"))?;
    let own = room.built.file(own)?.plain()?;
    let mut manifest: Map<String, Value> = serde_json::from_slice(&own).ok()?;
    let mut set = |name: &str, value: Value| manifest.insert(name.to_owned(), value);
    set("start_url", json!("./"));
    set("scope", json!("./"));
    if let Some(name) = &brand.name {
        set("name", json!(name));
        set("short_name", json!(name));
    }
    if let Some((light, _)) = brand.accents {
        set("theme_color", json!(light.to_string()));
    }
    if let Some(hash) = &brand.logo {
        set(
            "icons",
            json!([{"src": format!("logo?v={hash}"), "sizes": "any", "purpose": "any"}]),
        );
    }
    serde_json::to_string(&manifest).ok()
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
