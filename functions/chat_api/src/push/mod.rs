//! Browsers that are told of tasks while no page is open (Web Push).

pub(crate) mod browsers;
pub(crate) mod services;
pub(crate) mod told;
