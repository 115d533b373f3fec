//! The page itself: its files, and the looks of the tenant.

pub(crate) mod app;
pub(crate) mod brand;
pub(crate) mod built;
pub(crate) mod serving;
