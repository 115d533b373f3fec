//! What a function stands on, wherever it runs: the front of every router ([`front()`]), settings ([`config`]), secrets
//! ([`secrets`]), the queue ([`queue`]), IoT Core ([`iot`]), logs ([`telemetry`]) and metrics ([`metrics`]); the chat's session in a
//! browser ([`session`]) and where its requests come from ([`origin`]); what every agent's function is made of
//! ([`agent_parts`]), what looks after what is due ([`sweep`]), what each is built on ([`Ground`]) and what it is to whoever starts it ([`Function`]).
//!
//! It knows no endpoint, no agent and no rule: those are the functions'. It knows no event either: that is `lambda`. It opens
//! no connection to a URL that a tenant gave (that is `outbound`), and it does not name DynamoDB (that is `store`).

pub mod agent_parts;
pub mod audit;
pub mod aws;
pub mod blobs;
mod collector;
pub mod config;
pub mod cookie;
mod front;
mod function;
mod ground;
pub mod iot;
pub mod metrics;
pub mod origin;
pub mod queue;
pub mod secrets;
pub mod session;
mod spans;
pub mod sweep;
pub mod telemetry;
pub mod vectors;
mod well_known;

pub use front::{
    BODY_LIMIT, FILES_BODY_LIMIT, Front, Reader, RequestId, Source, bearer, front, later, not_found,
    nothing_here, refused,
};
pub use function::{
    Authorizer, Background, BatchHandler, Function, IotHandler, IotHandlerError, IotMessage, QueueError,
    QueueHandler, ScheduleError, ScheduleHandler,
};
pub use ground::{BuildError, Ground, broken};
pub use well_known::below_its_subject;

/// What a function's `main` may fail with: anything that can say what went wrong.
pub type Error = Box<dyn std::error::Error + Send + Sync>;
