//! What is said instead of what was asked before ("no, I meant 1005"): that is called off, where it has not ended.

use agent::{ExecuteError, Run};
use domain::{AgentType, Job, Task};
use llm::{Step, Tool, ToolCall};

use crate::meaning;
use crate::rules::sentences;
use crate::thinking::own_tasks;
use crate::thinking::thinker::Thinker;
use crate::thinking::thought::Thought;

impl Thinker {
    /// Calls off what a task gave out, where those who have it get what is said instead; the answer begins with that.
    pub(super) async fn instead_of(
        &self,
        run: &mut Run,
        task: &Task,
        thought: &mut Thought,
    ) -> Result<(), ExecuteError> {
        let Some(step) = thought.first.as_ref().map(|answer| &answer.step) else {
            return Ok(());
        };
        let open = || task.jobs.iter().filter(|job| !job.is_settled());
        let is_for = |job: &&Job| gets(step, &job.agent_type);
        let numbers: Vec<u32> = open().filter(is_for).map(|job| job.number).collect();
        if numbers.is_empty() {
            return Ok(());
        }
        let language = &sentences::language(run.task());
        let told = words::told_of(Some(language), "insteadOf", &[("task", &meaning::name(task))]);
        let lead = thought.note.lead.get_or_insert_default();
        if !lead.contains(&told) {
            *lead = format!("{lead} {told}").trim().to_owned();
        }
        // What was done is not forgotten, wherever this execution ends.
        run.save_checkpoint(&thought.note).await?;
        match numbers.len() == open().count() {
            true => own_tasks::cancel_all(self.deps(), &[task], language).await?,
            false => own_tasks::cancel_part(self.deps(), task, &numbers, language).await?,
        };
        Ok(())
    }
}

/// The newest task that gave out work, where that is not over: what a correction is said instead of.
pub(super) fn corrected(here: &[Task]) -> Option<&Task> {
    let newest = here.iter().rfind(|task| !task.jobs.is_empty())?;
    let is_at_work = newest.jobs.iter().any(|job| !job.is_settled());
    Some(newest).filter(|newest| is_at_work && meaning::is_open(newest) && newest.plan.is_none())
}

/// Whether a step gives work to agents of this type, and to nobody else.
fn gets(step: &Step, agent_type: &AgentType) -> bool {
    let Step::Call(calls) = step else { return false };
    let to =
        |call: &ToolCall| matches!(&call.tool, Tool::SendMessage { agent_type: to, .. } if to == agent_type);
    calls.iter().all(to)
}
