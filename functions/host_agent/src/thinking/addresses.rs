//! Addresses in a model's answer: only those that stand letter by letter in what its user said or in a result are shown. One
//! that a model makes up, or is talked into, could carry off what it has read as soon as somebody follows it, or as soon as a
//! program shows the picture behind it.

use std::collections::BTreeSet;
use std::ops::Range;

use domain::{CallEnd, Job, Message, PartContent, Role, Task};
use linkify::{LinkFinder, LinkKind};
use llm::Turn;
use serde_json::Value;

use crate::thinking::thought::Thought;

/// What a link that writes a letter begins with: pages follow it, and its subject may carry anything off.
const MAIL: &str = "mailto:";
/// Longest piece of a text, in bytes, that addresses are learned from.
const LONGEST: usize = 2_048;
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

    /// Piece by piece, as no address has a blank, a quotation mark or an angle bracket in it: a result may be a megabyte, and made to
    /// be looked through for ever.
    fn learn(&mut self, text: &str) {
        let finder = finder();
        let pieces = text.split(|c: char| c.is_whitespace() || c.is_control() || "\"<>".contains(c));
        for piece in pieces.filter(|piece| piece.len() <= LONGEST) {
            for span in spans(&finder, piece) {
                let link = piece.get(span).unwrap_or_default();
                self.0.insert(link.to_owned());
                self.0
                    .extend(link.split_once("://").map(|(_, rest)| rest.to_owned()));
            }
        }
    }

    /// The text with the addresses that may be shown.
    pub(crate) fn kept(&self, text: &str) -> String {
        let mut kept = String::with_capacity(text.len());
        let mut done = 0;
        let is_known = |span: &Range<usize>| text.get(span.clone()).is_some_and(|link| self.0.contains(link));
        for span in spans(&finder(), text).into_iter().filter(|span| !is_known(span)) {
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
    let open = spans(&finder(), text.get(..end).unwrap_or_default());
    open.iter()
        .find(|span| span.end == end)
        .map_or(end, |span| span.start)
}

/// Finds addresses without a scheme as well: who shows a text may still make links of them.
fn finder() -> LinkFinder {
    let mut finder = LinkFinder::new();
    finder.kinds(&[LinkKind::Url]).url_must_have_scheme(false);
    finder
}

/// Where addresses stand in a text. A name with a dot alone, such as Node.js, is none, unless two slashes are before it.
fn spans(finder: &LinkFinder, text: &str) -> Vec<Range<usize>> {
    let is_address = |link: &str| {
        let www = link.get(..4);
        link.contains('/') || www.is_some_and(|start| start.eq_ignore_ascii_case("www."))
    };
    let found = finder.links(text).filter(|link| is_address(link.as_str()));
    let mut spans: Vec<Range<usize>> = found.map(|link| link.start()..link.end()).collect();
    for (slashes, _) in text.match_indices("//") {
        let start = slashes + 2;
        let within = spans.iter().any(|span| span.contains(&slashes));
        let behind = text.get(start..).unwrap_or_default();
        let link = finder
            .links(behind)
            .next()
            .filter(|link| link.start() == 0 && !within);
        spans.extend(link.map(|link| start..start + link.end()));
    }
    for (start, _) in text.to_ascii_lowercase().match_indices(MAIL) {
        let is_end = |c: char| c.is_whitespace() || matches!(c, ')' | ']' | '>' | '"');
        let rest = text.get(start..).unwrap_or_default();
        let span = start..start + rest.find(is_end).unwrap_or(rest.len());
        spans.retain(|other| !span.contains(&other.start));
        spans.push(span);
    }
    spans.sort_by_key(|span| span.start);
    spans
}

#[cfg(test)]
mod tests;
