//! Streams: a task's events as server-sent events, with the execution behind them where there is one.
//!
//! Whatever runs is driven by the stream itself. When its client goes away, or the time is up, nothing runs on: the
//! work goes on elsewhere, and a client comes back with the number of the last event it saw.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use a2a::{A2aError, encode};
use auth::scope::DELEGATED;
use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::Response;
use domain::{Caller, Event, EventKind, Generation, Message, MessageId, Task, TaskState, WorkNote};
use futures_util::future::BoxFuture;
use futures_util::stream;
use serde_json::{Value, json};
use store::{AnswerDraft, OpenStream, TaskKey};

use super::find::failed;

use crate::tail::{News, Tail, TailLimits};
use crate::worker::{self, Executed, WorkError};
use crate::{Agent, Shutdown, Wake, wake_or_log};

/// Nothing on the way should hold events back.
const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");
/// A comment that keeps the connection open.
const HEARTBEAT: &[u8] = b": still here\n\n";
/// About how many bytes of an artifact one event carries at most.
const CHUNK: usize = 64 * 1024;

/// A stream about to begin.
pub(crate) struct Live {
    /// The task without its content: what events are written with.
    task: Task,
    generation: Generation,
    begins: Begins,
    ends: Ends,
    /// The newest event when the task was read: before that the task's state is not known.
    read: u64,
    tail: Tail,
    work: Option<BoxFuture<'static, Result<Executed, WorkError>>>,
    /// Held for as long as a stream that only tells is open.
    open: Option<OpenStream>,
}

/// For how much longer than a stream may be open its lease lasts: it ends in between, in any case.
const SLACK: Duration = Duration::from_secs(5);

/// What comes before the first event.
enum Begins {
    /// The task as it was read.
    Task(Value),
    /// The same, unless the agent answers with a mere message first.
    Perhaps(Value),
    /// A mere message, and nothing after it.
    Message(Value),
    /// Nothing more: it was told.
    Told,
}

/// When there is nothing more to come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// With the task.
    Over,
    /// With the task, or when it waits for its user: that is the answer to what was sent.
    Settled,
}

impl Ends {
    fn at(self, state: TaskState) -> bool {
        state.is_terminal() || self == Self::Settled && state.is_interrupted()
    }
}

/// What a stream's client asks for beside its task.
pub(crate) struct Wants {
    pub(crate) generation: Generation,
    /// The last event that it has seen.
    pub(crate) last_event: Option<u64>,
    /// It names our extension for drafts.
    pub(crate) drafts: bool,
}

/// The stream that answers a message: works on the task here, unless somebody does already or it would not fit.
pub(crate) async fn of_send(
    agent: &Arc<Agent>,
    task: Task,
    history_length: Option<u32>,
    wants: &Wants,
) -> Result<Live, A2aError> {
    let mut live = Live::of(agent, task, history_length, wants, Ends::Settled)?;
    if live.ends.at(live.tail.state()) {
        return Ok(live);
    }
    if let Begins::Task(first) = &mut live.begins
        && agent.executor.answers_directly(&live.task)
    {
        live.begins = Begins::Perhaps(first.take());
    }
    if !agent.executor.runs_inline() {
        let wake = Wake::for_task(&live.task);
        wake_or_log(agent.wake.as_ref(), &wake, Duration::ZERO).await;
        live.task = bare(live.task);
        return Ok(live);
    }
    let (agent, key) = (Arc::clone(agent), TaskKey::from(&live.task));
    let (inbox, stop) = (live.tail.inbox(), Shutdown::current());
    live.work = Some(Box::pin(async move {
        let work = worker::execute_within(&agent, &key, work_limit(agent.settings.stream_limit));
        inbox.scope(stop.scope(work)).await
    }));
    // The task's own content went out with the first event, or will.
    live.task = bare(live.task);
    Ok(live)
}

/// Work is handed over before its stream ends: what is dropped with the stream would have to wait for its lease to run
/// out.
fn work_limit(stream: Duration) -> Duration {
    stream.saturating_sub(Duration::from_secs(2).min(stream / 4))
}

/// The stream of a subscription; a task that is over has none.
pub(crate) fn of_subscription(agent: &Arc<Agent>, task: Task, wants: &Wants) -> Result<Live, A2aError> {
    if task.status.state.is_terminal() && wants.last_event.is_none_or(|seen| seen >= task.rev) {
        return Err(A2aError::UnsupportedOperation(format!(
            "the task is {}: nothing more happens to it",
            task.status.state.as_str()
        )));
    }
    let mut live = Live::of(agent, task, None, wants, Ends::Over)?;
    live.task = bare(live.task);
    Ok(live)
}

/// The task as events are written with it.
fn bare(task: Task) -> Task {
    Task {
        history: Vec::new(),
        artifacts: Vec::new(),
        jobs: Vec::new(),
        checkpoint: None,
        ..task
    }
}

/// A mere message belongs to a conversation and to no task.
pub(super) fn mere(message: &Message) -> Message {
    Message {
        task_id: None,
        ..message.clone()
    }
}

impl Live {
    fn of(
        agent: &Agent,
        task: Task,
        history_length: Option<u32>,
        wants: &Wants,
        ends: Ends,
    ) -> Result<Self, A2aError> {
        let generation = wants.generation;
        let (seen, begins) = match wants.last_event {
            Some(seen) if seen > task.rev => {
                return Err(A2aError::InvalidParams(
                    "Last-Event-ID is not of this task's stream".to_owned(),
                ));
            }
            Some(seen) => (seen, Begins::Told),
            None => {
                let begins = match task.direct_message() {
                    Some(message) => Begins::Message(encode::send_message_result(&mere(message), generation)),
                    None => Begins::Task(encode::stream_first(&task, generation, history_length)),
                };
                (task.rev, begins)
            }
        };
        let limits = TailLimits {
            time: agent.settings.stream_limit,
            heartbeat: agent.settings.stream_heartbeat,
        };
        let tail = Tail::new(agent.store.clone(), &task, seen, limits, Shutdown::current());
        let tail = match wants.drafts && a2a::wants_drafts(&task) {
            true => tail.with_drafts(Arc::clone(&agent.clock), &task),
            false => tail,
        };
        Ok(Self {
            read: task.rev,
            task,
            generation,
            begins,
            ends,
            tail,
            work: None,
            open: None,
        })
    }

    /// It, where its caller has not too many open already. A host's are a delegation's, which is bounded as the host's tasks are.
    pub(super) async fn held_by(mut self, agent: &Agent, caller: &Caller) -> Result<Self, A2aError> {
        if !caller.scopes.contains(DELEGATED) {
            let (now, lasts) = (agent.clock.now(), agent.settings.stream_limit + SLACK);
            let ledger = agent.store.ledger();
            let open = ledger.open_stream((&caller.tenant, &caller.owner), (now, lasts));
            let open = open.await.map_err(failed)?;
            self.open = Some(open.map_err(|over| A2aError::over_quota(&over, now))?);
        }
        Ok(self)
    }

    /// The response. `wrap` gives an item the form of its binding.
    pub(crate) fn into_response(self, wrap: impl Fn(Value) -> Value + Send + Sync + 'static) -> Response {
        let frames = stream::unfold((Some(self), wrap), |(live, wrap)| async move {
            let mut live = live?;
            let (frames, goes_on) = live.next(&wrap).await?;
            Some((Ok::<_, Infallible>(frames), (goes_on.then_some(live), wrap)))
        });
        let mut response = Response::new(Body::from_stream(frames));
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("text/event-stream"),
        );
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(BUFFERING, HeaderValue::from_static("no"));
        response
    }

    /// The next frames, and whether more may follow; `None` at the end.
    async fn next(&mut self, wrap: &(impl Fn(Value) -> Value + Send + Sync)) -> Option<(Bytes, bool)> {
        let begins = match std::mem::replace(&mut self.begins, Begins::Told) {
            Begins::Task(first) => Some(first),
            Begins::Message(message) => {
                return Some((frame(Some(self.read), &wrap(message)).into(), false));
            }
            perhaps @ Begins::Perhaps(_) => {
                self.begins = perhaps;
                None
            }
            Begins::Told => None,
        };
        if let Some(first) = begins {
            let goes_on = !self.is_over();
            return Some((frame(Some(self.read), &wrap(first)).into(), goes_on));
        }
        if self.is_over() {
            return None;
        }
        let news = match self.news().await {
            Ok(news) => news,
            Err(error) => {
                tracing::error!(
                    task.id = %self.task.id, error = &error as &dyn std::error::Error,
                    "a task could not be followed; its client comes back"
                );
                return None;
            }
        };
        match news {
            News::Events(events) => Some(self.told(&events, wrap)),
            // Its client was not shown a task so far that this could be of.
            News::Draft(..) if matches!(self.begins, Begins::Perhaps(_)) => {
                Some((Bytes::from_static(HEARTBEAT), true))
            }
            News::Draft(draft, at) => {
                let kind = EventKind::status(TaskState::Working, Some(drafted(draft)));
                let event = Event {
                    seq: self.tail.seen(),
                    at,
                    kind,
                };
                let written = encode::event(&self.task, &event, self.generation)?;
                Some((frame(None, &wrap(written)).into(), true))
            }
            News::Quiet => match self.hold_back_no_more(wrap) {
                Some(first) => Some((first.into(), true)),
                None => Some((Bytes::from_static(HEARTBEAT), true)),
            },
            News::TimeUp => {
                let first = self.hold_back_no_more(wrap)?;
                Some((first.into(), false))
            }
        }
    }

    /// True where everything was told that is to be told.
    fn is_over(&self) -> bool {
        self.tail.seen() >= self.read && self.ends.at(self.tail.state())
    }

    /// The next news; meanwhile the work goes on.
    async fn news(&mut self) -> Result<News, store::StoreError> {
        let Some(work) = &mut self.work else {
            return self.tail.next().await;
        };
        let executed = tokio::select! {
            biased;
            executed = work => executed,
            news = self.tail.next() => return news,
        };
        self.work = None;
        self.tail.alone();
        if let Err(error) = executed {
            tracing::warn!(
                task.id = %self.task.id, error = &error as &dyn std::error::Error,
                "work on a task broke off; it goes on when it is due"
            );
        }
        match self.tail.waiting() {
            Some(events) => Ok(News::Events(events)),
            // Nobody works on it here any more, and it was no mere message.
            None if matches!(self.begins, Begins::Perhaps(_)) => Ok(News::Quiet),
            None => self.tail.next().await,
        }
    }

    fn told(&mut self, events: &[Event], wrap: &impl Fn(Value) -> Value) -> (Bytes, bool) {
        if let Begins::Perhaps(_) = self.begins
            && let Some((seq, message)) = direct_message(events)
        {
            self.begins = Begins::Told;
            let message = Message {
                context_id: Some(self.task.context_id.clone()),
                ..mere(message)
            };
            let written = encode::send_message_result(&message, self.generation);
            return (frame(Some(seq), &wrap(written)).into(), false);
        }
        let mut text = self.hold_back_no_more(wrap).unwrap_or_default();
        for event in events {
            let mut pieces = encode::event_in_chunks(&self.task, event, self.generation, CHUNK);
            // Only the last piece has the number: whoever breaks off before it gets the whole event again.
            let last = pieces.pop();
            for piece in pieces {
                text.push_str(&frame(None, &wrap(piece)));
            }
            if let Some(last) = last {
                text.push_str(&frame(Some(event.seq), &wrap(last)));
            }
        }
        if text.is_empty() {
            // Nothing of it is for others' eyes.
            text.push_str(":\n\n");
        }
        (text.into(), !self.is_over())
    }

    fn hold_back_no_more(&mut self, wrap: &impl Fn(Value) -> Value) -> Option<String> {
        match std::mem::replace(&mut self.begins, Begins::Told) {
            Begins::Perhaps(first) => Some(frame(Some(self.read), &wrap(first))),
            _ => None,
        }
    }
}

/// A draft as a message, which no history has.
fn drafted(AnswerDraft { turn, attempt, text }: AnswerDraft) -> Message {
    let id = MessageId::derived(&format!("draft/{turn}/{attempt}"));
    let mut message = Message::agent_text(id, text);
    message.extensions = vec![a2a::DRAFTS.to_owned()];
    message
        .metadata
        .insert(a2a::DRAFTS.to_owned(), json!({"turn": turn, "attempt": attempt}));
    message
}

/// The mere message that the agent answered with, where these events are that.
fn direct_message(events: &[Event]) -> Option<(u64, &Message)> {
    let is_note = |kind: &EventKind| {
        matches!(
            kind,
            EventKind::Work {
                note: WorkNote::Direct
            }
        )
    };
    let from = events.iter().position(|event| is_note(&event.kind))?;
    events.get(from..)?.iter().find_map(|event| match &event.kind {
        EventKind::Status {
            state: TaskState::Completed,
            message: Some(message),
        } => Some((event.seq, message)),
        _ => None,
    })
}

/// One server-sent event. The JSON has no line breaks of its own.
fn frame(id: Option<u64>, data: &Value) -> String {
    match id {
        Some(id) => format!("id: {id}\ndata: {data}\n\n"),
        None => format!("data: {data}\n\n"),
    }
}
