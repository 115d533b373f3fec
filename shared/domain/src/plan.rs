//! The plan of a task: pieces of work that wait for one another, some with the results of others. What was not begun stands
//! here; what was, and how far it is, its job of the same number says, so that it is stored once.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{AgentId, AgentType, Job, JobState, TaskState};

/// Most steps of a plan, and most jobs of a task.
pub const PLAN_STEPS_MAX: usize = 20;

/// The key in a message's metadata under which the [`hash`](TaskPlan::hash) of a plan stands: of a question, the one that it shows;
/// of a user's word, the one that it is about.
pub const PLAN_HASH: &str = "plan";

/// The first version of records whose readers know plans. An older release would end a task once its jobs are over, and never
/// begin the steps that follow.
pub(crate) const PLAN_RECORDS: u32 = 5;

/// What a task is to do, step by step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskPlan {
    /// What it is for, in the user's words.
    pub goal: String,
    /// Whether its user has to agree to it.
    #[serde(default, skip_serializing_if = "Approval::is_not_needed")]
    pub approval: Approval,
    /// Its steps. Those that a user had tried again stay in it, dropped.
    pub steps: Vec<PlanStep>,
}

/// One step: what becomes the job of the same number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanStep {
    /// Its number within the task, among those of the jobs.
    pub number: u32,
    /// The type of the agent that does it.
    pub agent_type: AgentType,
    /// The name of that agent, to show; another of its type may have the work in the end.
    pub agent_name: String,
    /// What it is asked to do.
    pub instruction: String,
    /// Begins once these are done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<u32>,
    /// Gets the results of these, and so begins once they are done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<u32>,
    /// What needs it goes on without it where it is not done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
    /// What was decided about it.
    #[serde(default, skip_serializing_if = "StepState::is_planned")]
    pub state: StepState,
    /// The turn that it was planned in, as [`Job::step`] has it: what was known of results then.
    #[serde(default, skip_serializing_if = "crate::rest::is_zero")]
    pub turn: u32,
    /// What its user is asked before it is sent; `None` where nothing has to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<StepGuard>,
}

/// Why a step is sent with its user's word alone, and what was said to that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepGuard {
    /// The agent that its user is shown: no other one gets it.
    pub agent: AgentId,
    /// The names of the agents whose results would go to it, or were read by the model that wrote it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<String>,
    /// That agent changes something.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub writes: bool,
    /// What its user said.
    #[serde(default, skip_serializing_if = "UserWord::is_awaited")]
    pub word: UserWord,
}

/// What a user said to the text that would go to an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum UserWord {
    /// Nothing so far.
    #[default]
    Awaited,
    /// Yes, to the text of this hash ([`PlanStep::guarded_hash`]) and to no other.
    Given {
        /// The hash.
        hash: String,
    },
    /// No.
    Refused,
    /// Something that this release does not know: it is not sent.
    #[serde(other)]
    Unknown,
}

impl UserWord {
    fn is_awaited(&self) -> bool {
        *self == Self::Awaited
    }
}

/// Why a step is skipped whose user said no to it.
const REFUSED: &str = "the user did not allow it.";

/// What was decided about a step. How far it is, once it has begun, its job says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum StepState {
    /// It is to be done.
    #[default]
    Planned,
    /// It cannot be done as it is.
    Skipped {
        /// Why.
        why: String,
    },
    /// It is not wanted: its user left it out, or had it tried again as another step.
    Dropped,
    /// Something that this release does not know: nothing is done about it.
    #[serde(other)]
    Unknown,
}

impl StepState {
    fn is_planned(&self) -> bool {
        *self == Self::Planned
    }
}

/// Whether a user has to agree to a plan before any of it begins.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Approval {
    /// Nobody has to.
    #[default]
    NotNeeded,
    /// It waits for that.
    Awaited,
    /// The user agreed to the plan of this hash, and to no other.
    Given {
        /// [`TaskPlan::hash`] of it.
        hash: String,
    },
    /// Something that this release does not know: nothing begins.
    #[serde(other)]
    Unknown,
}

impl Approval {
    fn is_not_needed(&self) -> bool {
        *self == Self::NotNeeded
    }
}

/// Why a plan cannot be one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPlan {
    /// It has too many steps.
    #[error("a task can have {PLAN_STEPS_MAX} pieces of work at most")]
    TooMany,
    /// A step names another that is not there.
    #[error("step {0} names step {1}, which there is not")]
    NoSuchStep(u32, u32),
    /// Steps wait for one another in a circle.
    #[error("step {0} waits for itself, by way of the steps before it")]
    Cycle(u32),
}

/// What is to be done about a plan now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlanMoves {
    /// The steps that cannot be done any more.
    pub skip: Vec<u32>,
    /// The steps that can begin and have no job.
    pub start: Vec<u32>,
}

impl PlanMoves {
    /// True where nothing is to be done.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.skip.is_empty() && self.start.is_empty()
    }
}

/// How far a step is, for those that need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Course {
    /// It is still to come, or under way.
    Open,
    Done,
    /// It was not done, and what needs it cannot be.
    Undone,
    /// It was not done, and what needs it does without.
    Gone,
}

/// What comes next for a step that has not begun.
enum Fate {
    Wait,
    Start,
    /// Its user is asked first.
    Ask,
    /// It cannot be done; for good where nobody's retry changes that.
    Skip {
        why: String,
        for_good: bool,
    },
}

impl TaskPlan {
    /// The step of this number.
    #[must_use]
    pub fn step(&self, number: u32) -> Option<&PlanStep> {
        self.steps.iter().find(|step| step.number == number)
    }

    /// The steps that are wanted.
    pub fn wanted(&self) -> impl Iterator<Item = &PlanStep> {
        self.steps.iter().filter(|step| step.state != StepState::Dropped)
    }

    /// Checks that it can be a plan.
    ///
    /// # Errors
    /// [`InvalidPlan`] where it has too many steps, or some that can never begin.
    pub fn check(&self) -> Result<(), InvalidPlan> {
        if self.steps.len() > PLAN_STEPS_MAX {
            return Err(InvalidPlan::TooMany);
        }
        for step in &self.steps {
            if let Some(missing) = step.needs().find(|number| self.step(*number).is_none()) {
                return Err(InvalidPlan::NoSuchStep(step.number, missing));
            }
        }
        let mut free: Vec<u32> = Vec::new();
        loop {
            let is_free = |step: &&PlanStep| {
                !free.contains(&step.number) && step.needs().all(|number| free.contains(&number))
            };
            let next: Vec<u32> = self
                .steps
                .iter()
                .filter(is_free)
                .map(|step| step.number)
                .collect();
            if next.is_empty() {
                break;
            }
            free.extend(next);
        }
        let bound = self.steps.iter().find(|step| !free.contains(&step.number));
        bound.map_or(Ok(()), |step| Err(InvalidPlan::Cycle(step.number)))
    }

    /// What a user agrees to: what is to be done, by whom, in which order and with which results. SHA-256, in hexadecimal
    /// digits.
    #[must_use]
    pub fn hash(&self) -> String {
        let wanted: Vec<_> = self
            .wanted()
            .map(|step| {
                (
                    step.number,
                    &step.agent_type,
                    &step.instruction,
                    &step.after,
                    &step.uses,
                )
            })
            .collect();
        hash_of(&(&self.goal, wanted))
    }

    /// Whether any of it may begin.
    #[must_use]
    pub fn is_approved(&self) -> bool {
        match &self.approval {
            Approval::NotNeeded => true,
            Approval::Given { hash } => *hash == self.hash(),
            Approval::Awaited | Approval::Unknown => false,
        }
    }

    /// What its user has agreed to: the plan, and steps that are sent with their word alone, by their numbers.
    #[must_use]
    pub fn agreed(&self) -> (bool, Vec<u32>) {
        let given = |step: &&PlanStep| step.guard.is_some() && step.is_allowed();
        let steps = self.steps.iter().filter(given).map(|step| step.number);
        let is_given = matches!(self.approval, Approval::Given { .. });
        (is_given && self.is_approved(), steps.collect())
    }

    /// The user agrees to it as it is.
    pub fn approve(&mut self) {
        self.approval = Approval::Given { hash: self.hash() };
    }

    /// The steps that would begin now, had their user allowed it.
    #[must_use]
    pub fn guarded(&self, jobs: &[Job]) -> Vec<&PlanStep> {
        let has_job = |step: &PlanStep| jobs.iter().any(|job| job.number == step.number);
        let waits = |step: &&PlanStep| {
            step.state.is_planned() && !has_job(step) && matches!(self.fate(step, jobs), Fate::Ask)
        };
        self.steps
            .iter()
            .filter(waits)
            .filter(|_| self.is_approved())
            .collect()
    }

    /// The user allows these steps as they are now.
    pub fn allow(&mut self, numbers: &[u32]) {
        for step in self
            .steps
            .iter_mut()
            .filter(|step| numbers.contains(&step.number))
        {
            let hash = step.guarded_hash();
            if let Some(guard) = &mut step.guard {
                guard.word = UserWord::Given { hash };
            }
        }
    }

    /// The user does not allow these steps.
    pub fn refuse(&mut self, numbers: &[u32]) {
        let steps = self.steps.iter_mut();
        for step in steps.filter(|step| numbers.contains(&step.number)) {
            if let Some(guard) = &mut step.guard {
                guard.word = UserWord::Refused;
            }
        }
    }

    /// Sets what a step's user is asked before it is sent. What was said to another text or agent does not count for it.
    pub fn guard(&mut self, number: u32, guard: Option<StepGuard>) {
        if let Some(step) = self.step_mut(number) {
            step.guard = guard;
        }
    }

    /// What is to be done about it now. The same plan and jobs always give the same moves.
    #[must_use]
    pub fn moves(&self, jobs: &[Job]) -> PlanMoves {
        self.clone().settle(jobs)
    }

    /// Takes in what became of its jobs: what cannot be done any more is skipped. Says what is to be done now.
    pub fn settle(&mut self, jobs: &[Job]) -> PlanMoves {
        let mut moves = PlanMoves::default();
        if !self.is_approved() {
            return moves;
        }
        while let Some((number, why, for_good)) = self.next_skip(jobs) {
            if let Some(step) = self.step_mut(number) {
                step.state = StepState::Skipped { why };
                step.optional |= for_good;
            }
            moves.skip.push(number);
        }
        let has_job = |step: &PlanStep| jobs.iter().any(|job| job.number == step.number);
        let starts = |step: &&PlanStep| {
            step.state.is_planned() && !has_job(step) && matches!(self.fate(step, jobs), Fate::Start)
        };
        moves.start = self.steps.iter().filter(starts).map(|step| step.number).collect();
        moves
    }

    fn next_skip(&self, jobs: &[Job]) -> Option<(u32, String, bool)> {
        let is_over = |step: &PlanStep| jobs.iter().any(|job| job.number == step.number && is_over(job));
        let waiting = self
            .steps
            .iter()
            .filter(|step| step.state.is_planned() && !is_over(step));
        waiting
            .filter_map(|step| match self.fate(step, jobs) {
                Fate::Skip { why, for_good } => Some((step.number, why, for_good)),
                Fate::Wait | Fate::Start | Fate::Ask => None,
            })
            .next()
    }

    fn fate(&self, step: &PlanStep, jobs: &[Job]) -> Fate {
        if step.is_refused() {
            return Fate::Skip {
                why: REFUSED.to_owned(),
                for_good: false,
            };
        }
        let courses: Vec<(u32, Course)> = step
            .needs()
            .map(|number| (number, self.course(number, jobs)))
            .collect();
        if courses.iter().any(|(_, course)| *course == Course::Open) {
            return Fate::Wait;
        }
        if let Some((number, _)) = courses.iter().find(|(_, course)| *course == Course::Undone) {
            return Fate::Skip {
                why: format!("it needs {}, which was not done.", number + 1),
                for_good: false,
            };
        }
        let is_done = |number: &u32| self.course(*number, jobs) == Course::Done;
        if !step.uses.is_empty() && !step.uses.iter().any(is_done) {
            return Fate::Skip {
                why: "nothing is there that it could work on.".to_owned(),
                for_good: true,
            };
        }
        match step.is_allowed() {
            true => Fate::Start,
            false => Fate::Ask,
        }
    }

    fn course(&self, number: u32, jobs: &[Job]) -> Course {
        let Some(step) = self.step(number) else {
            return Course::Gone;
        };
        let undone = match step.optional {
            true => Course::Gone,
            false => Course::Undone,
        };
        match &step.state {
            StepState::Dropped => return Course::Gone,
            StepState::Skipped { .. } => return undone,
            StepState::Unknown => return Course::Open,
            StepState::Planned => {}
        }
        match jobs.iter().find(|job| job.number == number) {
            Some(job) if is_over(job) && is_done(job) => Course::Done,
            Some(job) if is_over(job) => undone,
            _ => Course::Open,
        }
    }

    /// Whether a job may not be sent yet: it is there early, for its consent, and what it needs is not done. A job of no step
    /// is never held.
    #[must_use]
    pub fn holds(&self, job: &Job, jobs: &[Job]) -> bool {
        let early = matches!(job.state, JobState::Prepared | JobState::AwaitingConsent { .. });
        let held = |step: &PlanStep| {
            !step.state.is_planned() || !self.is_approved() || !matches!(self.fate(step, jobs), Fate::Start)
        };
        early && self.step(job.number).is_some_and(held)
    }

    /// Whether a step has begun, so that it cannot be changed any more.
    #[must_use]
    pub fn is_begun(&self, number: u32, jobs: &[Job]) -> bool {
        let begun = |job: &Job| job.number == number && !self.holds(job, jobs);
        jobs.iter().any(begun)
    }

    /// A step cannot be done.
    pub fn skip(&mut self, number: u32, why: String) {
        if let Some(step) = self.step_mut(number) {
            step.state = StepState::Skipped { why };
        }
    }

    /// The user does without these steps.
    pub fn leave_out(&mut self, numbers: &[u32]) {
        self.by_user(|plan| {
            for number in numbers {
                plan.drop_step(*number);
            }
        });
    }

    /// What needs this step goes on without it where it is not done.
    pub fn make_optional(&mut self, number: u32) {
        if let Some(step) = self.step_mut(number) {
            step.optional = true;
        }
    }

    /// The steps that were not done, so that others which need them were skipped; empty where none was. What comes of that is
    /// for the user to say.
    #[must_use]
    pub fn failed(&self, jobs: &[Job]) -> Vec<&PlanStep> {
        let is_skipped = |step: &&PlanStep| !step.optional && matches!(step.state, StepState::Skipped { .. });
        let is_undone = |number: u32| self.course(number, jobs) == Course::Undone;
        let needed: Vec<u32> = self
            .steps
            .iter()
            .filter(is_skipped)
            .flat_map(PlanStep::needs)
            .collect();
        let is_cause = |step: &&PlanStep| {
            let first = !step.needs().any(is_undone) && !step.is_refused();
            is_undone(step.number) && first && (needed.contains(&step.number) || is_skipped(step))
        };
        self.wanted().filter(is_cause).collect()
    }

    /// The user goes on without what was not done: what was skipped for it is done, so far as something is left for it to work
    /// on.
    pub fn go_on(&mut self, jobs: &[Job]) {
        self.by_user(|plan| {
            let undone: Vec<u32> = plan
                .wanted()
                .filter(|step| plan.course(step.number, jobs) == Course::Undone)
                .map(|step| step.number)
                .collect();
            let mut again = Vec::new();
            for step in plan.steps.iter_mut().filter(|step| undone.contains(&step.number)) {
                step.optional = true;
                if matches!(step.state, StepState::Skipped { .. }) && step.needs().next().is_some() {
                    step.state = StepState::Planned;
                    again.push(step.number);
                }
            }
            plan.renew(&again, jobs);
        });
    }

    /// The user has a step tried again that was not done, and with it what was skipped.
    pub fn retry(&mut self, number: u32, jobs: &[Job]) {
        self.by_user(|plan| {
            let mut again = vec![number];
            for step in &mut plan.steps {
                if matches!(step.state, StepState::Skipped { .. })
                    && (step.number == number || !step.optional)
                {
                    step.state = StepState::Planned;
                    again.push(step.number);
                }
            }
            again.dedup();
            plan.renew(&again, jobs);
        });
    }

    /// A change that its user asked for: where the plan was agreed to before, it is with the change.
    fn by_user(&mut self, change: impl FnOnce(&mut Self)) {
        let was_given = matches!(self.approval, Approval::Given { .. }) && self.is_approved();
        change(self);
        if was_given {
            self.approve();
        }
    }

    /// Of these steps, those whose job is over go on under another number, and so with another job.
    fn renew(&mut self, numbers: &[u32], jobs: &[Job]) {
        for number in numbers {
            let ended = jobs.iter().any(|job| job.number == *number && is_over(job));
            let Some(known) = self.step(*number).filter(|_| ended).cloned() else {
                continue;
            };
            let next = next_number(jobs, Some(self));
            self.drop_step(*number);
            let needs = self
                .steps
                .iter_mut()
                .flat_map(|step| step.after.iter_mut().chain(&mut step.uses));
            needs.filter(|need| *need == number).for_each(|need| *need = next);
            self.steps.push(PlanStep {
                number: next,
                ..known
            });
        }
    }

    fn drop_step(&mut self, number: u32) {
        if let Some(step) = self.step_mut(number) {
            step.state = StepState::Dropped;
        }
    }

    fn step_mut(&mut self, number: u32) -> Option<&mut PlanStep> {
        self.steps.iter_mut().find(|step| step.number == number)
    }
}

impl PlanStep {
    /// The steps that must be done before it can begin.
    pub fn needs(&self) -> impl Iterator<Item = u32> + '_ {
        let more = self.uses.iter().filter(|number| !self.after.contains(number));
        self.after.iter().chain(more).copied()
    }

    /// What its user agrees to where the step is guarded: what goes to which agent. The results that it uses are named by the
    /// jobs that brought them, as those never change.
    #[must_use]
    pub fn guarded_hash(&self) -> String {
        let agent = self.guard.as_ref().map(|guard| &guard.agent);
        hash_of(&(&self.agent_type, agent, &self.instruction, &self.uses))
    }

    /// Whether its user said no to it.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        let guard = self.guard.as_ref();
        guard.is_some_and(|guard| guard.word == UserWord::Refused)
    }

    /// Whether it may be sent, for all that its user has to say.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        match self.guard.as_ref().map(|guard| &guard.word) {
            None => true,
            Some(UserWord::Given { hash }) => *hash == self.guarded_hash(),
            Some(UserWord::Awaited | UserWord::Refused | UserWord::Unknown) => false,
        }
    }
}

/// SHA-256, in hexadecimal digits.
fn hash_of(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).unwrap_or_default();
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn is_over(job: &Job) -> bool {
    matches!(job.state, JobState::Settled { .. })
}

fn is_done(job: &Job) -> bool {
    job.remote()
        .is_some_and(|remote| remote.state == TaskState::Completed)
}

/// The number of the next piece of work of a task.
pub(crate) fn next_number(jobs: &[Job], plan: Option<&TaskPlan>) -> u32 {
    let steps = plan
        .into_iter()
        .flat_map(|plan| &plan.steps)
        .map(|step| step.number);
    let last = jobs.iter().map(|job| job.number).chain(steps).max();
    last.map_or(0, |last| last.saturating_add(1))
}

#[cfg(test)]
mod tests;
