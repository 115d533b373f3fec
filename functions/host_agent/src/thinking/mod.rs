//! Deciding: what the model is shown, and what its tools do.

mod asking;
pub(crate) mod directory;
mod discovery;
mod one_agent;
mod own_tasks;
pub(crate) mod thinker;
mod thought;
mod tools;
mod turn;
