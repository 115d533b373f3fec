//! Events in, answers out: what stands between AWS Lambda and a function. A `main.rs` is one call of [`run`], or of [`run_tenant`] where
//! it serves one tenant; [`serve`] asks Lambda for events, recognises them (API Gateway, SQS batches, schedules, rules of IoT Core), hands
//! them to the parts of the [`edge::Function`], and sends the answer back, whole or as a stream.
//!
//! No other room names the Lambda runtime or its events. Here is no endpoint and no setting.
//!
//! ```no_run
//! use edge::config::{ConfigError, Env};
//! use edge::{Error, Function, Ground, front};
//! use routes::Routes;
//!
//! struct Config { greeting: String }
//!
//! fn read(env: &mut Env) -> Result<Config, ConfigError> {
//!     Ok(Config { greeting: env.required("GREETING")? })
//! }
//!
//! async fn build(ground: Ground, config: Config) -> Result<Function, Error> {
//!     let routes = Routes::new().get("/", "says hello", async move || config.greeting);
//!     Ok(Function::new(front(routes, ground.front("hello"))))
//! }
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), Error> {
//!     lambda::run(Env::process(), read, build).await
//! }
//! ```

mod answer;
mod anywhere;
mod batch;
mod event;
mod iot;
mod request;
mod run;
mod serve;
mod tenant;

pub use answer::{LambdaBody, LambdaResponse};
pub use anywhere::run_anywhere;
pub use event::EventError;
pub use run::run;
pub use serve::{answer, serve};
pub use tenant::run_tenant;
