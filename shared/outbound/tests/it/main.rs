//! The way out against peers that behave, misbehave, or do not answer; all on loopback.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has failed"
)]

mod agents;
mod cards;
mod events;
mod guard;
mod json;
mod keys;
mod mcp;
mod misbehaviour;
mod oauth;
mod objects;
mod pushes;
mod support;
