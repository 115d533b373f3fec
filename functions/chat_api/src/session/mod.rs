//! Who asks, what is theirs, and where they are connected.

pub(crate) mod connections;
pub(crate) mod guard;
pub(crate) mod guest;
pub(crate) mod me;
pub(crate) mod owned;
pub(crate) mod place;
pub(crate) mod seat;
pub(crate) mod visitor;
pub(crate) mod who;
