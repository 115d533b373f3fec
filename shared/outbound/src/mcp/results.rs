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
    let texts = result.content.iter().filter_map(ContentBlock::as_text);
    let texts: Vec<&str> = texts.map(|text| text.text.as_str()).collect();
    let text = texts.concat();
    if result.is_error == Some(true) {
        return Err(McpError::Failed(words(&text)));
    }
    match result.structured_content {
        Some(structured) => Ok(structured),
        None => {
            // Some say the same in words in a block beside it.
            let data = |text: &&str| {
                serde_json::from_str(text)
                    .ok()
                    .filter(|read: &Value| !read.is_string())
            };
            let read = data(&text.as_str()).or_else(|| texts.iter().find_map(data));
            Ok(read.ok_or_else(|| CallError::BadAnswer("its text is no JSON".to_owned()))?)
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// In one block or many, beside words, and beside what is of another kind.
    #[test]
    fn data_is_found_among_the_blocks_of_an_answer() {
        let text = |text: &str| json!({"type": "text", "text": text});
        let image = || json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
        for (blocks, read) in [
            (
                json!([text("{\"ok\":"), text(" true}")]),
                Some(json!({"ok": true})),
            ),
            (
                json!([text("{\"ok\": true}"), text("## The place, in words")]),
                Some(json!({"ok": true})),
            ),
            (
                json!([text("Found one."), image(), text("[1]")]),
                Some(json!([1])),
            ),
            (json!([text("Found"), text("nothing.")]), None),
            (json!([text("\"in quotes\""), text("nothing.")]), None),
            (json!([image()]), None),
            (json!([]), None),
        ] {
            let told: CallToolResult = serde_json::from_value(json!({"content": blocks})).unwrap();
            assert_eq!(content(told).ok(), read, "{blocks}");
            let told = json!({"content": blocks, "structuredContent": {"ok": 1}});
            let told: CallToolResult = serde_json::from_value(told).unwrap();
            assert_eq!(content(told).ok(), Some(json!({"ok": 1})), "{blocks}");
        }
    }
}
