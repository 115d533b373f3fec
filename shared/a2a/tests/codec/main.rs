//! The codec from outside: what clients see (snapshots), what comes back unchanged (properties), what others really
//! write (golden), what is refused (refusals), what breaks nothing (rubbish), each operation both ways (operations), what the
//! official types make of it (oracle), and signed cards (signatures).

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod golden;
mod operations;
mod oracle;
mod peers;
mod properties;
mod refusals;
mod rubbish;
mod samples;
mod signatures;
mod snapshots;
