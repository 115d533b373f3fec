//! Tokens of any issuer, with keys that are given or thrown away: what is taken, what is refused, and how seldom keys are
//! fetched.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

mod attacks;
mod config;
mod each_tenant;
mod fetched;
mod issuers;
mod signed;
