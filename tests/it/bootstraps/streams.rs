//! An agent's stream through the streamed answer of Lambda, as its own program gives it: chunk by chunk, while the work
//! behind it goes on; followed from other sandboxes, and taken up again after a break.

use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use serde_json::{Value, json};
use system_testing::cloud::Cloud;
use system_testing::runtime_api::{Function, Reply, Spec, Streamed, program};
use tokio::sync::watch;

const FUNCTION: &str = "platform/WeatherAgentFunction";
const PATIENCE: Duration = Duration::from_secs(30);

/// One server-sent event, and when its last byte came.
#[derive(Debug)]
struct Frame {
    at: Instant,
    id: Option<u64>,
    data: Value,
}

/// A stream as it is read.
struct Reader {
    stream: Streamed,
    text: String,
}

impl Reader {
    fn of(reply: Reply) -> Self {
        let Reply::Stream(stream) = reply else {
            panic!("no stream: {reply:?}")
        };
        assert_eq!(stream.prelude["statusCode"], 200, "{:?}", stream.prelude);
        assert_eq!(stream.prelude["headers"]["content-type"], "text/event-stream");
        Self {
            stream,
            text: String::new(),
        }
    }

    /// The next event; `None` at the end. Comments are passed over.
    async fn next(&mut self) -> Option<Frame> {
        let mut at = Instant::now();
        loop {
            if let Some(end) = self.text.find("\n\n") {
                let block: String = self.text.drain(..end + 2).collect();
                let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
                let Some(data) = field("data: ") else { continue };
                return Some(Frame {
                    at,
                    id: field("id: ").map(|id| id.parse().unwrap()),
                    data: serde_json::from_str(data).unwrap(),
                });
            }
            let chunk = tokio::time::timeout(PATIENCE, self.stream.chunks.recv()).await;
            let (came, chunk) = chunk.expect("the stream goes on or ends")?;
            at = came;
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    async fn rest(mut self) -> Vec<Frame> {
        let mut frames = Vec::new();
        while let Some(frame) = self.next().await {
            frames.push(frame);
        }
        frames
    }
}

/// An event of a REST API.
fn event(token: &str, path: &str, last_event: Option<u64>, body: &Value) -> Value {
    let mut headers = json!({
        "Host": ["abc123.execute-api.eu-north-1.amazonaws.com"],
        "Content-Type": ["application/json"],
        "Authorization": [format!("Bearer {token}")],
    });
    if let Some(last_event) = last_event {
        headers["Last-Event-ID"] = json!([last_event.to_string()]);
    }
    json!({
        "resource": "/{proxy+}", "path": path, "httpMethod": "POST", "headers": {}, "multiValueHeaders": headers,
        "queryStringParameters": null, "multiValueQueryStringParameters": null, "pathParameters": null,
        "requestContext": { "httpMethod": "POST", "path": path, "stage": "live", "requestId": "r", "identity": {} },
        "body": if body.is_null() { Value::Null } else { json!(body.to_string()) }, "isBase64Encoded": false,
    })
}

fn rpc(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": "r-1", "method": method, "params": params })
}

/// Forecasts that come when the test lets them.
struct Held {
    open: watch::Sender<bool>,
    asked: watch::Receiver<u32>,
    base: String,
}

struct Upstream {
    real: String,
    open: watch::Receiver<bool>,
    asked: watch::Sender<u32>,
    http: reqwest::Client,
}

impl Held {
    async fn before(real: String) -> Self {
        let (open, opened) = watch::channel(false);
        let (asks, asked) = watch::channel(0);
        let upstream = Upstream {
            real,
            open: opened,
            asked: asks,
            http: system_testing::user::http(),
        };
        let router = Router::new()
            .fallback(pass)
            .with_state(std::sync::Arc::new(upstream));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { open, asked, base }
    }
}

async fn pass(State(upstream): State<std::sync::Arc<Upstream>>, request: Request) -> Response {
    upstream.asked.send_modify(|asked| *asked += 1);
    upstream.open.clone().wait_for(|open| *open).await.unwrap();
    let url = format!("{}{}", upstream.real, request.uri());
    let answer = upstream.http.get(url).send().await.unwrap();
    let mut response = Response::new(answer.text().await.unwrap().into());
    let json = http::HeaderValue::from_static("application/json");
    response.headers_mut().insert("content-type", json);
    response
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_says_the_address_that_the_gateway_serves_the_agent_at() {
    let cloud = Cloud::start(&["acme"]).await;
    let http = system_testing::user::http();
    let agents = [
        (FUNCTION, "AGENT_URL"),
        ("platform/ReportAgentFunction", "AGENT_URL"),
        ("acme/HorizonAgentFunction", "AGENT_URL"),
        ("acme/HostAgentFunction", "HOST_AGENT_URL"),
    ];
    for (function, variable) in agents {
        let url = &cloud.environments[function][variable];
        let card = http
            .get(format!("{url}/.well-known/agent-card.json"))
            .send()
            .await;
        let card: Value = card.unwrap().json().await.unwrap();
        for interface in card["supportedInterfaces"].as_array().unwrap() {
            assert_eq!(interface["url"], url.as_str(), "{function}");
        }
        let look = rpc("GetTask", json!({ "id": "none" }));
        let asked = http
            .post(url)
            .bearer_auth(cloud.token(function))
            .header("content-type", "application/json")
            .header("a2a-version", "1.0");
        let answer: Value = asked
            .body(look.to_string())
            .send()
            .await
            .unwrap()
            .json()
            .await
            .unwrap();
        assert_eq!(answer["error"]["code"], -32001, "{function}: {answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agents_stream_comes_chunk_by_chunk_and_is_taken_up_again_from_another_sandbox() {
    let cloud = Cloud::start(&["acme"]).await;
    let logs = tempfile::tempdir().unwrap();
    let mut environment = cloud.environments[FUNCTION].clone();
    let forecast = environment["OPEN_METEO_FORECAST_URL"].clone();
    let mut held = Held::before(forecast).await;
    environment.insert("OPEN_METEO_FORECAST_URL".to_owned(), held.base.clone());
    environment.remove("BASE_PATH");
    assert_eq!(environment["ANSWERS"], "streaming", "as it is deployed");
    let spec = Spec {
        name: "weather".to_owned(),
        binary: program("weather_agent"),
        environment,
        timeout: Duration::from_secs(60),
        memory: 256,
        isolated: false,
    };
    let lambda = Function::new(spec, logs.path());
    let token = cloud.token(FUNCTION);
    let post = |path: &str, last_event, body: Value| {
        let event = event(&token, path, last_event, &body);
        let lambda = lambda.clone();
        async move { lambda.invoke(event).await }
    };

    // The task and that it is worked on come while the work hangs.
    let said = json!({ "messageId": "m-1", "role": "ROLE_USER", "parts": [{ "text": "Will it rain in Oslo tomorrow?" }] });
    let mut first = Reader::of(post("/message:stream", None, json!({ "message": said })).await);
    let task = first.next().await.unwrap();
    assert_eq!(task.id, Some(1), "{task:?}");
    let id = task.data["task"]["id"].as_str().unwrap().to_owned();
    let working = first.next().await.unwrap();
    assert_eq!(working.id, Some(2), "{working:?}");
    assert_eq!(
        working.data["statusUpdate"]["status"]["state"],
        "TASK_STATE_WORKING"
    );
    tokio::time::timeout(PATIENCE, held.asked.wait_for(|asked| *asked > 0))
        .await
        .unwrap()
        .unwrap();

    // Others follow it from sandboxes of their own: from its present state, and from the event that was seen last.
    let follow = post(&format!("/tasks/{id}:subscribe"), None, Value::Null);
    let mut follower = Reader::of(follow.await);
    let snapshot = follower.next().await.unwrap();
    assert_eq!(snapshot.id, Some(2), "{snapshot:?}");
    assert_eq!(snapshot.data["task"]["status"]["state"], "TASK_STATE_WORKING");
    let mut back = Reader::of(post("/", Some(1), rpc("SubscribeToTask", json!({ "id": id }))).await);
    let missed = back.next().await.unwrap();
    assert_eq!((missed.id, &missed.data["id"]), (Some(2), &json!("r-1")));
    assert_eq!(
        missed.data["result"], working.data,
        "what was missed comes as it came first"
    );

    let released = Instant::now();
    held.open.send_replace(true);
    let (first, follower, back) = tokio::join!(first.rest(), follower.rest(), back.rest());
    let ids = |frames: &[Frame]| frames.iter().map(|frame| frame.id.unwrap()).collect::<Vec<_>>();
    let last = *ids(&first).last().unwrap();
    assert_eq!(
        ids(&first),
        (3..=last).collect::<Vec<_>>(),
        "without a gap: {first:?}"
    );
    for frame in &first {
        assert!(frame.at >= released, "{frame:?}");
    }
    assert!(
        first[0].data["artifactUpdate"]["artifact"]["parts"][0]["text"].is_string(),
        "{first:?}"
    );
    let end = &first.last().unwrap().data["statusUpdate"]["status"]["state"];
    assert_eq!(*end, "TASK_STATE_COMPLETED", "{first:?}");
    assert_eq!(ids(&follower), ids(&first));
    assert_eq!(ids(&back), ids(&first));
    for ((one, other), third) in first.iter().zip(&follower).zip(&back) {
        assert_eq!(one.data, other.data);
        assert_eq!(one.data, third.data["result"]);
    }

    // Taken up after the end, in 0.3's words too, with every sandbox new: the rest, and then nothing more.
    lambda.forget();
    let resumed = Reader::of(post("/", Some(2), rpc("tasks/resubscribe", json!({ "id": id }))).await);
    let resumed = resumed.rest().await;
    assert_eq!(ids(&resumed), ids(&first));
    assert_eq!(resumed.last().unwrap().data["result"]["final"], true);
    let over = post(&format!("/tasks/{id}:subscribe"), Some(last), Value::Null).await;
    assert_eq!(over.status(), Some(400), "{over:?}");
    assert!(cloud.refusals().is_empty(), "{:?}", cloud.refusals());
}
