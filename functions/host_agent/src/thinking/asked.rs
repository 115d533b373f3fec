//! A plan that waits for its user: what was answered, and what becomes of it. Code decides, by closed lists of words; a model
//! may change a plan that waits, and then its user is asked again.

use agent::{ExecuteError, Outcome, Run};
use domain::{Message, PlanStep, TaskPlan};
use llm::{Answer, Step};

use crate::meaning::plan_words::{self, PlanAnswer};
use crate::rules::note::Note;
use crate::rules::plans::{self, Asks};
use crate::rules::{sentences, transcript};
use crate::thinking::addresses::Addresses;
use crate::thinking::planning::Changed;
use crate::thinking::thinker::{STEPS_MAX, Thinker};
use crate::thinking::thought::Thought;
use crate::thinking::tools::{Tools, note, turn};

impl Thinker {
    /// Does what the user answered, or what time decided. Gives how the look at the task ends, where it ends with that.
    pub(crate) async fn answered(
        &self,
        run: &mut Run,
        said: Option<Message>,
        declines: bool,
    ) -> Result<Option<Outcome>, ExecuteError> {
        let (task, now) = (run.task(), run.now());
        let (Some(asks), Some(mut plan)) = (plans::asks(task), task.plan.clone()) else {
            return Ok(None);
        };
        let answer = match &said {
            Some(_) if declines => Some(PlanAnswer::No),
            Some(said) => plan_words::answer(task, &said.text()),
            None if plans::is_asked(task) && now >= plans::waits_until(task, &asks) => Some(PlanAnswer::No),
            None => return Ok(None),
        };
        let jobs = &task.jobs;
        match (&asks, answer) {
            (Asks::ToStart, Some(PlanAnswer::No)) => {
                return Ok(Some(Outcome::Canceled(sentences::told(
                    task,
                    "planNotStarted",
                    "",
                ))));
            }
            (Asks::ToAllow(steps), Some(PlanAnswer::No)) => plan.refuse(&numbers(steps)),
            // What was said is about what was shown.
            (Asks::ToStart, Some(_)) if !plans::is_shown(task) => {
                return self.ask_again(run, "planChanged").await;
            }
            (Asks::ToAllow(_), Some(_)) if !plans::is_shown(task) => {
                return self.ask_again(run, "thatChanged").await;
            }
            (Asks::ToAllow(_), Some(PlanAnswer::Allow(numbers))) => plan.allow(&numbers),
            (Asks::ToAllow(_), Some(PlanAnswer::Refuse(numbers))) => plan.refuse(&numbers),
            (Asks::ToAllow(_), Some(PlanAnswer::Which)) => {
                return self.ask_again(run, "severalWaitForThat").await;
            }
            (Asks::ToStart, Some(PlanAnswer::Go)) => approve(&mut plan),
            (Asks::ToStart, Some(PlanAnswer::Without(numbers))) => {
                plan.leave_out(&numbers);
                if plan.wanted().all(|step| plan.is_begun(step.number, jobs)) {
                    return Ok(Some(Outcome::Canceled(sentences::told(task, "planIsEmpty", ""))));
                }
                approve(&mut plan);
            }
            (Asks::AfterFailure(failed), Some(PlanAnswer::Retry(number))) => {
                let known = numbers(failed).into_iter();
                let again: Vec<u32> = known
                    .filter(|known| number.is_none_or(|number| number == *known))
                    .collect();
                if again.is_empty() {
                    return self.ask_again(run, "noSuchPart").await;
                }
                for number in again {
                    plan.retry(number, jobs);
                }
            }
            (Asks::AfterFailure(_), Some(PlanAnswer::No | PlanAnswer::Without(_))) => plan.go_on(jobs),
            (Asks::ToStart | Asks::ToAllow(_), None)
                if self.changes_plans() && task.turns.len() < STEPS_MAX =>
            {
                return Box::pin(self.change(run)).await;
            }
            (_, _) => return self.ask_again(run, "notUnderstood").await,
        }
        self.go(run, plan).await.map(|()| None)
    }

    /// Goes on with the plan as its user wants it.
    async fn go(&self, run: &mut Run, plan: TaskPlan) -> Result<(), ExecuteError> {
        let changed = Changed {
            plan,
            kinds: Vec::new(),
            missed: String::new(),
        };
        self.walk(run, Some(changed)).await
    }

    async fn ask_again(&self, run: &mut Run, lead: &str) -> Result<Option<Outcome>, ExecuteError> {
        let lead = sentences::told(run.task(), lead, "");
        let until = self.deps().patience.wake_at(run.task(), run.now());
        let question = plans::asked(run.task(), |text| run.message(text), &lead);
        run.record_and_park(question.into_iter().collect(), |_| Some(until))
            .await?;
        Ok(Some(Outcome::Parked { until }))
    }

    /// Lets the model change a plan that its user has said something else about.
    async fn change(&self, run: &mut Run) -> Result<Option<Outcome>, ExecuteError> {
        let mut thought = self.thought_of(run);
        thought.known = Some(self.discover().await?);
        let here = self.beside(run).await?;
        thought.remember(&here);
        let prompt = self.prompt(run.task(), &thought);
        let Ok(answer) = self.first_step(run, &prompt, None).await? else {
            return self.ask_again(run, "planNotChanged").await;
        };
        if matches!(answer.step, Step::Choose { .. }) {
            return self.ask_again(run, "notUnderstood").await;
        }
        let Answer {
            step: Step::Say(text),
            ..
        } = &answer
        else {
            thought.first = Some(answer);
            return self.think(run, thought).await.map(Some);
        };
        let until = self.deps().patience.wake_at(run.task(), run.now());
        let number = transcript::next_step(run.task(), &[]);
        let said = plans::said(run.task()).map(|said| said.message_id.clone());
        let said = domain::ModelTurn {
            said,
            text: text.clone(),
            ..turn(number, &answer, Vec::new())
        };
        let text = Addresses::of(run.task(), &thought).kept(text);
        let question = plans::asked(run.task(), |text| run.message(text), &text);
        let kinds = std::iter::once(note(said.bounded())).chain(question).collect();
        run.record_and_park(kinds, |_| Some(until)).await?;
        Ok(Some(Outcome::Parked { until }))
    }

    /// What the task is about, as it was understood.
    pub(crate) fn thought_of(&self, run: &Run) -> Thought {
        let note = Note::of(run.task()).unwrap_or_default();
        Thought::of(transcript::asked(run.task()), note)
    }

    pub(crate) fn tools<'t>(&'t self, run: &'t mut Run, thought: &'t mut Thought) -> Tools<'t> {
        Tools {
            agents: self.agents(),
            run,
            thought,
        }
    }
}

/// The user agrees to a plan, and so to each text that stands in it.
fn approve(plan: &mut TaskPlan) {
    plan.approve();
    let told = plans::told_whole(plan);
    plan.allow(&told);
}

fn numbers(steps: &[&PlanStep]) -> Vec<u32> {
    steps.iter().map(|step| step.number).collect()
}
