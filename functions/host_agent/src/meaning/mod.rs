//! What a message of the user means for what waits and runs. Pure: the words, the tasks of the chat, what was said last.
//!
//! | a message is | where |
//! |---|---|
//! | a code, a command, or whole one of the closed lists | `closed`, `lists` |
//! | an answer to a plan that waits | `plan_words` |
//! | the choice of what was listed | `choices` |
//! | read by a hosted model | `decided` |
//! | heard by the engine of sentences, clause by clause, where no model answers | `heard` |
//! | to be done with these tasks | `deeds`, `which` |
//!
//! A waiting task never captures the chat: what does not read as an answer to it is a request of its own. Whatever
//! authorises something (a consent's code, a yes to cancelling elsewhere, a no) is decided here, from closed lists. What the engine
//! hears beyond them a hosted model may read otherwise (`decided`). Without either, the closed lists, the commands and the choices
//! are all that is read; everything else is a request.

pub(crate) mod choices;
mod closed;
mod decided;
mod deeds;
pub(crate) mod heard;
mod lists;
pub(crate) mod plan_words;
#[cfg(test)]
mod tests;
mod which;

use consent::TypedCode;
use domain::{Job, Message, Task, TaskId, TaskState, Timestamp, to_read};
use nlu::{Act, Talk};
use serde::{Deserialize, Serialize};

use crate::rules::plans::{self, Asks};
use crate::rules::transcript;
use closed::Closed;
pub(crate) use closed::{agent_named, calls_off, is_no};
pub(crate) use decided::shown;
use heard::{Heard, HeardAct};
use plan_words::PlanAnswer;
use which::Target;
pub(crate) use which::{dated, is_open, name, names};

/// Something that the host itself asked last in a chat: which of these tasks is meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Question {
    /// What is to be done with it.
    pub(crate) to: Deed,
    /// The tasks; a single one waits for a yes.
    pub(crate) of: Vec<TaskId>,
}

impl Question {
    /// Of these tasks.
    pub(crate) fn about(to: Deed, tasks: &[&Task]) -> Self {
        Self {
            to,
            of: tasks.iter().map(|task| task.id).collect(),
        }
    }
}

/// What can be done with a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Deed {
    /// End it.
    Cancel,
    /// End the part of it that waits for the user.
    Decline,
    /// Do its work once more.
    Retry,
}

impl Deed {
    /// It, done to this task.
    fn done_to(self, task: &Task) -> Meaning<'_> {
        match self {
            Self::Cancel => Meaning::Cancel(vec![task], None),
            Self::Decline => Meaning::Decline(task),
            Self::Retry => Meaning::Retry(task),
        }
    }
}

/// What a message means.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Meaning<'a> {
    /// It brings a code; these tasks wait for one.
    Code(Vec<&'a Task>),
    /// It goes to this task, as an answer.
    Answer(&'a Task),
    /// Its first sentence goes to this task, and what stands behind that wants something else.
    AnswerAnd(&'a Task, String, String),
    /// What waits of this task is declined.
    Decline(&'a Task),
    /// These tasks are to end; then what else is wanted.
    Cancel(Vec<&'a Task>, Option<String>),
    /// These jobs of the task are to end, and no others; then what else is wanted.
    CancelPart(&'a Task, Vec<u32>, Option<String>),
    /// These tasks are to end, and of the others, which are of another chat, that has to be asked; then what else is wanted.
    CancelAndWhich(Vec<&'a Task>, Vec<&'a Task>, Option<String>),
    /// It has to be asked which is meant, or whether.
    Which(Deed, Vec<&'a Task>, Option<String>),
    /// The user means to agree, which words cannot do: these tasks wait for consent.
    Agreeing(Vec<&'a Task>),
    /// The user means to agree, and these tasks all wait for that.
    WhichWord(Vec<&'a Task>),
    /// How these are doing.
    Status(Vec<&'a Task>),
    /// The same; then what else is wanted.
    StatusAnd(Vec<&'a Task>, String),
    /// What waits for the user, and what runs.
    Open(Vec<&'a Task>),
    /// The same, where this chat has nothing of it: the user's other chats.
    OpenElsewhere(Vec<&'a Task>),
    /// This task's work is to be done once more.
    Retry(&'a Task),
    /// Nothing is there that it could be about; the words say what was looked for.
    Nothing(Nothing, Option<String>),
    /// It asks for nothing.
    Talk(Talk),
    /// The user's other chats have to be looked at first.
    LookElsewhere,
    /// A request: for the model, by this text; where that finds nobody it answers this task's question.
    Request {
        /// The text.
        text: String,
        /// The one question that it may answer.
        free: Option<Free<'a>>,
        /// It is said instead of what was said before.
        corrects: bool,
    },
}

impl Meaning<'_> {
    /// One word for the log, which may not hold what people say.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Code(_) => "code",
            Self::Answer(_) | Self::AnswerAnd(..) => "answer",
            Self::Decline(_) => "decline",
            Self::Cancel(..) | Self::CancelPart(..) | Self::CancelAndWhich(..) => "cancel",
            Self::Which(..) => "which",
            Self::Agreeing(_) => "agreeing",
            Self::WhichWord(_) => "which-word",
            Self::Status(_) | Self::StatusAnd(..) => "status",
            Self::Open(_) | Self::OpenElsewhere(_) => "open",
            Self::Retry(_) => "retry",
            Self::Nothing(..) => "nothing",
            Self::Talk(_) => "talk",
            Self::LookElsewhere => "elsewhere",
            Self::Request { .. } => "request",
        }
    }
}

/// A question that a text may answer where nobody else is found for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Free<'a> {
    /// The task that waits with it.
    pub(crate) task: &'a Task,
    /// It was the last thing said and lists no choices, so that a few words are an answer even where they fit its agent.
    pub(crate) open: bool,
}

/// What there is nothing of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nothing {
    ToCancel,
    /// The part that is meant is over; what goes on of its task is another.
    PartIsOver,
    ToTell,
    ToRetry,
    ToAgreeTo,
    ToDecline,
    Known(TaskId),
}

/// What a message is read against.
pub(crate) struct Chat<'a> {
    /// The other tasks of the chat, oldest first.
    pub(crate) here: &'a [Task],
    /// What the host asked last.
    pub(crate) asked: Option<Question>,
    /// Tasks of the user's other chats, newest first; `None` before they were looked for.
    pub(crate) elsewhere: Option<&'a [Task]>,
    /// When the message came. What it ended already, in an execution that broke off, still is what it means.
    pub(crate) since: Timestamp,
}

impl<'a> Chat<'a> {
    /// What this text means here, as the engine of sentences hears it where there is one.
    pub(crate) fn meaning(&self, text: &str, heard: Option<&Heard>) -> Meaning<'a> {
        self.read(text, heard).0
    }

    /// The same, and whether a model may read it otherwise: nothing that a closed list reads, that agrees or declines, or that is about
    /// another chat.
    pub(crate) fn read(&self, text: &str, heard: Option<&Heard>) -> (Meaning<'a>, bool) {
        let mut deed = match heard {
            Some(heard) => heard.deed(self.scene()),
            None => HeardAct::unheard(text),
        };
        if let Some(certain) = self.certain(text, &mut deed) {
            return (certain, false);
        }
        let meant = self.heard(text, heard, deed);
        let is_free = match &meant {
            Meaning::Request { .. } | Meaning::Nothing(..) | Meaning::Talk(_) => true,
            Meaning::Agreeing(_) | Meaning::WhichWord(_) | Meaning::Decline(_) => false,
            Meaning::Which(Deed::Decline, ..) => false,
            _ => self.elsewhere.is_none(),
        };
        (meant, is_free)
    }

    /// What a text means by closed lists, commands, and what was listed for its user.
    fn certain(&self, text: &str, deed: &mut HeardAct) -> Option<Meaning<'a>> {
        let closed = closed::read(text);
        if closed.is_none() && !text.contains(char::is_alphanumeric) {
            return Some(Meaning::Talk(Talk::Help));
        }
        if closed == Some(Closed::Long) {
            let read = to_read(text);
            return Some(Meaning::Request {
                text: text.trim().to_owned(),
                free: self.free(read),
                corrects: false,
            });
        }
        // Whoever names one of the tasks by its id asks about that; other ids may be anybody's.
        let id = closed::task_id(text);
        let is_known = id.is_some_and(|id| self.is_known(id));
        if is_known && !matches!(deed.act, Act::Cancel | Act::Retry) {
            (deed.act, deed.rest) = (Act::Status, None);
        }
        let answered = self.answered(closed.as_ref(), (text, deed));
        let answered = answered.or_else(|| self.likened(deed));
        if let Some(answered) = answered.or_else(|| self.plan_answered(closed.as_ref(), text)) {
            return Some(answered);
        }
        Some(match &closed {
            Some(Closed::Code) => Meaning::Code(self.codes().collect()),
            Some(Closed::Yes) => self.yes(),
            Some(Closed::No) => self.no(),
            Some(Closed::Done) => self.done(text),
            Some(Closed::Command(act, named)) => self.commanded(*act, named),
            Some(Closed::Long) | None => Meaning::Answer(self.picking(text)?),
        })
    }

    /// What a text means as it was heard.
    fn heard(&self, text: &str, heard: Option<&Heard>, deed: HeardAct) -> Meaning<'a> {
        let id = closed::task_id(text);
        let is_asking = matches!(deed.act, Act::Request | Act::FollowUp | Act::Answer);
        // What names something that no task here is like may be of another chat.
        let is_named = deed.act == Act::Cancel && deed.names_another;
        let may_be_elsewhere = is_asking && heard.is_some_and(Heard::may_be_elsewhere);
        if self.elsewhere.is_none() && (may_be_elsewhere || is_named) {
            return Meaning::LookElsewhere;
        }
        // Whoever asks for news by an id that no task of theirs has is told so.
        if let Some(id) = id.filter(|id| !self.is_known(*id))
            && heard.is_some_and(Heard::asks_news)
        {
            return match self.elsewhere {
                None => Meaning::LookElsewhere,
                Some(_) => Meaning::Nothing(Nothing::Known(id), None),
            };
        }
        let target = Target {
            id,
            like: (!deed.of.is_empty()).then(|| deed.of.clone()),
            jobs: deed.jobs.clone(),
            all: closed::lower(&deed.text)
                .iter()
                .any(|word| lists::ALL.contains(&word.as_str())),
            ..Target::default()
        };
        // To what an agent asked last a doubtful word is an answer: "wise old turtles" ends nothing.
        let doubtful = deed.act == Act::Cancel && !deed.is_sure && deed.rest.is_none();
        if let Some((task, _)) = self.last_asked().filter(|_| doubtful) {
            return Meaning::Answer(task);
        }
        let rest = deed.rest.clone();
        let meant = match deed.act {
            Act::Cancel => self.cancel(&target, rest.clone()),
            Act::Retry => self.retry(&target),
            Act::Status => self.status(&target),
            Act::Approve => self.agreeing(),
            Act::Decline => self.no(),
            Act::Done => self.done(&deed.text),
            // What an agent asked last is answered in any words: "wise old turtles" is no chatter then.
            Act::Talk if let (Talk::Chatter, Some((task, _))) = (deed.talk, self.last_asked()) => {
                Meaning::Answer(task)
            }
            Act::Talk => Meaning::Talk(deed.talk),
            Act::Answer
                if rest.is_none() && self.questions().nth(1).is_some() && self.last_asked().is_none() =>
            {
                Meaning::WhichWord(self.questions().map(|(task, _)| task).collect())
            }
            Act::Answer | Act::FollowUp | Act::Request => match (self.only_asked(), &rest) {
                (Some((task, _)), None)
                    if deed.act == Act::Answer && !heard.is_some_and(|heard| heard.fits_another(task)) =>
                {
                    Meaning::Answer(task)
                }
                (Some((task, _)), Some(rest)) if deed.act == Act::Answer => {
                    return Meaning::AnswerAnd(task, deed.text, rest.clone());
                }
                _ => self.request(text),
            },
        };
        let is_undone = |of: &Vec<&Task>| !deed.is_sure && !of.is_empty();
        match (meant, rest) {
            // What cannot be undone is not done on a doubt.
            (Meaning::Cancel(of, rest), _) if is_undone(&of) => Meaning::Which(Deed::Cancel, of, rest),
            (Meaning::Decline(task), None) if !deed.is_sure => {
                Meaning::Which(Deed::Decline, vec![task], None)
            }
            // What else is asked is not lost behind what is done first.
            (Meaning::Decline(task), Some(rest)) => Meaning::Which(Deed::Decline, vec![task], Some(rest)),
            (Meaning::Retry(task), Some(rest)) => Meaning::Which(Deed::Retry, vec![task], Some(rest)),
            (Meaning::Answer(task), Some(rest)) => Meaning::AnswerAnd(task, deed.text, rest),
            (Meaning::Status(of), Some(rest)) => Meaning::StatusAnd(of, rest),
            (Meaning::Nothing(_, None) | Meaning::Talk(_), Some(_)) if !is_asking => self.request(text),
            // What nothing here was meant by is asked whole.
            (Meaning::Request { .. }, Some(_)) => self.request(text),
            (Meaning::Request { text, free, .. }, None) => Meaning::Request {
                text,
                free,
                corrects: heard.is_some_and(Heard::corrects),
            },
            (meant, _) => meant,
        }
    }

    /// What a command does: with the tasks that have each word which stands behind it, with all where that says so.
    fn commanded(&self, act: Act, named: &str) -> Meaning<'a> {
        let words = closed::lower(named);
        let is_all = |word: &String| lists::ALL.contains(&word.as_str());
        let target = Target {
            id: closed::task_id(named),
            all: words.iter().any(is_all),
            words: words.into_iter().filter(|word| !is_all(word)).collect(),
            ..Target::default()
        };
        match act {
            Act::Retry => self.retry(&target),
            Act::Cancel => self.cancel(&target, None),
            // Without a name: whatever is open.
            _ if target.is_bare() => self.open(),
            _ => self.status(&target),
        }
    }

    /// The one of several tasks that the host asked about which an answer is like. It is done with a task of this chat alone: a
    /// likeness authorises nothing elsewhere, and so that is asked once more.
    fn likened(&self, deed: &HeardAct) -> Option<Meaning<'a>> {
        let Question { to, of } = self.asked.as_ref().filter(|asked| asked.of.len() > 1)?;
        if !matches!(deed.act, Act::Answer | Act::Cancel) || deed.rest.is_some() {
            return None;
        }
        let mut meant = deed.of.iter().filter(|id| of.contains(id));
        let only = meant.next().filter(|_| meant.next().is_none())?;
        let task = self.all().find(|task| task.id == *only)?;
        let is_here = self.here.iter().any(|here| here.id == task.id);
        Some(match is_here {
            true => to.done_to(task),
            false => Meaning::Which(*to, vec![task], None),
        })
    }

    fn is_known(&self, id: TaskId) -> bool {
        self.all().any(|task| task.id == id)
    }

    /// The tasks of this chat, and of the others where they were looked for.
    fn all(&self) -> impl Iterator<Item = &'a Task> + use<'a> {
        self.here.iter().chain(self.elsewhere.unwrap_or_default())
    }

    /// The user means to agree in words of their own, which authorises nothing.
    fn agreeing(&self) -> Meaning<'a> {
        let asked = self
            .last_asked()
            .filter(|(task, _)| transcript::unconsented(task).is_none());
        let consents: Vec<&Task> = self.consents().collect();
        match (asked, consents.is_empty()) {
            (Some((task, _)), _) => Meaning::Answer(task),
            (None, false) => Meaning::Agreeing(consents),
            (None, true) => {
                let chosen = |task: &&Task| transcript::choosing(task).is_some();
                let waits: Vec<&Task> = self.plans().chain(self.here.iter().filter(chosen)).collect();
                match waits.is_empty() {
                    true => Meaning::Talk(Talk::Chatter),
                    false => Meaning::WhichWord(waits),
                }
            }
        }
    }

    /// The newest task for which its user has consented.
    fn consented(&self) -> Option<&'a Task> {
        let granted = |job: &Job| {
            job.protection
                .as_ref()
                .is_some_and(|protection| protection.granted_at.is_some())
        };
        self.here.iter().rfind(|task| task.jobs.iter().any(granted))
    }

    /// Tasks of the chat that wait for the user.
    fn waiting(&self) -> Vec<&'a Task> {
        self.here
            .iter()
            .filter(|task| task.status.state.is_interrupted())
            .collect()
    }

    fn consents(&self) -> impl DoubleEndedIterator<Item = &'a Task> + use<'a> {
        self.here
            .iter()
            .filter(|task| is_open(task) && transcript::unconsented(task).is_some())
    }

    /// Tasks in which a code may be awaited: by us, or by an agent that asks for a consent of its own.
    fn codes(&self) -> impl Iterator<Item = &'a Task> + use<'a> {
        let awaits = |task: &Task| transcript::unconsented(task).is_some() || transcript::asks_consent(task);
        self.here.iter().filter(move |task| is_open(task) && awaits(task))
    }

    /// Tasks whose plan waits for its user.
    fn plans(&self) -> impl DoubleEndedIterator<Item = &'a Task> + use<'a> {
        let waits =
            |task: &&Task| task.status.state == TaskState::InputRequired && plans::asks(task).is_some();
        self.here.iter().filter(waits)
    }

    /// The newest task whose plan waits, where the text answers that and nothing that was asked since; or that several wait
    /// for such a word.
    fn plan_answered(&self, closed: Option<&Closed>, text: &str) -> Option<Meaning<'a>> {
        let task = self.plans().next_back()?;
        let says = matches!(closed, None | Some(Closed::Yes | Closed::Command(Act::Retry, _)));
        let answer = plan_words::answer(task, text).filter(|_| says)?;
        let agrees = matches!(answer, PlanAnswer::Go | PlanAnswer::Allow(_) | PlanAnswer::Which);
        let several = self.plans().nth(1).is_some();
        match agrees && self.waiting().len() > 1 {
            true if closed == Some(&Closed::Yes) => None,
            true if several => Some(Meaning::WhichWord(self.plans().collect())),
            _ => Some(Meaning::Answer(task)),
        }
    }

    /// Tasks whose agent asked something.
    fn questions(&self) -> impl DoubleEndedIterator<Item = (&'a Task, &'a str)> + use<'a> {
        self.here.iter().filter_map(|task| {
            let (_, question) = transcript::question(task).filter(|_| task.status.state.is_interrupted())?;
            Some((task, question))
        })
    }

    /// The one question that waits.
    fn only_asked(&self) -> Option<(&'a Task, &'a str)> {
        let mut questions = self.questions();
        questions.next().filter(|_| questions.next().is_none())
    }

    /// The one question that waits, where it is the last thing that was said here.
    fn last_asked(&self) -> Option<(&'a Task, &'a str)> {
        let only = self.only_asked()?;
        let later = |task: &&Task| task.id != only.0.id && task.created_at > only.0.status.at;
        (!self.here.iter().any(|task| later(&task))).then_some(only)
    }

    /// The plan that waits for its user to start it, where it is the last thing that was said here.
    fn last_planned(&self) -> Option<&'a Task> {
        let is_shown = |task: &&Task| {
            matches!(plans::asks(task), Some(Asks::ToStart | Asks::ToAllow(_))) && plans::is_asked(task)
        };
        let task = self.here.iter().rfind(is_shown)?;
        let later = |other: &Task| other.id != task.id && other.created_at > task.status.at;
        (!self.here.iter().any(later)).then_some(task)
    }

    /// The answer to what the host asked itself.
    fn answered(&self, closed: Option<&Closed>, (text, deed): (&str, &HeardAct)) -> Option<Meaning<'a>> {
        let Question { to, of } = self.asked.as_ref()?;
        if self.elsewhere.is_none() && of.iter().any(|id| !self.here.iter().any(|task| task.id == *id)) {
            return match closed {
                Some(Closed::Yes | Closed::No) | None => Some(Meaning::LookElsewhere),
                _ => None,
            };
        }
        let of: Vec<&Task> = of
            .iter()
            .filter_map(|id| self.all().find(|task| task.id == *id))
            .collect();
        // Which of several it was to be, where one of them has ended since in another way: that is answered.
        let ended = |task: &&Task| task.status.state.is_terminal() && task.status.at < self.since;
        if of.len() > 1 && *to != Deed::Retry && of.iter().any(ended) {
            return None;
        }
        let names_none = deed.of.is_empty() && !deed.names_another && deed.rest.is_none();
        match (closed, of.as_slice()) {
            (_, []) => None,
            (Some(Closed::Yes), [only]) => Some(to.done_to(only)),
            (Some(Closed::Yes), several) => Some(Meaning::Which(*to, several.to_vec(), None)),
            (Some(Closed::No), _) => Some(Meaning::Nothing(Nothing::ToDecline, None)),
            (None, several)
                if several.len() > 1
                    && *to == Deed::Cancel
                    && closed::is_made_of(&closed::lower(text), lists::ALL) =>
            {
                Some(Meaning::Cancel(several.to_vec(), None))
            }
            (None, several) if several.len() > 1 => {
                let listed: Vec<String> = several.iter().map(|task| which::told(task)).collect();
                let listed: Vec<&str> = listed.iter().map(String::as_str).collect();
                let picked = choices::picked(&listed, text).or_else(|| choices::picked_alone(&listed, text));
                let picked = picked.and_then(|at| several.get(at).copied());
                picked.map(|task| to.done_to(task))
            }
            // "No, leave it": what is heard as a no changes nothing, and what is heard as anything else about it agrees to nothing.
            (None, [_]) if deed.act == Act::Decline && names_none => {
                Some(Meaning::Nothing(Nothing::ToDecline, None))
            }
            (None, [_]) if matches!(deed.act, Act::Approve | Act::Cancel | Act::Retry) && names_none => {
                Some(Meaning::Which(*to, of, None))
            }
            _ => None,
        }
    }

    /// What was asked of the user is done: of several that wait for a consent nobody knows which.
    fn done(&self, text: &str) -> Meaning<'a> {
        let consents: Vec<&Task> = self.consents().collect();
        match (self.waiting().as_slice(), consents.as_slice()) {
            ([only], _) | (_, [only]) => Meaning::Answer(only),
            ([], []) => match self.consented() {
                // It has gone on by itself since.
                Some(task) => Meaning::Status(vec![task]),
                None => Meaning::Talk(Talk::Chatter),
            },
            (_, []) => self.request(text),
            _ => Meaning::WhichWord(consents),
        }
    }

    fn yes(&self) -> Meaning<'a> {
        // Beside a consent of the same task it may be meant for that.
        let asked = self.last_asked().filter(|(task, question)| {
            transcript::unconsented(task).is_none() || choices::is_yes_or_no(question)
        });
        let consents: Vec<&Task> = self.codes().collect();
        match (asked, consents.is_empty()) {
            (Some((task, _)), _) => Meaning::Answer(task),
            (None, false) => Meaning::Agreeing(consents),
            (None, true) if self.plans().nth(1).is_some() => Meaning::WhichWord(self.plans().collect()),
            (None, true) => match self
                .here
                .iter()
                .rfind(|task| transcript::choosing(task).is_some())
            {
                Some(task) => Meaning::Answer(task),
                None => Meaning::Nothing(Nothing::ToAgreeTo, None),
            },
        }
    }

    fn no(&self) -> Meaning<'a> {
        match (self.waiting().as_slice(), self.last_asked()) {
            (_, Some((task, question))) if choices::is_yes_or_no(question) => Meaning::Answer(task),
            ([], _) => Meaning::Nothing(Nothing::ToDecline, None),
            ([only], _) => Meaning::Decline(only),
            (several, _) => Meaning::Which(Deed::Decline, several.to_vec(), None),
        }
    }

    fn open(&self) -> Meaning<'a> {
        let here: Vec<&Task> = self.here.iter().filter(|task| is_open(task)).collect();
        match (here.is_empty(), self.elsewhere) {
            (false, _) => Meaning::Open(here),
            (true, None) => Meaning::LookElsewhere,
            (true, Some(elsewhere)) => {
                Meaning::OpenElsewhere(elsewhere.iter().filter(|task| is_open(task)).collect())
            }
        }
    }

    /// The newest question of which a text picks one of the choices.
    fn picking(&self, text: &str) -> Option<&'a Task> {
        let of_agents: Vec<(&Task, &str)> = self.questions().collect();
        let picks = |task: &&Task| match transcript::choosing(task) {
            Some(choice) => choices::agent_named(&choice, text).is_some(),
            None => of_agents.iter().any(|(asks, question)| {
                asks.id == task.id && choices::picked(&choices::told(question), text).is_some()
            }),
        };
        self.here.iter().rfind(picks)
    }

    fn request(&self, text: &str) -> Meaning<'a> {
        Meaning::Request {
            text: text.trim().to_owned(),
            free: self.free(text),
            corrects: false,
        }
    }

    /// The question that a text may answer where nobody else is found for it.
    fn free(&self, text: &str) -> Option<Free<'a>> {
        let mut asked = self.questions().rev();
        let named = asked.find(|(_, question)| choices::named(&choices::of(question), text));
        match (named, self.last_asked()) {
            (Some((task, _)), _) => Some(Free { task, open: false }),
            (None, Some((task, question))) => Some(Free {
                task,
                open: choices::of(question).is_empty(),
            }),
            (None, None) => self.last_planned().map(|task| Free { task, open: false }),
        }
    }
}

/// Whether a message to a task whose consent is waited for is about that: it brings a code, or says that it is done, or no agent
/// of the task has asked anything.
pub(crate) fn is_about_consent(task: &Task, said: &Message) -> bool {
    let is_about = || {
        TypedCode::of(said).is_some()
            || matches!(closed::read(&said.text()), Some(Closed::Code | Closed::Done))
    };
    transcript::unconsented(task).is_some() && (transcript::question(task).is_none() || is_about())
}

/// Whether what waits of a task is declined by this text, said to the task itself.
pub(crate) fn declines(task: &Task, text: &str) -> bool {
    let question = transcript::asking(task)
        .and_then(Job::remote)
        .and_then(|remote| remote.text.as_deref());
    let yes_or_no = question.is_some_and(choices::is_yes_or_no) && transcript::unconsented(task).is_none();
    is_no(text) && !yes_or_no
}

/// What of a task that waits for several things is declined by this text, said to the task itself: all where it says so, otherwise
/// what the task asks for now.
pub(crate) fn declined(task: &Task, text: &str) -> Declined {
    let all =
        |word: &String| lists::ALL.contains(&word.as_str()) || matches!(word.as_str(), "neither" | "none");
    match (transcript::unconsented(task), transcript::question(task)) {
        (Some(_), Some(_)) if closed::lower(to_read(text)).iter().any(all) => Declined::All,
        (Some(_), Some(_)) if task.status.state == TaskState::AuthRequired => Declined::Consents,
        (Some(_), Some(_)) => Declined::Questions,
        _ => Declined::All,
    }
}

/// What of a task is declined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Declined {
    /// Whatever waits.
    All,
    /// What its user was to consent to.
    Consents,
    /// What agents asked.
    Questions,
}
