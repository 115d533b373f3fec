//! What each target does with bytes.

pub mod rooms;
mod wire;

pub use wire::*;
