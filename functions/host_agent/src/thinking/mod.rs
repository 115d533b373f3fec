//! Deciding: what the model is shown, and what its tools do.

mod addresses;
mod asked;
mod asking;
mod choosing;
pub(crate) mod directory;
mod discovery;
pub(crate) mod flows;
mod instead;
mod one_agent;
mod own_tasks;
mod planning;
mod rehearsing;
pub(crate) mod thinker;
mod thought;
mod tools;
mod turn;
mod walk;
