//! Files that come with a message, and those among results.

pub(crate) mod kept;
pub(crate) mod media;
pub(crate) mod sent;
