//! The local system, started in-process.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "the helpers of tests fail the test, as the tests themselves do"
)]

mod hosts;
mod http;
mod system;
