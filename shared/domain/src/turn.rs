//! What a language model answered while it worked on a task: stored before any of it is acted on, so that whoever goes on
//! after a crash does what was decided, instead of asking again and deciding something else.

use serde::{Deserialize, Serialize};

use crate::MessageId;

/// Most bytes of a [`CallResult::text`]; a longer one is cut.
pub const CALL_RESULT_MAX: usize = 2_048;

/// Most bytes of [`ModelTurn::text`]; a longer one is cut.
pub const TURN_TEXT_MAX: usize = 8_192;

/// The tool by which a model asks how another task of its user's is doing.
pub const TASK_STATUS: &str = "task_status";

/// Behind a text that was cut.
const ELLIPSIS: &str = "…";

/// One answer of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelTurn {
    /// Its number within the task, from 0. The jobs that its calls made have it as their step.
    pub number: u32,
    /// Which model it was, such as `bedrock:MODEL_ID`.
    pub model: String,
    /// Which version of our prompts it answered; 0 where nobody asked by any.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub prompts: u32,
    /// The user's message that it answers, where that is not the one the task was made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<MessageId>,
    /// What it said beside its calls. The answer itself is the message of the status that ends the task.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The tools that it called, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<TurnCall>,
    /// True where none of the calls was run, because they could not all be.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
    /// What it took.
    #[serde(default)]
    pub usage: TokenUsage,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl ModelTurn {
    /// Whether the model was told of other tasks of its user's.
    #[must_use]
    pub fn was_told_of_others(&self) -> bool {
        let mut asked = self.calls.iter().filter(|call| call.name == TASK_STATUS);
        asked.any(|call| matches!(&call.end, CallEnd::Result(result) if !result.failed))
    }

    /// The same, without what is too large to be kept.
    #[must_use]
    pub fn bounded(self) -> Self {
        Self {
            text: cut(&self.text, TURN_TEXT_MAX),
            ..self
        }
    }
}

/// A text of at most that many bytes.
fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(most.saturating_sub(ELLIPSIS.len()));
    text.get(..end).unwrap_or_default().to_owned() + ELLIPSIS
}

/// A tool that a model called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnCall {
    /// Unique within its turn.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments, as JSON text; empty where a job holds what it asked for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub arguments: String,
    /// How the call ends.
    pub end: CallEnd,
}

/// How a call ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum CallEnd {
    /// With a job: its result is kept there, and nowhere else.
    Job {
        /// Its number.
        number: u32,
    },
    /// At once.
    Result(CallResult),
    /// In a way that this release does not know.
    #[serde(other)]
    Unknown,
}

/// What one of our own tools answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallResult {
    /// What was done, or why nothing was.
    pub text: String,
    /// Whether nothing was done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
}

impl CallResult {
    /// A result of at most [`CALL_RESULT_MAX`] bytes.
    #[must_use]
    pub fn new(text: &str, failed: bool) -> Self {
        Self {
            text: cut(text, CALL_RESULT_MAX),
            failed,
        }
    }
}

/// Tokens that an answer took, as its provider counts them; zero where it does not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TokenUsage {
    /// Of the prompt, those from a cache included.
    pub input: u64,
    /// Of the answer, what it thought included.
    pub output: u64,
    /// Of the prompt, those that came from the provider's cache.
    pub cached: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_result_is_cut_between_characters() {
        for text in [
            "é".repeat(2_000),
            format!("x{}", "é".repeat(2_000)),
            "€".repeat(900),
        ] {
            let cut = CallResult::new(&text, false).text;
            assert!(
                cut.len() <= CALL_RESULT_MAX && cut.len() > CALL_RESULT_MAX - 8,
                "{}",
                cut.len()
            );
            assert!(text.starts_with(cut.trim_end_matches('…')) && cut.ends_with('…'));
        }
        assert_eq!(CallResult::new("Oslo", true).text, "Oslo");
    }

    #[test]
    fn what_is_too_large_is_not_kept() {
        let turn = ModelTurn {
            prompts: 0,
            number: 0,
            model: "m".into(),
            said: None,
            text: "é".repeat(9_000),
            calls: Vec::new(),
            refused: false,
            usage: TokenUsage::default(),
        };
        let kept = turn.clone().bounded();
        assert!(kept.text.len() <= TURN_TEXT_MAX);
        let small = ModelTurn {
            prompts: 0,
            text: "well".into(),
            ..turn
        };
        assert_eq!(small.clone().bounded(), small);
    }

    #[test]
    fn an_end_of_a_newer_release_can_be_read() {
        let newer =
            serde_json::json!({"id": "a", "name": "n", "arguments": "{}", "end": {"by": "asked", "at": 5}});
        let call: TurnCall = serde_json::from_value(newer).unwrap();
        assert_eq!(call.end, CallEnd::Unknown);
        for end in [
            CallEnd::Job { number: 3 },
            CallEnd::Result(CallResult::new("x", true)),
        ] {
            let call = TurnCall { end, ..call.clone() };
            let again: TurnCall = serde_json::from_value(serde_json::to_value(&call).unwrap()).unwrap();
            assert_eq!(again, call);
        }
    }
}
