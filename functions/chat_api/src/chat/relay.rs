//! The answer to one message as a UI message stream: the task card once something is done, then how it goes, each part as
//! soon as it is there, then the answer. Where the work is with others and they take their time, an acknowledgement ends
//! the stream; the answer is there when the chat is read.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use bytes::Bytes;
use domain::{ChatId, Clock, Event, EventKind, JobState, MessageId, Task, TaskState};
use futures_util::stream;
use store::{Store, StoreError, TaskKey};
use tokio::time::Instant;

use crate::chat::frames::{Frames, ui_stream};
use crate::chat::kept::{keep, tidy};
use crate::chat::shown_draft::ShownDraft;
use crate::chat::tail::{News, Tail};
use crate::chat::turn;
use crate::session::seat::Seat;
use crate::tasks::view;

/// How long the stream stays open after the host has handed over its last job: what answers at once is in it.
const AFTER_HANDOVER: Duration = Duration::from_secs(2);
/// After this long without an acknowledgement of an agent the user is told.
const SLOW: Duration = Duration::from_secs(4);

/// What is relayed to the page.
pub(crate) struct Relay {
    store: Store,
    chat: ChatId,
    tail: Tail,
    message_id: MessageId,
    answer_id: MessageId,
    shown: Option<serde_json::Value>,
    draft: ShownDraft,
    /// The parts that were told, by the numbers of their jobs.
    told: BTreeSet<u32>,
    /// Since when every job is handed over, and how many those are.
    handed_over: Option<(Instant, usize)>,
    /// When the user is told that an agent is slow, where that was not done.
    slow_at: Option<Instant>,
    /// Whether the stream ends when the host waits for others.
    parks: bool,
}

enum Stage {
    Start(Relay),
    Follow(Relay),
    Over,
}

impl Relay {
    /// The answer of `task` to the message of this id at the host.
    pub(crate) fn new(
        (store, chat, clock): (Store, ChatId, Arc<dyn Clock>),
        task: Task,
        message_id: MessageId,
        answer_id: MessageId,
        grace: Duration,
    ) -> Self {
        Self {
            tail: Tail::new(store.clone(), task, grace).with_drafts(clock),
            store,
            chat,
            message_id,
            answer_id,
            shown: None,
            draft: ShownDraft::default(),
            told: BTreeSet::new(),
            handed_over: None,
            slow_at: Some(Instant::now() + SLOW),
            parks: true,
        }
    }

    /// The same, for whoever answers a question of a task's: the answers before told what was over by then.
    pub(crate) fn after_others(self) -> Self {
        let task = self.tail.task();
        let first = task.history.first();
        if first.is_none_or(|first| first.message_id == self.message_id) {
            return self;
        }
        let over = task.jobs.iter().filter(|job| turn::part(job, "").is_some());
        let told = over.map(|job| job.number).collect();
        Self { told, ..self }
    }

    /// The same, for whoever wants to see it to its end, as far as the time goes.
    pub(crate) fn without_parking(self) -> Self {
        Self { parks: false, ..self }
    }

    /// The stream, to be polled by the server alone: nothing runs on when the client leaves.
    pub(crate) fn into_response(self, seat: Seat) -> Response {
        let frames = stream::unfold(Stage::Start(self), |stage| async {
            match stage {
                Stage::Start(relay) => {
                    let frames = Frames::default().start(&relay.answer_id, Some(relay.tail.task().id));
                    Some(relay.goes_on(frames).await)
                }
                Stage::Follow(relay) => Some(relay.follow().await),
                Stage::Over => None,
            }
        });
        ui_stream(seat.sees(frames))
    }

    async fn follow(mut self) -> (Bytes, Stage) {
        let mut frames = Frames::default();
        let parked = self.parks_at();
        let until = [parked, self.slow_at].into_iter().flatten().min();
        let news = match until {
            Some(until) => self.tail.next_until(until).await,
            None => self.tail.next().await,
        };
        match news {
            Ok(News::Events(events)) => {
                self.tell(&events, &mut frames);
                self.goes_on(frames).await
            }
            Ok(News::Draft(draft)) => {
                self.draft.grows(&draft, &self.answer_id, &mut frames);
                (frames.into(), Stage::Follow(self))
            }
            Ok(News::Quiet) => (Frames::heartbeat().into(), Stage::Follow(self)),
            Ok(News::TimeUp) if self.slow_at.take_if(|at| *at <= Instant::now()).is_some() => {
                self.tell_of_slowness(&mut frames);
                (frames.into(), Stage::Follow(self))
            }
            Ok(News::TimeUp) => (self.end(frames).await.into(), Stage::Over),
            Err(error) => broken(&error, frames),
        }
    }

    /// Shows what there is to show, and ends where that is all.
    async fn goes_on(mut self, mut frames: Frames) -> (Bytes, Stage) {
        if let Err(error) = self.turn_to_other().await {
            return broken(&error, frames);
        }
        self.show(&mut frames);
        let task = self.tail.task();
        let more = self.parks && task.status.state.is_interrupted() && turn::works_beside(task);
        if turn::rests(task.status.state) && !more {
            return (self.end(frames).await.into(), Stage::Over);
        }
        (frames.into(), Stage::Follow(self))
    }

    /// Follows the task that the host handed the message on to.
    async fn turn_to_other(&mut self) -> Result<(), StoreError> {
        let task = self.tail.task();
        let Some(id) = turn::goes_on_in(task) else {
            return Ok(());
        };
        let key = TaskKey {
            id,
            ..TaskKey::from(task)
        };
        let found = self
            .store
            .tasks()
            .without_files()
            .find(&key, task.updated_at)
            .await?;
        let own = |other: &Task| other.owner == task.owner && other.context_id == task.context_id;
        if let Some(other) = found.map(|stored| stored.task).filter(own) {
            self.tail.turn_to(other);
        }
        Ok(())
    }

    /// When the stream ends because the host waits.
    fn parks_at(&mut self) -> Option<Instant> {
        let task = self.tail.task();
        let waits = task.status.state == TaskState::Working && turn::is_handed_over(task)
            || task.status.state.is_interrupted() && turn::works_beside(task)
            || turn::is_held_up(task);
        if !waits || !self.parks {
            self.handed_over = None;
            return None;
        }
        let jobs = task.jobs.len();
        let known = self.handed_over.filter(|(_, known)| *known == jobs);
        let (since, _) = *self
            .handed_over
            .insert(known.unwrap_or_else(|| (Instant::now(), jobs)));
        Some(since + AFTER_HANDOVER)
    }

    fn tell(&mut self, events: &[Event], frames: &mut Frames) {
        for event in events {
            if let EventKind::Status {
                state: TaskState::Submitted | TaskState::Working,
                message: Some(said),
            } = &event.kind
            {
                if self.shown.is_none() {
                    self.card(frames);
                }
                frames.progress(self.tail.task(), &said.text());
            }
        }
    }

    fn show(&mut self, frames: &mut Frames) {
        if turn::has_card(self.tail.task()) {
            self.card(frames);
        }
        let task = self.tail.task();
        // A single part is the answer.
        if task.jobs.len() < 2 || task.status.state.is_terminal() {
            return;
        }
        let language = turn::language(task);
        let over = task.jobs.iter().filter(|job| !self.told.contains(&job.number));
        let over: Vec<(u32, String)> = over
            .filter_map(|job| Some((job.number, turn::part(job, &language)?)))
            .collect();
        for (number, text) in over {
            frames.text(&format!("part-{number}-{}", self.answer_id), &text);
            self.told.insert(number);
        }
    }

    fn card(&mut self, frames: &mut Frames) {
        let card = view::card(self.tail.task());
        if self.shown.as_ref() != Some(&card) {
            frames.task(self.tail.task());
            self.shown = Some(card);
        }
    }

    fn tell_of_slowness(&self, frames: &mut Frames) {
        let task = self.tail.task();
        let silent = task.jobs.iter().filter(|job| {
            matches!(job.state, JobState::Prepared) && job.attempts == 0 && job.awaited_consent().is_none()
        });
        let names: Vec<&str> = silent.map(|job| job.agent_name.as_str()).collect();
        if !names.is_empty() {
            frames.progress(task, &format!("No answer from {} yet.", names.join(", ")));
        }
    }

    async fn end(&mut self, mut frames: Frames) -> Frames {
        let task = self.tail.task();
        let ids = (&self.answer_id, &self.message_id);
        keep(&self.store, &self.chat, ids, task, task.status.at).await;
        if task.status.state.is_terminal() {
            tidy(&self.store, &task.tenant, &self.chat).await;
        }
        let answer = turn::answer(task, &self.message_id);
        if let Some(mut text) = answer.filter(|text| !self.draft.ends(text.trim(), &mut frames)) {
            // What was told is not told twice.
            for job in task.jobs.iter().filter(|job| self.told.contains(&job.number)) {
                if let Some(part) = turn::part(job, &turn::language(task)) {
                    text = text.replacen(&part, "", 1);
                }
            }
            let text = text.trim();
            if !text.is_empty() {
                frames.text(&format!("text-{}", self.answer_id), text);
            }
        }
        if !self.tail.task().status.state.is_terminal() {
            self.card(&mut frames);
        }
        frames.finish()
    }
}

fn broken(error: &StoreError, mut frames: Frames) -> (Bytes, Stage) {
    tracing::error!(
        error = error as &dyn std::error::Error,
        "an answer could not be followed"
    );
    frames.error("The answer could not be followed any further; it will be in the chat.");
    (frames.finish().into(), Stage::Over)
}
