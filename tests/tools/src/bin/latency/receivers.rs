//! The receivers of push notifications: a hundred by their addresses, as which one server answers; and one that is dead.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::post;
use domain::{Clock as _, SystemClock, Timestamp};
use serde_json::Value;

/// How many there are.
pub(crate) const COUNT: usize = 100;

/// A notification: when it came, and of which change it tells at the latest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Told {
    pub(crate) at: Timestamp,
    pub(crate) of: Timestamp,
}

/// The receivers.
pub(crate) struct Receivers {
    heard: Heard,
    port: u16,
    dead: String,
}

#[derive(Clone, Default)]
struct Heard(Arc<Mutex<HashMap<usize, Vec<Told>>>>);

impl Receivers {
    pub(crate) async fn start() -> Self {
        let heard = Heard::default();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let router = axum::Router::new()
            .route("/{task}", post(take))
            .with_state(heard.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        // Takes connections, reads nothing, says nothing.
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let dead = format!("http://{}", listener.local_addr().expect("an address"));
        tokio::spawn(async move {
            let mut held = Vec::new();
            while let Ok((connection, _)) = listener.accept().await {
                held.push(connection);
            }
        });
        Self { heard, port, dead }
    }

    /// Where the news of a task go; `None` stands for the dead one. What sets receivers apart is their origin.
    pub(crate) fn address(&self, task: usize, dead: bool) -> String {
        match (task % COUNT, dead) {
            (0, true) => format!("{}/{task}", self.dead),
            (receiver, _) => format!("http://r{receiver}.localhost:{}/{task}", self.port),
        }
    }

    /// True where a task's news go to the receiver that may be dead.
    pub(crate) fn is_odd(task: usize) -> bool {
        task.is_multiple_of(COUNT)
    }

    /// What was told of a task.
    pub(crate) fn told(&self, task: usize) -> Vec<Told> {
        let heard = self.heard.0.lock().expect("no panic under the lock");
        heard.get(&task).cloned().unwrap_or_default()
    }
}

async fn take(State(heard): State<Heard>, Path(task): Path<usize>, Json(news): Json<Value>) -> StatusCode {
    let at = SystemClock.now();
    let of = ["/statusUpdate/status/timestamp", "/task/status/timestamp"];
    let of = of.iter().find_map(|place| news.pointer(place)?.as_str());
    // News of an artifact tell of no status.
    if let Some(of) = of {
        let of = Timestamp::parse(of).expect("a time");
        let mut heard = heard.0.lock().expect("no panic under the lock");
        heard.entry(task).or_default().push(Told { at, of });
    }
    StatusCode::NO_CONTENT
}
