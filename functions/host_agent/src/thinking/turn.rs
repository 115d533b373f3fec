//! A new message of the user: what it means is found out (`meaning`), and done.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use agent::{ExecuteError, Outcome, Run, on_heap};
use consent::{Redeemed, TypedCode};
use domain::{AgentType, Clause, Fate, Message, MessageId, Part, Task, TaskId, TaskState, Timestamp};
use llm::{AgentBrief, Agents, Answer, Step, Tool, ToolCall};
use nlu::Talk;
use store::PageRequest;

use crate::meaning::heard::{self, Heard};
use crate::meaning::{self, Chat, Deed, Free, Meaning, Nothing, Question};
use crate::rules::note::Note;
use crate::rules::reminder;
use crate::rules::transcript::{self, has_file, has_text};
use crate::rules::{sentences, wording};
use crate::thinking::addresses::Addresses;
use crate::thinking::directory::KnownAgents;
use crate::thinking::instead;
use crate::thinking::own_tasks;
use crate::thinking::thinker::Thinker;
use crate::thinking::thought::Thought;
use crate::thinking::tools::{note, turn};

/// How far back the user's other chats are looked through.
const ELSEWHERE_MAX: u32 = 30;
/// How long an engine of sentences in this process is waited for.
const HEARD_WITHIN: Duration = Duration::from_secs(3);
/// The key in a message's metadata under which a chat finds the task that the answer comes from.
const GOES_ON_IN: &str = "goesOnIn";
/// The key in a message's metadata under which the host finds what it asked itself.
const ASKS: &str = "asks";

/// What is said where nothing may be delegated for now.
pub(crate) const SWITCHED_OFF: &str = "Delegating to agents is switched off here at the moment.";
/// Longest text that is taken, in characters.
const TEXT_MAX: usize = 32_000;

impl Thinker {
    /// A new task: its text is taken where that can be, and understood.
    pub(crate) async fn begin(&self, run: &mut Run) -> Result<Outcome, ExecuteError> {
        if !self.is_enabled() {
            return Ok(Outcome::Rejected(SWITCHED_OFF.to_owned()));
        }
        let text = transcript::asked(run.task());
        if text.trim().is_empty() && !run.task().history.iter().any(has_text) {
            return Ok(Outcome::Rejected(
                "I need some text to know what is wanted; the message has none.".to_owned(),
            ));
        }
        if text.chars().count() > TEXT_MAX {
            return Ok(Outcome::Rejected(format!(
                "The message is too long: I take up to {TEXT_MAX} characters."
            )));
        }
        on_heap(|| self.take(run, text)).await
    }

    /// Finds out what the message of a new task means, and does it.
    async fn take(&self, run: &mut Run, text: String) -> Result<Outcome, ExecuteError> {
        if let Some(agent_type) = self.named(run.task()) {
            // Of what an agent failed at, the host itself says that "try again" does it once more.
            let here = self.beside(run).await?;
            let of_agent = |task: &Task| task.jobs.iter().any(|job| job.agent_type == agent_type);
            let again = self
                .tried_again(run.task(), &here, (&text, &Agents::default()))
                .await;
            if let Some(task) = again.filter(|task| of_agent(task)) {
                return on_heap(|| self.retry(run, &here, task)).await;
            }
            let thought = self.thought_of(run);
            return on_heap(|| self.hand_to(run, thought, agent_type)).await;
        }
        let here = self.beside(run).await?;
        if let Some(note) = Note::of(run.task()) {
            // An execution before this one got that far.
            if let Some(task) = here.iter().find(|task| note.retry_of == Some(task.id)) {
                return on_heap(|| self.retry(run, &here, task)).await;
            }
            let text = note.asked.clone().unwrap_or(text);
            return self.request(run, &here, Wanted::of(text, note)).await;
        }
        // An execution before this one handed the message on already: what it answered waits no more.
        let said = run.task().history.first().map(|said| said.message_id.clone());
        let has = |task: &&Task| {
            task.history
                .iter()
                .any(|known| Some(&known.message_id) == said.as_ref())
        };
        if let Some(task) = here.iter().find(has) {
            return Ok(goes_on_in(run, task, None));
        }
        let known = self.discover().await.ok();
        let briefs = self.briefs(known.as_ref());
        if let Some((name, text)) = meaning::agent_named(&text).filter(|_| !self.has_one_agent()) {
            let is_named = |agent: &&AgentBrief| {
                agent.agent_type().as_str() == name || agent.name().eq_ignore_ascii_case(name)
            };
            let Some(agent) = briefs.iter().find(is_named) else {
                let language = &sentences::language_after(&here, run.task());
                let told = words::told(Some(language), "noAgentNamed", name);
                let told = format!("{told} {}", llm::offer(&briefs, language));
                return Ok(Outcome::Message(run.message(&told)));
            };
            let mut thought = self.thought_of(run);
            text.clone_into(&mut thought.asked);
            return on_heap(|| self.hand_to(run, thought, agent.agent_type().clone())).await;
        }
        if self.has_one_agent() || run.task().history.iter().any(has_file) {
            // "Try again with this one": of all that words can mean beside a file, this alone is no request.
            if !self.has_one_agent()
                && let Some(task) = self.tried_again(run.task(), &here, (&text, &briefs)).await
            {
                return on_heap(|| self.retry(run, &here, task)).await;
            }
            let wanted = Wanted {
                known,
                ..Wanted::of(text, Note::default())
            };
            return self.request(run, &here, wanted).await;
        }
        let asked = here.last().and_then(question);
        let mut elsewhere: Option<Vec<Task>> = None;
        loop {
            let heard = self.heard(&text, &briefs, (&here, elsewhere.as_deref())).await;
            let chat = Chat {
                here: &here,
                asked: asked.clone(),
                elsewhere: elsewhere.as_deref(),
                since: run.task().created_at,
            };
            let (meant, is_free) = chat.read(&text, heard.as_ref());
            tracing::debug!(task.id = %run.task().id, meaning = meant.word(), "a message is understood");
            if meant != Meaning::LookElsewhere {
                if is_free && self.is_hosted() {
                    return self.led(run, (&here, known), meant).await;
                }
                return on_heap(|| self.act(run, (&here, &briefs, known), meant)).await;
            }
            elsewhere = Some(self.elsewhere(run.task()).await?);
        }
    }

    /// The agent that the user has named for what they said. A code that is typed back is for nobody but the host.
    fn named(&self, task: &Task) -> Option<AgentType> {
        let is_code = task
            .history
            .first()
            .is_some_and(|said| TypedCode::of(said).is_some());
        transcript::named_agent(task).filter(|_| !is_code && !self.has_one_agent())
    }

    /// The message as the engine hears it. Nobody waits for it longer than a moment: its words decide then. In a box, and made in a
    /// function of its own, as it stands deep in a worker's stack.
    pub(crate) fn heard<'h>(
        &'h self,
        text: &'h str,
        agents: &'h Agents,
        (here, elsewhere): (&'h [Task], Option<&'h [Task]>),
    ) -> Pin<Box<dyn Future<Output = Option<Heard>> + Send + 'h>> {
        Box::pin(async move {
            let understanding = &self.deps().understanding;
            let engine = understanding.ready().await?;
            // Other chats' newest come first.
            let tasks: Vec<&Task> = elsewhere.unwrap_or_default().iter().rev().chain(here).collect();
            let hearing = heard::hear(engine, text, (agents, &tasks));
            let within = understanding.patience().unwrap_or(HEARD_WITHIN);
            match tokio::time::timeout(within, hearing).await {
                Ok(Ok(heard)) => Some(heard),
                Ok(Err(error)) => {
                    understanding.failed(&error);
                    None
                }
                Err(_) => {
                    tracing::warn!("a message is read by its words alone: the engine takes too long");
                    None
                }
            }
        })
    }

    /// What a text means beside these tasks of a chat, and no others.
    async fn means<'a>(&self, of: &Task, here: &'a [Task], (text, agents): (&str, &Agents)) -> Meaning<'a> {
        let heard = self.heard(text, agents, (here, None)).await;
        let chat = Chat {
            here,
            asked: None,
            elsewhere: Some(&[]),
            since: of.created_at,
        };
        chat.meaning(text, heard.as_ref())
    }

    /// Whether a text that is said to a task itself calls it off.
    pub(crate) async fn is_called_off(&self, task: &Task, text: &str) -> bool {
        let agents = Agents::default();
        let means = || self.means(task, std::slice::from_ref(task), (text, &agents));
        meaning::calls_off(task, text) || matches!(means().await, Meaning::Cancel(_, None))
    }

    /// The task of this chat that a message asks to be done once more, where it says nothing else.
    async fn tried_again<'a>(
        &self,
        of: &Task,
        here: &'a [Task],
        (text, agents): (&str, &Agents),
    ) -> Option<&'a Task> {
        match self.means(of, here, (text, agents)).await {
            Meaning::Retry(task) => Some(task),
            _ => None,
        }
    }

    async fn elsewhere(&self, task: &Task) -> Result<Vec<Task>, ExecuteError> {
        let page = PageRequest {
            limit: ELSEWHERE_MAX,
            cursor: None,
        };
        let deps = self.deps();
        let all = deps
            .store
            .tasks()
            .by_owner(&task.tenant, &task.agent, &task.owner, page, deps.clock.now())
            .await?;
        let other = |other: &Task| other.context_id != task.context_id;
        let mut tasks: Vec<Task> = all.items.into_iter().filter(other).collect();
        tasks.sort_by_key(|task| std::cmp::Reverse(task.created_at));
        Ok(tasks)
    }

    async fn act(
        &self,
        run: &mut Run,
        (here, briefs, known): (&[Task], &Agents, Option<Arc<KnownAgents>>),
        meant: Meaning<'_>,
    ) -> Result<Outcome, ExecuteError> {
        let (deps, now) = (self.deps(), run.now());
        let language = &sentences::language_after(here, run.task());
        let say = |run: &Run, text: String| Ok(Outcome::Message(run.message(&text)));
        match meant {
            Meaning::Code(tasks) => on_heap(|| self.code(run, &tasks)).await,
            Meaning::Answer(task) => on_heap(|| self.hand_on(run, here, task, false)).await,
            Meaning::AnswerAnd(task, first, rest) => {
                on_heap(|| self.answer_and(run, (here, briefs), task, (first, rest))).await
            }
            Meaning::Decline(task) => on_heap(|| self.hand_on(run, here, task, true)).await,
            Meaning::Cancel(tasks, rest) => {
                let told = own_tasks::cancel_all(deps, &tasks, language).await?;
                // "Lunch, and cancel the report": what is left may answer another one.
                if let Some(rest) = &rest
                    && let Meaning::Answer(task) = self.means(run.task(), here, (rest, briefs)).await
                    && tasks.iter().all(|ended| ended.id != task.id)
                {
                    let said = run.task().history.first().cloned().ok_or(ExecuteError::Stale)?;
                    let said = Message {
                        parts: vec![Part::text(rest.clone())],
                        ..said
                    };
                    if own_tasks::say_to(deps, task, said, false).await? {
                        note_both(run, rest, Fate::Done, Fate::Answered)?;
                        return Ok(goes_on_in(run, task, Some(&told)));
                    }
                }
                on_heap(|| self.then(run, here, (told, rest, None), Fate::Done)).await
            }
            Meaning::CancelPart(task, jobs, rest) => {
                let told = own_tasks::cancel_part(deps, task, &jobs, language).await?;
                on_heap(|| self.then(run, here, (told, rest, None), Fate::Done)).await
            }
            Meaning::CancelAndWhich(here_too, there, rest) => {
                let told = own_tasks::cancel_all(deps, &here_too, language).await?;
                let question = Question::about(Deed::Cancel, &there);
                let told = format!("{told}\n{}", which(Deed::Cancel, &there, now, language));
                on_heap(|| self.then(run, here, (told, rest, Some(question)), Fate::Done)).await
            }
            Meaning::Which(to, tasks, rest) => {
                let question = Question::about(to, &tasks);
                on_heap(|| {
                    self.then(
                        run,
                        here,
                        (which(to, &tasks, now, language), rest, Some(question)),
                        Fate::Asked,
                    )
                })
                .await
            }
            Meaning::Nothing(nothing, rest) => {
                on_heap(|| {
                    self.then(
                        run,
                        here,
                        (nothing_of(nothing, language), rest, None),
                        Fate::Refused,
                    )
                })
                .await
            }
            Meaning::Agreeing(tasks) => say(run, wording::agree_there(&tasks, language)),
            Meaning::WhichWord(tasks) => say(run, wording::which_waits(&tasks, now, language)),
            Meaning::Status(tasks) => {
                let told = own_tasks::status_of(deps, &tasks, language).await?;
                say(run, told)
            }
            Meaning::StatusAnd(tasks, rest) => {
                let told = own_tasks::status_of(deps, &tasks, language).await?;
                on_heap(|| self.then(run, here, (told, Some(rest), None), Fate::Done)).await
            }
            Meaning::Open(tasks) => say(run, wording::open(&tasks, language)),
            Meaning::OpenElsewhere(tasks) if !tasks.is_empty() => {
                let listed = wording::open(&tasks, language);
                say(
                    run,
                    words::told_of(Some(language), "openElsewhere", &[("tasks", &listed)]),
                )
            }
            Meaning::OpenElsewhere(_) => say(run, wording::open(&[], language)),
            Meaning::Retry(task) => on_heap(|| self.retry(run, here, task)).await,
            Meaning::Talk(talk) => {
                if known.is_none() {
                    self.discover().await?;
                }
                let own = nlu::talk_language(&transcript::asked(run.task()));
                say(run, talked(talk, briefs, own.unwrap_or(language)))
            }
            Meaning::LookElsewhere => Err(ExecuteError::Stale),
            Meaning::Request { text, free, corrects } => {
                let wanted = Wanted {
                    corrects,
                    known,
                    free,
                    ..Wanted::of(text, reminding(here, run))
                };
                self.request(run, here, wanted).await
            }
        }
    }

    /// Lets a hosted model say what a message means. Where it says nothing that can be done, the message means what was heard.
    async fn led(
        &self,
        run: &mut Run,
        (here, known): (&[Task], Option<Arc<KnownAgents>>),
        meant: Meaning<'_>,
    ) -> Result<Outcome, ExecuteError> {
        let text = transcript::asked(run.task()).trim().to_owned();
        let (free, corrects, note) = match &meant {
            Meaning::Request { free, corrects, .. } => (*free, *corrects, reminding(here, run)),
            _ => (None, false, Note::default()),
        };
        let wanted = Wanted {
            known,
            free,
            corrects,
            heard: Some(meant),
            ..Wanted::of(text, note)
        };
        self.request(run, here, wanted).await
    }

    /// Does what a model said of tasks of the chat, as what is heard is done. What else is asked is decided as a message of its own.
    async fn decided(
        &self,
        run: &mut Run,
        (here, known): (&[Task], Option<Arc<KnownAgents>>),
        answer: &Answer,
        heard: Meaning<'_>,
    ) -> Result<Outcome, ExecuteError> {
        let chat = Chat {
            here,
            asked: None,
            elsewhere: Some(&[]),
            since: run.task().created_at,
        };
        let meant = chat.decided(&transcript::asked(run.task()), answer);
        let meant = meant.unwrap_or(heard);
        let is_request = matches!(meant, Meaning::Request { .. });
        tracing::debug!(task.id = %run.task().id, meaning = meant.word(), "a model has said what a message means");
        let briefs = self.briefs(known.as_ref());
        let outcome = on_heap(|| self.act(run, (here, &briefs, known), meant)).await?;
        // What else is asked has a turn of its own.
        if !is_request && matches!(outcome, Outcome::Message(_)) && Note::of(run.task()).is_none() {
            run.record_with_outcome(note(turn(0, answer, Vec::new())));
        }
        Ok(outcome)
    }

    /// Hands a message's first sentence on to the task that it answers, then does what else the message wants.
    async fn answer_and(
        &self,
        run: &mut Run,
        (here, briefs): (&[Task], &Agents),
        task: &Task,
        (first, rest): (String, String),
    ) -> Result<Outcome, ExecuteError> {
        let deps = self.deps();
        let said = run.task().history.first().cloned().ok_or(ExecuteError::Stale)?;
        let said = Message {
            parts: vec![Part::text(first)],
            ..said
        };
        if !own_tasks::say_to(deps, task, said, false).await? {
            let text = transcript::asked(run.task());
            return self.request(run, here, Wanted::of(text, Note::default())).await;
        }
        let language = &sentences::language_after(here, run.task());
        let lead = words::told(Some(language), "answerWent", &meaning::name(task));
        let told = match self.means(run.task(), here, (&rest, briefs)).await {
            Meaning::Status(tasks) => own_tasks::status_of(deps, &tasks, language).await?,
            Meaning::Cancel(tasks, None) => own_tasks::cancel_all(deps, &tasks, language).await?,
            Meaning::CancelPart(task, jobs, None) => {
                own_tasks::cancel_part(deps, task, &jobs, language).await?
            }
            Meaning::Talk(_) => {
                note_both(run, &rest, Fate::Answered, Fate::Talk)?;
                return Ok(goes_on_in(run, task, None));
            }
            _ => {
                return self
                    .then(run, here, (lead, Some(rest), None), Fate::Answered)
                    .await;
            }
        };
        note_both(run, &rest, Fate::Answered, Fate::Done)?;
        Ok(Outcome::Message(run.message(&format!("{lead}\n{told}"))))
    }

    /// Says what was done, and goes on with what else is wanted.
    async fn then(
        &self,
        run: &mut Run,
        here: &[Task],
        (lead, rest, asks): (String, Option<String>, Option<Question>),
        fate: Fate,
    ) -> Result<Outcome, ExecuteError> {
        let Some(rest) = rest else {
            let mut message = run.message(&lead);
            if let Some(asks) = asks.and_then(|asks| serde_json::to_value(asks).ok()) {
                message.metadata.insert(ASKS.to_owned(), asks);
            }
            return Ok(Outcome::Message(message));
        };
        let note = Note {
            asked: Some(rest.clone()),
            lead: Some(lead),
            deed: Some(Clause::new(&without(&transcript::asked(run.task()), &rest), fate)),
            asks,
            ..Note::default()
        };
        // What was done is not done again, and not forgotten either.
        run.save_checkpoint(&note).await?;
        self.request(run, here, Wanted::of(rest, note)).await
    }

    /// Hands the message on to the task that it answers, whose answer is this one's.
    async fn hand_on(
        &self,
        run: &mut Run,
        here: &[Task],
        task: &Task,
        declines: bool,
    ) -> Result<Outcome, ExecuteError> {
        let Some(said) = run.task().history.first().cloned() else {
            return Err(ExecuteError::Stale);
        };
        if !own_tasks::say_to(self.deps(), task, said, declines).await? {
            // It ended meanwhile.
            let text = transcript::asked(run.task());
            return self.request(run, here, Wanted::of(text, Note::default())).await;
        }
        Ok(goes_on_in(run, task, None))
    }

    /// A code: for the task that it was shown for, which its first letter tells, ours and agents' alike; where several begin
    /// with it, for the one whose code it is. A wrong one counts wherever it could have been right.
    async fn code(&self, run: &mut Run, tasks: &[&Task]) -> Result<Outcome, ExecuteError> {
        let consents = &self.deps().consents;
        let said = run.task().history.first().cloned();
        let Some(typed) = said
            .as_ref()
            .and_then(TypedCode::of)
            .filter(|_| !tasks.is_empty())
        else {
            let text = sentences::told(run.task(), "noCodeAwaited", "");
            return Ok(Outcome::Message(run.message(&text)));
        };
        let mut awaited = Vec::new();
        for task in tasks {
            let ids = task.jobs.iter().filter_map(domain::Job::awaited_consent);
            for consent in ids.filter(|consent| typed.can_be_of(&consent.id)) {
                let found = consents.records().find(&consent.id).await?;
                awaited.extend(found.map(|found| (*task, found)));
            }
        }
        let own = |task: &Task, request: &consent::ConsentRequest| {
            request.owner == task.owner && request.task_id == task.id
        };
        awaited.retain(|(task, consent)| own(task, &consent.request));
        let fitting = awaited
            .iter()
            .find(|(_, consent)| consents.fits(consent, &typed))
            .map(|(task, _)| *task);
        let only = |which: &dyn Fn(&Task) -> bool| {
            let mut those = tasks.iter().copied().filter(|task| which(task));
            those.next().filter(|_| those.next().is_none())
        };
        let asks = |task: &Task| transcript::asks_consent(task);
        let of_an_agent = |task: &Task| {
            let mut remote = task.jobs.iter().filter_map(domain::Job::remote_task_id);
            asks(task) && remote.any(|id| typed.can_be_of(id.as_str()))
        };
        let to = fitting
            .or_else(|| only(&|_| true))
            .or_else(|| only(&of_an_agent).filter(|_| awaited.is_empty()))
            // An agent that is not ours may have other letters, and can alone tell.
            .or_else(|| only(&asks));
        if let Some(task) = to {
            return self.hand_on(run, &[], task, false).await;
        }
        for (_, consent) in &awaited {
            if consents.redeem(consent, &typed).await? == Redeemed::Void {
                tracing::info!(task.id = %consent.request.task_id, "a consent's codes are used up");
            }
        }
        let text = sentences::told(run.task(), "codeNotRight", "");
        Ok(Outcome::Message(run.message(&text)))
    }

    /// Does a task's work once more: within it where it may still end well, otherwise in this one. Files that come with the word for
    /// it stand in for those that came before.
    async fn retry(&self, run: &mut Run, here: &[Task], task: &Task) -> Result<Outcome, ExecuteError> {
        let brings_file = run.task().history.iter().any(has_file);
        if task.status.state == TaskState::Unknown && !brings_file {
            own_tasks::ask_once_more(self.deps(), task).await?;
            return Ok(goes_on_in(run, task, None));
        }
        let some_done = task.jobs.iter().any(transcript::is_done);
        let again = task
            .jobs
            .iter()
            .filter(|job| !some_done || !transcript::is_done(job));
        let calls: Vec<ToolCall> = again
            .map(|job| ToolCall {
                id: format!("again-{}", job.number),
                tool: Tool::SendMessage {
                    agent_type: job.agent_type.clone(),
                    message: job.instruction.clone(),
                    data: job.data.clone(),
                },
            })
            .collect();
        let mut attached = transcript::goes_along(task);
        attached.retain(|part| !(brings_file && transcript::is_file(part)));
        let note = Note {
            asked: Some(transcript::asked(task)),
            retry_of: Some(task.id),
            attached,
            ..Note::default()
        };
        if !note.attached.is_empty() {
            // Who gets them is decided by what the task holds.
            run.save_checkpoint(&note).await?;
        }
        let mut wanted = Wanted::of(transcript::asked(task), note);
        wanted.first = Some(Step::Call(calls)).filter(|_| !task.jobs.is_empty());
        self.request(run, here, wanted).await
    }

    /// Gives a request to the model; where that finds nobody, the text may answer what an agent asked. In a box: what a model
    /// does is deep, and all of it lies below this.
    fn request<'f>(
        &'f self,
        run: &'f mut Run,
        here: &'f [Task],
        wanted: Wanted<'f>,
    ) -> Pin<Box<dyn Future<Output = Result<Outcome, ExecuteError>> + Send + 'f>> {
        Box::pin(async move {
            let mut thought = Thought::of(wanted.text, wanted.note);
            thought.known = Some(match wanted.known {
                Some(known) => known,
                None => self.discover().await?,
            });
            thought.remember(here);
            let corrected = instead::corrected(here).filter(|_| wanted.corrects);
            if wanted.heard.is_some() {
                thought.tasks = meaning::shown(here).into_iter().map(wording::line).collect();
            }
            thought.first = match wanted.first {
                Some(first) => Some(Answer::from(first)),
                None if wanted.free.is_none() && corrected.is_none() && wanted.heard.is_none() => None,
                None => {
                    let prompt = self.prompt(run.task(), &thought);
                    let addresses = Addresses::of(run.task(), &thought);
                    // What may never be said is not shown.
                    let shown = Some(&addresses).filter(|_| wanted.free.is_none() && corrected.is_none());
                    let asked = self.first_step(run, &prompt, shown).await;
                    let known = thought.known.clone();
                    let stands = wanted.heard.as_ref().is_some_and(|heard| stands(heard, &asked));
                    match (asked, wanted.heard) {
                        (Ok(Ok(answer)), Some(heard)) if !answer.about.is_empty() => {
                            return self.decided(run, (here, known), &answer, heard).await;
                        }
                        (_, Some(heard)) if stands => {
                            let briefs = self.briefs(known.as_ref());
                            return on_heap(|| self.act(run, (here, &briefs, known), heard)).await;
                        }
                        (Ok(Ok(answer)), _) => match wanted.free {
                            // A few words that fit the very agent that asks are its answer: "kroner", "Oslo tomorrow".
                            Some(Free { task, open })
                                if matches!(answer.step, Step::Say(_) | Step::Choose { .. })
                                    || open && is_brief(&thought.asked) && is_for(&answer.step, task) =>
                            {
                                return self.hand_on(run, here, task, false).await;
                            }
                            _ => Some(answer),
                        },
                        (Ok(Err(outcome)), _) => return Ok(outcome),
                        (Err(error), _) => return Err(error),
                    }
                }
            };
            if let Some(task) = corrected {
                self.instead_of(run, task, &mut thought).await?;
            }
            self.think(run, thought).await
        })
    }
}

/// Notes, with how the task ends, what became of the two parts of its message.
fn note_both(run: &mut Run, rest: &str, first: Fate, then: Fate) -> Result<(), ExecuteError> {
    let said = without(&transcript::asked(run.task()), rest);
    let note = Note {
        clauses: vec![Clause::new(&said, first), Clause::new(rest, then)],
        ..Note::default()
    };
    run.record_with_outcome(note.event()?);
    Ok(())
}

/// A text without what else is asked in it: that is all of it but one piece.
fn without(text: &str, rest: &str) -> String {
    let (text, rest) = (text.trim(), rest.trim());
    let same = |(one, other): &(char, char)| one == other;
    let before = text.chars().zip(rest.chars()).take_while(same).count();
    let behind = text
        .chars()
        .rev()
        .zip(rest.chars().rev())
        .take_while(same)
        .count();
    let (all, left) = (text.chars().count(), rest.chars().count());
    let before = before.min(left.saturating_sub(behind));
    let behind = left.saturating_sub(before);
    text.chars()
        .skip(before)
        .take(all.saturating_sub(before + behind))
        .collect()
}

/// What is wanted of agents.
struct Wanted<'a> {
    text: String,
    note: Note,
    /// Who there is, where that was looked up already.
    known: Option<Arc<KnownAgents>>,
    /// The question that the text may answer.
    free: Option<Free<'a>>,
    /// What is done first, where no model needs to say so.
    first: Option<Step>,
    /// What it was heard to mean, where a model may say otherwise.
    heard: Option<Meaning<'a>>,
    /// It is said instead of what was said before.
    corrects: bool,
}

impl Wanted<'_> {
    fn of(text: String, note: Note) -> Self {
        Self {
            text,
            note,
            known: None,
            free: None,
            first: None,
            heard: None,
            corrects: false,
        }
    }
}

/// Whether a message means what was heard, after a model was asked: where that says nothing, or merely speaks of what was heard to be
/// done with a task, or asks the agent anew that waits for this answer.
pub(crate) fn stands(heard: &Meaning<'_>, asked: &Result<Result<Answer, Outcome>, ExecuteError>) -> bool {
    match (heard, asked) {
        (Meaning::Request { .. }, _) => false,
        (_, Ok(Err(_)) | Err(ExecuteError::Retry(_))) => true,
        (_, Err(_)) | (Meaning::Talk(_) | Meaning::Nothing(..), _) => false,
        (Meaning::Answer(task), Ok(Ok(answer))) if is_for(&answer.step, task) => true,
        (_, Ok(Ok(answer))) => !matches!(answer.step, Step::Call(_)),
    }
}

/// Longest text, in words, that says no more than what was asked for.
const BRIEF: usize = 3;

/// Whether a text may be no more than what was asked for: a few words that ask nothing themselves.
fn is_brief(text: &str) -> bool {
    !text.contains('?') && words::phrases::words(text).len() <= BRIEF
}

/// Whether a step is for the agent that waits for an answer, and for no other.
fn is_for(step: &Step, waiting: &Task) -> bool {
    let asking = transcript::asking(waiting).map(|job| &job.agent_type);
    let mut sends = step.sends().peekable();
    sends.peek().is_some() && sends.all(|(to, ..)| Some(to) == asking)
}

/// A note that tells of what else waits here.
fn reminding(here: &[Task], run: &Run) -> Note {
    Note {
        reminder: reminder::due(here, run.now(), &sentences::language_after(here, run.task())),
        ..Note::default()
    }
}

/// What the host asked in the answer to a task's message.
fn question(task: &Task) -> Option<Question> {
    let told = task
        .status
        .message
        .as_ref()
        .filter(|_| task.direct)
        .and_then(|message| message.metadata.get(ASKS));
    let told = told.and_then(|asks| serde_json::from_value(asks.clone()).ok());
    told.or_else(|| Note::of(task)?.asks)
}

/// The answer of a message that went to another task.
fn goes_on_in(run: &Run, task: &Task, lead: Option<&str>) -> Outcome {
    let text = sentences::told(run.task(), "goesTo", &meaning::name(task));
    let text = match lead {
        Some(lead) => format!("{lead}\n{text}"),
        None => text,
    };
    let mut message: Message = Message::agent_text(MessageId::random(run.entropy()), text);
    message
        .metadata
        .insert(GOES_ON_IN.to_owned(), task.id.to_string().into());
    Outcome::Message(message)
}

fn which(to: Deed, tasks: &[&Task], now: Timestamp, language: &str) -> String {
    let (shall, which) = match to {
        Deed::Cancel => ("shallCancel", "whichCancel"),
        Deed::Decline => ("shallLeave", "whichLeave"),
        Deed::Retry => ("shallTry", "whichTry"),
    };
    match tasks {
        [only] => words::told_of(
            Some(language),
            shall,
            &[("task", &meaning::dated(only, now, language))],
        ),
        several => format!(
            "{}\n{}",
            words::told(Some(language), which, ""),
            meaning::names(several, now, language)
        ),
    }
}

fn nothing_of(nothing: Nothing, language: &str) -> String {
    let key = match nothing {
        Nothing::ToCancel => "nothingToCancel",
        Nothing::PartIsOver => "partIsOver",
        Nothing::ToTell => "nothingToTell",
        Nothing::ToRetry => "nothingToRetry",
        Nothing::ToAgreeTo => "nothingToAgreeTo",
        Nothing::ToDecline => "nothingChanged",
        Nothing::Known(id) => return unknown(id, language),
    };
    words::told(Some(language), key, "")
}

fn unknown(id: TaskId, language: &str) -> String {
    words::told_of(Some(language), "noSuchTask", &[("id", &id.to_string())])
}

fn talked(talk: Talk, agents: &[AgentBrief], language: &str) -> String {
    let told = |key| words::told(Some(language), key, "");
    let offer = || llm::offer(agents, language);
    match talk {
        Talk::Hello => format!("{} {}", told("hello"), offer()),
        Talk::Help => offer(),
        Talk::Thanks => told("welcome"),
        Talk::Bye => told("goodbye"),
        Talk::Chatter => told("tellMe"),
        Talk::About => format!("{} {}", told("aProgram"), offer()),
    }
}
