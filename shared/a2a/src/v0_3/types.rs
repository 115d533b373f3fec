//! The JSON of A2A 0.3.

use domain::Metadata;
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Task {
    pub(super) kind: String,
    pub(super) id: String,
    pub(super) context_id: String,
    pub(super) status: Status,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) artifacts: Vec<Artifact>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) history: Vec<Message>,
}

#[derive(Debug, Serialize)]
pub(super) struct Status {
    pub(super) state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<Message>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) timestamp: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Message {
    #[serde(default)]
    pub(super) kind: String,
    pub(super) message_id: String,
    pub(super) role: String,
    pub(super) parts: Vec<Part>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) context_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) task_id: Option<String>,
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub(super) metadata: Metadata,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) extensions: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) reference_task_ids: Vec<String>,
}

/// `kind` says which of the three it is; a part without one is known by what it holds.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Part {
    pub(super) kind: String,
    /// What `kind` was called before 0.2.
    #[serde(rename = "type", skip_serializing)]
    pub(super) kind_before: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file: Option<File>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) data: Option<Value>,
    #[serde(skip_serializing_if = "Metadata::is_empty")]
    pub(super) metadata: Metadata,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct File {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bytes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) uri: Option<String>,
    /// What 1.0 calls `uri`, and some clients of 0.3 too.
    #[serde(skip_serializing)]
    pub(super) url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mime_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Artifact {
    pub(super) artifact_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) description: Option<String>,
    pub(super) parts: Vec<Part>,
    #[serde(skip_serializing_if = "Metadata::is_empty")]
    pub(super) metadata: Metadata,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) extensions: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StatusUpdate {
    pub(super) kind: String,
    pub(super) task_id: String,
    pub(super) context_id: String,
    pub(super) status: Status,
    pub(super) r#final: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ArtifactUpdate {
    pub(super) kind: String,
    pub(super) task_id: String,
    pub(super) context_id: String,
    pub(super) artifact: Artifact,
    pub(super) append: bool,
    pub(super) last_chunk: bool,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SendParams {
    pub(super) message: Message,
    #[serde(default)]
    pub(super) configuration: Configuration,
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub(super) metadata: Metadata,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Configuration {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) accepted_output_modes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) blocking: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) history_length: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) push_notification_config: Option<PushConfig>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct PushConfig {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<String>,
    pub(super) url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) token: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) authentication: Option<Authentication>,
}

impl std::fmt::Debug for PushConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PushConfig(***)")
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct Authentication {
    /// Protobuf's JSON leaves an empty list out.
    #[serde(default)]
    pub(super) schemes: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) credentials: Option<String>,
}
