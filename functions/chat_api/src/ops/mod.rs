//! What a tenant's operators and admins look after.

pub(crate) mod access;
pub(crate) mod agents;
pub(crate) mod audit;
pub(crate) mod deliveries;
pub(crate) mod eval;
pub(crate) mod keys;
pub(crate) mod lately;
pub(crate) mod registry;
pub(crate) mod settings;
pub(crate) mod tasks;
pub(crate) mod users;
