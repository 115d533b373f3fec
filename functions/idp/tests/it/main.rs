//! The authorization server through its router, over the embedded database, with a clock that is moved.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "the helpers of tests fail the test, as the tests themselves do"
)]

mod browser;
mod codes;
mod fixture;
mod forms;
mod metadata;
mod people;
mod provisioning;
mod refreshing;
mod refusals;
mod roles;
mod rubbish;
mod samples;
mod signing_in;
mod tokens;
mod users;
