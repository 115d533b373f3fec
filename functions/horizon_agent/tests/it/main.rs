//! The Horizon agent over HTTP: who may call it, and what it says of orders.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod orders;
mod samples;
mod tokens;
mod world;
