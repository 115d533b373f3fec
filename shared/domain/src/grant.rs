//! What names an OAuth grant.

use crate::{Owner, Tenant};

/// Which grant: an owner's, with a provider, for a resource. It is stored under this key, and its sealed tokens open with
/// no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GrantKey<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// The user or guest within it.
    pub owner: &'a Owner,
    /// The provider's id, such as `idp`.
    pub provider: &'a str,
    /// The resource (RFC 8707), the audience of the tokens.
    pub resource: &'a str,
}
