//! The host agent over a real store, with scripted agents and a scripted registry.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

mod choosing;
mod connections;
mod consent;
mod data;
mod delegation;
mod discovery;
mod drafts;
mod flows;
mod led;
mod named;
mod own_tasks;
mod plan_consents;
mod plans;
mod reminders;
mod robust;
mod scripted;
mod sentences;
mod slow;
mod turns;
mod waiting;
mod world;
