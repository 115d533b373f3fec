//! The agent's work on one task: one step each time it is woken.

use std::time::Duration;

use agent::{ExecuteError, Executor, Outcome, Run};
use async_trait::async_trait;
use domain::{Artifact, EventKind, Part, TaskState, Timestamp};
use nlu::Takes;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::card;
use crate::given::Given;
use crate::plan::Plan;

/// Writes reports: of what it is given at once, of a mere topic slowly.
pub struct ReportExecutor {
    step: Duration,
    takes: Takes,
}

impl ReportExecutor {
    /// An executor whose steps take this long where there is nothing to work on.
    #[must_use]
    pub fn new(step: Duration) -> Self {
        Self {
            step,
            takes: card::takes(),
        }
    }
}

/// How far a report is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reached {
    /// The step that is under way, from 0.
    step: usize,
    /// When it is done.
    until: Timestamp,
}

#[async_trait]
impl Executor for ReportExecutor {
    fn takes(&self) -> Option<&Takes> {
        Some(&self.takes)
    }

    async fn execute(&self, run: &mut Run) -> Result<Outcome, ExecuteError> {
        let taken = run.taken();
        let given = Given::of(&run.task().history);
        let Some(plan) = Plan::of(taken.typed()?, taken.unsure.first(), &given) else {
            return Ok(card::asks());
        };
        let now = run.now();
        let step = match run.checkpoint::<Reached>() {
            None => 0,
            Some(reached) if reached.step >= plan.steps => return Ok(done(&plan)),
            // Woken early, or once too often.
            Some(reached) if now < reached.until => {
                return Ok(Outcome::Parked { until: reached.until });
            }
            Some(reached) => reached.step + 1,
        };
        let written = step.checked_sub(1).map(|done| section(&plan, done));
        // What the last step brought, what the next one does, and how far that is: all or nothing.
        let last = step >= plan.steps;
        let pause = if plan.is_sample() {
            self.step
        } else {
            Duration::ZERO
        };
        let until = if last { now } else { now.after(pause) };
        let doing = (!last).then(|| run.message(&plan.doing(step)));
        let status = doing.map(|doing| EventKind::status(TaskState::Working, Some(doing)));
        let reached = Run::checkpoint_event(&Reached { step, until })?;
        let kinds = written.into_iter().chain(status).chain([reached]).collect();
        run.record_and_park(kinds, |_| (!last).then_some(until)).await?;
        Ok(if last {
            done(&plan)
        } else {
            Outcome::Parked { until }
        })
    }
}

fn done(plan: &Plan) -> Outcome {
    Outcome::Completed {
        artifacts: Vec::new(),
        say: Some(plan.ended()),
    }
}

/// A section as the event that adds it to the report.
fn section(plan: &Plan, step: usize) -> EventKind {
    let mut text = plan.section(step);
    if step == 0 {
        text = format!("{}{text}", plan.heading());
    }
    let mut part = Part::text(text);
    part.media_type = Some("text/markdown".to_owned());
    let last = step + 1 >= plan.steps;
    // Beside the Markdown for people the whole of it for programs.
    let data = last.then(|| Part::data(json!({ "result": plan.result(), "topic": plan.topic })));
    EventKind::Artifact {
        artifact: Artifact::new("report", std::iter::once(part).chain(data).collect())
            .named(format!("Report on {}", plan.topic)),
        append: step > 0,
        last_chunk: last,
    }
}
