//! How a conversation looks in a terminal.

use serde_json::Value;

use super::text;
use crate::cli::out;

/// What was shown so far.
#[derive(Default)]
pub(super) struct Show {
    /// The task, by id and state.
    pub(super) task: Option<(String, String)>,
    /// The answer's text was shown.
    pub(super) answered: bool,
    /// The number of the last event.
    pub(super) seen: u64,
    answer_id: Option<String>,
    link: Option<String>,
    said: Option<String>,
    /// The words of an answer under way that were shown of an open part.
    draft: Option<String>,
    /// What the stream told of how it goes; the task's log tells it once more.
    told: Vec<String>,
}

impl Show {
    /// Shows a chunk of the UI message stream.
    pub(super) fn chunk(&mut self, chunk: &Value) {
        match text(chunk, "type").unwrap_or_default() {
            "start" => {
                // The stream before broke off.
                self.end_draft();
                self.answer_id = text(chunk, "messageId").map(str::to_owned);
            }
            "data-task" => self.card(chunk.get("data").unwrap_or(&Value::Null)),
            "data-progress" => {
                let said = chunk.get("data").and_then(|data| text(data, "text"));
                self.told.extend(said.map(str::to_owned));
                self.progress(said);
            }
            "text-start" => {
                self.end_draft();
                let is_draft = text(chunk, "id").is_some_and(|id| id.starts_with("draft-"));
                self.draft = is_draft.then(String::new);
                // What a draft says counts once it is whole.
                self.answered &= !is_draft;
            }
            "text-delta" => {
                let more = text(chunk, "delta").unwrap_or_default();
                match &mut self.draft {
                    Some(draft) => draft.push_str(more),
                    None => self.answered = true,
                }
                out!("{}", plain(more));
                out::flush();
            }
            "text-end" => {
                self.answered |= self.draft.take().is_some();
                outln!();
            }
            "error" => {
                self.end_draft();
                let said = text(chunk, "errorText").unwrap_or("the answer broke off");
                outln!("! {}", plain(said));
            }
            _ => {}
        }
    }

    /// Shows an entry of the task's log, or words on the way that stand between them.
    pub(super) fn event(&mut self, event: &Value) {
        if text(event, "type") == Some("draft") {
            self.speak(text(event, "text").unwrap_or_default());
            return;
        }
        let Some(seq) = event
            .get("seq")
            .and_then(Value::as_u64)
            .filter(|seq| *seq > self.seen)
        else {
            return;
        };
        self.seen = seq;
        if text(event, "type") != Some("status") {
            return;
        }
        if let (Some((_, state)), Some(new)) = (&mut self.task, text(event, "state")) {
            state.clear();
            state.push_str(new);
        }
        let said = text(event, "message");
        let told = said.and_then(|said| self.told.iter().position(|told| told == said));
        match told {
            Some(told) => {
                self.told.remove(told);
            }
            None if !self.rests() => self.progress(said),
            None => {}
        }
    }

    /// Shows the answer out of the chat's messages.
    pub(super) fn answer(&mut self, messages: &[Value]) {
        let wanted = self.answer_id.as_deref();
        let found = messages
            .iter()
            .rev()
            .find(|message| wanted.is_some() && text(message, "id") == wanted);
        let parts = found
            .and_then(|message| message.get("parts"))
            .and_then(Value::as_array);
        for part in parts
            .into_iter()
            .flatten()
            .filter(|part| text(part, "type") == Some("text"))
        {
            let said = text(part, "text").unwrap_or_default();
            let shown = self.draft.take().unwrap_or_default();
            let rest = said.strip_prefix(shown.as_str()).unwrap_or_else(|| {
                outln!();
                said
            });
            outln!("{}", plain(rest));
            self.answered = true;
        }
    }

    /// Nothing more happens to the task without somebody's doing.
    pub(super) fn rests(&self) -> bool {
        !matches!(&self.task, Some((_, state)) if matches!(state.as_str(), "submitted" | "working"))
    }

    /// Shows what has grown; words that do not go on from what was shown are another attempt's.
    fn speak(&mut self, said: &str) {
        let shown = self.draft.as_deref().unwrap_or_default();
        let rest = match said.strip_prefix(shown) {
            Some(rest) => rest,
            None => {
                self.end_draft();
                said
            }
        };
        out!("{}", plain(rest));
        out::flush();
        self.draft = Some(said.to_owned());
    }

    /// What comes next is no part of the words on the way.
    fn end_draft(&mut self) {
        if self.draft.take().is_some_and(|shown| !shown.is_empty()) {
            outln!();
        }
    }

    fn card(&mut self, card: &Value) {
        let Some(id) = text(card, "taskId") else { return };
        let state = text(card, "state").unwrap_or("unknown");
        let known = self
            .task
            .as_ref()
            .is_some_and(|(known, old)| known == id && old == state);
        let link = text(card, "authUrl").filter(|link| self.link.as_deref() != Some(*link));
        if let Some(link) = link {
            self.end_draft();
            outln!("  open {}", plain(link));
            self.link = Some(link.to_owned());
        }
        if !known {
            self.end_draft();
            let agent = text(card, "agentName")
                .map(|name| format!(" ({})", plain(name)))
                .unwrap_or_default();
            outln!("[task {id}] {state}{agent}");
        }
        self.task = Some((id.to_owned(), state.to_owned()));
    }

    fn progress(&mut self, said: Option<&str>) {
        if let Some(said) = said.filter(|said| self.said.as_deref() != Some(*said)) {
            self.end_draft();
            outln!("  … {}", plain(said));
            self.said = Some(said.to_owned());
        }
    }
}

/// Text from agents, without what would move a terminal's cursor or change its title.
fn plain(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control() || matches!(c, '\n' | '\t'))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_stream_and_its_late_events_lead_to_an_answer() {
        let mut show = Show::default();
        for chunk in [
            json!({"type": "start", "messageId": "a1"}),
            json!({"type": "data-task", "data": {"taskId": "t1", "state": "submitted"}}),
            json!({"type": "data-progress", "data": {"text": "asking"}}),
            json!({"type": "finish"}),
            json!({"type": "data-unknown"}),
            json!(null),
        ] {
            show.chunk(&chunk);
        }
        assert!(!show.answered && !show.rests());
        show.event(&json!({"seq": 2, "type": "status", "state": "working", "message": "asking"}));
        show.event(&json!({"seq": 3, "type": "status", "state": "completed"}));
        show.event(&json!({"seq": 2, "type": "status", "state": "working"}));
        assert!(show.rests());
        assert_eq!(show.seen, 3);
        show.answer(&[json!({"id": "other", "parts": [{"type": "text", "text": "no"}]})]);
        assert!(!show.answered);
        show.answer(&[
            json!({"id": "a1", "parts": [{"type": "data-task"}, {"type": "text", "text": "rain"}]}),
        ]);
        assert!(show.answered);
    }

    #[test]
    fn words_on_the_way_are_an_answer_once_they_are_whole() {
        let mut show = Show::default();
        let delta = |more: &str| json!({"type": "text-delta", "delta": more});
        let begins = |id: &str| json!({"type": "text-start", "id": id});
        show.chunk(&begins("draft-1-a"));
        show.chunk(&delta("It "));
        assert!(!show.answered, "it broke off here");
        assert_eq!(show.draft.as_deref(), Some("It "));
        for chunk in [
            json!({"type": "start", "messageId": "a"}),
            begins("draft-2-a"),
            delta("Sun"),
        ] {
            show.chunk(&chunk);
        }
        assert_eq!((show.answered, show.draft.as_deref()), (false, Some("Sun")));
        show.chunk(&json!({"type": "text-end", "id": "draft-2-a"}));
        assert!(show.answered);
        // A later attempt takes that back.
        show.chunk(&begins("draft-3-a"));
        show.chunk(&delta("Sun"));
        assert!(!show.answered);
        show.answer(&[json!({"id": "a", "parts": [{"type": "text", "text": "Sunny"}]})]);
        assert_eq!((show.answered, show.draft.as_deref()), (true, None));
        show.chunk(&json!({"type": "data-task", "data": {"taskId": "t1", "state": "working"}}));
        // Those of a late answer stand between the entries of the log.
        let draft = |said: &str| json!({"type": "draft", "turn": 1, "attempt": 3, "text": said});
        for said in ["It", "It snows"] {
            show.event(&draft(said));
            assert_eq!(show.draft.as_deref(), Some(said));
        }
        show.event(&json!({"seq": 9, "type": "status", "state": "working", "message": "asking again"}));
        assert_eq!((show.draft.as_deref(), show.seen), (None, 9));
    }

    #[test]
    fn what_the_stream_told_is_not_told_again_from_the_log() {
        let mut show = Show::default();
        show.chunk(&json!({"type": "data-task", "data": {"taskId": "t1", "state": "working"}}));
        for step in ["one", "two"] {
            show.chunk(&json!({"type": "data-progress", "data": {"text": step}}));
        }
        let event =
            |seq: u64, said: &str| json!({"seq": seq, "type": "status", "state": "working", "message": said});
        for (seq, said, shown) in [
            (2, "one", "two"),
            (3, "two", "two"),
            (4, "three", "three"),
            (5, "one", "one"),
        ] {
            show.event(&event(seq, said));
            assert_eq!(show.said.as_deref(), Some(shown), "{seq}");
        }
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(plain("a\u{1b}[2Jb\u{7}\nc"), "a[2Jb\nc");
    }
}
