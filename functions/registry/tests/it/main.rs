//! The registry as its callers see it: the whole router over the embedded database, cards from an HTTP peer.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "the helpers of tests fail the test, as the tests themselves do"
)]

mod fixture;
mod health;
mod pending;
mod registration;
mod rehearsal;
mod rubbish;
mod signatures;
mod tokens;
mod visibility;
