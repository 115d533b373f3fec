//! Which task answers which message of the user, and what that answer says.
//!
//! An answer is built from the task whenever the chat is read, so that one that comes an hour late is simply there, and
//! nobody can append it twice; once it is final and was shown it is kept in the chat, which outlives tasks. All ids are derived: the message to the
//! host from the chat and the page's message id, the answer's id from that, and another attempt's from the answer it
//! replaces. A repeated request therefore always means the same message, the same task, the same answer.

use domain::{
    ContextId, Job, JobState, Message, MessageId, PLAN_HASH, Role, TOLD_BESIDE, Task, TaskId, TaskState,
    UserContext,
};

use crate::chat::ui_message::Trigger;

/// Most attempts at one answer that are followed.
const ATTEMPTS_MAX: usize = 50;

/// One message of the user, the newest attempt at it, and the task that took it.
#[derive(Debug, Clone)]
pub(crate) struct Turn<'a> {
    /// The id the message has at the host.
    pub(crate) message_id: MessageId,
    /// The task that took it, where one is known.
    pub(crate) task: Option<&'a Task>,
}

impl<'a> Turn<'a> {
    /// The turn that a message of the chat began, among the tasks of the chat's context: the message by its id, and how often it
    /// was edited.
    pub(crate) fn of(context: &ContextId, message: (&MessageId, u32), tasks: &'a [Task]) -> Self {
        Self::kept(context, message, tasks, |_| false)
    }

    /// The same where the tasks of earlier attempts may be gone and only their answers are kept.
    pub(crate) fn kept(
        context: &ContextId,
        message: (&MessageId, u32),
        tasks: &'a [Task],
        is_kept: impl Fn(&MessageId) -> bool,
    ) -> Self {
        let (first, mut more) = Self::attempts(context, message, tasks, is_kept);
        more.pop().unwrap_or(first)
    }

    /// The first attempt at it, and those after that of which anything is known.
    pub(crate) fn attempts(
        context: &ContextId,
        (ui_id, edits): (&MessageId, u32),
        tasks: &'a [Task],
        is_kept: impl Fn(&MessageId) -> bool,
    ) -> (Self, Vec<Self>) {
        let id = match edits {
            0 => format!("chat/{context}/{ui_id}"),
            edits => format!("edited/{edits}/{context}/{ui_id}"),
        };
        let first = Self::at(MessageId::derived(&id), tasks);
        let is_known = |turn: &Self| turn.task.is_some() || is_kept(&turn.answer_id());
        let next = |turn: &Self| is_known(turn).then(|| Self::at(turn.next_attempt(), tasks));
        let more = std::iter::successors(next(&first), next).take_while(is_known);
        let more = more.take(ATTEMPTS_MAX).collect();
        (first, more)
    }

    /// What a request asks for: the newest attempt, or a new one in its place when that is wanted and it is over.
    pub(crate) fn asked(self, trigger: &Trigger, tasks: &'a [Task]) -> Self {
        let Trigger::Regenerate(replaced) = trigger else {
            return self;
        };
        let named = replaced
            .as_ref()
            .is_none_or(|replaced| *replaced == self.answer_id());
        match self.task {
            Some(task) if named && task.status.state.is_terminal() => Self::at(self.next_attempt(), tasks),
            _ => self,
        }
    }

    /// The id of the answer's `UIMessage`.
    pub(crate) fn answer_id(&self) -> MessageId {
        MessageId::derived(&format!("answer/{}", self.message_id))
    }

    /// The id of the message that asks for the same once more.
    pub(crate) fn next_attempt(&self) -> MessageId {
        MessageId::derived(&format!("again/{}", self.answer_id()))
    }

    /// The turn that a task answers.
    pub(crate) fn taken_by(task: &'a Task) -> Option<Self> {
        let first = task.history.iter().find(|message| message.role == Role::User)?;
        Some(Self {
            message_id: first.message_id.clone(),
            task: Some(task),
        })
    }

    /// The turn of the message that has this id at the host.
    pub(crate) fn at(message_id: MessageId, tasks: &'a [Task]) -> Self {
        let task = tasks.iter().find(|task| position(task, &message_id).is_some());
        Self { message_id, task }
    }
}

/// True where a task gives its answer now: it is over, waits for the user, or nothing was heard of it in time.
pub(crate) fn rests(state: TaskState) -> bool {
    state.is_terminal() || state.is_interrupted() || state == TaskState::Unknown
}

/// What a task answers to the message, as text; `None` while it is at work.
///
/// A message that was followed by another one got as its answer what the agent said last in between. A button's word has no
/// answer of its own.
pub(crate) fn answer(task: &Task, message_id: &MessageId) -> Option<String> {
    let after =
        position(task, message_id).map_or(&[][..], |at| task.history.get(at + 1..).unwrap_or_default());
    let is_next = |message: &Message| message.role == Role::User && !message.metadata.contains_key(PLAN_HASH);
    if let Some(next) = after.iter().position(is_next) {
        let between = after.get(..next).unwrap_or_default();
        return between
            .iter()
            .rev()
            .map(words)
            .find(|text| !text.trim().is_empty());
    }
    let told = |word: String| match task.jobs.len() > 1 {
        true => parts(task).chain([word]).collect::<Vec<_>>().join("\n\n"),
        false => word,
    };
    match task.status.state {
        state if state.is_terminal() => Some(last_word(task)),
        state if rests(state) => Some(told(last_word(task))),
        _ => acknowledgement(task).map(told),
    }
}

/// What the parts of a task brought that are over already, while others are not.
pub(crate) fn parts(task: &Task) -> impl Iterator<Item = String> {
    let jobs = task.jobs.iter().filter(|job| !task.is_replaced(job));
    let language = language(task);
    jobs.filter_map(move |job| part(job, &language))
}

/// What one job brought, where it is over.
pub(crate) fn part(job: &Job, language: &str) -> Option<String> {
    let JobState::Settled { remote, .. } = &job.state else {
        return None;
    };
    let said = remote.text.clone().filter(|text| !text.trim().is_empty());
    let name = &job.agent_name;
    if remote.state == TaskState::Completed {
        return job
            .brought()
            .or(said)
            .map(|text| format!("{name}: {}", domain::excerpt(&text)));
    }
    Some(words::not_done(
        Some(language),
        name,
        &said.map_or_else(String::new, |reason| domain::excerpt(&reason)),
    ))
}

/// That work is under way elsewhere, once all of it was handed over or waits; `None` while the host itself is at work.
fn acknowledgement(task: &Task) -> Option<String> {
    if !is_handed_over(task) {
        let stumble = task.stumble.as_ref().filter(|_| is_held_up(task))?;
        let reason = stumble.reason.trim_end_matches('.');
        return Some(format!("{reason}. {}", ours(task, "keepTrying", "")));
    }
    let names = |fits: fn(&Job) -> bool| -> Vec<&str> {
        task.jobs
            .iter()
            .filter(|job| fits(job))
            .map(|job| job.agent_name.as_str())
            .collect()
    };
    let at_work = names(|job| matches!(job.state, JobState::Linked { .. }));
    let tried = names(|job| matches!(job.state, JobState::Prepared) && job.attempts > 0);
    let mut said = Vec::new();
    match at_work.as_slice() {
        [] => {}
        [only] => said.push(ours(task, "started", only)),
        several => said.push(ours(task, "haveStarted", &several.join(", "))),
    }
    if !tried.is_empty() {
        said.push(ours(task, "noAnswerKeepTrying", &tried.join(", ")));
    }
    let said = Some(said.join(" ")).filter(|said| !said.is_empty())?;
    Some(match beside(task) {
        Some(beside) => format!("{beside}\n\n{said}"),
        None => said,
    })
}

/// What the host said beside that it gave out work for the user's last message: what it did, or what nobody can do.
fn beside(task: &Task) -> Option<&str> {
    let said = task.history.iter().chain(&task.status.message).rev();
    let mut since = said.take_while(|message| message.role == Role::Agent);
    since.find_map(|message| message.metadata.get(TOLD_BESIDE)?.as_str())
}

/// True where the host could not even begin so far, and tries again by its schedule.
pub(crate) fn is_held_up(task: &Task) -> bool {
    task.jobs.is_empty() && task.stumble.is_some() && !rests(task.status.state)
}

/// True where every job was handed over, waits, or is over, and not all are over: the host waits.
pub(crate) fn is_handed_over(task: &Task) -> bool {
    let away = |job: &Job| match job.state {
        JobState::Linked { .. } | JobState::Settled { .. } => true,
        _ => job.attempts > 0 || job.awaited_consent().is_some() || task.holds(job),
    };
    task.jobs.iter().all(away) && task.jobs.iter().any(|job| !job.is_settled())
}

/// True where the host may be saying the answer word by word right now, to those who asked for that.
pub(crate) fn may_draft(task: &Task) -> bool {
    a2a::wants_drafts(task) && !rests(task.status.state) && !is_handed_over(task)
}

/// True where more of a task may be there in a moment, though it waits for its user: agents are at work on other parts.
pub(crate) fn works_beside(task: &Task) -> bool {
    let at_work = |job: &Job| match &job.state {
        JobState::Linked { remote, .. } => !remote.state.is_interrupted(),
        JobState::Prepared => job.awaited_consent().is_none() && !task.holds(job),
        _ => false,
    };
    task.jobs.len() > 1 && task.jobs.iter().any(at_work)
}

/// True where a task has a card: it is one that something is done for, and no mere talk.
pub(crate) fn has_card(task: &Task) -> bool {
    task.status.state != TaskState::Submitted && !task.direct
}

/// The task that the answer comes from, where the host says that it is another one.
pub(crate) fn goes_on_in(task: &Task) -> Option<TaskId> {
    let message = task.direct_message()?;
    TaskId::parse(message.metadata.get("goesOnIn")?.as_str()?).ok()
}

/// A sentence of ours in the language of the task's user, about somebody of this name.
fn ours(task: &Task, key: &str, name: &str) -> String {
    words::told(Some(&language(task)), key, name)
}

/// The language that the task's user is answered in.
pub(crate) fn language(task: &Task) -> String {
    let locale = UserContext::newest(task.history.iter()).locale;
    let said = task.history.iter().filter(|message| message.role == Role::User);
    words::language::answered_after(said.map(Message::text_to_read), locale.as_deref())
}

/// The status message of a resting task, or its results, or a plain sentence.
pub(crate) fn last_word(task: &Task) -> String {
    let said = said(task).filter(|text| !text.trim().is_empty());
    let results = || {
        let texts: Vec<_> = task.artifacts.iter().map(domain::Artifact::text).collect();
        Some(domain::excerpt(&texts.join("\n\n"))).filter(|text| !text.is_empty())
    };
    said.or_else(results).unwrap_or_else(|| {
        let key = match task.status.state {
            TaskState::Completed => "done",
            TaskState::Failed => "didNotWork",
            TaskState::Rejected => "wouldNot",
            TaskState::Canceled => "calledOff",
            TaskState::InputRequired => "agentNeedsMore",
            TaskState::AuthRequired => "agentNeedsConsent",
            TaskState::Unknown => "notHeard",
            TaskState::Submitted | TaskState::Working => "working",
        };
        ours(task, key, "")
    })
}

/// The status message's text.
pub(crate) fn said(task: &Task) -> Option<String> {
    task.status.message.as_ref().map(words)
}

/// A message's text. The link of a consent of ours is a button, and not in it; an agent's own words stay as they are, but for an
/// address at their end, which stands beside them.
fn words(message: &Message) -> String {
    let text = message.text();
    let told = |name: &str| message.metadata.get(name).and_then(serde_json::Value::as_str);
    let Some(link) = told("authUrl") else {
        return text;
    };
    // A link of ours may lead to an agent's, which stands in the agent's words.
    let leads_to = message
        .metadata
        .get("connect")
        .and_then(|way| way.get("link")?.as_str());
    if told("authUrlBy") == Some("platform") && leads_to.is_none() {
        return text.replace(&format!(": {link}"), ".");
    }
    let before = text.trim_end().strip_suffix(leads_to.unwrap_or(link));
    match before.and_then(|before| before.trim_end().strip_suffix(':')) {
        Some(before) => format!("{before}."),
        None => text,
    }
}

fn position(task: &Task, message_id: &MessageId) -> Option<usize> {
    task.history
        .iter()
        .position(|message| message.role == Role::User && message.message_id == *message_id)
}

#[cfg(test)]
mod tests {
    use domain::{AgentName, Artifact, EventKind, NewTask, Owner, Part, TaskId, Tenant, Timestamp};

    use super::*;

    fn context() -> ContextId {
        ContextId::parse("ctx").unwrap()
    }

    fn ui(id: &str) -> MessageId {
        MessageId::parse(id).unwrap()
    }

    fn task(message_id: MessageId) -> Task {
        let new = NewTask {
            id: TaskId::derived(message_id.as_str()),
            tenant: Tenant::parse("acme").unwrap(),
            agent: AgentName::parse("host").unwrap(),
            context_id: context(),
            owner: Owner::parse("o").unwrap(),
            message: Message::user(message_id, vec![Part::text("q")]),
            trace: None,
        };
        Task::create(new, Timestamp::from_millis(0))
    }

    fn status(task: &mut Task, state: TaskState, text: Option<&str>) {
        let message = text.map(|text| Message::agent_text(MessageId::derived(text), text));
        task.record(EventKind::status(state, message), Timestamp::from_millis(1))
            .unwrap();
    }

    #[test]
    fn a_task_at_work_has_no_answer_and_a_finished_one_has_its_last_word() {
        let turn = Turn::of(&context(), (&ui("m1"), 0), &[]);
        let mut task = task(turn.message_id.clone());
        assert_eq!(answer(&task, &turn.message_id), None);
        status(&mut task, TaskState::Working, Some("on it"));
        assert_eq!(answer(&task, &turn.message_id), None);
        task.record(
            EventKind::artifact(Artifact::new("a", vec![Part::text("rain")])),
            Timestamp::from_millis(1),
        )
        .unwrap();
        status(&mut task, TaskState::Completed, None);
        assert_eq!(answer(&task, &turn.message_id).as_deref(), Some("rain"));
    }

    #[test]
    fn a_host_that_cannot_begin_says_why_and_that_it_keeps_trying() {
        let turn = Turn::of(&context(), (&ui("m1"), 0), &[]);
        let mut task = task(turn.message_id.clone());
        let stumble = domain::Stumble {
            attempt: 1,
            reason: "The registry of agents cannot be asked at the moment.".to_owned(),
        };
        let note = domain::WorkNote::Stumbled { stumble };
        task.record(EventKind::Work { note }, Timestamp::from_millis(1))
            .unwrap();
        let told =
            "The registry of agents cannot be asked at the moment. I keep trying, and will tell you here.";
        assert_eq!(answer(&task, &turn.message_id).as_deref(), Some(told));
        status(&mut task, TaskState::Completed, Some("Rain."));
        assert_eq!(answer(&task, &turn.message_id).as_deref(), Some("Rain."));
    }

    #[test]
    fn an_address_at_the_end_of_the_words_is_told_beside_them_alone() {
        let link = "https://accounts.example/o?client_id=1";
        let shown = |text: &str, by: &str| {
            let mut message = Message::agent_text(MessageId::derived(text), text);
            message.metadata.insert("authUrl".to_owned(), link.into());
            message.metadata.insert("authUrlBy".to_owned(), by.into());
            words(&message)
        };
        let asks = format!("Please agree: {link}");
        assert_eq!(shown(&asks, "platform"), "Please agree.");
        assert_eq!(shown(&asks, "agent"), "Please agree.");
        let mut led = Message::agent_text(MessageId::derived("led"), &asks);
        led.metadata
            .insert("authUrl".to_owned(), "https://chat.example/connect/task-1".into());
        led.metadata.insert("authUrlBy".to_owned(), "platform".into());
        led.metadata
            .insert("connect".to_owned(), serde_json::json!({ "link": link }));
        assert_eq!(words(&led), "Please agree.", "the agent's link is behind ours");
        // Everything else are the agent's own words.
        for own in [
            format!("Please agree: {link}. Thank you"),
            link.to_owned(),
            format!("Go to {link}"),
            "Please agree: https://other.example/".to_owned(),
        ] {
            assert_eq!(shown(&own, "agent"), own);
        }
    }

    #[test]
    fn a_question_stays_the_answer_of_the_message_that_caused_it() {
        let first = Turn::of(&context(), (&ui("m1"), 0), &[]).message_id;
        let second = Turn::of(&context(), (&ui("m2"), 0), &[]).message_id;
        let mut task = task(first.clone());
        status(&mut task, TaskState::Working, Some("looking"));
        status(&mut task, TaskState::InputRequired, Some("Which Oslo?"));
        assert_eq!(answer(&task, &first).as_deref(), Some("Which Oslo?"));
        let said = Message::user(second.clone(), vec![Part::text("Norway")]);
        task.record(EventKind::Said { message: said }, Timestamp::from_millis(2))
            .unwrap();
        status(&mut task, TaskState::Working, None);
        assert_eq!(answer(&task, &first).as_deref(), Some("Which Oslo?"));
        assert_eq!(answer(&task, &second), None);
        status(&mut task, TaskState::Completed, Some("Rain."));
        assert_eq!(answer(&task, &first).as_deref(), Some("Which Oslo?"));
        assert_eq!(answer(&task, &second).as_deref(), Some("Rain."));
    }

    #[test]
    fn regenerating_a_finished_answer_is_a_new_message_and_repeating_that_is_not() {
        let first = Turn::of(&context(), (&ui("m1"), 0), &[]);
        let mut tasks = vec![task(first.message_id.clone())];
        let again = Trigger::Regenerate(Some(first.answer_id()));
        let turn = |tasks: &[Task], trigger| {
            Turn::of(&context(), (&ui("m1"), 0), tasks)
                .asked(trigger, tasks)
                .message_id
        };
        assert_eq!(
            turn(&tasks, &again),
            first.message_id,
            "still at work: the same answer"
        );
        status(&mut tasks[0], TaskState::Failed, Some("no"));
        assert_eq!(turn(&tasks, &Trigger::Submit), first.message_id);
        let second = turn(&tasks, &again);
        assert_ne!(second, first.message_id);
        tasks.push(task(second.clone()));
        status(&mut tasks[1], TaskState::Completed, Some("yes"));
        assert_eq!(turn(&tasks, &again), second, "a repeat of the same request");
        assert_eq!(
            turn(&tasks, &Trigger::Submit),
            second,
            "the chat shows the newest attempt"
        );
    }
}
