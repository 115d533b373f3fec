//! `GET /api/ops/audit`: who did what in the tenant, for its admins; the newest first. `format` gives more at once, as lines of JSON or as CSV.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Response};
use domain::Timestamp;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use serde::Deserialize;
use serde_json::json;
use store::audit::{AuditEntry, AuditQuery};

use crate::error::RouteError;
use crate::ops::users::Admin;
use crate::state::AppState;

/// Entries of a page, and of an export, whose next page is named by a header.
const PAGE: usize = 100;
const EXPORT: usize = 5000;
const NEXT: &str = "x-next-cursor";

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Format {
    Jsonl,
    Csv,
}

/// What is asked for.
#[derive(Deserialize)]
pub(crate) struct Parameters {
    action: Option<String>,
    actor: Option<String>,
    from: Option<String>,
    to: Option<String>,
    cursor: Option<String>,
    format: Option<Format>,
}

pub(crate) async fn list(
    State(room): State<Arc<AppState>>,
    _: Admin,
    wanted: Result<Query<Parameters>, QueryRejection>,
) -> Result<Response, RouteError> {
    let wrong = |why: &str| RouteError::invalid("invalid_request", why);
    let Query(wanted) = wanted.map_err(|_| wrong("format is jsonl or csv"))?;
    let time = |text: &Option<String>| match text {
        None => Ok(None),
        Some(text) => match Timestamp::parse(text) {
            Some(time) => Ok(Some(time)),
            None => Err(wrong("from and to are times such as 2026-01-31T12:00:00Z")),
        },
    };
    let asked = AuditQuery {
        action: wanted.action.as_deref(),
        actor: wanted.actor.as_deref(),
        from: time(&wanted.from)?,
        to: time(&wanted.to)?,
        cursor: wanted.cursor.as_deref(),
        most: wanted.format.map_or(PAGE, |_| EXPORT),
    };
    let page = room
        .store
        .audit(room.clock.now())
        .list(Some(&room.tenant), &asked)
        .await?;
    let Some(format) = wanted.format else {
        return Ok(Json(json!({ "entries": page.items, "nextCursor": page.next })).into_response());
    };
    let (media, name, lines): (_, _, Vec<String>) = match format {
        Format::Jsonl => (
            "application/jsonl",
            "audit.jsonl",
            page.items.iter().map(|entry| json!(entry).to_string()).collect(),
        ),
        Format::Csv => (
            "text/csv; charset=utf-8",
            "audit.csv",
            std::iter::once("at,id,action,actor,object,result,source".to_owned())
                .chain(page.items.iter().map(row))
                .collect(),
        ),
    };
    let mut body = lines.join("\n");
    body.push('\n');
    let named = format!("attachment; filename=\"{name}\"");
    let mut response = (
        [(CONTENT_TYPE, media.to_owned()), (CONTENT_DISPOSITION, named)],
        body,
    )
        .into_response();
    if let Some(next) = page.next.and_then(|next| next.parse().ok()) {
        response.headers_mut().insert(NEXT, next);
    }
    Ok(response)
}

fn row(entry: &AuditEntry) -> String {
    let at = entry.at.to_string();
    let source = entry.source.as_deref().unwrap_or_default();
    let fields = [
        &at,
        &entry.id,
        &entry.action,
        &entry.actor,
        &entry.object,
        &entry.result,
        source,
    ];
    fields.map(cell).join(",")
}

/// A field between quotes; what a spreadsheet would take for a formula begins with an apostrophe.
fn cell(text: &str) -> String {
    let guard = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        "'"
    } else {
        ""
    };
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_one_cell_and_no_formula() {
        assert_eq!(cell("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(cell("=1+1"), "\"'=1+1\"");
    }
}
