//! What lies in a data folder, and what is read from there: the list of endpoints, the secrets, the database.

use std::collections::BTreeMap;

use domain::Tenant;

pub(crate) mod current;
pub(crate) mod database;
pub mod endpoints;
pub mod folder;
pub mod key_age;
pub mod secrets;

/// The tenant of that name, whichever incarnation it is; found without a look at the others.
pub(crate) fn incarnation<'m, V>(map: &'m BTreeMap<Tenant, V>, name: &Tenant) -> Option<(&'m Tenant, &'m V)> {
    let bare = Tenant::parse(name.name()).ok()?;
    let first = Tenant::from_prefix(&format!("{}.00000000", name.name())).ok()?;
    let next = map.range(first..).next();
    let other = next.filter(|(known, _)| known.name() == name.name());
    map.get_key_value(&bare).or(other)
}
