//! The answer to one message as a UI message stream: the task card at once, then how it goes, then the answer, if it
//! comes within the grace; otherwise the card stays, and the answer is there when the chat is read.

use std::time::Duration;

use axum::response::Response;
use bytes::Bytes;
use domain::{Event, EventKind, MessageId, Task, TaskState};
use futures_util::stream;
use store::Store;

use crate::frames::{Frames, ui_stream};
use crate::tail::{News, Tail};
use crate::turn;
use crate::view;

/// What is relayed to the page.
pub(crate) struct Relay {
    tail: Tail,
    message_id: MessageId,
    answer_id: MessageId,
    shown: serde_json::Value,
}

enum Stage {
    Start(Relay),
    Follow(Relay),
    Over,
}

impl Relay {
    /// The answer of `task` to the message of this id at the host.
    pub(crate) fn new(
        store: Store,
        task: Task,
        message_id: MessageId,
        answer_id: MessageId,
        grace: Duration,
    ) -> Self {
        let shown = view::card(&task);
        Self {
            tail: Tail::new(store, task, grace),
            message_id,
            answer_id,
            shown,
        }
    }

    /// The stream, to be polled by the server alone: nothing runs on when the client leaves.
    pub(crate) fn into_response(self) -> Response {
        let frames = stream::unfold(Stage::Start(self), |stage| async {
            match stage {
                Stage::Start(mut relay) => {
                    let mut frames = Frames::default().start(&relay.answer_id);
                    frames.task(relay.tail.task());
                    let stage = if relay.rests() {
                        frames = relay.end(frames);
                        Stage::Over
                    } else {
                        Stage::Follow(relay)
                    };
                    Some((Bytes::from(frames), stage))
                }
                Stage::Follow(relay) => Some(relay.follow().await),
                Stage::Over => None,
            }
        });
        ui_stream(frames)
    }

    async fn follow(mut self) -> (Bytes, Stage) {
        let mut frames = Frames::default();
        match self.tail.next().await {
            Ok(News::Events(events)) => {
                self.tell(&events, &mut frames);
                if self.rests() {
                    return (self.end(frames).into(), Stage::Over);
                }
                (frames.into(), Stage::Follow(self))
            }
            Ok(News::Quiet) => (Frames::heartbeat().into(), Stage::Follow(self)),
            Ok(News::TimeUp) => (frames.finish().into(), Stage::Over),
            Err(error) => {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "an answer could not be followed"
                );
                frames.error("The answer could not be followed any further; it will be in the chat.");
                (frames.finish().into(), Stage::Over)
            }
        }
    }

    fn tell(&mut self, events: &[Event], frames: &mut Frames) {
        for event in events {
            if let EventKind::Status {
                state: TaskState::Submitted | TaskState::Working,
                message: Some(said),
            } = &event.kind
            {
                frames.progress(self.tail.task(), &said.text());
            }
        }
        let card = view::card(self.tail.task());
        if card != self.shown {
            frames.task(self.tail.task());
            self.shown = card;
        }
    }

    fn rests(&self) -> bool {
        turn::rests(self.tail.task().status.state)
    }

    fn end(&mut self, mut frames: Frames) -> Frames {
        if let Some(text) = turn::answer(self.tail.task(), &self.message_id) {
            frames.text(&format!("text-{}", self.answer_id), &text);
        }
        frames.finish()
    }
}
