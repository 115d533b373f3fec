//! The accommodation agent against the sandbox's MCP server over loopback: what people ask, and what can go wrong.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

mod questions;
mod stays;
mod talks;
mod tokens;
mod world;
