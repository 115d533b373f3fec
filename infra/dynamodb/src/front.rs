//! HTTP in, requests to the engine, answers out.
//!
//! The engine has a front of its own, which is not used, because it looks through the tokens of the last ten minutes with
//! each transaction: at a steady fifty tasks a second that is most of what it does after three minutes. It also reads each
//! body three times, and lets the pages of any web site in (CORS), which nothing here asks for.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use dynoxide::actions::transact_write_items::TransactWriteItemsRequest;
use dynoxide::{Database as Engine, DynoxideError};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::room::Room;
use crate::tokens::{PastAnswer, Tokens};

/// DynamoDB's own limit of a request, in bytes.
const BODY_LIMIT: usize = 16 * 1024 * 1024;

/// What the header `x-amz-target` begins with.
const TARGET: &str = "DynamoDB_20120810.";

/// Most characters of a `ClientRequestToken`.
const TOKEN_LIMIT: usize = 36;

/// A JSON document, or what is wrong.
type Answer = Result<String, DynoxideError>;

pub(crate) struct Front {
    pub(crate) engine: Engine,
    pub(crate) room: Room,
    tokens: Mutex<Tokens>,
}

/// DynamoDB's HTTP interface.
pub(crate) fn router(front: Arc<Front>) -> Router {
    Router::new()
        .route("/", post(answer))
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .with_state(front)
}

async fn answer(State(front): State<Arc<Front>>, headers: HeaderMap, body: Bytes) -> Response {
    let target = headers
        .get("x-amz-target")
        .and_then(|target| target.to_str().ok());
    let operation = target.and_then(|target| target.strip_prefix(TARGET));
    let answer = match operation {
        Some(operation) => front.run(operation, &body),
        None => Err(unknown()),
    };
    let (status, json) = match answer {
        Ok(json) => {
            front.room.written();
            (StatusCode::OK, json)
        }
        Err(error) => {
            let status = StatusCode::from_u16(error.status_code()).unwrap_or(StatusCode::BAD_REQUEST);
            if status.is_server_error() {
                front.room.failed();
            }
            (status, error.to_json())
        }
    };
    (status, [(CONTENT_TYPE, "application/x-amz-json-1.0")], json).into_response()
}

impl Front {
    /// Over an engine that keeps everything in this file, or in memory.
    pub(crate) fn over(engine: Engine, file: Option<&Path>) -> Self {
        Self {
            engine,
            room: Room::beside(file),
            tokens: Mutex::default(),
        }
    }

    pub(crate) fn run(&self, operation: &str, body: &[u8]) -> Answer {
        let engine = &self.engine;
        match operation {
            "GetItem" => done(body, |request| engine.get_item(request)),
            "Query" => done(body, |request| engine.query(request)),
            "UpdateItem" => done(body, |request| engine.update_item(request)),
            "TransactWriteItems" => self.transact(body),
            "BatchGetItem" => done(body, |request| engine.batch_get_item(request)),
            "PutItem" => done(body, |request| engine.put_item(request)),
            "DeleteItem" => done(body, |request| engine.delete_item(request)),
            "Scan" => done(body, |request| engine.scan(request)),
            "TransactGetItems" => done(body, |request| engine.transact_get_items(request)),
            "BatchWriteItem" => done(body, |request| engine.batch_write_item(request)),
            "ListTables" => done(body, |request| engine.list_tables(request)),
            "DescribeTable" => done(body, |request| engine.describe_table(request)),
            "CreateTable" => done(body, |request| engine.create_table(request)),
            "DeleteTable" => done(body, |request| engine.delete_table(request)),
            "DescribeTimeToLive" => done(body, |request| engine.describe_time_to_live(request)),
            _ => Err(unknown()),
        }
    }

    /// A transaction, once for its token: a repeat of one that was written gets the answer of then.
    fn transact(&self, body: &[u8]) -> Answer {
        let mut request: TransactWriteItemsRequest = read(body)?;
        let Some(token) = request.client_request_token.take() else {
            return written(&self.engine.transact_write_items(request)?);
        };
        if token.is_empty() || token.len() > TOKEN_LIMIT {
            let reason = format!("a ClientRequestToken has 1 to {TOKEN_LIMIT} characters");
            return Err(DynoxideError::ValidationException(reason));
        }
        let asked = Tokens::fingerprint(&request.transact_items)?;
        // Held until the answer is known: a repeat that comes meanwhile waits for it, and the engine takes one
        // transaction at a time anyway.
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        match tokens.get(&token, Instant::now()) {
            Some(known) if known.asked == asked => return Ok(known.answer.clone()),
            Some(_) => {
                let reason = "the ClientRequestToken was used for another transaction".to_owned();
                return Err(DynoxideError::IdempotentParameterMismatchException(reason));
            }
            None => {}
        }
        let answer = written(&self.engine.transact_write_items(request)?)?;
        let known = PastAnswer {
            asked,
            answer: answer.clone(),
        };
        tokens.keep(token, known, Instant::now());
        Ok(answer)
    }
}

fn done<Q: DeserializeOwned, A: Serialize>(
    body: &[u8],
    run: impl FnOnce(Q) -> Result<A, DynoxideError>,
) -> Answer {
    written(&run(read(body)?)?)
}

fn read<Q: DeserializeOwned>(body: &[u8]) -> Result<Q, DynoxideError> {
    serde_json::from_slice(body).map_err(|error| DynoxideError::SerializationException(error.to_string()))
}

fn written(answer: &impl Serialize) -> Answer {
    serde_json::to_string(answer).map_err(|error| DynoxideError::InternalServerError(error.to_string()))
}

fn unknown() -> DynoxideError {
    DynoxideError::ValidationException("x-amz-target names no operation that is known here".to_owned())
}

#[cfg(test)]
mod tests {
    use axum::body::{Body, to_bytes};
    use axum::http::Request;
    use serde_json::{Value, json};
    use tower::ServiceExt as _;

    use super::*;

    async fn ask(router: &Router, operation: &str, body: impl Into<Body>) -> (StatusCode, Value) {
        let request = Request::post("/")
            .header("x-amz-target", operation)
            .header("origin", "https://a-web-page.example")
            .body(body.into())
            .unwrap();
        let response = router.clone().oneshot(request).await.unwrap();
        let cors = "access-control-allow-origin";
        assert!(
            !response.headers().contains_key(cors),
            "no web page may read this"
        );
        let status = response.status();
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        (status, serde_json::from_slice(&body).unwrap_or_default())
    }

    async fn of(router: &Router, operation: &str, body: Value) -> (StatusCode, Value) {
        ask(router, &format!("{TARGET}{operation}"), body.to_string()).await
    }

    async fn with_a_table() -> Router {
        let router = router(Arc::new(Front::over(Engine::memory().unwrap(), None)));
        let table = json!({
            "TableName": "things", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        });
        let (status, answer) = of(&router, "CreateTable", table).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        router
    }

    fn adding(token: Option<&str>, many: &str) -> Value {
        let mut request = json!({"TransactItems": [{"Update": {
            "TableName": "things", "Key": {"pk": {"S": "a"}},
            "UpdateExpression": "ADD #n :n",
            "ExpressionAttributeNames": {"#n": "n"}, "ExpressionAttributeValues": {":n": {"N": many}},
        }}]});
        if let Some(token) = token {
            request["ClientRequestToken"] = token.into();
        }
        request
    }

    async fn sum(router: &Router) -> Value {
        let get = json!({"TableName": "things", "Key": {"pk": {"S": "a"}}, "ConsistentRead": true});
        let (status, answer) = of(router, "GetItem", get).await;
        assert_eq!(status, StatusCode::OK);
        answer["Item"]["n"]["N"].clone()
    }

    #[tokio::test]
    async fn a_transaction_is_written_once_for_its_token() {
        let router = with_a_table().await;
        for token in [Some("one"), Some("one"), Some("two"), None, None] {
            let (status, answer) = of(&router, "TransactWriteItems", adding(token, "1")).await;
            assert_eq!(status, StatusCode::OK, "{answer}");
        }
        assert_eq!(sum(&router).await, "4", "one, two, and each without a token");
        let (status, answer) = of(&router, "TransactWriteItems", adding(Some("one"), "2")).await;
        assert_eq!(status, StatusCode::BAD_REQUEST);
        let kind = answer["__type"].as_str().unwrap();
        assert!(kind.ends_with("IdempotentParameterMismatchException"), "{kind}");
        assert_eq!(sum(&router).await, "4");
    }

    #[tokio::test]
    async fn one_that_was_refused_leaves_its_token_free() {
        let router = with_a_table().await;
        let mut refused = adding(Some("one"), "1");
        refused["TransactItems"][0]["Update"]["ConditionExpression"] = "attribute_exists(pk)".into();
        for _ in 0..2 {
            let (status, answer) = of(&router, "TransactWriteItems", refused.clone()).await;
            assert_eq!(status, StatusCode::BAD_REQUEST);
            assert_eq!(answer["CancellationReasons"][0]["Code"], "ConditionalCheckFailed");
        }
        let (status, _) = of(&router, "TransactWriteItems", adding(Some("one"), "1")).await;
        assert_eq!(status, StatusCode::OK);
        assert_eq!(sum(&router).await, "1");
    }

    #[tokio::test]
    async fn rubbish_gets_an_error_of_dynamodbs_form() {
        let router = with_a_table().await;
        let long = "x".repeat(TOKEN_LIMIT + 1);
        let target = |operation: &str| format!("{TARGET}{operation}");
        let cases = [
            (String::new(), String::new()),
            (target("GetItem"), String::new()),
            (target("GetItem"), "{".to_owned()),
            (target("GetItem"), r#"{"TableName": 7}"#.to_owned()),
            (target("GetItem"), "[".repeat(100_000)),
            (target("GetItem"), "\u{0}\u{fffd}".to_owned()),
            (target("DropEverything"), "{}".to_owned()),
            ("GetItem".to_owned(), "{}".to_owned()),
            (target("TransactWriteItems"), adding(Some(""), "1").to_string()),
            (target("TransactWriteItems"), adding(Some(&long), "1").to_string()),
        ];
        for (operation, body) in cases {
            let (status, answer) = ask(&router, &operation, body).await;
            assert_eq!(status, StatusCode::BAD_REQUEST, "{operation}: {answer}");
            assert!(
                answer["__type"].as_str().unwrap().ends_with("Exception"),
                "{answer}"
            );
        }
        assert_eq!(sum(&router).await, Value::Null);
    }
}
