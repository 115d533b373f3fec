//! The agent room against the real SDK client and an engine that enforces conditions.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod calls;
mod cards;
mod carried;
mod drafts;
mod operations;
mod pushes;
mod quotas;
mod streams;
mod support;
mod terms;
