//! What a model thinks about, beside what its task holds.

use std::sync::Arc;

use domain::{Job, ModelTurn, Task};
use llm::{Answer, Turn};

use crate::rules::note::Note;
use crate::rules::transcript;
use crate::thinking::directory::KnownAgents;

/// Most earlier tasks of the conversation that a model sees.
const EARLIER_MAX: usize = 12;

/// What a model is to think about, beside what its task holds.
pub(crate) struct Thought {
    /// What was said and done before, in the same conversation.
    pub(crate) earlier: Vec<Turn>,
    /// The work of these earlier tasks, whose results stand in what the model reads.
    pub(crate) remembered: Vec<Job>,
    /// What is asked.
    pub(crate) asked: String,
    /// Its first answer, where that is known already.
    pub(crate) first: Option<Answer>,
    /// Who there is; looked up when it is needed.
    pub(crate) known: Option<Arc<KnownAgents>>,
    pub(crate) note: Note,
    /// The tasks of the chat that it may be about, in a line each.
    pub(crate) tasks: Vec<String>,
    /// Turns of this execution that nobody needs to find again: what the rules decide, they decide again.
    pub(crate) unstored: Vec<ModelTurn>,
}

impl Thought {
    pub(crate) fn of(asked: String, note: Note) -> Self {
        Self {
            earlier: Vec::new(),
            remembered: Vec::new(),
            asked,
            first: None,
            known: None,
            note,
            tasks: Vec::new(),
            unstored: Vec::new(),
        }
    }

    /// Lets the model read what was said and done before in the conversation.
    pub(crate) fn remember(&mut self, here: &[Task]) {
        let shown = here.iter().skip(here.len().saturating_sub(EARLIER_MAX));
        self.earlier = transcript::of_earlier(shown.clone());
        let heard = shown
            .flat_map(|task| &task.jobs)
            .filter(|job| job.remote().is_some());
        self.remembered = heard.cloned().collect();
    }
}
