//! The Lambda side: what stands between an event source and a function's router. Events in ([`serve`]), the front of
//! every router ([`front()`]), settings ([`config`]), secrets ([`secrets`]), the queue ([`queue`]), logs ([`telemetry`]) and
//! metrics ([`metrics`]); and what every agent's function is made of ([`agent_parts`]).
//!
//! It knows no endpoint, no agent and no rule: those are the functions'. It opens no connection to a URL that a
//! tenant gave (that is `outbound`), and it does not name DynamoDB (that is `store`).
//!
//! ```no_run
//! use std::sync::Arc;
//! use domain::{SystemClock, SystemEntropy};
//! use edge::{Front, Function, config::{Env, Platform}};
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), edge::Error> {
//!     let mut env = Env::process();
//!     let platform = Platform::read(&mut env);
//!     env.finish()?;
//!     let platform = platform?;
//!     edge::telemetry::init(&platform.log_filter);
//!
//!     let front = Front { clock: Arc::new(SystemClock), entropy: Arc::new(SystemEntropy), function: "hello" };
//!     let routes = routes::Routes::new().get("/", "says hello", async || "hello");
//!     edge::serve(async move {
//!         Ok(Function::new(edge::front(routes, front), platform.http))
//!     })
//!     .await
//! }
//! ```

pub mod agent_parts;
mod answer;
pub mod aws;
mod batch;
pub mod config;
mod event;
mod front;
mod function;
pub mod metrics;
pub mod queue;
mod request;
pub mod secrets;
pub mod telemetry;

pub use answer::{Answer, AnswerBody};
pub use event::EventError;
pub use front::{BODY_LIMIT, Front, front};
pub use function::{Function, QueueError, QueueHandler, ScheduleError, ScheduleHandler, answer, serve};
pub use request::Source;

/// What a function's `main` may fail with: anything that can say what went wrong.
pub type Error = lambda_runtime::Error;
