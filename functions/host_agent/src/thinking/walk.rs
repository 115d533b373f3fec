//! The walk through a task's plan: each step begins when what it needs is done.
//!
//! ```text
//! plan stored ─► its user agrees, where that is wanted ─► consents of all steps asked for, those that need nothing begin
//!      ▲                                                        │ a job is over
//!      │ retried, or gone on without it                         ▼
//!      └── its user is asked ◄── none is left to begin ◄── the next ones begin; what needs a failed one is skipped
//! ```
//! Every move is stored before anything is sent, with the plan as it is then: whoever goes on after a crash finds the jobs that
//! were begun, and begins none twice.

use agent::{ExecuteError, Run, on_heap};
use domain::{EventKind, Job, PlanMoves, StepState, Task, TaskPlan, TaskState};

use crate::advance::advance;
use crate::rules::{plans, sentences};
use crate::thinking::planning::Changed;
use crate::thinking::thinker::Thinker;
use crate::thinking::tools::{Send, Tools};

/// The steps of a plan that begin now.
struct Beginning {
    sends: Vec<Send>,
    /// Of these, those that are there for their consent alone.
    early: Vec<u32>,
}

impl Thinker {
    /// Goes on with the task's plan, so far as something of it can begin now.
    pub(crate) async fn walk(&self, run: &mut Run, changed: Option<Changed>) -> Result<(), ExecuteError> {
        let task = run.task();
        let is_still = |plan: &TaskPlan| plan.moves(&task.jobs).is_empty();
        if run.parked().is_some() || changed.is_none() && task.plan.as_ref().is_none_or(is_still) {
            return Ok(());
        }
        let mut thought = self.thought_of(run);
        let mut tools = self.tools(run, &mut thought);
        on_heap(|| tools.walk(changed)).await
    }
}

impl Tools<'_> {
    /// Begins what can begin, until work is under way elsewhere or nothing is left.
    pub(crate) async fn walk(&mut self, mut changed: Option<Changed>) -> Result<(), ExecuteError> {
        while self.run.parked().is_none() {
            let is_changed = changed.is_some();
            let (mut plan, mut kinds, missed) = match (changed.take(), &self.run.task().plan) {
                (Some(changed), _) => (changed.plan, changed.kinds, changed.missed),
                (None, Some(plan)) => (plan.clone(), Vec::new(), String::new()),
                (None, None) => return Ok(()),
            };
            let Beginning { sends, early } = self.beginning(&mut plan, is_changed).await?;
            if self.run.task().plan.as_ref() != Some(&plan) {
                kinds.push(plans::noted(plan.clone()));
            }
            kinds.extend(given_up(self.run, &plan));
            if sends.is_empty() {
                return self.rest(kinds, &missed).await;
            }
            let listed = match is_changed {
                true => format!(
                    "{missed}\n{}",
                    plans::listed(&plan, &sentences::language(self.run.task()))
                ),
                false => String::new(),
            };
            kinds.extend(self.prepare(&sends, &early, &listed).await?);
            self.run.record(kinds).await?;
            let fresh: Vec<u32> = sends.iter().map(|send| send.number).collect();
            on_heap(|| advance(&self.agents.deps, self.run, &fresh)).await?;
        }
        Ok(())
    }

    /// Nothing begins: what became of the plan is written down, with the question that its user is asked.
    async fn rest(&mut self, mut kinds: Vec<EventKind>, missed: &str) -> Result<(), ExecuteError> {
        let now = self.run.now();
        let mut task = self.run.task().clone();
        for kind in &kinds {
            task.record(kind.clone(), now)?;
        }
        let note = &self.thought.note;
        // What nobody does of what was asked is told before its user says go.
        let lead = note.lead.as_deref().filter(|_| task.checkpoint.is_none());
        let lead = format!("{} {missed}", lead.unwrap_or_default());
        let question = plans::asked(&task, |text| self.run.message(text), lead.trim());
        let until = plans::asks(&task).map(|_| self.agents.deps.patience.wake_at(&task, now));
        if question.is_some() && !note.is_empty() && task.checkpoint.is_none() {
            kinds.push(note.event()?);
        }
        kinds.extend(question);
        if kinds.is_empty() {
            return Ok(());
        }
        self.run.record_and_park(kinds, |_| until).await
    }

    /// The steps that begin now; of a changed plan also those that need their user's consent for later. A step that nobody can
    /// do is skipped.
    async fn beginning(&mut self, plan: &mut TaskPlan, is_changed: bool) -> Result<Beginning, ExecuteError> {
        loop {
            let task = self.run.task();
            let PlanMoves { start, .. } = plan.settle(&task.jobs);
            let has_job = |number: u32| task.jobs.iter().any(|job| job.number == number);
            let later = plan.steps.iter().filter(|step| {
                let open = step.state == StepState::Planned && !start.contains(&step.number);
                let asked = is_changed && plan.is_approved() && step.is_allowed();
                asked && open && !has_job(step.number)
            });
            let early: Vec<u32> = later.map(|step| step.number).collect();
            let mut sends = Vec::new();
            let mut missing = None;
            for number in start.iter().chain(&early) {
                match self.chosen(plan, *number).await? {
                    Some(Ok(send)) => sends.push(send),
                    Some(Err(why)) => missing = missing.or(Some((*number, why))),
                    None => {}
                }
            }
            let Some((number, why)) = missing else {
                return Ok(Beginning { sends, early });
            };
            plan.skip(number, why);
        }
    }

    async fn chosen(
        &mut self,
        plan: &mut TaskPlan,
        number: u32,
    ) -> Result<Option<Result<Send, String>>, ExecuteError> {
        let Some(step) = plan.step(number).cloned() else {
            return Ok(None);
        };
        let chosen = self.choice(&step.agent_type, &step.instruction).await?;
        if let Ok((to, _)) = &chosen
            && Self::guard_again(plan, number, to, &self.run.task().jobs)
        {
            return Ok(None);
        }
        Ok(Some(chosen.map(|(to, protection)| Send {
            number,
            agent_type: step.agent_type.clone(),
            message: step.instruction.clone(),
            // What a user can be asked about are words: a plan holds no more.
            data: None,
            turn: step.turn,
            uses: !step.uses.is_empty(),
            to,
            protection,
        })))
    }
}

/// The jobs that are there early and will not be sent: what they were for was skipped, or left out.
fn given_up(run: &Run, plan: &TaskPlan) -> Vec<EventKind> {
    let task: &Task = run.task();
    let of_step = |job: &Job| {
        let step = plan.step(job.number).filter(|_| plan.holds(job, &task.jobs))?;
        let why = match &step.state {
            StepState::Skipped { why } => why.clone(),
            StepState::Dropped => "it is not wanted any more.".to_owned(),
            StepState::Planned | StepState::Unknown => return None,
        };
        let mut job = job.clone();
        job.give_up(TaskState::Canceled, why, run.now());
        Some(EventKind::Job { job: Box::new(job) })
    };
    task.jobs.iter().filter_map(of_step).collect()
}
