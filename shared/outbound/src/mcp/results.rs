//! What the SDK brings, as what callers want to know.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{CallToolResult, ContentBlock, ListToolsResult, PaginatedRequestParams};
use rmcp::{Peer, RoleClient, ServiceError};
use serde_json::Value;

use super::error::words;
use super::{McpError, McpTool};
use crate::CallError;

/// Most pages of a list of tools.
const PAGES_MAX: usize = 5;

/// All tools, and for how long the server says that the list is good: all of its pages.
pub(super) async fn list(
    peer: &Peer<RoleClient>,
) -> Result<(Arc<[McpTool]>, Option<Duration>), ServiceError> {
    let mut tools = Vec::new();
    let mut page: Option<PaginatedRequestParams> = None;
    let mut good_for: Option<Duration> = None;
    for _ in 0..PAGES_MAX {
        let listed: ListToolsResult = peer.list_tools(page.take()).await?;
        for tool in listed.tools {
            if let Ok(Value::Object(definition)) = serde_json::to_value(tool) {
                tools.push(McpTool::of(definition));
            }
        }
        let told = listed.ttl_ms.map(Duration::from_millis);
        good_for = good_for.into_iter().chain(told).min();
        let Some(cursor) = listed.next_cursor else {
            break;
        };
        page = Some(PaginatedRequestParams::default().with_cursor(Some(cursor)));
    }
    Ok((tools.into(), good_for))
}

/// What a tool answered.
pub(super) fn content(result: CallToolResult) -> Result<Value, McpError> {
    let texts = result.content.iter().filter_map(|block| match block {
        ContentBlock::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    let text: String = texts.collect();
    if result.is_error == Some(true) {
        return Err(McpError::Failed(words(&text)));
    }
    match result.structured_content {
        Some(structured) => Ok(structured),
        None => {
            let read = serde_json::from_str(&text);
            Ok(read.map_err(|_| CallError::BadAnswer("its text is no JSON".to_owned()))?)
        }
    }
}

/// What the SDK tells of a call that failed, where the wire has nothing to say.
pub(super) fn refusal(error: ServiceError) -> McpError {
    match error {
        ServiceError::McpError(error) => McpError::Refused(words(&error.message)),
        ServiceError::UnexpectedResponse => {
            CallError::BadAnswer("it answers something else".to_owned()).into()
        }
        error => McpError::Refused(words(&error.to_string())),
    }
}
