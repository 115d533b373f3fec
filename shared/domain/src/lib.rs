//! What Switchyard talks about: ids, tenants, messages, the task and its state machine, agent cards' tags,
//! clock and RNG as parameters. No IO at all: nothing here opens a socket, reads a clock or a file.
//!
//! Every type is parsed once, at the edge, into something that cannot be wrong afterwards; what travels on the
//! wire (A2A 1.0 and 0.3) is the room `a2a`, what lies in a table is the room `store`.
//!
//! ```
//! use domain::{Task, TaskState, NewTask, EventKind, Timestamp, Message, Role, Part};
//! # use domain::{AgentName, ContextId, MessageId, Owner, TaskId, Tenant};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let now = Timestamp::from_millis(1_767_225_600_000);
//! let mut task = Task::create(
//!     NewTask {
//!         id: TaskId::from_bytes([7; 16]),
//!         tenant: Tenant::parse("acme")?,
//!         agent: AgentName::parse("weather")?,
//!         context_id: ContextId::parse("trip")?,
//!         owner: Owner::parse("user-1")?,
//!         message: Message::user(MessageId::parse("m-1")?, vec![Part::text("Oslo tomorrow?")]),
//!         trace: None,
//!     },
//!     now,
//! );
//! task.record(EventKind::status(TaskState::Working, None), now)?;
//! task.record(EventKind::status(TaskState::Completed, None), now)?;
//! assert!(task.record(EventKind::status(TaskState::Working, None), now).is_err());
//! # Ok(()) }
//! ```

mod brand;
mod brought;
mod caller;
mod clause;
mod clean;
mod entropy;
pub mod foreign_json;
mod grant;
mod heard;
mod ids;
mod job;
mod job_log;
pub mod links;
mod message;
mod plan;
pub mod price;
mod quota;
mod rest;
mod retention;
mod setting;
mod shared;
mod sign_in;
mod state;
mod stored;
mod tag;
mod task;
mod tenant;
pub mod testing;
mod time;
pub mod trace;
mod turn;
mod unkept;
mod user_context;

pub use brand::{Brand, Colour, DARK_SURFACES, LIGHT_SURFACES, LOGO, Scheme};
pub use caller::{Caller, Scope, Scopes};
pub use clause::{Clause, Fate};
pub use clean::{clean, clean_lines, is_hidden};
pub use entropy::{Entropy, SystemEntropy};
pub use grant::GrantKey;
pub use heard::Heard;
pub use ids::{
    AgentId, AgentName, AgentType, ChatId, ContextId, InvalidId, MessageId, OWN_AGENTS, Owner, PushConfigId,
    RemoteTaskId, TaskId,
};
pub use job::{
    Answered, AwaitedConsent, Endpoint, FORM_MAX, Generation, Job, JobChange, JobState, KEYS_OWED, NewJob,
    Noted, Notification, Protection, RemoteUpdate, Responder, SealedToken, Transport,
};
pub use job_log::JobLog;
pub use message::{
    ASKED_AGENT, ASKED_FROM, Artifact, Message, Metadata, Part, PartContent, READ_MAX, Role,
    SCHEMA_MEDIA_TYPE, TOLD_BESIDE, Terms, UNREAD, to_read,
};
pub use plan::{
    Approval, InvalidPlan, PLAN_HASH, PLAN_STEPS_MAX, PlanMoves, PlanStep, StepGuard, StepState, TaskPlan,
    UserWord,
};
pub use quota::{Limit, OverQuota, Quota, SHARES, STREAMS_OF_OWNER, ServicePlan, UNPACED, Whose};
pub use rest::{BLOB_RECORDS, RECORDS};
pub use retention::{Lasting, RETENTION, Retention, retention_of};
pub use setting::{
    DEPLOYMENT, InvalidSetting, PAUSE, SHARE, SettingChange, TIME_ZONE, default_context, is_paused,
    may_share, parse_tokens, plan_of, quota_of, start_of, tokens_per_day,
};
pub use sign_in::{Demands, IssuerIds, OWN_ISSUER, SignInProof, SignInRule, SignInRules};
pub use state::{InvalidTransition, TaskState};
pub use tag::{InvalidTag, Tag, TypeScope};
pub use task::{Event, EventKind, Keeping, Kept, NewTask, Revision, Status, Stumble, Task, WorkNote};
pub use tenant::Tenant;
pub use time::{Clock, ManualClock, SystemClock, Timestamp};
pub use trace::TraceParent;
pub use turn::{
    CALL_RESULT_MAX, CallEnd, CallResult, ModelTurn, TASK_STATUS, TURN_TEXT_MAX, TokenUsage, TurnCall,
};
pub use unkept::{ARTIFACTS_MAX, RESULTS_MAX, Unkept, excerpt};
pub use user_context::{InvalidContext, UserContext};

/// Secrets that neither print nor log, and are wiped when dropped.
pub use secrecy::{ExposeSecret, SecretString};
