//! From an HTTP response to what the Lambda runtime sends back.
pub(crate) const PLACEHOLDER: () = ();

use axum::body::BodyDataStream;
use lambda_runtime::FunctionResponse;
use serde_json::Value;

/// The body of a streaming answer.
pub type AnswerBody = BodyDataStream;

/// What an invocation answers: one JSON document, or a stream.
pub type Answer = FunctionResponse<Value, AnswerBody>;
