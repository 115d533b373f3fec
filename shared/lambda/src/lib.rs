//! Events in, answers out: what stands between AWS Lambda and a function. [`serve`] asks Lambda for events, recognises them
//! (API Gateway, SQS batches, schedules), hands them to the parts of the [`edge::Function`], and sends the answer back, whole
//! or as a stream.
//!
//! No other room names the Lambda runtime or its events. Here is no endpoint and no setting.
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
//!     lambda::serve(platform.http, async move { Ok(Function::new(edge::front(routes, front))) }).await
//! }
//! ```

mod answer;
mod batch;
mod event;
mod request;
mod serve;

pub use answer::{Answer, AnswerBody};
pub use event::EventError;
pub use serve::{answer, serve};
