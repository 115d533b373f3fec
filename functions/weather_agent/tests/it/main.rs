//! The weather agent against the sandbox over loopback: the questions people ask, and what can go wrong.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

mod bench;
mod broken;
mod over_http;
mod places;
mod table;
mod tokens;
mod weather;
