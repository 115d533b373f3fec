//! The model at work on one task.

use std::sync::Arc;

use agent::{ExecuteError, Outcome, Run, on_heap};
use chrono::{DateTime, NaiveDate};
use domain::{MessageId, Task, TaskState, Timestamp, UserContext};
use llm::{Agents, Answer, Model, ModelError, Prompt, Step, Turn};
use tracing::Instrument as _;

use crate::deps::Deps;
use crate::rules::note::Note;
use crate::rules::outcome::outcome;
use crate::rules::patience::is_over;
use crate::rules::plans;
use crate::rules::sentences;
use crate::rules::transcript;
use crate::thinking::addresses::Addresses;
use crate::thinking::asking::{ask, ask_aside};
use crate::thinking::directory::{Directory, KnownAgents};
use crate::thinking::discovery::Discovery;
use crate::thinking::one_agent::OneAgent;
use crate::thinking::thought::Thought;
use crate::thinking::tools::{Called, Tools, note, turn};
use crate::waiting::wait;

/// Most characters of a model's refusal that a user is told.
const REFUSAL_MAX: usize = 400;
/// Most earlier tasks of the conversation that are looked at, and how many older ones still wait beside them.
const BESIDE_MAX: usize = 12;
const OPEN_MAX: usize = 20;
/// Most steps of a model in one task.
pub(crate) const STEPS_MAX: usize = 8;
/// Most of these whose calls could not be run.
const REFUSED_MAX: usize = 2;
/// How often an answer is written down again where the task changed under it, but not what it answers.
const WRITES_MAX: u32 = 3;
/// How often in a row a model is asked again because what it is shown has changed before its answer was stored.
const ASKED_AGAIN_MAX: u32 = 2;
/// Appended to an answer that its model could not end.
const CUT: &str = "\n\n(The answer is cut off here: it grew too long.)";

pub(crate) struct Thinker {
    agents: Discovery,
    model: Arc<dyn Model>,
    /// False where nothing may be delegated for now.
    enabled: bool,
}

impl Thinker {
    pub(crate) fn new(deps: Arc<Deps>, directory: Directory, model: Arc<dyn Model>, enabled: bool) -> Self {
        let model: Arc<dyn Model> = match directory {
            Directory::Fixed { .. } => Arc::new(OneAgent(model)),
            Directory::Registry { .. } => model,
        };
        Self {
            agents: Discovery { deps, directory },
            model,
            enabled,
        }
    }

    pub(crate) fn agents(&self) -> &Discovery {
        &self.agents
    }

    pub(crate) fn model(&self) -> &dyn Model {
        self.model.as_ref()
    }

    /// Whether the model may change a plan that waits for its user.
    pub(crate) fn changes_plans(&self) -> bool {
        self.model.goes_on() || self.model.is_hosted()
    }

    pub(crate) fn deps(&self) -> &Deps {
        &self.agents.deps
    }

    /// True where one agent gets whatever is said.
    pub(crate) fn has_one_agent(&self) -> bool {
        matches!(self.agents.directory, Directory::Fixed { .. })
    }

    /// Finds the agents.
    pub(crate) async fn discover(&self) -> Result<Arc<KnownAgents>, ExecuteError> {
        self.agents.discover().await
    }

    /// True where its answers take seconds.
    pub(crate) fn is_hosted(&self) -> bool {
        self.model.is_hosted()
    }

    /// False where nothing may be delegated for now.
    pub(crate) fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Every call of the last turn has its result: the model phrases the answer, or goes on.
    pub(crate) async fn resume(&self, run: &mut Run) -> Result<Outcome, ExecuteError> {
        let mut thought = self.thought_of(run);
        // The rest is only for a model that may want to send once more: an answer never waits for a registry.
        if self.model.goes_on() {
            thought.known = self.discover().await.ok();
            let here = self.beside(run).await?;
            thought.remember(&here);
        }
        self.think(run, thought).await
    }

    /// The newest tasks of the conversation, and what is still under way or waits of older ones.
    pub(crate) async fn beside(&self, run: &Run) -> Result<Vec<Task>, ExecuteError> {
        let tasks = self.deps().store.tasks();
        Ok(tasks
            .beside(run.task(), (BESIDE_MAX, OPEN_MAX), run.now())
            .await?)
    }

    /// The model's first answer, or how the task ends because there is none. Its words may be seen before it is whole where they are
    /// shown with these addresses.
    pub(crate) async fn first_step(
        &self,
        run: &mut Run,
        prompt: &Prompt,
        shown: Option<&Addresses>,
    ) -> Result<Result<Answer, Outcome>, ExecuteError> {
        let answer = match given(run, prompt) {
            Some(answer) => Ok(answer),
            None => match shown {
                Some(addresses) => ask(self.model.as_ref(), run, prompt, (0, None), addresses).await?,
                None => ask_aside(self.model.as_ref(), run, prompt).await?,
            },
        };
        match answer {
            Ok(answer) => {
                keep(run, prompt, &answer);
                Ok(Ok(answer))
            }
            Err(error) => failed(run, error).map(Err),
        }
    }

    /// These agents, as a model is told of them.
    pub(crate) fn briefs(&self, known: Option<&Arc<KnownAgents>>) -> Agents {
        let deps = self.deps();
        known
            .map(|known| known.briefs(&deps.tenant, &deps.url))
            .unwrap_or_default()
    }

    /// All that the model sees: the same for the same task, whenever it is asked.
    pub(crate) fn prompt(&self, task: &Task, thought: &Thought) -> Prompt {
        let mut turns = thought.earlier.clone();
        turns.push(Turn::User(thought.asked.clone()));
        turns.extend(transcript::of_work(task, &thought.unstored));
        turns.extend(plans::said(task).map(|said| Turn::User(said.text())));
        Prompt {
            agents: self.briefs(thought.known.as_ref()),
            turns,
            today: Some(today(task)),
            locale: Some(sentences::language(task)),
            changes_plan: plans::said(task).is_some(),
            tasks: thought.tasks.clone(),
        }
    }

    /// Asks the model, does what it calls for, shows it the results, until it speaks or work is under way elsewhere.
    pub(crate) async fn think(&self, run: &mut Run, mut thought: Thought) -> Result<Outcome, ExecuteError> {
        for number in run.task().turns.len()..STEPS_MAX {
            let prompt = self.prompt(run.task(), &thought);
            let addresses = Addresses::of(run.task(), &thought);
            let answer = match thought.first.take().or_else(|| given(run, &prompt)) {
                Some(answer) => answer,
                None => {
                    let span = tracing::debug_span!("host.model.step", number);
                    let lead = thought.note.lead.as_deref();
                    let asked = ask(self.model.as_ref(), run, &prompt, (number, lead), &addresses);
                    match asked.instrument(span).await? {
                        Ok(answer) => answer,
                        Err(error) => return Self::unworded(run, &thought, failed(run, error)),
                    }
                }
            };
            keep(run, &prompt, &answer);
            // What a model says after its calls is about their results.
            if run.task().jobs.is_empty() && thought.unstored.is_empty() && run.task().turns.is_empty() {
                thought.note.fates(&thought.asked, &answer);
            }
            if let Step::Say(text) = &answer.step {
                // The rules say nothing of their own.
                let text = match answer.is_by_rule() {
                    true => text.clone(),
                    false => addresses.kept(text),
                };
                let text = match answer.is_cut {
                    true => format!("{text}{CUT}"),
                    false => text,
                };
                let number = transcript::next_step(run.task(), &thought.unstored);
                if !answer.is_by_rule() {
                    run.record_with_outcome(note(turn(number, &answer, Vec::new())));
                }
                let is_noted = thought.note.reminder.is_some() || !thought.note.clauses.is_empty();
                if run.task().jobs.is_empty() && is_noted {
                    // It counts for what is answered next.
                    run.record_with_outcome(thought.note.event()?);
                }
                return Ok(said(run, &thought.note, text));
            }
            if let Step::Choose { of, why } = &answer.step {
                return self.offer(run, thought, of, *why).await;
            }
            let seen = Seen::of(run.task(), prompt);
            let called = self.call(run, &mut thought, &answer, seen).await?;
            run.forget();
            // Once something is done, what the message does with tasks of the chat is decided.
            thought.tasks.clear();
            match called {
                Called::Parked => return wait(self.deps(), run).await,
                Called::Answered(Some(turn)) => thought.unstored.push(turn),
                Called::Answered(None) => {}
            }
            let turns = run.task().turns.iter().chain(&thought.unstored);
            if turns.filter(|turn| turn.refused).count() > REFUSED_MAX {
                tracing::warn!(task.id = %run.task().id, "the model calls what is no tool, or what is done");
                return Self::unworded(run, &thought, Ok(no_answer()));
            }
        }
        tracing::warn!(task.id = %run.task().id, "the model did not come to an answer within its steps");
        Self::unworded(run, &thought, Ok(no_answer()))
    }

    /// How a task ends whose model says nothing: with what agents brought, in their own words. A model may only improve these. Where
    /// nobody brought anything, as it would have ended.
    fn unworded(
        run: &Run,
        thought: &Thought,
        otherwise: Result<Outcome, ExecuteError>,
    ) -> Result<Outcome, ExecuteError> {
        let task = run.task();
        let is_over = task.jobs.iter().all(is_over) && plans::asks(task).is_none();
        let work = transcript::of_work(task, &thought.unstored);
        match llm::brought(&work, &sentences::language(task)).filter(|_| is_over) {
            Some(text) => Ok(said(run, &thought.note, text)),
            None => otherwise,
        }
    }

    /// Does what the answer calls for. Where the task changed under it, and what it answers did not, it still stands.
    async fn call(
        &self,
        run: &mut Run,
        thought: &mut Thought,
        answer: &Answer,
        seen: Seen,
    ) -> Result<Called, ExecuteError> {
        for _ in 1..WRITES_MAX {
            let mut tools = Tools {
                agents: &self.agents,
                run,
                thought,
            };
            match on_heap(|| tools.call(answer)).await {
                Err(ExecuteError::Stale) => run.reload().await?,
                called => return called,
            }
            if seen != Seen::of(run.task(), self.prompt(run.task(), thought)) {
                return Err(ExecuteError::Stale);
            }
        }
        Err(ExecuteError::Stale)
    }
}

/// The model's last answer, until it is stored.
struct Given {
    prompt: Prompt,
    answer: Answer,
    /// How often it was asked before, in a row, and the prompt was another one by the time of its answer.
    outdated: u32,
}

/// The answer that was given to this prompt before the task changed under it. After the prompt has changed too often, the last
/// answer to it stands: what was given is stored before it is asked any more.
fn given(run: &Run, prompt: &Prompt) -> Option<Answer> {
    let given = run.kept::<Given>()?;
    let stands = given.prompt == *prompt || given.outdated >= ASKED_AGAIN_MAX;
    stands.then(|| given.answer.clone())
}

/// Keeps an answer for as long as it is not stored. What the rules decide, they decide again.
fn keep(run: &mut Run, prompt: &Prompt, answer: &Answer) {
    if answer.is_by_rule() {
        return;
    }
    let outdated = match run.kept::<Given>() {
        Some(before) if before.prompt != *prompt => (before.outdated + 1).min(ASKED_AGAIN_MAX),
        Some(before) => before.outdated,
        None => 0,
    };
    run.keep(Given {
        prompt: prompt.clone(),
        answer: answer.clone(),
        outdated,
    });
}

/// What a model's answer was made from.
#[derive(PartialEq)]
struct Seen {
    prompt: Prompt,
    state: TaskState,
    unanswered: Option<MessageId>,
}

impl Seen {
    fn of(task: &Task, prompt: Prompt) -> Self {
        Self {
            prompt,
            state: task.status.state,
            unanswered: task.unanswered.clone(),
        }
    }
}

/// How a task ends whose model said this.
fn said(run: &Run, note: &Note, text: String) -> Outcome {
    if !run.task().jobs.is_empty() || run.task().plan.is_some() {
        return outcome(run.task(), note, text);
    }
    let text = match transcript::brings_file(run.task()) {
        true => format!("Nobody I can reach takes the file that you sent. {text}"),
        false => text,
    };
    Outcome::Message(run.message(&note.around(text)))
}

/// The day on which the task was asked for: what it calls tomorrow stays that day, however long it waits.
fn today(task: &Task) -> NaiveDate {
    nlu::day_of(task.created_at, &UserContext::newest(task.history.iter()))
}

/// How a task ends that the model did not bring to an end.
fn failed(run: &Run, error: ModelError) -> Result<Outcome, ExecuteError> {
    match error {
        ModelError::Unavailable(reason) => {
            tracing::warn!(task.id = %run.task().id, reason, "the model cannot be asked");
            Err(ExecuteError::Retry(
                "The language model here does not answer at the moment.".to_owned(),
            ))
        }
        ModelError::Starting => Err(ExecuteError::Retry(
            "The language model here is starting. I go on as soon as it is there.".to_owned(),
        )),
        ModelError::Denied(reason) => {
            tracing::error!(task.id = %run.task().id, reason, "the model does not take our requests");
            Ok(Outcome::Failed(
                "The language model here does not take requests as it is set up. Its operator has to see to that."
                    .to_owned(),
            ))
        }
        ModelError::Refused(words) => {
            tracing::info!(task.id = %run.task().id, "the model refuses to answer");
            let words = Addresses::default().kept(&llm::clean(&words, REFUSAL_MAX));
            Ok(Outcome::Rejected(match words.is_empty() {
                true => "The language model refuses to answer that.".to_owned(),
                false => format!("The language model refuses to answer that: {words}"),
            }))
        }
        ModelError::Spent { until } => {
            tracing::warn!(task.id = %run.task().id, "the tokens of the day are used up");
            Ok(Outcome::Rejected(format!(
                "Today's tokens for the language model are used up. It goes on at {}.",
                moment(until)
            )))
        }
        error @ ModelError::Unusable(_) => {
            tracing::warn!(task.id = %run.task().id, error = %error, "the model came to no answer");
            Ok(no_answer())
        }
    }
}

/// Such as "00:00 UTC on 24 November".
fn moment(at: Timestamp) -> String {
    let at = DateTime::from_timestamp_millis(at.millis()).unwrap_or_default();
    at.format("%H:%M UTC on %-d %B").to_string()
}

fn no_answer() -> Outcome {
    Outcome::Failed("I came to no answer for this.".to_owned())
}
