//! `GET /api/tasks?contextId=`: the session's tasks of one conversation, or page by page of all.

use std::sync::Arc;

use axum::Json;
use axum::extract::{RawQuery, State};
use domain::ContextId;
use serde_json::{Value, json};

use crate::chat::list::{page_request, parameter};
use crate::error::RouteError;
use crate::session::visitor::Visitor;
use crate::state::AppState;
use crate::tasks::view;

/// Tasks of one conversation come oldest first, those of all conversations newest status first.
pub(crate) async fn tasks(
    State(room): State<Arc<AppState>>,
    Visitor(visitor): Visitor,
    RawQuery(query): RawQuery,
) -> Result<Json<Value>, RouteError> {
    let page = page_request(query.as_deref())?;
    let context = parameter(query.as_deref(), "contextId")
        .map(|text| ContextId::parse(&text))
        .transpose();
    let context = context.map_err(|error| RouteError::invalid("invalid_context", &error.to_string()))?;
    let (tasks, now) = (room.tasks(), room.clock.now());
    let (found, next) = match (visitor, context) {
        (None, _) => (Vec::new(), None),
        (Some(owner), Some(context)) => (
            tasks
                .by_context(&room.tenant, &room.agent, &owner, &context, now)
                .await?,
            None,
        ),
        (Some(owner), None) => {
            let page = tasks
                .by_owner(&room.tenant, &room.agent, &owner, page, now)
                .await?;
            (page.items, page.next)
        }
    };
    let views: Vec<_> = found.iter().map(|task| view::listed(&room.base, task)).collect();
    Ok(Json(json!({"tasks": views, "next": next})))
}
