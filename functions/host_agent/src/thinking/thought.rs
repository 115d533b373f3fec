//! What a model thinks about, beside what its task holds.

use std::sync::Arc;

use domain::ModelTurn;
use llm::{Answer, Turn};

use crate::rules::note::Note;
use crate::thinking::directory::KnownAgents;

/// What a model is to think about, beside what its task holds.
pub(crate) struct Thought {
    /// What was said and done before, in the same conversation.
    pub(crate) earlier: Vec<Turn>,
    /// What is asked.
    pub(crate) asked: String,
    /// Its first answer, where that is known already.
    pub(crate) first: Option<Answer>,
    /// Who there is; looked up when it is needed.
    pub(crate) known: Option<Arc<KnownAgents>>,
    pub(crate) note: Note,
    /// Turns of this execution that nobody needs to find again: what the rules decide, they decide again.
    pub(crate) unstored: Vec<ModelTurn>,
}

impl Thought {
    pub(crate) fn of(asked: String, note: Note) -> Self {
        Self {
            earlier: Vec::new(),
            asked,
            first: None,
            known: None,
            note,
            unstored: Vec::new(),
        }
    }
}
