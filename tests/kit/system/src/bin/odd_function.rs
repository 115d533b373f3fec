//! A function like any other but for what it does: it panics, takes its time, streams with pauses. For tests of what Lambda
//! makes of that.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use domain::{SystemClock, SystemEntropy};
use edge::config::{Env, Platform};
use edge::{Front, Function};
use futures_util::stream;
use routes::Routes;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), edge::Error> {
    let mut env = Env::process();
    let platform = Platform::read(&mut env)?;
    // Milliseconds that it takes to be built, half of them computing, and whether that fails then.
    let takes = Duration::from_millis(env.or("BUILD_TAKES", 0)?);
    let fails: bool = env.or("BUILD_FAILS", false)?;
    edge::telemetry::init(
        &platform.log_filter,
        &platform.metrics_namespace,
        platform.collector().as_ref(),
    );
    let counter = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let routes = Routes::new()
        .get("/panic", "panics", panics)
        .get("/slow", "takes its time", slow)
        .get("/chunks", "streams with pauses", chunks)
        .get("/breaks", "breaks off in a stream", breaks)
        .post("/count", "counts its calls", async move || {
            counter
                .fetch_add(1, std::sync::atomic::Ordering::SeqCst)
                .to_string()
        });
    let front = Front {
        clock: Arc::new(SystemClock),
        entropy: Arc::new(SystemEntropy),
        function: "odd_function",
        body_limit: edge::BODY_LIMIT,
        tenant: None,
    };
    lambda::serve(platform.http, async move {
        std::thread::sleep(takes / 2);
        tokio::time::sleep(takes / 2).await;
        if fails {
            return Err("it cannot be built, as it was asked to".into());
        }
        Ok(Function::new(edge::front(routes, front)))
    })
    .await
}

async fn panics() -> &'static str {
    panic!("as it was asked to")
}

async fn slow() -> &'static str {
    tokio::time::sleep(Duration::from_secs(60)).await;
    "at last"
}

/// Five chunks, 100 ms apart.
async fn chunks() -> Body {
    Body::from_stream(stream::unfold(0, |n| async move {
        if n == 5 {
            return None;
        }
        tokio::time::sleep(Duration::from_millis(if n == 0 { 0 } else { 100 })).await;
        Some((Ok::<_, std::io::Error>(format!("data: {n}\n\n")), n + 1))
    }))
}

/// Breaks off in the middle.
async fn breaks() -> Body {
    let parts = [Ok("half"), Err(std::io::Error::other("the other half is lost"))];
    Body::from_stream(stream::iter(parts))
}
