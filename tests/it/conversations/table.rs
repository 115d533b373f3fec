//! The rows as `tests/data/README.md` describes them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Conversation {
    pub(super) name: String,
    pub(super) rule: String,
    pub(super) tenant: String,
    pub(super) locale: Option<String>,
    pub(super) time_zone: Option<String>,
    pub(super) now: Option<String>,
    pub(super) signed_in: Option<String>,
    #[serde(default)]
    pub(super) agents: Vec<String>,
    pub(super) turn: Vec<Turn>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Turn {
    pub(super) say: Option<String>,
    pub(super) after: Option<String>,
    pub(super) chat: Option<String>,
    pub(super) reply_to: Option<usize>,
    pub(super) file: Option<String>,
    #[serde(default)]
    pub(super) expect: Expect,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expect {
    pub(super) task: Option<String>,
    pub(super) jobs: Option<Vec<String>>,
    pub(super) state: Option<String>,
    #[serde(default)]
    pub(super) others: BTreeMap<String, String>,
    pub(super) canceled: Option<Vec<usize>>,
    #[serde(default)]
    pub(super) says: Vec<String>,
    #[serde(default)]
    pub(super) never: Vec<String>,
    pub(super) asks: Option<bool>,
    pub(super) first: Option<String>,
}

#[derive(Deserialize)]
struct Table {
    conversation: Vec<Conversation>,
}

/// Every conversation of the table.
pub(super) fn read() -> Vec<Conversation> {
    let path = system_testing::folder().join("data/conversations.toml");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let table: Table = toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    table.conversation
}

impl Conversation {
    /// The chats that it is held in.
    pub(super) fn chats(&self) -> BTreeSet<String> {
        let named = self.turn.iter().map(|turn| turn.chat.clone());
        named.map(|chat| chat.unwrap_or_else(|| "a".to_owned())).collect()
    }

    /// Whether it moves the clock or restarts the system, so that nothing else may happen there meanwhile.
    pub(super) fn alone(&self) -> bool {
        let moves = |after: &str| after == "system restarted" || span(after).is_some();
        self.turn
            .iter()
            .filter_map(|turn| turn.after.as_deref())
            .any(moves)
    }

    /// Whether it is held in another language than English.
    pub(super) fn is_abroad(&self) -> bool {
        let locale = self.locale.as_deref();
        locale.is_some_and(|locale| !locale.starts_with("en"))
    }

    /// Whether the system is restarted in it.
    pub(super) fn restarts(&self) -> bool {
        self.turn
            .iter()
            .any(|turn| turn.after.as_deref() == Some("system restarted"))
    }

    /// Whether its user agrees to a consent.
    pub(super) fn agrees(&self) -> bool {
        let agrees = |turn: &Turn| matches!(turn.after.as_deref(), Some("consent given" | "code shown"));
        self.signed_in.is_some() || self.turn.iter().any(agrees)
    }

    /// Whether its user denies a consent.
    pub(super) fn denies(&self) -> bool {
        self.turn
            .iter()
            .any(|turn| turn.after.as_deref() == Some("consent denied"))
    }
}

/// The time that a word of the list `after` says.
pub(super) fn span(after: &str) -> Option<std::time::Duration> {
    let minutes = match after {
        "1 minute" => 1,
        "11 minutes" => 11,
        "31 minutes" => 31,
        "2 hours" => 120,
        "1 day" => 24 * 60,
        _ => return None,
    };
    Some(std::time::Duration::from_secs(minutes * 60))
}
