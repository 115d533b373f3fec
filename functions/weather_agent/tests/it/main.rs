//! The weather agent against the sandbox over loopback: the questions people ask, and what can go wrong.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]

/// The sandbox is part of the local system, which is built on this crate; so it is taken in as a module here.
#[path = "../../../../infra/local/src/sandbox/mod.rs"]
pub mod sandbox;

mod bench;
mod broken;
mod over_http;
mod places;
mod tokens;
mod weather;
