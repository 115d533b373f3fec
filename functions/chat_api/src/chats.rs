//! `GET /api/chats`: the session's chats, newest first.

use std::sync::Arc;

use axum::Json;
use axum::extract::{RawQuery, State};
use serde_json::{Value, json};
use store::{Page, PageRequest};

use crate::error::RouteError;
use crate::session::Visitor;
use crate::state::AppState;

/// Chats of one page when the request names no number.
const USUAL: u32 = 50;

pub(crate) async fn chats(
    State(room): State<Arc<AppState>>,
    Visitor(visitor): Visitor,
    RawQuery(query): RawQuery,
) -> Result<Json<Value>, RouteError> {
    let request = page_request(query.as_deref())?;
    let page = match visitor {
        Some(owner) => {
            room.store
                .sessions()
                .chats_of(&room.tenant, &owner, request)
                .await?
        }
        None => Page {
            items: Vec::new(),
            next: None,
        },
    };
    let chats = page.items.iter().map(|chat| {
        json!({
            "id": chat.id,
            "title": chat.title,
            "contextId": chat.context_id,
            "createdAt": chat.created_at,
            "updatedAt": chat.updated_at,
        })
    });
    Ok(Json(
        json!({"chats": chats.collect::<Vec<_>>(), "next": page.next}),
    ))
}

/// `?limit=` and `?cursor=`.
pub(crate) fn page_request(query: Option<&str>) -> Result<PageRequest, RouteError> {
    let limit = match parameter(query, "limit") {
        None => USUAL,
        Some(text) => match text.parse() {
            Ok(limit @ 1..=100) => limit,
            _ => {
                return Err(RouteError::invalid(
                    "invalid_limit",
                    "limit must be a number from 1 to 100",
                ));
            }
        },
    };
    Ok(PageRequest {
        limit,
        cursor: parameter(query, "cursor"),
    })
}

/// A parameter of the query.
pub(crate) fn parameter(query: Option<&str>, name: &str) -> Option<String> {
    let pairs = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    pairs
        .into_iter()
        .find(|(known, _)| known == name)
        .map(|(_, value)| value.into_owned())
}
