//! Chats: a message and its answer, what was said, and how an answer streams.

pub(crate) mod change;
pub(crate) mod edit;
pub(crate) mod feedback;
pub(crate) mod frames;
pub(crate) mod kept;
pub(crate) mod known_models;
pub(crate) mod list;
pub(crate) mod messages;
pub(crate) mod models;
pub(crate) mod relay;
pub(crate) mod resume;
pub(crate) mod send;
pub(crate) mod shown_draft;
pub(crate) mod stop;
pub(crate) mod tail;
pub(crate) mod turn;
pub(crate) mod ui_message;
