//! The tables, in one place.

/// The names of the tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tables {
    /// Tasks, their events, push configurations, message ids.
    pub tasks: String,
    /// Browser sessions, chats, messages.
    pub sessions: String,
    /// Agent cards, tags, types.
    pub registry: String,
    /// The identity provider's own.
    pub identity: String,
    /// The order agent's data.
    pub orders: String,
}

impl Tables {
    /// The usual names behind a prefix, such as `switchyard-`.
    #[must_use]
    pub fn prefixed(prefix: &str) -> Self {
        let name = |suffix: &str| format!("{prefix}{suffix}");
        Self {
            tasks: name("tasks"),
            sessions: name("sessions"),
            registry: name("registry"),
            identity: name("identity"),
            orders: name("orders"),
        }
    }
}
