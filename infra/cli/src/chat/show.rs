//! How a conversation looks in a terminal.

use std::collections::BTreeMap;
use std::fmt::Arguments;

use serde_json::Value;

use super::markdown::{Paper, plain};
use super::{form, text};
use crate::{Failure, out};

/// How a conversation is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Way {
    /// With the task and its progress.
    #[default]
    Whole,
    /// The answer alone.
    Quiet,
    /// As it comes, in JSON.
    Json,
}

impl Way {
    pub(super) fn of(quiet: bool, json: bool) -> Self {
        match (quiet, json) {
            (_, true) => Self::Json,
            (true, false) => Self::Quiet,
            (false, false) => Self::Whole,
        }
    }
}

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
    /// The steps of its plan, as they were shown.
    plan: Vec<Value>,
    steps: Vec<String>,
    /// How far its jobs are, by their numbers.
    jobs: BTreeMap<u64, String>,
    /// The form that was shown last.
    form: Option<Value>,
    /// What was shown of the parts of what was said.
    parts: Vec<String>,
    /// It ended as its user would not have it.
    declined: bool,
    way: Way,
    /// With [`Way::Quiet`]: the words of the stream. They are an acknowledgement where the task goes on after it.
    held: String,
    paper: Paper,
}

/// The tasks of these messages that ask their user, newest first: the message and the card.
fn asking(messages: &[Value]) -> impl Iterator<Item = (&Value, &Value)> {
    let cards = messages.iter().rev().flat_map(|message| {
        let parts = message.get("parts").and_then(Value::as_array);
        let cards = parts.into_iter().flatten();
        let cards = cards.filter(|part| text(part, "type") == Some("data-task"));
        cards.filter_map(move |part| Some((message, part.get("data")?)))
    });
    cards.filter(|(_, card)| text(card, "state") == Some("input-required"))
}

/// The newest task of these messages that asks for data: its id, and the form.
pub(super) fn waiting_form(messages: &[Value]) -> Option<(&str, &Value)> {
    asking(messages).find_map(|(_, card)| Some((text(card, "taskId")?, card.get("form")?)))
}

impl Show {
    /// Nothing was shown so far.
    pub(super) fn of(way: Way) -> Self {
        Self {
            way,
            ..Self::default()
        }
    }

    /// Shows the words of a stream with which the task came to rest, where they are not shown yet.
    pub(super) fn release(&mut self) {
        let held = std::mem::take(&mut self.held);
        if !held.trim().is_empty() {
            self.paper.write(held.trim_end());
            self.paper.end();
        }
    }

    /// Shows words of the answer, or holds them until it is clear that they are it.
    fn word(&mut self, words: &str) {
        match self.way {
            Way::Json => {}
            Way::Quiet => self.held.push_str(words),
            Way::Whole => self.paper.write(words),
        }
    }

    /// Shows a line that is no part of the answer.
    fn aside(&self, line: Arguments<'_>) {
        match self.way {
            Way::Whole if out::has_colours() => out::print_line(format_args!("\u{1b}[2m{line}\u{1b}[0m")),
            Way::Whole => out::print_line(line),
            Way::Quiet | Way::Json => {}
        }
    }

    /// Shows a chunk of the UI message stream.
    pub(super) fn chunk(&mut self, chunk: &Value) {
        if self.way == Way::Json {
            out::event(chunk);
        }
        match text(chunk, "type").unwrap_or_default() {
            "start" => {
                // The stream before broke off.
                self.end_draft();
                self.held.clear();
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
                if is_draft {
                    self.held.clear();
                }
                // What a draft says counts once it is whole.
                self.answered &= !is_draft;
            }
            "text-delta" => {
                let more = text(chunk, "delta").unwrap_or_default();
                match &mut self.draft {
                    Some(draft) => draft.push_str(more),
                    None => self.answered = true,
                }
                self.word(more);
            }
            "text-end" => {
                self.answered |= self.draft.take().is_some();
                match self.way {
                    Way::Json => {}
                    Way::Quiet => self.held.push('\n'),
                    Way::Whole => self.paper.end(),
                }
            }
            "error" => {
                self.end_draft();
                let said = text(chunk, "errorText").unwrap_or("the answer broke off");
                if self.way != Way::Json {
                    outln!("! {}", plain(said));
                }
            }
            _ => {}
        }
    }

    /// Shows an entry of the task's log, or words on the way that stand between them.
    pub(super) fn event(&mut self, event: &Value) {
        if self.way == Way::Json {
            out::event(event);
        }
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
        match text(event, "type") {
            Some("status") => {}
            Some("job") => return self.steps(None, event.get("job").map(std::slice::from_ref)),
            Some("work") => return self.steps(event.get("plan"), None),
            _ => return,
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
        let parts = parts.into_iter().flatten();
        // A link that its text speaks of came with the card, which the log of the task has not shown.
        for part in parts
            .clone()
            .filter(|part| text(part, "type") == Some("data-task"))
        {
            self.card(part.get("data").unwrap_or(&Value::Null));
        }
        for part in parts.filter(|part| text(part, "type") == Some("text")) {
            let said = text(part, "text").unwrap_or_default();
            let shown = self
                .draft
                .take()
                .filter(|_| self.way == Way::Whole)
                .unwrap_or_default();
            self.answered = true;
            if self.way == Way::Json {
                out::event(&serde_json::json!({ "type": "answer", "text": said }));
                continue;
            }
            let rest = said.strip_prefix(shown.as_str()).unwrap_or_else(|| {
                self.paper.end();
                said
            });
            self.paper.write(rest);
            self.paper.end();
        }
    }

    /// The newest plan of these messages that waits to be started: its task, and its hash. What follows is about that one.
    pub(super) fn waiting_plan(&mut self, messages: &[Value]) -> Option<(String, String)> {
        let waits = |card: &Value| card.pointer("/plan/isApproved") == Some(&Value::Bool(false));
        let (message, card) = asking(messages).find(|(_, card)| waits(card))?;
        let hash = card.pointer("/plan/hash").and_then(Value::as_str)?;
        self.answer_id = text(message, "id").map(str::to_owned);
        Some((text(card, "taskId")?.to_owned(), hash.to_owned()))
    }

    /// The task as it is once its plan was started.
    pub(super) fn started(&mut self, task: &Value) {
        self.seen = task.get("rev").and_then(Value::as_u64).unwrap_or_default();
        let (id, state) = (text(task, "id"), text(task, "status"));
        self.task = id.zip(state).map(|(id, state)| (id.to_owned(), state.to_owned()));
        if let Some((id, state)) = &self.task {
            self.aside(format_args!("[task {id}] {state}"));
        }
        let jobs = task.get("jobs").and_then(Value::as_array);
        self.steps(task.get("plan"), jobs.map(Vec::as_slice));
    }

    /// How the task ended, as this command ends.
    pub(super) fn ended(self) -> Result<(), Failure> {
        match self.task {
            // Somebody said no to what they had been asked before: nothing went wrong.
            Some(_) if self.declined && self.link.is_none() => Ok(()),
            Some((task, state)) if matches!(state.as_str(), "failed" | "rejected" | "canceled") => {
                Err(Failure::Other(format!("the task {task} is {state}")))
            }
            _ => Ok(()),
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
        if self.way == Way::Whole {
            self.paper.write(rest);
        }
        self.draft = Some(said.to_owned());
    }

    /// What comes next is no part of the words on the way.
    fn end_draft(&mut self) {
        if self.draft.take().is_some_and(|shown| !shown.is_empty()) && self.way == Way::Whole {
            self.paper.end();
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
            let host = text(card, "authUrlHost").map(plain).unwrap_or_default();
            let link_line = match text(card, "authUrlBy") {
                Some("platform") => {
                    self.aside(format_args!(
                        "  You agree in your browser. Its last page may show a code: type that here."
                    ));
                    format!("  open {}", plain(link))
                }
                _ => format!(
                    "  the agent, not Switchyard, asks you to open {host}: {}",
                    plain(link)
                ),
            };
            match self.way {
                Way::Quiet => out::complain(format_args!("{}", link_line.trim_start())),
                Way::Whole => outln!("{link_line}"),
                Way::Json => {}
            }
            self.link = Some(link.to_owned());
        }
        if !known {
            self.end_draft();
            let agent = text(card, "agentName")
                .map(|name| format!(" ({})", plain(name)))
                .unwrap_or_default();
            self.aside(format_args!("[task {id}] {state}{agent}"));
        }
        let form = card.get("form").filter(|form| self.form.as_ref() != Some(*form));
        if let Some(form) = form {
            self.end_draft();
            self.aside(format_args!(
                "  Answer in words, or fill in with --fill NAME=VALUE (here: /fill NAME=VALUE; …):"
            ));
            for line in form::lines(form) {
                self.aside(format_args!("    {}", plain(&line)));
            }
            self.form = Some(form.clone());
        }
        self.clauses(card.get("clauses"));
        self.task = Some((id.to_owned(), state.to_owned()));
        self.declined = card.get("declined").and_then(Value::as_bool) == Some(true);
        let jobs = card.get("jobs").and_then(Value::as_array);
        self.steps(card.get("plan"), jobs.map(Vec::as_slice));
    }

    /// Shows what became of each part of what was said, once.
    fn clauses(&mut self, clauses: Option<&Value>) {
        let clauses = clauses.and_then(Value::as_array).into_iter().flatten();
        let fate = |clause: &Value| {
            let agents = clause.get("agents").and_then(Value::as_array);
            let names = agents?
                .iter()
                .filter_map(|agent| text(agent, "agentName").or_else(|| text(agent, "agentType")));
            Some(names.collect::<Vec<_>>().join(", "))
        };
        for clause in clauses.filter(|clause| text(clause, "fate") != Some("talk")) {
            let became = fate(clause).or_else(|| text(clause, "fate").map(str::to_owned));
            let line = format!(
                "“{}” → {}",
                text(clause, "said").unwrap_or_default(),
                became.unwrap_or_default()
            );
            if !self.parts.contains(&line) {
                self.aside(format_args!("  {}", plain(&line)));
                self.parts.push(line);
            }
        }
    }

    /// Shows the steps of a plan that are new, or further than they were.
    fn steps(&mut self, plan: Option<&Value>, jobs: Option<&[Value]>) {
        if let Some(steps) = plan.and_then(|plan| plan.get("steps")?.as_array()) {
            self.plan.clone_from(steps);
        }
        for job in jobs.unwrap_or_default() {
            let number = job.get("number").and_then(Value::as_u64);
            let known = number.zip(text(job, "state"));
            self.jobs
                .extend(known.map(|(number, state)| (number, state.to_owned())));
        }
        let lines: Vec<String> = self.plan.iter().filter_map(|step| self.step(step)).collect();
        for line in lines.iter().filter(|line| !self.steps.contains(line)) {
            self.aside(format_args!("  {}", plain(line)));
        }
        self.steps = lines;
    }

    /// A step that is wanted, in a line.
    fn step(&self, step: &Value) -> Option<String> {
        let number = step.get("number").and_then(Value::as_u64)?;
        let job = self.jobs.get(&number).map(String::as_str);
        let state = match text(step, "state")? {
            "dropped" => return None,
            "planned" => job.unwrap_or("planned"),
            state => state,
        };
        let (agent, instruction) = (text(step, "agentName")?, text(step, "instruction")?);
        Some(format!("{}. {agent}: {instruction} [{state}]", number + 1))
    }

    fn progress(&mut self, said: Option<&str>) {
        if let Some(said) = said.filter(|said| self.said.as_deref() != Some(*said)) {
            self.end_draft();
            self.aside(format_args!("  … {}", plain(said)));
            self.said = Some(said.to_owned());
        }
    }
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
    fn with_quiet_an_acknowledgement_is_not_the_answer() {
        let mut show = Show::of(Way::Quiet);
        for chunk in [
            json!({"type": "start", "messageId": "a1"}),
            json!({"type": "data-task", "data": {"taskId": "t1", "state": "working"}}),
            json!({"type": "text-start", "id": "a1"}),
            json!({"type": "text-delta", "delta": "Reports has started."}),
            json!({"type": "text-end", "id": "a1"}),
        ] {
            show.chunk(&chunk);
        }
        assert!(show.answered && !show.rests());
        assert_eq!(show.held, "Reports has started.\n");
        // Words of an attempt that broke off are none either.
        show.chunk(&json!({"type": "text-start", "id": "draft-1-a1"}));
        assert_eq!(show.held, "");
    }

    #[test]
    fn a_late_question_comes_with_its_link() {
        let mut show = Show::default();
        show.chunk(&json!({"type": "start", "messageId": "a1"}));
        show.chunk(&json!({"type": "data-task", "data": {"taskId": "t1", "state": "working"}}));
        show.event(&json!({"seq": 3, "type": "status", "state": "auth-required"}));
        assert_eq!((show.rests(), show.link.as_deref()), (true, None));
        let card = json!({"taskId": "t1", "state": "auth-required", "authUrl": "https://idp.example/", "authUrlBy": "platform"});
        let parts = [
            json!({"type": "data-task", "data": card}),
            json!({"type": "text", "text": "Open this."}),
        ];
        show.answer(&[json!({"id": "a1", "parts": parts})]);
        assert_eq!(show.link.as_deref(), Some("https://idp.example/"));
        assert!(show.answered);
    }

    #[test]
    fn a_task_that_its_user_declines_is_no_failure() {
        let card = |more: Value| {
            let mut card = json!({"taskId": "t1", "state": "rejected"});
            card.as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            json!({"type": "data-task", "data": card})
        };
        let asked = json!({"authUrl": "https://idp.example/", "authUrlBy": "platform"});
        for (chunks, fails) in [
            (vec![card(json!({"declined": true}))], false),
            (vec![card(json!({}))], true),
            // What was asked here was not answered.
            (vec![card(asked), card(json!({"declined": true}))], true),
        ] {
            let mut show = Show::default();
            chunks.iter().for_each(|chunk| show.chunk(chunk));
            assert_eq!(show.ended().is_err(), fails, "{chunks:?}");
        }
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
    fn a_plan_shows_how_far_its_steps_are_and_what_waits_can_be_started() {
        let step = |number: u64, state: &str| json!({"number": number, "agentName": "Flats", "instruction": "two beds", "state": state});
        let plan = |approved: bool| {
            let steps = [step(0, "planned"), step(1, "planned"), step(2, "dropped")];
            json!({"hash": "h", "isApproved": approved, "steps": steps})
        };
        let card = |state: &str, approved: bool| {
            let jobs = [json!({"number": 0, "state": "completed"})];
            json!({"taskId": "t1", "state": state, "plan": plan(approved), "jobs": jobs})
        };
        let message =
            |id: &str, card: Value| json!({"id": id, "parts": [{"type": "data-task", "data": card}]});
        let mut show = Show::default();
        show.chunk(&json!({"type": "data-task", "data": card("working", true)}));
        let steps = ["1. Flats: two beds [completed]", "2. Flats: two beds [planned]"];
        assert_eq!(show.steps, steps);
        show.event(&json!({"seq": 4, "type": "job", "job": {"number": 1, "state": "working"}}));
        assert_eq!(show.steps[1], "2. Flats: two beds [working]");
        show.event(&json!({"seq": 5, "type": "work", "plan": {"steps": [step(1, "skipped")]}}));
        assert_eq!(show.steps, ["2. Flats: two beds [skipped]"]);
        assert_eq!(show.seen, 5);

        let messages = [
            message("a1", card("input-required", false)),
            message("a2", card("input-required", true)),
            message("a3", card("canceled", false)),
        ];
        let mut show = Show::default();
        let found = show.waiting_plan(&messages);
        assert_eq!(found, Some(("t1".to_owned(), "h".to_owned())));
        assert_eq!(show.answer_id.as_deref(), Some("a1"));
        assert_eq!(Show::default().waiting_plan(&messages[1..]), None);
        show.started(&json!({"id": "t1", "status": "working", "rev": 7, "plan": plan(true), "jobs": []}));
        assert_eq!((show.seen, show.rests()), (7, false));
        assert_eq!(show.steps.len(), 2);
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
}
