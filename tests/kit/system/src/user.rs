//! A user: a session cookie, a chat, and patience.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

/// The session's cookie, `name=value`, of a user and of the browser that is theirs.
pub(crate) type SharedCookie = Arc<Mutex<Option<String>>>;

/// A client of one tenant's chat API with its own session.
pub struct User {
    base: String,
    http: reqwest::Client,
    cookie: SharedCookie,
}

/// An HTTP answer, read whole.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: reqwest::header::HeaderMap,
    /// The body.
    pub text: String,
}

impl Answer {
    /// The body as JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error} in {:?}", self.text))
    }

    /// The chunks of a UI message stream, without the closing `[DONE]`, which must be there.
    #[must_use]
    pub fn chunks(&self) -> Vec<Value> {
        let data: Vec<&str> = self
            .text
            .lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .collect();
        assert_eq!(
            data.last(),
            Some(&"[DONE]"),
            "the stream is whole: {:?}",
            self.text
        );
        data[..data.len() - 1]
            .iter()
            .map(|chunk| serde_json::from_str(chunk).expect("a chunk is JSON"))
            .collect()
    }

    /// The task id of the first task part of a stream; of an answer without a card, that of the task that gave it.
    #[must_use]
    pub fn task_id(&self) -> String {
        let chunks = self.chunks();
        let id = match chunks.iter().find(|chunk| chunk["type"] == "data-task") {
            Some(task) => {
                assert_eq!(task["data"]["artifactType"], "task");
                &task["data"]["taskId"]
            }
            None => &chunks[0]["messageMetadata"]["taskId"],
        };
        id.as_str()
            .unwrap_or_else(|| panic!("no task: {chunks:#?}"))
            .to_owned()
    }

    /// The text that the stream adds up to.
    #[must_use]
    pub fn said(&self) -> String {
        self.chunks()
            .iter()
            .filter(|chunk| chunk["type"] == "text-delta")
            .filter_map(|chunk| chunk["delta"].as_str().map(str::to_owned))
            .collect()
    }
}

/// A plain HTTP client; the only one the tests make. It trusts nobody, as all of it is this machine, and reading the
/// system's certificates takes as long as a whole question.
#[must_use]
pub fn http() -> reqwest::Client {
    #[expect(clippy::disallowed_methods, reason = "the tests call the system from outside")]
    reqwest::Client::builder()
        .timeout(Duration::from_secs(90))
        .redirect(reqwest::redirect::Policy::none())
        .tls_certs_only([])
        .build()
        .expect("a client")
}

/// The chunks of a stream with the times at which they come, to its end or to the first that fits.
async fn as_they_come(
    mut response: reqwest::Response,
    until: impl Fn(&Value) -> bool,
) -> Vec<(Instant, Value)> {
    let (mut chunks, mut rest) = (Vec::new(), String::new());
    while let Ok(Some(bytes)) = response.chunk().await {
        rest.push_str(&String::from_utf8_lossy(&bytes));
        while let Some((frame, more)) = rest.split_once("\n\n") {
            let data = frame.lines().find_map(|line| line.strip_prefix("data: "));
            let chunk = data.and_then(|data| serde_json::from_str(data).ok());
            if let Some(chunk) = chunk {
                chunks.push((Instant::now(), chunk));
            }
            rest = more.to_owned();
        }
        if chunks.iter().any(|(_, chunk)| until(chunk)) {
            break;
        }
    }
    chunks
}

impl User {
    /// A user of the tenant whose base URL this is.
    #[must_use]
    pub fn new(base: &str) -> Self {
        Self {
            base: base.trim_end_matches('/').to_owned(),
            http: http(),
            cookie: SharedCookie::default(),
        }
    }

    /// Goes on with a session that a browser has, by its cookie, `name=value`.
    pub fn resume(&self, cookie: &str) {
        *self.cookie.lock().expect("no panic under the lock") = Some(cookie.to_owned());
    }

    /// A call with the session cookie.
    pub async fn call(&self, method: Method, path: &str, body: Option<Value>) -> Answer {
        self.finish(
            self.http.request(method, format!("{}{path}", self.base)),
            path,
            body,
        )
        .await
    }

    /// The same of somebody who says it again until the server is there and takes it.
    pub async fn insist(&self, method: Method, path: &str, body: Option<Value>) -> Answer {
        for _ in 0..600 {
            let request = self.http.request(method.clone(), format!("{}{path}", self.base));
            if let Some(answer) = self.tries(request, body.as_ref()).await {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{path}: nobody takes it")
    }

    /// The whole answer, where there is one and it is no server's fault.
    async fn tries(&self, mut request: reqwest::RequestBuilder, body: Option<&Value>) -> Option<Answer> {
        if let Some(cookie) = self.cookie() {
            request = request.header("cookie", cookie);
        }
        if let Some(body) = body {
            request = request.header("content-type", "application/json");
            request = request.body(body.to_string());
        }
        let response = request.send().await.ok()?;
        let (status, headers) = (response.status(), response.headers().clone());
        let text = response.text().await.ok()?;
        let answer = Answer {
            status,
            headers,
            text,
        };
        (!status.is_server_error()).then_some(answer)
    }

    /// POST as a part of the trace with this id.
    pub async fn traced(&self, trace_id: &str, path: &str, body: Value) -> Answer {
        self.finish(self.in_trace(trace_id, path), path, Some(body)).await
    }

    fn in_trace(&self, trace_id: &str, path: &str) -> reqwest::RequestBuilder {
        let request = self.http.post(format!("{}{path}", self.base));
        request.header("traceparent", format!("00-{trace_id}-00f067aa0ba902b7-01"))
    }

    async fn finish(&self, request: reqwest::RequestBuilder, path: &str, body: Option<Value>) -> Answer {
        let response = self.send(request, path, body).await;
        let (status, headers) = (response.status(), response.headers().clone());
        let text = response
            .text()
            .await
            .unwrap_or_else(|error| panic!("{path}: {error:?}"));
        Answer {
            status,
            headers,
            text,
        }
    }

    /// Sends it with the session's cookie, and keeps a new one.
    async fn send(
        &self,
        mut request: reqwest::RequestBuilder,
        path: &str,
        body: Option<Value>,
    ) -> reqwest::Response {
        let cookie = self.cookie.lock().expect("no panic under the lock").clone();
        if let Some(cookie) = cookie {
            request = request.header("cookie", cookie);
        }
        if let Some(body) = body {
            request = request
                .header("content-type", "application/json")
                .body(body.to_string());
        }
        let response = request
            .send()
            .await
            .unwrap_or_else(|error| panic!("{path}: {error:?}"));
        if let Some(set) = response
            .headers()
            .get("set-cookie")
            .and_then(|value| value.to_str().ok())
        {
            let pair = set.split(';').next().unwrap_or_default().to_owned();
            *self.cookie.lock().expect("no panic under the lock") = Some(pair);
        }
        response
    }

    /// Where this user's cookie is kept.
    pub(crate) fn shared_cookie(&self) -> SharedCookie {
        Arc::clone(&self.cookie)
    }

    /// The session cookie, `name=value`, once there is one.
    #[must_use]
    pub fn cookie(&self) -> Option<String> {
        self.cookie.lock().expect("no panic under the lock").clone()
    }

    /// GET.
    pub async fn get(&self, path: &str) -> Answer {
        self.call(Method::GET, path, None).await
    }

    /// A prompt in a chat; the answer is the whole stream.
    pub async fn chat(&self, chat: &str, message_id: &str, prompt: &str) -> Answer {
        let message =
            json!({ "id": message_id, "role": "user", "parts": [{ "type": "text", "text": prompt }] });
        let body =
            json!({ "id": chat, "messages": [message], "trigger": "submit-message", "messageId": null });
        self.call(Method::POST, "/api/chat", Some(body)).await
    }

    /// A prompt in a chat; the chunks of the stream, each with the time at which it came. `until` ends it early.
    pub async fn chat_as_it_comes(
        &self,
        (chat, message_id, prompt): (&str, &str, &str),
        until: impl Fn(&Value) -> bool,
    ) -> Vec<(Instant, Value)> {
        let message =
            json!({ "id": message_id, "role": "user", "parts": [{ "type": "text", "text": prompt }] });
        let body =
            json!({ "id": chat, "messages": [message], "trigger": "submit-message", "messageId": null });
        let request = self.http.post(format!("{}/api/chat", self.base));
        let response = self.send(request, "/api/chat", Some(body)).await;
        assert_eq!(response.status(), StatusCode::OK);
        as_they_come(response, until).await
    }

    /// The same of a stream that is only followed; nothing where there is none.
    pub async fn follow(&self, path: &str, until: impl Fn(&Value) -> bool) -> Vec<(Instant, Value)> {
        let request = self.http.get(format!("{}{path}", self.base));
        as_they_come(self.send(request, path, None).await, until).await
    }

    /// A prompt in a chat of its own.
    pub async fn ask(&self, prompt: &str) -> Answer {
        let id = domain::MessageId::random(&domain::SystemEntropy).to_string();
        let answer = self.chat(&format!("chat-{id}"), &id, prompt).await;
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
        answer
    }

    /// The same by one who closes the page as soon as it shows the task, whose id this is: nobody waits until the stream of an
    /// answer that does not come has ended.
    pub async fn begin(&self, prompt: &str) -> String {
        self.leave(self.http.post(format!("{}/api/chat", self.base)), prompt)
            .await
    }

    /// The same as a part of the trace with this id.
    pub async fn begin_in(&self, trace_id: &str, prompt: &str) -> String {
        self.leave(self.in_trace(trace_id, "/api/chat"), prompt).await
    }

    async fn leave(&self, request: reqwest::RequestBuilder, prompt: &str) -> String {
        let id = domain::MessageId::random(&domain::SystemEntropy);
        let body = json!({ "id": format!("chat-{id}"), "trigger": "submit-message", "messageId": null, "messages": [
            { "id": id, "role": "user", "parts": [{ "type": "text", "text": prompt }] }] });
        let mut response = self.send(request, "/api/chat", Some(body)).await;
        let mut seen = Vec::new();
        let mut begun = None;
        while let Some(chunk) = response.chunk().await.expect("the stream goes on") {
            seen.extend_from_slice(&chunk);
            let text = String::from_utf8_lossy(&seen);
            let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
            let chunks = lines.filter_map(|line| line.strip_prefix("data: "));
            for chunk in chunks.filter_map(|chunk| serde_json::from_str::<Value>(chunk).ok()) {
                if chunk["type"] == "data-task" {
                    return chunk["data"]["taskId"].as_str().expect("a task id").to_owned();
                }
                let id = chunk["messageMetadata"]["taskId"].as_str();
                begun = begun.or_else(|| id.map(str::to_owned));
            }
        }
        // A model that takes its minutes: the stream has its end before anything is shown.
        begun.unwrap_or_else(|| panic!("no task: {}", String::from_utf8_lossy(&seen)))
    }

    /// The task as the API shows it.
    pub async fn task(&self, id: &str) -> Value {
        let answer = self.get(&format!("/api/tasks/{id}")).await;
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
        answer.json()
    }

    /// Waits until the task is in one of the states, and gives it.
    pub async fn until(&self, id: &str, states: &[&str]) -> Value {
        let mut last = Value::Null;
        for _ in 0..600 {
            last = self.task(id).await;
            if states.iter().any(|state| last["status"] == *state) {
                return last;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("task {id} never became one of {states:?}: {last:#}")
    }
}
