//! The codec from outside: what clients see (snapshots), what comes back unchanged (properties), what others really
//! write (golden), and what is refused (refusals).

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has failed"
)]

mod golden;
mod properties;
mod refusals;
mod samples;
mod snapshots;
