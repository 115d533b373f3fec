//! Tasks that their users share by a link.

pub(crate) mod link;
pub(crate) mod page;
pub(crate) mod sources;
