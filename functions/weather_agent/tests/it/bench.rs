//! The agent over an Open-Meteo that is the sandbox, or anything else that answers HTTP.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use agent_testing::{World, message};
use auth::Verifier;
use axum::Router;
use domain::{ManualClock, Metadata, Timestamp, UserContext};
use outbound::open_meteo::Bases;
use serde_json::{Value, json};
use url::Url;

/// A Saturday morning in Oslo.
pub(crate) const NOW: &str = "2026-11-21T09:00:00Z";
pub(crate) const URL: &str = "http://127.0.0.1:9/a/weather";

pub(crate) struct Bench {
    world: World,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) base: Url,
    user: UserContext,
    sent: AtomicU32,
}

/// Serves a router on a loopback port until the test ends.
pub(crate) async fn serve(router: Router) -> Url {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}/sandbox/open-meteo").parse().unwrap()
}

impl Bench {
    pub(crate) async fn at(now: &str) -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::parse(now).unwrap()));
        let router = Router::new().nest(
            "/sandbox/open-meteo",
            sandbox::open_meteo::open_meteo(clock.clone()),
        );
        Self::over(serve(router).await, clock).await
    }

    pub(crate) async fn new() -> Self {
        Self::at(NOW).await
    }

    pub(crate) async fn over(base: Url, clock: Arc<ManualClock>) -> Self {
        let verifier = Verifier::new(URL.into(), Vec::new()).unwrap();
        let build = |parts| weather_agent::agent(parts, Bases::both(base.clone())).unwrap();
        Self {
            world: World::new(weather_agent::NAME, URL, clock.clone(), verifier, build).await,
            clock,
            base,
            user: UserContext::default(),
            sent: AtomicU32::default(),
        }
    }

    /// The same, for a user of whom this is known.
    pub(crate) fn with(mut self, locale: Option<String>, time_zone: Option<String>) -> Self {
        self.user = UserContext::parse(locale, time_zone).unwrap();
        self
    }

    /// Says these one after the other, and gives the task.
    pub(crate) async fn task(&self, said: &[&str]) -> Value {
        let parts = said.iter().map(|text| json!([{ "text": text }]));
        self.tell(parts, None).await
    }

    /// Says one thing in a chat, and gives the task.
    pub(crate) async fn in_chat(&self, chat: &str, said: &str) -> Value {
        self.clock.advance(Duration::from_secs(1));
        self.tell([json!([{ "text": said }])], Some(chat)).await
    }

    /// Tells these parts one after the other.
    pub(crate) async fn tell(&self, said: impl IntoIterator<Item = Value>, chat: Option<&str>) -> Value {
        self.tell_in(Value::Null, said, chat).await
    }

    /// The same in a task that goes on.
    pub(crate) async fn tell_in(
        &self,
        mut task: Value,
        said: impl IntoIterator<Item = Value>,
        chat: Option<&str>,
    ) -> Value {
        for parts in said {
            let id = format!("m-{}", self.sent.fetch_add(1, Ordering::Relaxed));
            let mut message = message(&id, parts, task["id"].as_str());
            let mut metadata = Metadata::new();
            self.user.write(&mut metadata);
            message["metadata"] = json!(metadata);
            if let Some(chat) = chat {
                message["contextId"] = chat.into();
            }
            task = self.world.say(message).await;
        }
        task
    }

    /// The answer to a conversation.
    pub(crate) async fn answer(&self, said: &[&str]) -> (String, Value) {
        answer(&self.task(said).await)
    }

    /// The question back.
    pub(crate) async fn question(&self, said: &[&str]) -> String {
        let task = self.task(said).await;
        assert_eq!(
            task["status"]["state"], "TASK_STATE_INPUT_REQUIRED",
            "{said:?}: {task:#}"
        );
        told(&task)
    }
}

/// The answer of a task, in words and as data.
pub(crate) fn answer(task: &Value) -> (String, Value) {
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{task:#}");
    let parts = &task["artifacts"][0]["parts"];
    (
        parts[0]["text"].as_str().unwrap().to_owned(),
        parts[1]["data"].clone(),
    )
}

/// What the agent said of its task at last.
pub(crate) fn told(task: &Value) -> String {
    let text = task["status"]["message"]["parts"][0]["text"].as_str();
    text.unwrap_or_default().to_owned()
}

/// The places of an answer: `Oslo NO 2026-11-22 2026-11-23`.
pub(crate) fn places(data: &Value) -> Vec<String> {
    let days = |place: &Value| {
        place["days"]
            .as_array()
            .unwrap()
            .iter()
            .map(|day| format!(" {}", day["date"].as_str().unwrap()))
            .collect::<String>()
    };
    let places = data["places"].as_array().unwrap().iter();
    places
        .map(|place| {
            format!(
                "{} {}{}",
                place["name"].as_str().unwrap(),
                place["countryCode"].as_str().unwrap(),
                days(place)
            )
        })
        .collect()
}
