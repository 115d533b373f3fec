//! The registry as its callers see it: the whole router over the embedded database, cards from an HTTP peer.

mod fixture;
mod registration;
mod rubbish;
mod tokens;
mod visibility;
