//! What lies in a data folder, and what is read from there: the list of endpoints, the secrets, the database.

pub(crate) mod current;
pub(crate) mod database;
pub mod endpoints;
pub mod folder;
pub mod key_age;
pub mod secrets;
