//! The agents of a prompt, with the words of their cards.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use crate::AgentBrief;
use crate::rules::Lexicon;

/// Whom work can be given to. Its copies share what was found out about them: whoever keeps one for many prompts pays for
/// that once.
#[derive(Clone, Default)]
pub struct Agents(Arc<Known>);

#[derive(Default)]
struct Known {
    briefs: Vec<AgentBrief>,
    lexicon: OnceLock<Lexicon>,
}

impl Agents {
    /// The words of their cards, ready to be compared with texts.
    pub(crate) fn lexicon(&self) -> &Lexicon {
        self.0.lexicon.get_or_init(|| Lexicon::of(&self.0.briefs))
    }
}

impl Deref for Agents {
    type Target = [AgentBrief];

    fn deref(&self) -> &[AgentBrief] {
        &self.0.briefs
    }
}

impl From<Vec<AgentBrief>> for Agents {
    fn from(briefs: Vec<AgentBrief>) -> Self {
        Self(Arc::new(Known {
            briefs,
            lexicon: OnceLock::new(),
        }))
    }
}

impl PartialEq for Agents {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.briefs == other.0.briefs
    }
}

impl fmt::Debug for Agents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.briefs.fmt(f)
    }
}
