//! What the calls of one turn make of a task's plan.

use domain::{
    AgentType, Approval, EventKind, Job, PLAN_STEPS_MAX, PlanStep, StepGuard, StepState, Task, TaskPlan,
    UserWord,
};
use llm::PlannedTask;

use crate::rules::{plans, transcript};

/// Most characters of the goal that is kept.
const GOAL_MAX: usize = 400;

/// A plan that is new, or another than the stored one.
pub(crate) struct Changed {
    pub(crate) plan: TaskPlan,
    /// What is written with it.
    pub(crate) kinds: Vec<EventKind>,
    /// What is said with it.
    pub(crate) missed: String,
}

/// A task's plan as the calls of a turn change it.
pub(crate) struct Planning<'t> {
    task: &'t Task,
    /// The turn.
    turn: u32,
    /// The number of the next piece of work.
    next: u32,
    /// The plan, once one is wanted.
    plan: Option<TaskPlan>,
    /// What this turn hands out at once.
    handed_out: Vec<PlanStep>,
}

impl<'t> Planning<'t> {
    pub(crate) fn of(task: &'t Task, turn: u32) -> Self {
        Self {
            task,
            turn,
            next: task.next_number(),
            plan: task.plan.clone(),
            handed_out: Vec::new(),
        }
    }

    /// The plan, where the turn changed it.
    pub(crate) fn changed(self) -> Option<TaskPlan> {
        self.plan.filter(|plan| self.task.plan.as_ref() != Some(plan))
    }

    /// Takes the number of a piece of work that is handed out at once; none where there are too many.
    pub(crate) fn hand_out(&mut self, to: (&AgentType, &str), message: &str) -> Option<u32> {
        let most = u32::try_from(PLAN_STEPS_MAX).unwrap_or(u32::MAX);
        let number = Some(self.next).filter(|number| *number < most)?;
        let step = self.step(number, to, message);
        // Where there is a plan, all pieces of work stand in it.
        match &mut self.plan {
            Some(plan) => plan.steps.push(step),
            None => self.handed_out.push(step),
        }
        self.next += 1;
        Some(number)
    }

    /// Plans several pieces, which name one another by their places. The answer is for the model; an error says why nothing
    /// was planned.
    pub(crate) fn plan(&mut self, tasks: &[(PlannedTask, String)]) -> Result<String, String> {
        let first = self.next;
        let at = |places: &[u32]| -> Result<Vec<u32>, String> {
            let is_there = |place: &u32| usize::try_from(*place).is_ok_and(|place| place < tasks.len());
            match places.iter().find(|place| !is_there(place)) {
                Some(place) => Err(format!("Not planned: there is no task {place} in this list.")),
                None => Ok(places.iter().map(|place| first + place).collect()),
            }
        };
        let mut steps = Vec::new();
        for ((task, name), number) in tasks.iter().zip(first..) {
            steps.push(PlanStep {
                after: at(&task.after)?,
                uses: at(&task.uses)?,
                optional: task.is_optional,
                ..self.step(number, (&task.agent_type, name), &task.message)
            });
        }
        let mut plan = self.plan.clone().unwrap_or_else(|| self.so_far());
        let told: Vec<String> = steps.iter().map(plans::told_to_model).collect();
        let added = u32::try_from(steps.len()).unwrap_or(u32::MAX);
        plan.steps.extend(steps);
        plan.check().map_err(|reason| format!("Not planned: {reason}."))?;
        self.plan = Some(plan);
        self.next = self.next.saturating_add(added);
        Ok(format!("Planned:\n{}", told.join("\n")))
    }

    /// Changes a piece of work that has not begun.
    pub(crate) fn update(
        &mut self,
        number: u32,
        message: Option<&str>,
        is_dropped: bool,
    ) -> Result<String, String> {
        let jobs = &self.task.jobs;
        let none = || format!("Not done: there is no planned task {number}.");
        let plan = self.plan.as_mut().ok_or_else(none)?;
        let open = plan
            .step(number)
            .is_some_and(|step| step.state == StepState::Planned);
        // What was prepared for its consent alone says what is asked already.
        if !open || jobs.iter().any(|job| job.number == number) {
            return Err(match plan.step(number) {
                Some(_) => format!("Not done: task {number} has begun, or is over."),
                None => none(),
            });
        }
        if let Some(step) = plan.steps.iter_mut().find(|step| step.number == number) {
            if let Some(message) = message {
                message.clone_into(&mut step.instruction);
            }
            if is_dropped {
                step.state = StepState::Dropped;
            }
        }
        Ok("Changed.".to_owned())
    }

    /// All pieces of work that are known.
    pub(crate) fn steps(&self) -> &[PlanStep] {
        self.plan.as_ref().map_or(&self.handed_out, |plan| &plan.steps)
    }

    /// The pieces of work that this turn brings, or changes.
    pub(crate) fn fresh(&self) -> Vec<PlanStep> {
        let begun = |step: &PlanStep| self.task.jobs.iter().any(|job| job.number == step.number);
        let stored = |step: &PlanStep| self.task.plan.as_ref()?.step(step.number);
        let is_fresh = |step: &&PlanStep| {
            let same = stored(step).is_some_and(|known| known.guarded_hash() == step.guarded_hash());
            step.state == StepState::Planned && !same && !begun(step)
        };
        self.steps().iter().filter(is_fresh).cloned().collect()
    }

    /// Has a piece of work wait for its user's word, in this text.
    pub(crate) fn guard(&mut self, number: u32, instruction: String, guard: StepGuard) {
        self.make_plan();
        let mut steps = self.plan.iter_mut().flat_map(|plan| &mut plan.steps);
        if let Some(step) = steps.find(|step| step.number == number) {
            step.instruction = instruction;
            step.guard = Some(guard);
            // What was refused once is not asked again.
            let refused = self.task.plan.iter().flat_map(|plan| &plan.steps);
            let mut refused = refused.filter(|known| known.is_refused());
            if refused.any(|known| known.guarded_hash() == step.guarded_hash())
                && let Some(guard) = &mut step.guard
            {
                guard.word = UserWord::Refused;
            }
        }
    }

    /// Makes a plan of what is handed out, so that its user can agree to it first.
    pub(crate) fn make_plan(&mut self) {
        self.plan = Some(self.plan.take().unwrap_or_else(|| self.so_far()));
    }

    /// The plan of a task that had none: what it has handed out.
    fn so_far(&self) -> TaskPlan {
        let jobs = self.task.jobs.iter().map(of_job);
        TaskPlan {
            goal: llm::clean(&transcript::asked(self.task), GOAL_MAX),
            approval: Approval::NotNeeded,
            steps: jobs.chain(self.handed_out.iter().cloned()).collect(),
        }
    }

    fn step(&self, number: u32, (agent_type, name): (&AgentType, &str), message: &str) -> PlanStep {
        PlanStep {
            number,
            agent_type: agent_type.clone(),
            agent_name: name.to_owned(),
            instruction: message.to_owned(),
            after: Vec::new(),
            uses: Vec::new(),
            optional: false,
            state: StepState::Planned,
            turn: self.turn,
            guard: None,
        }
    }
}

fn of_job(job: &Job) -> PlanStep {
    PlanStep {
        number: job.number,
        agent_type: job.agent_type.clone(),
        agent_name: job.agent_name.clone(),
        instruction: job.instruction.clone(),
        after: Vec::new(),
        uses: Vec::new(),
        optional: false,
        state: StepState::Planned,
        turn: job.step,
        guard: None,
    }
}
