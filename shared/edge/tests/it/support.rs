//! What several tests need: a front with a clock and chance of its own, and the log as lines.

use std::io::Write;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use domain::{Entropy, ManualClock, Timestamp};
use edge::Front;
use http::{Request, Response};
use http_body_util::BodyExt as _;
use routes::Routes;
use serde_json::Value;
use tower::ServiceExt as _;
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::fmt::MakeWriter;

/// Chance that always says the same.
pub(crate) struct Sevens;

impl Entropy for Sevens {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(0x77);
    }
}

pub(crate) fn fronted(routes: Routes) -> Router {
    let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_767_225_600_000)));
    edge::front(
        routes,
        Front {
            clock,
            entropy: Arc::new(Sevens),
            function: "probe",
            body_limit: edge::BODY_LIMIT,
            tenant: None,
        },
    )
}

pub(crate) async fn ask(router: &Router, request: Request<Body>) -> Response<Body> {
    router.clone().oneshot(request).await.unwrap()
}

pub(crate) async fn json(response: Response<Body>) -> Value {
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    serde_json::from_slice(&bytes)
        .unwrap_or_else(|_| panic!("not JSON: {:?}", String::from_utf8_lossy(&bytes)))
}

/// The log lines of this thread since the start of a test.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    pub(crate) fn start() -> (Self, DefaultGuard) {
        let log = Self::default();
        let lines = tracing_subscriber::fmt()
            .json()
            .flatten_event(true)
            .with_writer(log.clone())
            .finish();
        (log, tracing::subscriber::set_default(lines))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    pub(crate) fn lines(&self) -> Vec<Value> {
        self.text()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;
    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}
