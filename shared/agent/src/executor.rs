//! What an agent author writes: an [`Executor`]. It knows nothing of HTTP, Lambda or DynamoDB.

use a2a::card::Card;
use a2a::{Connections, Disconnected};
use async_trait::async_trait;
use domain::{Artifact, Caller, EventKind, Message, Task, Timestamp, UserContext};
use nlu::{InputSchema, Takes};

use crate::{ExecuteError, Rehearsed, Run};

/// The work of an agent.
///
/// An execution may be repeated from its start, after a crash or because the task changed under it, so it must be
/// idempotent: look at [`Run::task`] for how far it got.
#[async_trait]
pub trait Executor: Send + Sync {
    /// Works on the task until it ends, needs the user, or has to wait for an event.
    ///
    /// # Errors
    /// [`ExecuteError`] says whether trying again helps.
    async fn execute(&self, run: &mut Run) -> Result<Outcome, ExecuteError>;

    /// What the agent takes as data, where its words are to be read as that before each execution: [`Run::taken`]. A request that
    /// lacks what it must have is asked about, and the executor does not see it. Nothing by default.
    fn takes(&self) -> Option<&Takes> {
        None
    }

    /// How many earlier tasks of the chat a request is read against that says too little by itself: it changes the data of the
    /// newest one that was completed. None by default.
    fn recalls(&self) -> usize {
        0
    }

    /// The task is over, called off or failed: tell whoever still works on parts of it. May be called several times.
    /// Nothing is done by default.
    ///
    /// # Errors
    /// [`ExecuteError`] where somebody could not be told: it is tried again later. The task stays over all the same.
    async fn cancel(&self, _run: &mut Run) -> Result<(), ExecuteError> {
        Ok(())
    }

    /// The last attempt failed for this reason: how the task stands now. It has failed by default.
    fn give_up(&self, _task: &Task, reason: String) -> Outcome {
        Outcome::Failed(reason)
    }

    /// Nobody answered what the task asks its user in so many days, for which its tenant keeps tasks: how it ends. It is canceled by
    /// default.
    fn unanswered(&self, _task: &Task, days: u64) -> Outcome {
        let unit = if days == 1 { "day" } else { "days" };
        Outcome::Canceled(format!("Nobody answered for {days} {unit}."))
    }

    /// Whether this new task may be answered with a mere message ([`Outcome::Message`]). Its caller is then kept waiting
    /// for that, also where it wants a stream or no wait: a task that it was shown cannot become a message any more.
    /// No by default.
    fn answers_directly(&self, _task: &Task) -> bool {
        false
    }

    /// Whether a call that waits for its task, or streams it, works on it in its own response. Where that takes longer than
    /// a response may last, a worker of the queue does, and the call only follows. Yes by default.
    fn runs_inline(&self) -> bool {
        true
    }

    /// The card for a caller who has shown who they are; `card` is the public one. Needed where the public card says
    /// that there is an extended one. None by default.
    ///
    /// # Errors
    /// [`ExecuteError`] where what the card would say cannot be had now.
    async fn extended_card(&self, _caller: &Caller, _card: &Card) -> Result<Option<Card>, ExecuteError> {
        Ok(None)
    }

    /// Somebody wants the latest: ask whoever works on parts of the task, and record what they say.
    /// Nothing is done by default.
    ///
    /// # Errors
    /// [`ExecuteError`]; the task is then shown as it is stored.
    async fn refresh(&self, _run: &mut Run) -> Result<(), ExecuteError> {
        Ok(())
    }

    /// Somebody is tired of waiting: whatever waits for its time is to be done again at once. Gives what is to be
    /// recorded; the task is executed afterwards. Nothing by default.
    ///
    /// # Errors
    /// [`ExecuteError`]; nothing is changed then.
    async fn retry(&self, _run: &mut Run) -> Result<Vec<EventKind>, ExecuteError> {
        Ok(Vec::new())
    }

    /// Whether users are connected to others through this agent, and are shown that and may end it there. Its card then has
    /// [`a2a::connections_extension`]. No by default.
    fn connects(&self) -> bool {
        false
    }

    /// Whether it decides who does what, and says so of a text without doing it. No by default.
    fn rehearses(&self) -> bool {
        false
    }

    /// What it would make of a text that this user says then.
    ///
    /// # Errors
    /// [`ExecuteError`] where that cannot be told; by default always.
    async fn rehearse(&self, _: &str, _: Timestamp, _: &UserContext) -> Result<Rehearsed, ExecuteError> {
        Err(ExecuteError::Retry("nothing is decided here".to_owned()))
    }

    /// Where the caller is connected. Nowhere by default.
    ///
    /// # Errors
    /// [`ExecuteError`] where that cannot be had now.
    async fn connections(&self, _caller: &Caller) -> Result<Connections, ExecuteError> {
        Ok(Connections::default())
    }

    /// Ends a connection of the caller's, here and at its provider; `None` where there is none of that id.
    ///
    /// # Errors
    /// [`ExecuteError`] where it cannot be ended now.
    async fn disconnect(&self, _caller: &Caller, _id: &str) -> Result<Option<Disconnected>, ExecuteError> {
        Ok(None)
    }
}

/// How an execution ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Done, with these results and perhaps a word about them.
    Completed {
        /// The results.
        artifacts: Vec<Artifact>,
        /// The status message's text.
        say: Option<String>,
    },
    /// A mere message, and no task worth mentioning: who waits for the answer gets the message itself. The task is kept
    /// as completed, so that a repeat of the same request gets the same answer.
    Message(Message),
    /// It went wrong; the text tells the user what.
    Failed(String),
    /// The agent will not do it; the text tells the user why.
    Rejected(String),
    /// Called off.
    Canceled(String),
    /// A question to the user; the next message on the task goes on.
    InputRequired(String),
    /// The same, with what the answer may say as data: the message has the schema as a data part.
    Missing {
        /// What is asked.
        question: String,
        /// The fields that the answer fills in.
        schema: InputSchema,
    },
    /// A form of the agent's own, whose fields are not those of what it takes: what is said next is read as these, one after the other,
    /// until nothing is missing, and stands then in [`Taken::form`](crate::Taken::form).
    Form {
        /// Who asks, and for what.
        lead: String,
        /// The fields, of which those that must be filled in are asked for.
        schema: InputSchema,
    },
    /// The user must sign in or consent elsewhere first; the message says where. The next message on the task goes on, or
    /// whoever learns of the consent wakes it; looked at again at this time at the latest.
    AuthRequired {
        /// What the user reads, with the link where pages find it.
        message: Message,
        /// When.
        until: Timestamp,
    },
    /// Nothing was heard in time (not final); the text says so.
    Unknown(String),
    /// Waits for an event, with no lease held; looked at again at this time at the latest.
    Parked {
        /// When.
        until: Timestamp,
    },
}
