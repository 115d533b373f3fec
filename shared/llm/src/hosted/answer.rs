//! What has come of an answer so far, and what it is when its stream has ended.

use serde_json::Value;

use super::dialogue::Dialogue;
use super::fault::Fault;
use super::tools::{self, RawCall};
use crate::{Answer, Opaque, Step};
use domain::TokenUsage;

/// Most bytes of what a provider wants to see again; more of it is dropped.
const OPAQUE_MAX: usize = 16 * 1024;

/// How a provider says that an answer is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// It said all it wanted.
    Natural,
    /// It grew too long.
    Length,
    /// The model, or a filter, would not go on.
    Refused,
}

/// What has come so far.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub(crate) text: String,
    pub(crate) calls: Vec<RawCall>,
    pub(crate) refusal: String,
    pub(crate) usage: TokenUsage,
    pub(crate) opaque: Option<Value>,
    pub(crate) end: Option<End>,
}

impl Gathered {
    /// The answer. What lacks its proper end is none, however much of it is there.
    pub(crate) fn answer(self, model: &str, dialogue: &Dialogue) -> Result<Answer, Fault> {
        let Some(end) = self.end else {
            return Err(Fault::Broken("the stream ended before the answer did".to_owned()));
        };
        let text = self.text.trim();
        if end == End::Refused || (!self.refusal.is_empty() && self.calls.is_empty()) {
            let words = if self.refusal.is_empty() {
                text
            } else {
                &self.refusal
            };
            return Err(Fault::Refused(words.to_owned()));
        }
        let is_cut = end == End::Length;
        let opaque = self.opaque.filter(|value| value.to_string().len() <= OPAQUE_MAX);
        let (step, beside) = match self.calls.is_empty() {
            true if text.is_empty() => {
                return Err(Fault::Unusable("it has neither text nor calls".to_owned()));
            }
            true => (Step::Say(text.to_owned()), String::new()),
            false => {
                let calls = tools::read(self.calls, dialogue.agents(), is_cut);
                (Step::Call(calls), text.to_owned())
            }
        };
        Ok(Answer {
            step,
            beside,
            clauses: Vec::new(),
            model: model.to_owned(),
            is_cut,
            usage: self.usage,
            opaque: opaque.map(|value| Opaque {
                model: model.to_owned(),
                value,
            }),
        })
    }
}
