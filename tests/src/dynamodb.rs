//! DynamoDB's own API, without the SDK, for what only tests do: reading whole tables, their sizes, items as they lie.

use serde_json::Value;

/// The answer to one request, such as `Query`; the embedded engine takes any signature.
///
/// # Panics
/// Where it is refused.
pub async fn call(database: &str, operation: &str, body: &Value) -> Value {
    let request = crate::user::http()
        .post(database)
        .header("content-type", "application/x-amz-json-1.0")
        .header("x-amz-target", format!("DynamoDB_20120810.{operation}"))
        .header(
            "authorization",
            "AWS4-HMAC-SHA256 Credential=local/20260101/eu-north-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0",
        )
        .header("x-amz-date", "20260101T000000Z");
    let answer = request.body(body.to_string()).send().await.expect("an answer");
    let status = answer.status();
    let told: Value = answer.json().await.expect("JSON");
    assert!(status.is_success(), "{operation}: {told}");
    told
}
