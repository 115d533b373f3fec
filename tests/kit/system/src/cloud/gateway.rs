//! API Gateway, as far as the templates use it: a REST API's resources and methods, its authorizer, its proxy events, its answers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock, RwLockWriteGuard};

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use http::{HeaderName, HeaderValue, StatusCode};
use serde_json::{Map, Value, json};

use super::mistakes::Mistakes;
use crate::policy;
use crate::runtime_api::{Function, Reply};
use crate::template::{ACCOUNT, REGION, Stack};

/// One method of an API.
#[derive(Debug, Clone)]
pub struct Route {
    /// The segments of its resource's path; `{name}` stands for one, `{proxy+}` for all that is left.
    pub segments: Vec<String>,
    /// The function's logical id.
    pub function: String,
    /// Whether the integration streams.
    pub streams: bool,
    /// The function that says who may come, by its logical id.
    pub authorizer: Option<String>,
    /// What the authorizer says that becomes the tenant whose sandbox is asked.
    pub tenant: Option<String>,
}

/// Names the tenant to Lambda.
const TENANT_HEADER: &str = "X-Amz-Tenant-Id";
/// The API's id in every stack.
const API: &str = "abc123";

/// The function whose address stands in a `Fn::Sub`, by its logical id.
fn addressed(uri: &Value) -> String {
    let uri = uri["Fn::Sub"].as_str().expect("a function's address");
    let function = uri
        .split("${")
        .find_map(|part| part.split_once(".Arn}").map(|(id, _)| id));
    function.expect("a function").to_owned()
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
    let authorizers = stack.template.of_type("AWS::ApiGateway::Authorizer");
    let authorizer = |method: &Value| match method["AuthorizationType"].as_str() {
        Some("NONE") => None,
        Some("CUSTOM") => {
            let told = authorizers[method["AuthorizerId"]["Ref"].as_str().expect("an authorizer")];
            let kind = (&told["Type"], &told["AuthorizerResultTtlInSeconds"]);
            assert_eq!(kind, (&json!("REQUEST"), &json!(0)), "asked with each request");
            Some(addressed(&told["AuthorizerUri"]))
        }
        other => panic!("who is authorized by {other:?}?"),
    };
    let tenant = |integration: &Value| {
        let parameters = integration["RequestParameters"].as_object().into_iter().flatten();
        let mut parameters = parameters.map(|(to, from)| {
            assert_eq!(
                to.strip_prefix("integration.request.header."),
                Some(TENANT_HEADER)
            );
            let from = from
                .as_str()
                .and_then(|from| from.strip_prefix("context.authorizer."));
            from.expect("what the authorizer says").to_owned()
        });
        parameters.next()
    };
    let methods = stack.template.of_type("AWS::ApiGateway::Method");
    methods
        .values()
        .map(|method| {
            assert_eq!(method["HttpMethod"], "ANY");
            let integration = &method["Integration"];
            let route = Route {
                segments: path(&method["ResourceId"]),
                function: addressed(&integration["Uri"]),
                streams: integration["ResponseTransferMode"] == "STREAM",
                authorizer: authorizer(method),
                tenant: tenant(integration),
            };
            assert!(route.tenant.is_none() || route.authorizer.is_some(), "{route:?}");
            route
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
pub struct Apis {
    all: RwLock<BTreeMap<String, Arc<Api>>>,
    /// How many requests there were to any of them.
    pub requests: AtomicU64,
    /// What goes wrong on purpose.
    mistakes: Arc<Mistakes>,
}

impl Apis {
    /// None yet.
    #[must_use]
    pub fn new(mistakes: Arc<Mistakes>) -> Self {
        Self {
            mistakes,
            all: RwLock::default(),
            requests: AtomicU64::new(0),
        }
    }

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

/// A segment of a route.
enum Segment<'a> {
    /// `{proxy+}`: all that is left, and that is something.
    Rest(&'a str),
    /// `{name}`: any one.
    One(&'a str),
    /// This one.
    Literal(&'a str),
}

fn segment(text: &str) -> Segment<'_> {
    let name = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    match name.map(|name| (name, name.strip_suffix('+'))) {
        None => Segment::Literal(text),
        Some((name, None)) => Segment::One(name),
        Some((_, Some(name))) => Segment::Rest(name),
    }
}

/// The most special route that fits: from left to right, a literal segment before one of any name, and that before `{proxy+}`.
fn find<'a>(routes: &'a [Route], path: &[&str]) -> Option<&'a Route> {
    let fits = |route: &&Route| {
        let mut left = path.iter();
        let each = route.segments.iter().all(|wanted| match segment(wanted) {
            Segment::Rest(_) => left.by_ref().count() > 0,
            Segment::One(_) => left.next().is_some(),
            Segment::Literal(wanted) => left.next() == Some(&wanted),
        });
        each && left.next().is_none()
    };
    let special = |route: &&Route| -> Vec<u8> {
        let rank = |text: &String| match segment(text) {
            Segment::Rest(_) => 0,
            Segment::One(_) => 1,
            Segment::Literal(_) => 2,
        };
        route.segments.iter().map(rank).collect()
    };
    routes.iter().filter(fits).max_by_key(special)
}

/// What the placeholders of a route stand for in a path.
fn parameters(route: &Route, path: &str) -> Map<String, Value> {
    let given: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let named = route
        .segments
        .iter()
        .enumerate()
        .filter_map(|(at, text)| match segment(text) {
            Segment::Literal(_) => None,
            Segment::One(name) => Some((name.to_owned(), Value::from(given[at]))),
            Segment::Rest(name) => Some((name.to_owned(), Value::from(given[at..].join("/")))),
        });
    named.collect()
}

/// What the authorizer lets a request know, or the answer of the gateway where it lets it through nowhere.
async fn authorized(
    authorizer: &Arc<Function>,
    request: &Value,
) -> Result<Value, (&'static str, StatusCode)> {
    let mut event = request.clone();
    let told = event.as_object_mut().expect("an event");
    told.remove("body");
    told.remove("isBase64Encoded");
    let path = request["path"]
        .as_str()
        .unwrap_or_default()
        .trim_start_matches('/');
    let stage = request["requestContext"]["stage"].as_str().unwrap_or_default();
    let method = request["httpMethod"].as_str().unwrap_or_default();
    let arn = format!("arn:aws:execute-api:{REGION}:{ACCOUNT}:{API}/{stage}/{method}/{path}");
    told.insert("type".to_owned(), Value::from("REQUEST"));
    told.insert("methodArn".to_owned(), Value::from(arn.as_str()));
    let failed = ("AUTHORIZER_FAILURE", StatusCode::INTERNAL_SERVER_ERROR);
    let answer = match authorizer.invoke(event).await {
        Reply::Answer(answer) => answer,
        // "Unauthorized" to the letter is an answer, too.
        Reply::Failed(told) if told["errorMessage"] == "Unauthorized" => {
            return Err(("UNAUTHORIZED", StatusCode::UNAUTHORIZED));
        }
        other => {
            eprintln!("the authorizer gave {other:?}");
            return Err(failed);
        }
    };
    let (Some(principal), true) = (
        answer["principalId"].as_str(),
        answer["policyDocument"]["Statement"].is_array(),
    ) else {
        eprintln!("the authorizer gave {answer}");
        return Err((
            "AUTHORIZER_CONFIGURATION_ERROR",
            StatusCode::INTERNAL_SERVER_ERROR,
        ));
    };
    let asked = policy::Request::new("execute-api:Invoke", arn);
    if !policy::document_allows(&answer["policyDocument"], &asked) {
        return Err(("ACCESS_DENIED", StatusCode::FORBIDDEN));
    }
    // What it says besides are texts to whoever reads them.
    let mut context = Map::from_iter([("principalId".to_owned(), Value::from(principal))]);
    for (name, value) in answer["context"].as_object().into_iter().flatten() {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Bool(flag) => flag.to_string(),
            other => panic!("an authorizer says no {other}"),
        };
        context.insert(name.clone(), Value::from(text));
    }
    Ok(Value::Object(context))
}

/// Says whose a request is, over whatever a client sent by that name.
fn name_tenant(event: &mut Value, tenant: &str) {
    for (list, value) in [("headers", json!(tenant)), ("multiValueHeaders", json!([tenant]))] {
        let headers = event[list].as_object_mut().expect("headers");
        headers.retain(|name, _| !name.eq_ignore_ascii_case(TENANT_HEADER));
        headers.insert(TENANT_HEADER.to_owned(), value);
    }
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
    let mut event = event(&api.stage, route, &head, &path, &body);
    let mut tenant = None;
    if let Some(authorizer) = &route.authorizer {
        let told = match authorized(&api.functions[authorizer], &event).await {
            Ok(told) => told,
            Err((kind, status)) => return refused(&api, kind, status),
        };
        tenant = route
            .tenant
            .as_ref()
            .and_then(|name| told[name].as_str().map(str::to_owned));
        event["requestContext"]["authorizer"] = told;
    }
    let sent = event["headers"][TENANT_HEADER.to_ascii_lowercase()].as_str();
    let wrong = tenant
        .as_deref()
        .and_then(|told| apis.mistakes.prefix(told, sent));
    let tenant = wrong.or(tenant);
    if let Some(tenant) = &tenant {
        name_tenant(&mut event, tenant);
    }
    let function = &api.functions[&route.function];
    match (function.invoke_for(tenant.as_deref(), event).await, route.streams) {
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
    let default = match status.is_client_error() {
        true => "DEFAULT_4XX",
        false => "DEFAULT_5XX",
    };
    let told = api.refusals.get(kind).or_else(|| api.refusals.get(default));
    let (own, headers, body) = told.unwrap_or_else(|| panic!("the API does not say what {kind} is"));
    // In quotes, as the variable puts it in.
    let reason = json!(status.canonical_reason()).to_string();
    let body = body.replace("$context.error.messageString", &reason);
    let mut response = Response::new(Body::from(body));
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
    json!({
        "resource": resource,
        "path": path,
        "httpMethod": head.method.as_str(),
        "headers": headers,
        "multiValueHeaders": all_headers,
        "queryStringParameters": none_if_empty(query),
        "multiValueQueryStringParameters": none_if_empty(all_query),
        "pathParameters": none_if_empty(parameters(route, path)),
        "stageVariables": null,
        "requestContext": {
            "resourceId": "res123",
            "resourcePath": resource,
            "httpMethod": head.method.as_str(),
            "path": format!("/{stage}{path}"),
            "accountId": ACCOUNT,
            "protocol": "HTTP/1.1",
            "stage": stage,
            "domainPrefix": API,
            "domainName": format!("{API}.execute-api.{REGION}.amazonaws.com"),
            "requestId": domain::MessageId::random(&domain::SystemEntropy).to_string(),
            "requestTimeEpoch": 1_767_225_600_000_u64,
            "apiId": API,
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
