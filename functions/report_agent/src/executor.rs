//! The agent's work on one task: one step each time it is woken.

use std::time::Duration;

use agent::{ExecuteError, Executor, Outcome, Run};
use async_trait::async_trait;
use domain::{Artifact, EventKind, Message, Part, Role, TaskState, Timestamp};
use serde::{Deserialize, Serialize};

use crate::plan::Plan;

/// Writes reports, slowly.
pub struct ReportExecutor {
    /// How long a step takes.
    pub step: Duration,
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
    async fn execute(&self, run: &mut Run) -> Result<Outcome, ExecuteError> {
        let users = run
            .task()
            .history
            .iter()
            .rev()
            .filter(|said| said.role == Role::User);
        let Some(plan) = users.map(Message::text).find_map(|text| Plan::read(&text)) else {
            return Ok(Outcome::InputRequired(
                "What should the report be about?".to_owned(),
            ));
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
        let until = if last { now } else { now.after(self.step) };
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
        say: Some(format!("The report on {} is done.", plan.topic)),
    }
}

/// A section as the event that adds it to the report.
fn section(plan: &Plan, step: usize) -> EventKind {
    let mut text = plan.section(step);
    if step == 0 {
        text = format!("# Report on {}\n\n{text}", plan.topic);
    }
    let mut part = Part::text(text);
    part.media_type = Some("text/markdown".to_owned());
    EventKind::Artifact {
        artifact: Artifact::new("report", vec![part]).named(format!("Report on {}", plan.topic)),
        append: step > 0,
        last_chunk: step + 1 >= plan.steps,
    }
}
