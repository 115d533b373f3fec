//! DynamoDB's own API, without the SDK, for what only tests do: reading whole tables, their sizes, items as they lie.

use serde_json::Value;
use url::Url;

/// The answer to one request, such as `Query`, of a database at this address, which holds the access key where one is wanted.
/// The embedded engine looks at no signature.
///
/// # Panics
/// Where it is refused.
pub async fn call(database: &str, operation: &str, body: &Value) -> Value {
    let mut url = Url::parse(database).expect("an address");
    let key = match url.username() {
        "" => "local".to_owned(),
        id => id.to_owned(),
    };
    url.set_username("")
        .and(url.set_password(None))
        .expect("an address of http");
    let request = crate::user::http()
        .post(url)
        .header("content-type", "application/x-amz-json-1.0")
        .header("x-amz-target", format!("DynamoDB_20120810.{operation}"))
        .header(
            "authorization",
            format!(
                "AWS4-HMAC-SHA256 Credential={key}/20260101/eu-north-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0"
            ),
        )
        .header("x-amz-date", "20260101T000000Z");
    let answer = request.body(body.to_string()).send().await.expect("an answer");
    let status = answer.status();
    let told: Value = answer.json().await.expect("JSON");
    assert!(status.is_success(), "{operation}: {told}");
    told
}
