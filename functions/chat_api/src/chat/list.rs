//! `GET /api/chats`: the session's chats, newest first; with `?q=` those whose title has it.

use std::sync::Arc;

use axum::Json;
use axum::extract::{RawQuery, State};
use domain::Owner;
use serde_json::{Value, json};
use store::{Chat, Page, PageRequest};

use crate::error::RouteError;
use crate::session::visitor::Visitor;
use crate::state::AppState;

/// Chats of one page when the request names no number.
const USUAL: u32 = 50;
/// Most pages of chats that one search looks through; the next goes on behind them.
const PAGES_MAX: u32 = 10;
/// Most characters that are searched for.
const WANTED_MAX: usize = 80;

pub(crate) async fn chats(
    State(room): State<Arc<AppState>>,
    Visitor(visitor): Visitor,
    RawQuery(query): RawQuery,
) -> Result<Json<Value>, RouteError> {
    let request = page_request(query.as_deref())?;
    let wanted = parameter(query.as_deref(), "q").unwrap_or_default();
    if wanted.chars().count() > WANTED_MAX {
        let why = "q must have at most 80 characters";
        return Err(RouteError::invalid("invalid_search", why));
    }
    let page = match visitor {
        Some(owner) => search(&room, &owner, request, &wanted.trim().to_lowercase()).await?,
        None => Page {
            items: Vec::new(),
            next: None,
        },
    };
    let chats: Vec<Value> = page.items.iter().map(shown).collect();
    Ok(Json(json!({"chats": chats, "next": page.next})))
}

/// The chats whose title has it, page by page until some are found.
async fn search(
    room: &AppState,
    owner: &Owner,
    mut request: PageRequest,
    wanted: &str,
) -> Result<Page<Chat>, RouteError> {
    let sessions = room.store.sessions();
    for _ in 1..PAGES_MAX {
        let mut page = sessions
            .chats_of(&room.tenant, owner, request.clone(), room.clock.now())
            .await?;
        page.items
            .retain(|chat| chat.deleted_at.is_none() && chat.title.to_lowercase().contains(wanted));
        if !page.items.is_empty() || page.next.is_none() {
            return Ok(page);
        }
        request.cursor = page.next;
    }
    Ok(Page {
        items: Vec::new(),
        next: request.cursor,
    })
}

/// A chat, as its owner sees it.
pub(crate) fn shown(chat: &Chat) -> Value {
    json!({
        "id": chat.id,
        "title": chat.title,
        "contextId": chat.context_id,
        "createdAt": chat.created_at,
        "updatedAt": chat.updated_at,
    })
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
