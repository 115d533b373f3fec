//! Tasks: lists, cards, logs, and what a user does about one.

pub(crate) mod act;
pub(crate) mod artifact_view;
pub(crate) mod consent_view;
pub(crate) mod events;
pub(crate) mod history_view;
pub(crate) mod list;
pub(crate) mod news;
pub(crate) mod plan_view;
pub(crate) mod show;
pub(crate) mod view;
pub(crate) mod watch;
