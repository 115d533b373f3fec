//! The calendar agent as a whole: calls in, work on its wakes, Google's sandbox behind it.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by them"
)]

mod consent;
mod look;
mod questions;
mod tokens;
mod world;
