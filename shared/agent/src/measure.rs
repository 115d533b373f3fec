//! What is counted and timed. A measurement is a log event with the target [`METRICS`]; the Lambda side writes it as a
//! CloudWatch metric, anybody else may ignore it.

use std::sync::OnceLock;
use std::time::Duration;

use domain::{AgentName, Revision, Task};

use crate::Agent;

/// The target of log events that are measurements. Their fields: `metric`, `value`, `unit` (CloudWatch's words),
/// `agent`.
pub const METRICS: &str = "metrics";

/// A new task was stored and acknowledged.
pub(crate) const ACKNOWLEDGED: &str = "TasksAcknowledged";
/// A task was not admitted, because a limit is reached.
pub(crate) const REFUSED: &str = "TasksRefused";
/// A tenant has used four fifths of what its plan has; once a day and tenant.
pub(crate) const NEARLY_USED: &str = "PlansNearlyUsed";
/// An attempt failed and another follows.
pub(crate) const RETRIED: &str = "AttemptsRetried";
/// Somebody went on with what somebody else had begun.
pub(crate) const RESUMED: &str = "TasksResumed";
/// A task was left to a newer release, because it holds something that this one does not know.
pub const NEEDS_NEWER: &str = "TasksNeedNewerRelease";
/// From the acknowledgement of a new task until an executor had it.
pub(crate) const STARTED: &str = "StartDelay";
/// A task's end came before what was due of it.
pub(crate) const EXPIRED: &str = "ExpiredWhileDue";
/// Nothing was heard of a task in time.
pub(crate) const TIMED_OUT: &str = "TasksTimedOut";

type Watcher = Box<dyn Fn(&Task) + Send + Sync>;

static WATCHER: OnceLock<Watcher> = OnceLock::new();

/// Calls `watcher` with each task of this process whose state has changed, once that is stored: for programs that show
/// tasks to their own user. It is no log event, as a log must not hold what people ask. It must not block; the first
/// one stays.
pub fn watch(watcher: impl Fn(&Task) + Send + Sync + 'static) {
    let _the_first_stays = WATCHER.set(Box::new(watcher));
}

/// Counts one.
pub(crate) fn count(metric: &'static str, agent: &Agent) {
    record(metric, 1, "Count", &agent.name);
}

/// Measures a time.
pub(crate) fn time(metric: &'static str, agent: &Agent, took: Duration) {
    record(metric, millis(took), "Milliseconds", &agent.name);
}

/// Measures how long a task was in the states that a stored revision left, and counts what it entered.
pub fn moved(revision: &Revision) {
    let agent = &revision.task().agent;
    let left = revision.left();
    if let (Some(watcher), false) = (WATCHER.get(), left.is_empty()) {
        watcher(revision.task());
    }
    for (before, entered, took) in left {
        let metric = match before {
            domain::TaskState::Submitted => "TimeSubmitted",
            domain::TaskState::Working => "TimeWorking",
            domain::TaskState::InputRequired => "TimeInputRequired",
            domain::TaskState::AuthRequired => "TimeAuthRequired",
            domain::TaskState::Unknown => "TimeUnknown",
            domain::TaskState::Completed
            | domain::TaskState::Canceled
            | domain::TaskState::Failed
            | domain::TaskState::Rejected => continue,
        };
        record(metric, millis(took), "Milliseconds", agent);
        match entered {
            domain::TaskState::Completed => record("TasksCompleted", 1, "Count", agent),
            domain::TaskState::Failed => record("TasksFailed", 1, "Count", agent),
            domain::TaskState::Unknown => record(TIMED_OUT, 1, "Count", agent),
            _ => {}
        }
    }
}

/// Writes one measurement.
pub fn record(metric: &'static str, value: u64, unit: &'static str, agent: &AgentName) {
    tracing::info!(target: METRICS, metric, value, unit, agent = agent.as_str());
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
