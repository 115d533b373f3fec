//! API Gateway, as far as the templates use it: a REST API's resources and methods, its proxy events, its answers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock, RwLockWriteGuard};

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use http::{HeaderName, HeaderValue, StatusCode};
use serde_json::{Map, Value, json};

use crate::runtime_api::{Function, Reply};
use crate::template::Stack;

/// One method of an API.
#[derive(Debug, Clone)]
pub struct Route {
    /// The segments of its resource's path; `{proxy+}` stands for all that is left.
    pub segments: Vec<String>,
    /// The function's logical id.
    pub function: String,
    /// Whether the integration streams.
    pub streams: bool,
}

/// The routes of a stack's API.
#[must_use]
pub fn routes(stack: &Stack) -> Vec<Route> {
    let resources = stack.template.of_type("AWS::ApiGateway::Resource");
    let path = |place: &Value| -> Vec<String> {
        let mut segments = Vec::new();
        let mut place = place.clone();
        while let Some(id) = place["Ref"].as_str() {
            let resource = resources[id];
            segments.insert(0, stack.text(&resource["PathPart"]));
            place = resource["ParentId"].clone();
        }
        assert_eq!(place["Fn::GetAtt"], json!(["Api", "RootResourceId"]));
        segments
    };
    let methods = stack.template.of_type("AWS::ApiGateway::Method");
    methods
        .values()
        .map(|method| {
            assert_eq!(method["HttpMethod"], "ANY");
            let uri = method["Integration"]["Uri"]["Fn::Sub"]
                .as_str()
                .expect("a function's address");
            let function = uri
                .split("${")
                .find_map(|part| part.split_once(".Arn}").map(|(id, _)| id))
                .expect("a function");
            Route {
                segments: path(&method["ResourceId"]),
                function: function.to_owned(),
                streams: method["Integration"]["ResponseTransferMode"] == "STREAM",
            }
        })
        .collect()
}

/// What an API says itself, by type, such as `THROTTLED`: the status, where it is not the one at hand, the headers, the
/// body's template.
pub type Refusals = BTreeMap<String, (Option<StatusCode>, Vec<(String, String)>, String)>;

/// What a stack's API says itself.
#[must_use]
pub fn refusals(stack: &Stack) -> Refusals {
    let told = stack.template.of_type("AWS::ApiGateway::GatewayResponse");
    let each = told.values().map(|told| {
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        let status = told
            .get("StatusCode")
            .map(|code| text(code).parse().expect("a status"));
        let headers = told["ResponseParameters"].as_object().into_iter().flatten();
        let headers = headers.map(|(name, value)| {
            let name = name.strip_prefix("gatewayresponse.header.").expect("a header");
            (name.to_owned(), text(value).trim_matches('\'').to_owned())
        });
        let body = text(&told["ResponseTemplates"]["application/json"]);
        (text(&told["ResponseType"]), (status, headers.collect(), body))
    });
    each.collect()
}

/// Which snapshot of an API its stage serves: "a deployment ... is a point-in-time snapshot of your API Gateway API", taken
/// when the resource is made and never again.
#[must_use]
pub fn snapshot(stack: &Stack) -> String {
    let all = stack.template.of_type("AWS::ApiGateway::Deployment");
    all.into_keys().collect()
}

/// An API that answers.
pub struct Api {
    /// Which snapshot it is.
    pub snapshot: String,
    /// Its routes.
    pub routes: Vec<Route>,
    /// What it says itself.
    pub refusals: Refusals,
    /// The functions by logical id.
    pub functions: BTreeMap<String, Arc<Function>>,
    /// The stage's name.
    pub stage: String,
}

/// The APIs by the paths that they answer below, such as `/acme/prod`.
#[derive(Default)]
pub struct Apis {
    all: RwLock<BTreeMap<String, Arc<Api>>>,
    /// How many requests there were to any of them.
    pub requests: AtomicU64,
}

impl Apis {
    /// An API begins to answer, instead of the one that was there. Its routes are those of the snapshot.
    pub fn put(&self, below: &str, mut api: Api) {
        let mut all = self.all();
        if let Some(before) = all.get(below).filter(|before| before.snapshot == api.snapshot) {
            api.routes.clone_from(&before.routes);
        }
        all.insert(below.to_owned(), Arc::new(api));
    }

    /// An API answers no more.
    pub fn remove(&self, below: &str) {
        self.all().remove(below);
    }

    fn all(&self) -> RwLockWriteGuard<'_, BTreeMap<String, Arc<Api>>> {
        self.all.write().expect("no panic under the lock")
    }

    fn of(&self, path: &str) -> Option<(Arc<Api>, String)> {
        let all = self.all.read().expect("no panic under the lock");
        all.iter().find_map(|(below, api)| {
            let rest = path.strip_prefix(below.as_str())?;
            (rest.is_empty() || rest.starts_with('/')).then(|| (api.clone(), rest.to_owned()))
        })
    }
}

/// Most bytes of a request.
const PAYLOAD: usize = 10_000_000;

/// The most special route that fits: a literal segment before `{proxy+}`, from left to right.
fn find<'a>(routes: &'a [Route], path: &[&str]) -> Option<&'a Route> {
    let fits = |route: &&Route| {
        let wanted: Vec<&str> = route.segments.iter().map(String::as_str).collect();
        match wanted.split_last() {
            Some((&"{proxy+}", before)) => path.len() > before.len() && path[..before.len()] == *before,
            _ => wanted == path,
        }
    };
    let literal = |route: &&Route| {
        route
            .segments
            .iter()
            .filter(|segment| *segment != "{proxy+}")
            .count()
    };
    routes.iter().filter(fits).max_by_key(literal)
}

/// Answers a request below an API's stage.
pub async fn answer(State(apis): State<Arc<Apis>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let Some((api, path)) = apis.of(head.uri.path()) else {
        return (
            StatusCode::FORBIDDEN,
            axum::Json(json!({ "message": "Forbidden" })),
        )
            .into_response();
    };
    let segments: Vec<&str> = path
        .trim_start_matches('/')
        .split('/')
        .filter(|part| !part.is_empty())
        .collect();
    let Some(route) = find(&api.routes, &segments) else {
        return refused(&api, "MISSING_AUTHENTICATION_TOKEN", StatusCode::FORBIDDEN);
    };
    let Ok(body) = to_bytes(body, PAYLOAD).await else {
        return refused(&api, "REQUEST_TOO_LARGE", StatusCode::PAYLOAD_TOO_LARGE);
    };
    apis.requests.fetch_add(1, Ordering::Relaxed);
    let event = event(&api.stage, route, &head, &path, &body);
    let function = &api.functions[&route.function];
    match (function.invoke(event).await, route.streams) {
        (Reply::Answer(answer), false) => buffered(&answer),
        (Reply::Stream(answer), true) => {
            let chunks = stream::unfold(answer.chunks, |mut chunks| async {
                let (_, chunk) = chunks.recv().await?;
                Some((Ok::<_, std::convert::Infallible>(chunk), chunks))
            });
            let mut response = respond(&answer.prelude, Body::from_stream(chunks));
            for cookie in answer.prelude["cookies"].as_array().into_iter().flatten() {
                let cookie = cookie.as_str().and_then(|text| HeaderValue::from_str(text).ok());
                response
                    .headers_mut()
                    .append("set-cookie", cookie.expect("a cookie"));
            }
            response
        }
        (other, streams) => {
            eprintln!("{} (streams: {streams}) gave {other:?}", route.function);
            refused(&api, "DEFAULT_5XX", StatusCode::BAD_GATEWAY)
        }
    }
}

/// What the API says itself where no function is asked, or none answers.
fn refused(api: &Api, kind: &str, status: StatusCode) -> Response {
    let (own, headers, body) = &api.refusals[kind];
    let mut response = Response::new(Body::from(body.clone()));
    *response.status_mut() = own.unwrap_or(status);
    append(&mut response, "content-type", &json!("application/json"));
    for (name, value) in headers {
        append(&mut response, name, &json!(value));
    }
    response
}

fn event(stage: &str, route: &Route, head: &http::request::Parts, path: &str, body: &[u8]) -> Value {
    let mut headers = Map::new();
    let mut all_headers = Map::new();
    for name in head.headers.keys() {
        let values: Vec<&str> = head
            .headers
            .get_all(name)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .collect();
        headers.insert(
            name.to_string(),
            Value::from(values.last().copied().unwrap_or_default()),
        );
        all_headers.insert(name.to_string(), Value::from(values));
    }
    let mut query = Map::new();
    let mut all_query = Map::new();
    for (name, value) in url::form_urlencoded::parse(head.uri.query().unwrap_or_default().as_bytes()) {
        query.insert(name.to_string(), Value::from(value.as_ref()));
        let list = all_query.entry(name.to_string()).or_insert_with(|| json!([]));
        list.as_array_mut()
            .expect("a list")
            .push(Value::from(value.as_ref()));
    }
    let none_if_empty = |map: Map<String, Value>| {
        if map.is_empty() {
            Value::Null
        } else {
            Value::Object(map)
        }
    };
    let resource = format!("/{}", route.segments.join("/"));
    let below = route.segments.len().saturating_sub(1);
    let proxy = route.segments.last().is_some_and(|last| last == "{proxy+}");
    let rest: Vec<&str> = path.trim_start_matches('/').split('/').skip(below).collect();
    json!({
        "resource": resource,
        "path": path,
        "httpMethod": head.method.as_str(),
        "headers": headers,
        "multiValueHeaders": all_headers,
        "queryStringParameters": none_if_empty(query),
        "multiValueQueryStringParameters": none_if_empty(all_query),
        "pathParameters": if proxy { json!({ "proxy": rest.join("/") }) } else { Value::Null },
        "stageVariables": null,
        "requestContext": {
            "resourceId": "res123",
            "resourcePath": resource,
            "httpMethod": head.method.as_str(),
            "path": format!("/{stage}{path}"),
            "accountId": crate::template::ACCOUNT,
            "protocol": "HTTP/1.1",
            "stage": stage,
            "domainPrefix": "abc123",
            "domainName": "abc123.execute-api.eu-north-1.amazonaws.com",
            "requestId": domain::MessageId::random(&domain::SystemEntropy).to_string(),
            "requestTimeEpoch": 1_767_225_600_000_u64,
            "apiId": "abc123",
            "identity": { "sourceIp": "203.0.113.7", "userAgent": "tests/1.0" },
        },
        "body": if body.is_empty() { Value::Null } else { Value::from(String::from_utf8_lossy(body)) },
        "isBase64Encoded": false,
    })
}

fn buffered(answer: &Value) -> Response {
    assert_eq!(
        answer["isBase64Encoded"], false,
        "the APIs declare no binary types"
    );
    let body = answer["body"].as_str().unwrap_or_default().to_owned();
    let mut response = respond(answer, Body::from(body));
    for (name, values) in answer["multiValueHeaders"].as_object().into_iter().flatten() {
        for value in values.as_array().into_iter().flatten() {
            append(&mut response, name, value);
        }
    }
    response
}

fn respond(answer: &Value, body: Body) -> Response {
    let status = answer["statusCode"]
        .as_u64()
        .and_then(|status| u16::try_from(status).ok());
    let status = status.and_then(|status| StatusCode::from_u16(status).ok());
    let mut response = Response::new(body);
    *response.status_mut() = status.unwrap_or(StatusCode::BAD_GATEWAY);
    for (name, value) in answer["headers"].as_object().into_iter().flatten() {
        append(&mut response, name, value);
    }
    response
}

fn append(response: &mut Response, name: &str, value: &Value) {
    // A REST API behind a proxy integration renames this one.
    let name = if name.eq_ignore_ascii_case("www-authenticate") {
        "x-amzn-remapped-www-authenticate"
    } else {
        name
    };
    let name: HeaderName = name.parse().expect("a header's name");
    let values: Vec<&Value> = match value {
        Value::Array(values) => values.iter().collect(),
        one => vec![one],
    };
    for value in values {
        let value = HeaderValue::from_str(value.as_str().unwrap_or_default()).expect("a header's value");
        response.headers_mut().append(name.clone(), value);
    }
}
