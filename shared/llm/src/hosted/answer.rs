//! What has come of an answer so far, and what it is when its stream has ended.

use super::decision::{self, Decision, RawCall};
use super::dialogue::{Dialogue, Form};
use super::fault::Fault;
use super::lenient;
use crate::{Answer, Draft, Step};
use domain::TokenUsage;

/// How a provider says that an answer is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// It said all it wanted.
    Natural,
    /// It grew too long.
    Length,
    /// The model, or a filter, would not go on.
    Refused,
    /// The provider says itself that it cannot be used.
    Malformed,
}

/// What has come of an answer so far.
#[derive(Debug, Default)]
pub struct Gathered {
    pub(crate) text: String,
    pub(crate) calls: Vec<RawCall>,
    pub(crate) refusal: String,
    pub(crate) usage: TokenUsage,
    pub(crate) end: Option<End>,
}

/// What an answer comes to.
pub(crate) enum Read {
    Answer(Answer),
    /// It is asked how the pieces of work need one another.
    Plan,
}

impl Gathered {
    /// Whether its provider has counted, or anything has come.
    pub(crate) fn has_begun(&self) -> bool {
        self.usage != TokenUsage::default() || self.bytes() > 0 || self.end.is_some()
    }

    /// The bytes that have come.
    pub(crate) fn bytes(&self) -> usize {
        let calls = self
            .calls
            .iter()
            .map(|call| call.arguments.len() + call.name.len());
        self.text.len() + self.refusal.len() + calls.sum::<usize>()
    }

    /// What has come, as its model is shown it again.
    pub(crate) fn said(&self) -> String {
        let calls = self
            .calls
            .iter()
            .map(|call| format!("{} {}", call.name, call.arguments));
        let said: Vec<String> = std::iter::once(self.text.clone()).chain(calls).collect();
        said.join("\n")
    }

    /// The answer. What lacks its proper end is none, however much of it is there.
    pub(crate) fn read(self, model: &str, dialogue: &Dialogue) -> Result<Read, Fault> {
        let Some(end) = self.end else {
            return Err(Fault::Broken("the stream ended before the answer did".to_owned()));
        };
        let text = lenient::spoken(&self.text);
        if end == End::Refused || (!self.refusal.is_empty() && self.calls.is_empty()) {
            let words = if self.refusal.is_empty() {
                text
            } else {
                &self.refusal
            };
            return Err(Fault::Refused(words.to_owned()));
        }
        let malformed = |reason: &str| Err(Fault::Malformed(reason.to_owned()));
        if end == End::Malformed {
            return malformed("its provider does not understand it.");
        }
        if self.calls.is_empty() && text.is_empty() {
            return malformed("it has neither text nor calls.");
        }
        let is_cut = end == End::Length;
        if is_cut && lenient::loops(text) {
            return malformed("it says the same again and again.");
        }
        let decides = (dialogue.form == Form::Decide, &*dialogue.agents, dialogue.tasks);
        let (step, about, beside) = match dialogue.form {
            Form::Write => (Step::Say(self.words(text)?), Vec::new(), String::new()),
            Form::Decide | Form::Plan => match decision::read(&self.calls, text, decides) {
                // A call that may lack its end is none.
                Decision::Step { step, .. } if is_cut && !matches!(step, Step::Say(_)) => {
                    return malformed("it grew too long, and broke off.");
                }
                Decision::Step { step, about, beside } => match &step {
                    Step::Call(calls) if let Some(agent) = dialogue.copied(calls) => {
                        let of = agent.agent_type();
                        let why = format!(
                            "its request to {of} is what {of} says of itself, and not what the user asks."
                        );
                        return malformed(&why);
                    }
                    _ => (step, about, beside),
                },
                Decision::Plan => return Ok(Read::Plan),
                Decision::Unusable(reason) => return Err(Fault::Malformed(reason)),
            },
        };
        Ok(Read::Answer(Answer {
            step,
            beside,
            unasked: String::new(),
            about,
            clauses: Vec::new(),
            model: model.to_owned(),
            is_cut,
            usage: self.usage,
        }))
    }
}

impl Gathered {
    /// The words of an answer that is nothing else, also where they are said as a decision.
    fn words(&self, text: &str) -> Result<String, Fault> {
        let is_words = self.calls.is_empty() && !text.starts_with(['{', '<']) && !text.starts_with("```json");
        if is_words {
            return Ok(text.to_owned());
        }
        match decision::read(&self.calls, text, (false, &[], 0)) {
            Decision::Step {
                step: Step::Say(said),
                ..
            } => Ok(said),
            _ => Err(Fault::Malformed("these are no words for the user.".to_owned())),
        }
    }
}

/// Shows words as they come, where they are words for the user: no thoughts, and no JSON.
pub(crate) struct Shown<'d> {
    draft: &'d mut dyn Draft,
    /// What has come before it was clear what it is.
    before: String,
    kind: Kind,
}

#[derive(PartialEq)]
enum Kind {
    Unclear,
    Words,
    Hidden,
}

impl<'d> Shown<'d> {
    pub(crate) fn new(draft: &'d mut dyn Draft) -> Self {
        Self {
            draft,
            before: String::new(),
            kind: Kind::Unclear,
        }
    }
}

impl Draft for Shown<'_> {
    fn begins(&mut self, attempt: u32) {
        self.draft.begins(attempt);
    }

    fn grows(&mut self, text: &str) {
        const THINKS: &str = "<think>";
        const THOUGHT: &str = "</think>";
        match self.kind {
            Kind::Hidden => return,
            Kind::Words => return self.draft.grows(text),
            Kind::Unclear => {}
        }
        let seen = self.before.len().saturating_sub(THOUGHT.len());
        self.before.push_str(text);
        if self.before.starts_with(THINKS) {
            let from = self.before.floor_char_boundary(seen);
            let ended = self.before.get(from..).and_then(|new| new.find(THOUGHT));
            let Some(at) = ended else { return };
            self.before.drain(..from + at + THOUGHT.len());
        }
        let said = self.before.trim_start();
        if said.is_empty() || THINKS.starts_with(said) {
            self.before = said.to_owned();
            return;
        }
        if said.starts_with(THINKS) {
            self.before = said.to_owned();
        } else if said.starts_with(['{', '[', '<', '`']) {
            self.kind = Kind::Hidden;
        } else {
            self.kind = Kind::Words;
            self.draft.grows(said);
        }
    }
}
