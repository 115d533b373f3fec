//! The services that functions call, behind the policy of whoever calls: DynamoDB (in this process, each request looked at
//! before it goes there), S3 (a folder), SQS, Secrets Manager, STS, KMS, and Lambda itself. Each function has addresses of its own, so that it
//! is known who calls; a call that a session of STS signed is judged by that session's role and tags.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use http::{HeaderMap, Method, StatusCode};
use serde_json::{Value, json};
use store::{BlobKey, BlobScope, Blobs as _, Folder, schema};
use tokio::net::TcpListener;
use url::form_urlencoded;

use super::kms::Kms;
use super::mistakes::Mistakes;
use super::sts::{Caller, Sts, Unknown};
use crate::policy::{ATTRIBUTES, LEADING_KEYS, PREFIX, Policy, Request, SELECT};
use crate::runtime_api::{Function, Reply};
use crate::template::{ACCOUNT, REGION};

/// What the services know.
pub struct Gate {
    /// Where the database itself listens.
    pub database: String,
    /// The policies by caller.
    pub policies: Mutex<BTreeMap<String, Arc<Policy>>>,
    /// The sessions of roles.
    pub sts: Sts,
    /// The keys that seal keys.
    pub kms: Kms,
    /// The functions by ARN.
    pub functions: Mutex<BTreeMap<String, Arc<Function>>>,
    /// The secrets' values by ARN.
    pub secrets: Mutex<BTreeMap<String, String>>,
    /// Takes messages.
    pub queues: tokio::sync::mpsc::UnboundedSender<Message>,
    /// How many hops through queues what begins by no queue counts as.
    pub begun: AtomicU32,
    /// What was used, by caller.
    pub usage: Mutex<BTreeMap<String, Usage>>,
    /// The client of the database.
    pub http: reqwest::Client,
    /// What lies in the bucket.
    pub blobs: Folder,
    /// What goes wrong on purpose.
    pub mistakes: Arc<Mistakes>,
    /// What is asked, while somebody listens.
    pub heard: Mutex<Option<Vec<Call>>>,
}

/// A call as a function made it, so that it can be made once more.
#[derive(Debug, Clone)]
pub struct Call {
    /// The caller, such as `pool-ChatApiFunction`.
    pub function: String,
    /// The method.
    pub method: Method,
    /// The path below the caller's address, and the query.
    pub path: String,
    /// The headers, with the session's.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

/// A message on its way through a queue.
#[derive(Debug)]
pub struct Message {
    /// The URL of the queue.
    pub queue: String,
    /// What is said.
    pub body: String,
    /// How long it waits.
    pub delay: Duration,
    /// How many messages led to it, as Lambda finds out by the lineage in the trace header.
    pub hops: u32,
}

/// The trace header of an invocation after so many hops.
#[must_use]
pub fn trace(hops: u32) -> String {
    format!("Root=1-5bef4de7-ad49b0e87f6ef6c87fc2e700;Parent=9a9197af755a6419;Sampled=0;Lineage=1:{hops}")
}

/// What a caller used.
#[derive(Debug, Clone, Default)]
pub struct Usage {
    /// Requests by action.
    pub calls: BTreeMap<String, u64>,
    /// Read capacity units of DynamoDB.
    pub read_units: f64,
    /// Write capacity units of DynamoDB, indexes included.
    pub write_units: f64,
    /// Those of the index of due things, which has few partitions.
    pub due_units: f64,
    /// Its writes, in order.
    pub writes: Vec<Write>,
}

/// A write.
#[derive(Debug, Clone)]
pub struct Write {
    /// The number it came as, over all callers.
    pub number: usize,
    /// What was written: of each item the verb and the beginning of its sort key, which says what the item is.
    pub what: String,
    /// Write capacity units, indexes included.
    pub units: f64,
    /// Those of indexes.
    pub index_units: f64,
}

impl Gate {
    /// As whom somebody calls: as the session that signed, else as the function's own role.
    fn caller(&self, function: &str, headers: &HeaderMap) -> Result<Caller, Box<Response>> {
        let signed = self.sts.signed(headers).map_err(|why| {
            Box::new(match why {
                Unknown::Key => fault("UnrecognizedClientException", "the security token is not valid"),
                Unknown::Expired => fault("ExpiredTokenException", "the security token has expired"),
            })
        })?;
        if let Some(caller) = signed {
            return Ok(caller);
        }
        let policies = self.policies.lock().expect("no panic under the lock");
        match policies.get(function) {
            Some(policy) => Ok(Caller {
                policy: policy.clone(),
                tags: BTreeMap::new(),
            }),
            None => Err(Box::new(fault("AccessDeniedException", "nobody calls from here"))),
        }
    }

    /// Whoever listens hears a call.
    fn hear(&self, (function, method): (&str, Method), path: String, headers: &HeaderMap, body: &Bytes) {
        if let Some(heard) = &mut *self.heard.lock().expect("no panic under the lock") {
            heard.push(Call {
                function: function.to_owned(),
                method,
                path,
                headers: headers.clone(),
                body: body.clone(),
            });
        }
    }

    fn note(&self, caller: &str, action: &str) {
        let mut usage = self.usage.lock().expect("no panic under the lock");
        let usage = usage.entry(caller.to_owned()).or_default();
        *usage.calls.entry(action.to_owned()).or_default() += 1;
    }

    fn consumed(&self, caller: &str, operation: &str, request: &Value, told: &Value) {
        let reads = matches!(
            operation,
            "GetItem" | "Query" | "BatchGetItem" | "TransactGetItems"
        );
        let each = match told {
            Value::Array(each) => each.as_slice(),
            one => std::slice::from_ref(one),
        };
        let units = |told: &Value| told["CapacityUnits"].as_f64().unwrap_or_default();
        let mut usage = self.usage.lock().expect("no panic under the lock");
        let number = usage.values().map(|used| used.writes.len()).sum();
        let usage = usage.entry(caller.to_owned()).or_default();
        let all = each.iter().map(units).sum::<f64>();
        if reads {
            usage.read_units += all;
            return;
        }
        let own = each.iter().map(|table| units(&table["Table"])).sum::<f64>();
        let due = |table: &Value| units(&table["GlobalSecondaryIndexes"][schema::BY_DUE.name]);
        usage.write_units += all;
        usage.due_units += each.iter().map(due).sum::<f64>();
        usage.writes.push(Write {
            number,
            what: written(operation, request),
            units: all,
            index_units: all - own,
        });
    }
}

/// Answers a call of the AWS SDK.
pub async fn answer(
    State(gate): State<Arc<Gate>>,
    Path(function): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    gate.hear((&function, Method::POST), String::new(), &headers, &body);
    let caller = match gate.caller(&function, &headers) {
        Ok(caller) => caller,
        Err(refused) => return *refused,
    };
    let kind = headers.get("content-type").and_then(|kind| kind.to_str().ok());
    if kind.is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded")) {
        gate.note(&function, "sts:AssumeRole");
        let wrong = gate.mistakes.session(&function, &body);
        return gate.sts.answer(&caller, wrong.as_deref().unwrap_or(&body));
    }
    let target = headers
        .get("x-amz-target")
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let (service, operation) = target.split_once('.').unwrap_or_default();
    let read = serde_json::from_slice::<Value>(&body);
    let Ok(mut request) = read else {
        return fault("SerializationException", "no JSON");
    };
    if service != "AmazonSQS"
        && let Some(wrong) = gate
            .mistakes
            .asked(&function, table_of(&request), &request.to_string())
    {
        request = serde_json::from_str(&wrong).expect("JSON in which texts are others");
    }
    if service.starts_with("DynamoDB") {
        return dynamodb(&gate, (&function, &caller), operation, request, &headers).await;
    }
    match (service, operation) {
        ("AmazonSQS", "SendMessage" | "SendMessageBatch") => {
            let url = request["QueueUrl"].as_str().unwrap_or_default();
            let name = url.rsplit('/').next().unwrap_or_default();
            let asked = Request::new(
                "sqs:SendMessage",
                format!("arn:aws:sqs:{REGION}:{ACCOUNT}:{name}"),
            );
            gate.note(&function, &asked.action);
            if !caller.may([asked]) {
                return fault("AccessDeniedException", "the policy does not allow it");
            }
            let hops = 1 + hops(&headers).unwrap_or_else(|| gate.begun.load(Ordering::Relaxed));
            let entries = request["Entries"].as_array();
            let entries = entries.map_or(std::slice::from_ref(&request), Vec::as_slice);
            let taken = entries.iter().map(|entry| {
                let _nobody_listens = gate.queues.send(Message {
                    queue: url.to_owned(),
                    body: {
                        let body = entry["MessageBody"].as_str().unwrap_or_default();
                        gate.mistakes.message(body).unwrap_or_else(|| body.to_owned())
                    },
                    delay: Duration::from_secs(entry["DelaySeconds"].as_u64().unwrap_or_default()),
                    hops,
                });
                json!({ "Id": entry["Id"], "MessageId": "m", "MD5OfMessageBody": "" })
            });
            let taken: Vec<Value> = taken.collect();
            let failed: [Value; 0] = [];
            axum::Json(
                json!({ "MessageId": "m", "MD5OfMessageBody": "", "Successful": taken, "Failed": failed }),
            )
            .into_response()
        }
        ("secretsmanager", "GetSecretValue") => {
            let id = request["SecretId"].as_str().unwrap_or_default();
            let asked = Request::new("secretsmanager:GetSecretValue", id);
            gate.note(&function, &asked.action);
            if !caller.may([asked]) {
                return fault("AccessDeniedException", "the policy does not allow it");
            }
            let secrets = gate.secrets.lock().expect("no panic under the lock");
            match secrets.get(id) {
                Some(value) => {
                    axum::Json(json!({ "ARN": id, "Name": id, "SecretString": value })).into_response()
                }
                None => fault("ResourceNotFoundException", "no such secret"),
            }
        }
        ("TrentService", operation) => {
            let answer = gate.kms.asked(operation, &request).and_then(|asked| {
                gate.note(&function, &asked.action);
                match caller.may([asked]) {
                    true => gate.kms.answer(operation, &request),
                    false => Err(("AccessDeniedException", "the policy does not allow it")),
                }
            });
            match answer {
                Ok(answer) => axum::Json(answer).into_response(),
                Err((kind, why)) => fault(kind, why),
            }
        }
        _ => fault("UnknownOperationException", target),
    }
}

/// How many hops led to a call, where there were any.
fn hops(headers: &HeaderMap) -> Option<u32> {
    let trace = headers.get("x-amzn-trace-id")?.to_str().ok()?;
    let hops = trace.rsplit_once("Lineage=1:")?.1.parse().ok()?;
    (hops > 0).then_some(hops)
}

/// Answers an `Invoke` of Lambda's: an event that a function is handed later, and once.
pub async fn invoke(
    State(gate): State<Arc<Gate>>,
    Path((function, invoked)): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let refused = |status: StatusCode, kind: &'static str, why: &str| {
        let body = axum::Json(json!({ "Type": "User", "Message": why, "message": why }));
        (status, [("x-amzn-errortype", kind)], body).into_response()
    };
    let caller = match gate.caller(&function, &headers) {
        Ok(caller) => caller,
        Err(refused) => return *refused,
    };
    gate.hear((&function, Method::POST), String::new(), &headers, &body);
    gate.note(&function, "lambda:InvokeFunction");
    if !caller.may([Request::new("lambda:InvokeFunction", invoked.as_str())]) {
        let why = "the policy does not allow it";
        return refused(StatusCode::FORBIDDEN, "AccessDeniedException", why);
    }
    let invalid = |why: &str| refused(StatusCode::BAD_REQUEST, "InvalidParameterValueException", why);
    if text("x-amz-invocation-type") != Some("Event") {
        return invalid("here functions are handed events alone");
    }
    let Ok(event) = serde_json::from_slice::<Value>(&body) else {
        return refused(
            StatusCode::BAD_REQUEST,
            "InvalidRequestContentException",
            "no JSON",
        );
    };
    let functions = gate.functions.lock().expect("no panic under the lock");
    let Some(found) = functions.get(&invoked).cloned() else {
        return refused(
            StatusCode::NOT_FOUND,
            "ResourceNotFoundException",
            "no such function",
        );
    };
    drop(functions);
    let tenant = text("x-amz-tenant-id").map(str::to_owned);
    let tenant = tenant.map(|named| gate.mistakes.invoked(&named).unwrap_or(named));
    if let Some(why) = found.refuses(tenant.as_deref()) {
        return invalid(why);
    }
    let after = hops(&headers).map(|hops| trace(1 + hops));
    tokio::spawn(async move {
        match found.invoke_after(after, tenant.as_deref(), event).await {
            Reply::Answer(_) => {}
            other => eprintln!("{invoked} of {tenant:?} gave {other:?}"),
        }
    });
    StatusCode::ACCEPTED.into_response()
}

/// Answers a request to S3, with the bucket in its path: what the functions use of it.
pub async fn answer_s3(
    State(gate): State<Arc<Gate>>,
    Path(place): Path<Vec<String>>,
    Query(query): Query<BTreeMap<String, String>>,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let [function, bucket, path @ ..] = place.as_slice() else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let said = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(&query)
        .finish();
    gate.hear(
        (function, method.clone()),
        format!("/{bucket}/{}?{said}", utf8(path)),
        &headers,
        &body,
    );
    let wrong = |text: &String| {
        gate.mistakes
            .asked(function, "", text)
            .unwrap_or_else(|| text.clone())
    };
    let path: Vec<String> = path.iter().map(wrong).collect();
    let path = path.as_slice();
    let query: BTreeMap<String, String> = query
        .iter()
        .map(|(name, value)| (name.clone(), wrong(value)))
        .collect();
    let arn = format!("arn:aws:s3:::{bucket}");
    let asked = match (method.as_str(), path) {
        ("GET", []) => Request::new("s3:ListBucket", arn).with(PREFIX, query.get("prefix").cloned()),
        ("GET", [key]) => Request::new("s3:GetObject", format!("{arn}/{key}")),
        ("PUT", [key]) => Request::new("s3:PutObject", format!("{arn}/{key}")),
        ("DELETE", [key]) => Request::new("s3:DeleteObject", format!("{arn}/{key}")),
        _ => return StatusCode::METHOD_NOT_ALLOWED.into_response(),
    };
    let action = asked.action.clone();
    let is_signed = headers
        .get("authorization")
        .is_some_and(|told| told.as_bytes().starts_with(b"AWS4-HMAC-SHA256 "));
    let caller = gate.caller(function, &headers);
    if !is_signed || !caller.is_ok_and(|caller| caller.may([asked])) {
        return StatusCode::FORBIDDEN.into_response();
    }
    gate.note(function, &action);
    kept(&gate.blobs, (&method, path.first()), &query, &body).await
}

/// A bucket for whoever asks, which has what lies in this folder; its address.
pub async fn open_bucket(blobs: Folder) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let router = Router::new()
        .route("/{bucket}/", any(answer_anybody))
        .route("/{bucket}/{*key}", any(answer_anybody))
        .layer(DefaultBodyLimit::max(store::BLOB_MAX))
        .with_state(blobs);
    tokio::spawn(async move {
        let _until_the_test_ends = axum::serve(listener, router).await;
    });
    format!("http://{address}")
}

async fn answer_anybody(
    State(blobs): State<Folder>,
    Path(place): Path<Vec<String>>,
    Query(query): Query<BTreeMap<String, String>>,
    method: Method,
    body: Bytes,
) -> Response {
    kept(&blobs, (&method, place.get(1)), &query, &body).await
}

/// Does it, and answers as S3 does.
async fn kept(
    blobs: &Folder,
    (method, path): (&Method, Option<&String>),
    query: &BTreeMap<String, String>,
    body: &[u8],
) -> Response {
    let Some(path) = path else {
        return list(blobs, query).await;
    };
    let key = BlobKey::parse(path).expect("only blobs lie there");
    match method.as_str() {
        "PUT" => blobs.put(&key, body).await.expect("a folder"),
        "DELETE" => blobs.delete(&key).await.expect("a folder"),
        _ => {
            let found = blobs.get(&key, store::BLOB_MAX).await.expect("a folder");
            return found.map_or_else(
                || StatusCode::NOT_FOUND.into_response(),
                IntoResponse::into_response,
            );
        }
    }
    StatusCode::OK.into_response()
}

/// A key as it stands in a path.
fn utf8(path: &[String]) -> String {
    let key = path.first().map_or("", String::as_str);
    key.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                char::from(byte).to_string()
            }
            other => format!("%{other:02X}"),
        })
        .collect()
}

async fn list(blobs: &Folder, query: &BTreeMap<String, String>) -> Response {
    let text = |name: &str| query.get(name).cloned().unwrap_or_default();
    let (prefix, after) = (text("prefix"), text("start-after"));
    let all = blobs.list(&BlobScope::All, None).await.expect("a folder");
    let all = all.iter().map(|one| (one.key.path(), one.put_at));
    let wanted = all.filter(|(path, _)| path.starts_with(&prefix) && *path > after);
    let contents = wanted.map(|(path, at)| {
        let key = path.replace('&', "&amp;").replace('<', "&lt;");
        format!("<Contents><Key>{key}</Key><LastModified>{at}</LastModified></Contents>")
    });
    let contents: String = contents.collect();
    format!("<ListBucketResult>{contents}</ListBucketResult>").into_response()
}

async fn dynamodb(
    gate: &Gate,
    (function, caller): (&str, &Caller),
    operation: &str,
    mut request: Value,
    headers: &HeaderMap,
) -> Response {
    let asked = requests(operation, &request);
    if asked.is_empty() || !caller.may(asked) {
        return fault(
            "com.amazonaws.dynamodb.v20120810#AccessDeniedException",
            "the policy does not allow it",
        );
    }
    request["ReturnConsumedCapacity"] = Value::from("INDEXES");
    let kept = ["x-amz-target", "content-type", "authorization", "x-amz-date"].into_iter();
    let kept = kept
        .filter_map(|name| Some((name.parse().ok()?, headers.get(name)?.clone())))
        .collect::<HeaderMap>();
    let sent = gate
        .http
        .post(&gate.database)
        .headers(kept)
        .body(request.to_string())
        .send()
        .await;
    let Ok(answer) = sent else {
        return StatusCode::BAD_GATEWAY.into_response();
    };
    let status = answer.status();
    let Ok(body) = answer.bytes().await else {
        return StatusCode::BAD_GATEWAY.into_response();
    };
    let told: Value = serde_json::from_slice(&body).unwrap_or_default();
    gate.note(function, &format!("dynamodb:{operation}"));
    gate.consumed(function, operation, &request, &told["ConsumedCapacity"]);
    (status, [("content-type", "application/x-amz-json-1.0")], body).into_response()
}

/// The table that a request names, or the first one.
fn table_of(request: &Value) -> &str {
    let several = request["RequestItems"]
        .as_object()
        .and_then(|all| all.keys().next());
    let parts = request["TransactItems"][0].as_object();
    let first = parts.and_then(|part| part.values().next()?["TableName"].as_str());
    let one = request["TableName"].as_str();
    one.or(several.map(String::as_str)).or(first).unwrap_or_default()
}

fn written(operation: &str, request: &Value) -> String {
    let named = |verb: &str, keys: &Value| {
        let key = keys[schema::SORT]["S"].as_str().unwrap_or_default();
        format!("{verb} {}", key.split('#').next().unwrap_or_default())
    };
    let one = |request: &Value| match (&request["Item"], &request["Key"]) {
        (Value::Null, keys) if request["UpdateExpression"].is_null() => named("delete", keys),
        (Value::Null, keys) => named("update", keys),
        (item, _) => named("put", item),
    };
    if operation != "TransactWriteItems" {
        return one(request);
    }
    let mut each: BTreeMap<String, usize> = BTreeMap::new();
    let items = request["TransactItems"].as_array().into_iter().flatten();
    for (_, item) in items.flat_map(entries) {
        *each.entry(one(item)).or_default() += 1;
    }
    let each = each.into_iter().map(|(what, count)| match count {
        1 => what,
        count => format!("{what} × {count}"),
    });
    each.collect::<Vec<_>>().join(", ")
}

fn fault(kind: &str, message: &str) -> Response {
    let body = json!({ "__type": kind, "message": message, "Message": message });
    (
        StatusCode::BAD_REQUEST,
        [("content-type", "application/x-amz-json-1.0")],
        body.to_string(),
    )
        .into_response()
}

/// What IAM is asked about a request: each item of a transaction on its own, as IAM does.
fn requests(operation: &str, request: &Value) -> Vec<Request> {
    let table = |name: &Value| {
        format!(
            "arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{}",
            name.as_str().unwrap_or_default()
        )
    };
    let one = |action: &str, table: String, keys: Vec<String>| {
        Request::new(format!("dynamodb:{action}"), table).with(LEADING_KEYS, keys)
    };
    let naming = |asked: Request, part: &Value| asked.with(ATTRIBUTES, attributes(part));
    // A read that names no attributes is of all of them.
    let selecting = |asked: Request, part: &Value| {
        let select = match part["ProjectionExpression"].is_string() {
            true => "SPECIFIC_ATTRIBUTES",
            false => "ALL_ATTRIBUTES",
        };
        asked.with(SELECT, [part["Select"].as_str().unwrap_or(select)])
    };
    let key = |item: &Value| {
        item[schema::PARTITION]["S"]
            .as_str()
            .map(str::to_owned)
            .into_iter()
            .collect()
    };
    match operation {
        "GetItem" => {
            let asked = one(operation, table(&request["TableName"]), key(&request["Key"]));
            vec![selecting(naming(asked, request), request)]
        }
        "DeleteItem" | "UpdateItem" => {
            let asked = one(operation, table(&request["TableName"]), key(&request["Key"]));
            vec![naming(asked, request)]
        }
        "PutItem" => {
            let asked = one(operation, table(&request["TableName"]), key(&request["Item"]));
            vec![naming(asked, request)]
        }
        "Query" => {
            let mut resource = table(&request["TableName"]);
            if let Some(index) = request["IndexName"].as_str() {
                resource = format!("{resource}/index/{index}");
            }
            let asked = one(operation, resource, queried(request).into_iter().collect());
            vec![selecting(asked, request)]
        }
        "BatchGetItem" => entries(&request["RequestItems"])
            .map(|(name, wanted)| {
                let keys = wanted["Keys"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .flat_map(key)
                    .collect();
                let asked = one(operation, table(&Value::from(name.as_str())), keys);
                selecting(naming(asked, wanted), wanted)
            })
            .collect(),
        "BatchWriteItem" => entries(&request["RequestItems"])
            .map(|(name, writes)| {
                let writes = writes.as_array().into_iter().flatten();
                let keys = writes.flat_map(|write| {
                    let put: Vec<String> = key(&write["PutRequest"]["Item"]);
                    let gone: Vec<String> = key(&write["DeleteRequest"]["Key"]);
                    put.into_iter().chain(gone)
                });
                one(operation, table(&Value::from(name.as_str())), keys.collect())
            })
            .collect(),
        "TransactWriteItems" | "TransactGetItems" => {
            let parts = request["TransactItems"].as_array().into_iter().flatten();
            parts
                .flat_map(entries)
                .map(|(kind, part)| {
                    let (action, place) = match kind.as_str() {
                        "Put" => ("PutItem", &part["Item"]),
                        "Update" => ("UpdateItem", &part["Key"]),
                        "Delete" => ("DeleteItem", &part["Key"]),
                        "Get" => ("GetItem", &part["Key"]),
                        _ => ("ConditionCheckItem", &part["Key"]),
                    };
                    let asked = naming(one(action, table(&part["TableName"]), key(place)), part);
                    match action {
                        "GetItem" => selecting(asked, part),
                        _ => asked,
                    }
                })
                .collect()
        }
        other => vec![one(other, table(&request["TableName"]), Vec::new())],
    }
}

/// The attributes that a request names: those of its key or item, and those of its expressions, of which what stands behind a point is
/// a part of an attribute. In expressions of ours each name has a placeholder.
fn attributes(part: &Value) -> Vec<String> {
    let own = ["Key", "Item"]
        .into_iter()
        .flat_map(|place| entries(&part[place]));
    let mut named: Vec<String> = own.map(|(name, _)| name.clone()).collect();
    for expression in ["UpdateExpression", "ConditionExpression", "ProjectionExpression"] {
        let text = part[expression].as_str().unwrap_or_default();
        for (at, _) in text
            .match_indices('#')
            .filter(|(at, _)| !text[..*at].ends_with('.'))
        {
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let length = text[at + 1..]
                .find(|c| !is_name(c))
                .unwrap_or(text.len() - at - 1);
            let meant = &part["ExpressionAttributeNames"][&text[at..=at + length]];
            named.push(meant.as_str().unwrap_or(&text[at..=at + length]).to_owned());
        }
    }
    named.sort();
    named.dedup();
    named
}

fn entries(map: &Value) -> impl Iterator<Item = (&String, &Value)> {
    map.as_object().into_iter().flatten()
}

/// The partition that a query reads: the value that its condition equals the partition key with.
fn queried(request: &Value) -> Option<String> {
    let index = request["IndexName"].as_str();
    let indexes = schema::ALL.iter().flat_map(|table| table.indexes);
    let partition = match index {
        None => schema::PARTITION,
        Some(name) => indexes.into_iter().find(|index| index.name == name)?.partition,
    };
    let condition = request["KeyConditionExpression"].as_str()?;
    condition.split(" AND ").find_map(|part| {
        let (name, value) = part.trim().trim_matches(['(', ')']).split_once('=')?;
        let name = name.trim();
        let meant = request["ExpressionAttributeNames"][name].as_str().unwrap_or(name);
        let value = &request["ExpressionAttributeValues"][value.trim()]["S"];
        (meant == partition).then(|| value.as_str().map(str::to_owned))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_names_the_partition_of_its_index_and_a_transaction_each_of_its_items() {
        let query = json!({
            "TableName": "t", "IndexName": "by_owner", "KeyConditionExpression": "#owner_pk = :p AND #owner_sk < :s",
            "ExpressionAttributeNames": { "#owner_pk": "owner_pk", "#owner_sk": "owner_sk" },
            "ExpressionAttributeValues": { ":p": { "S": "acme#owner#1" }, ":s": { "S": "x" } },
        });
        let asked = requests("Query", &query);
        assert_eq!(asked[0].context[LEADING_KEYS], ["acme#owner#1"]);
        assert!(asked[0].resource.ends_with("table/t/index/by_owner"));
        let transaction = json!({ "TransactItems": [
            { "Put": { "TableName": "t", "Item": { "pk": { "S": "a" } } } },
            { "ConditionCheck": { "TableName": "t", "Key": { "pk": { "S": "b" } } } },
        ] });
        let asked: Vec<String> = requests("TransactWriteItems", &transaction)
            .into_iter()
            .map(|request| format!("{} {:?}", request.action, request.context[LEADING_KEYS]))
            .collect();
        assert_eq!(
            asked,
            ["dynamodb:PutItem [\"a\"]", "dynamodb:ConditionCheckItem [\"b\"]"]
        );
        let update = json!({
            "TableName": "t", "Key": { "pk": { "S": "acme" }, "sk": { "S": "TENANT" } },
            "UpdateExpression": "SET #settings.#brand = :brand REMOVE #settings.#accent",
            "ConditionExpression": "(#settings = :seen) AND attribute_exists(#s)",
            "ExpressionAttributeNames": { "#settings": "settings", "#brand": "status", "#accent": "prefix", "#s": "status" },
        });
        assert_eq!(
            requests("UpdateItem", &update)[0].context[ATTRIBUTES],
            ["pk", "settings", "sk", "status"]
        );
        // Whoever reads says which attributes, or means all.
        let mut read = json!({ "TableName": "t", "Key": { "pk": { "S": "acme" } } });
        assert_eq!(requests("GetItem", &read)[0].context[SELECT], ["ALL_ATTRIBUTES"]);
        read["ProjectionExpression"] = "#p, #prefix".into();
        read["ExpressionAttributeNames"] = json!({ "#p": "place", "#prefix": "prefix" });
        let asked = &requests("GetItem", &read)[0];
        assert_eq!(asked.context[SELECT], ["SPECIFIC_ATTRIBUTES"]);
        assert_eq!(asked.context[ATTRIBUTES], ["pk", "place", "prefix"]);
        assert_eq!(
            requests("Scan", &json!({ "TableName": "t" }))[0].action,
            "dynamodb:Scan"
        );
    }
}
