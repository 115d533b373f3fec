//! Addresses in a model's answer: only those that stand letter by letter in what its user said or in a result are shown. One
//! that a model makes up, or is talked into, could carry off what it has read as soon as somebody follows it, or as soon as a
//! program shows the picture behind it.

use std::collections::BTreeSet;
use std::ops::Range;

use domain::links::{self, MAIL, spans};
use domain::{CallEnd, Job, Message, PartContent, Role, Task};
use llm::Turn;
use serde_json::Value;

use crate::thinking::thought::Thought;

/// What stands in the place of an address that is not shown.
const LEFT_OUT: &str = "[address left out]";

/// The addresses that an answer may show.
#[derive(Debug, Default)]
pub(crate) struct Addresses(BTreeSet<String>);

impl Addresses {
    /// Those of what was said to the task and came of it, and of the conversation before it.
    pub(crate) fn of(task: &Task, thought: &Thought) -> Self {
        let mut known = Self::default();
        known.learn(&thought.asked);
        for turn in &thought.earlier {
            if let Turn::User(text) | Turn::Said(text) = turn {
                known.learn(text);
            }
        }
        let said = task.history.iter().filter(|message| message.role == Role::User);
        said.for_each(|message| known.learn_message(message));
        let repeated = &thought.note.attached;
        repeated.iter().for_each(|part| known.learn_part(&part.content));
        task.jobs.iter().for_each(|job| known.learn_job(job));
        let calls = task.turns.iter().flat_map(|turn| &turn.calls);
        for call in calls {
            if let CallEnd::Result(result) = &call.end {
                known.learn(&result.text);
            }
        }
        known
    }

    fn learn_message(&mut self, message: &Message) {
        for part in &message.parts {
            self.learn_part(&part.content);
        }
    }

    fn learn_job(&mut self, job: &Job) {
        if let Some(text) = job.remote().and_then(|remote| remote.text.as_ref()) {
            self.learn(text);
        }
        let parts = job.artifacts.iter().flat_map(|artifact| &artifact.parts);
        parts.for_each(|part| self.learn_part(&part.content));
    }

    fn learn_part(&mut self, content: &PartContent) {
        match content {
            PartContent::Text(text) | PartContent::Url(text) => self.learn(text),
            PartContent::Data(value) => self.learn_value(value),
            PartContent::Raw(_) => {}
        }
    }

    fn learn_value(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.learn(text),
            Value::Array(values) => values.iter().for_each(|value| self.learn_value(value)),
            Value::Object(fields) => fields.values().for_each(|value| self.learn_value(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn learn(&mut self, text: &str) {
        for link in links::within(text) {
            self.0.insert(link.to_owned());
            self.0
                .extend(link.split_once("://").map(|(_, rest)| rest.to_owned()));
        }
    }

    /// The text with the addresses that may be shown.
    pub(crate) fn kept(&self, text: &str) -> String {
        let mut kept = String::with_capacity(text.len());
        let mut done = 0;
        let is_known = |span: &Range<usize>| text.get(span.clone()).is_some_and(|link| self.0.contains(link));
        for span in spans(text).into_iter().filter(|span| !is_known(span)) {
            kept.push_str(text.get(done..span.start).unwrap_or_default());
            kept.push_str(LEFT_OUT);
            done = span.end.max(done);
        }
        kept.push_str(text.get(done..).unwrap_or_default());
        kept
    }
}

/// A text that grows, shown so far as no address in it is unfinished.
pub(crate) struct GrowingText<'a> {
    addresses: &'a Addresses,
    /// What came since the last blank: no address goes on behind one.
    open: String,
    /// What of that is shown.
    shown: String,
    /// What is shown cannot be gone on with: what looked like a word was the beginning of an address.
    is_stuck: bool,
}

impl<'a> GrowingText<'a> {
    pub(crate) fn new(addresses: &'a Addresses) -> Self {
        Self {
            addresses,
            open: String::new(),
            shown: String::new(),
            is_stuck: false,
        }
    }

    /// Takes in what came, and gives what of it can be shown by now.
    pub(crate) fn grow(&mut self, text: &str) -> String {
        self.open.push_str(text);
        let mut fresh = String::new();
        if let Some(end) = behind_last(&self.open, char::is_whitespace) {
            let rest = self.open.split_off(end);
            self.show(self.open.len(), &mut fresh);
            self.open = rest;
            self.shown.clear();
        }
        self.show(whole(&self.open), &mut fresh);
        fresh
    }

    /// Shows the first bytes of what is open.
    fn show(&mut self, end: usize, fresh: &mut String) {
        let kept = self.addresses.kept(self.open.get(..end).unwrap_or_default());
        match kept.strip_prefix(self.shown.as_str()) {
            Some(more) if !self.is_stuck => {
                fresh.push_str(more);
                self.shown = kept;
            }
            // It is less than what was shown before where its end has become the beginning of an address.
            _ => self.is_stuck |= !self.shown.starts_with(&kept),
        }
    }
}

/// Where the text goes on behind the last of these characters.
fn behind_last(text: &str, is_one: impl Fn(char) -> bool) -> Option<usize> {
    let mut places = text.char_indices().rev();
    places.find(|(_, c)| is_one(*c)).map(|(at, c)| at + c.len_utf8())
}

/// How many bytes of a text without a blank within are no beginning of an address.
fn whole(text: &str) -> usize {
    const BEGINNINGS: [&str; 4] = ["http://", "https://", "www.", MAIL];
    let begun = behind_last(text, |c| !c.is_ascii()).unwrap_or(0);
    let last = text.get(begun..).unwrap_or_default();
    let lower = last
        .trim_start_matches(|c: char| !c.is_ascii_alphanumeric())
        .to_ascii_lowercase();
    let is_begun = last.contains([':', '/'])
        || last.trim_end_matches('.').contains('.')
        || !lower.is_empty() && BEGINNINGS.iter().any(|beginning| beginning.starts_with(&lower));
    let end = if is_begun { begun } else { text.len() };
    // Letters of other scripts may stand within an address, and next to one.
    let open = spans(text.get(..end).unwrap_or_default());
    open.iter()
        .find(|span| span.end == end)
        .map_or(end, |span| span.start)
}

#[cfg(test)]
mod tests;
