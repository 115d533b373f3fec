//! Who calls: the identity that an edge has verified.

use std::collections::BTreeSet;

use crate::{Owner, Tenant};

/// One OAuth scope, such as `tasks` or `registry:read`.
pub type Scope = String;

/// The scopes a verified token carries.
pub type Scopes = BTreeSet<Scope>;

/// A verified caller. It exists only after authentication; tenant and owner come from the token, never from a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Whose data the call may touch.
    pub tenant: Tenant,
    /// Whose tasks the call may see within the tenant.
    pub owner: Owner,
    /// What the token allows.
    pub scopes: Scopes,
}

impl Caller {
    /// A caller without a token at an open agent: may read a task by its id, may list nothing.
    #[must_use]
    pub fn anonymous() -> Self {
        Self {
            tenant: Tenant::public(),
            owner: Owner::anonymous(),
            scopes: Scopes::new(),
        }
    }
}
