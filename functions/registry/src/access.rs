//! Authorization: who calls, and what of the registry that caller may see or change. Handlers take one of these extractors, so
//! none can forget the check.

use std::sync::Arc;

use auth::Refusal;
use axum::extract::FromRequestParts;
use domain::{Owner, Scopes, Tenant};
use http::request::Parts;
use store::audit::{self, Action, Actor, Entry};
use store::{Standing, Visibility};

use crate::State;
use crate::error::RouteError;

/// Allows to look.
const READ: &str = "registry:read";
/// Allows a tenant to change its own entries.
const WRITE: &str = "registry:write";
/// Allows the platform everything; worth nothing in a token of a tenant.
const ADMIN: &str = "registry:admin";

/// The part of the registry a request is about: the global entries alone, or a tenant's beside them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct View(pub(crate) Option<Tenant>);

impl View {
    /// The parts of the table that make it up.
    pub(crate) fn parts(&self) -> impl Iterator<Item = Visibility<'_>> {
        self.0
            .as_ref()
            .map(Visibility::Tenant)
            .into_iter()
            .chain([Visibility::Global])
    }
}

/// A verified token.
enum Authority {
    Platform,
    Tenant(Tenant, Scopes, Option<Owner>),
}

impl Authority {
    async fn of(parts: &Parts, state: &State) -> Result<Self, Refusal> {
        let token = edge::bearer(&parts.headers)?;
        let verified = state.verifier.checked(token, state.clock.now(), None).await?;
        match verified.tenant {
            Some(tenant) => match state.store.tenants().standing(&tenant, state.clock.now()).await {
                Ok(Standing::Active) => {
                    let subject = Owner::parse(&verified.subject).ok();
                    Ok(Self::Tenant(tenant, verified.scopes, subject))
                }
                Ok(Standing::Suspended) => Err(Refusal::Suspended),
                Ok(Standing::Gone) => Err(Refusal::Malformed),
                Err(error) => {
                    tracing::warn!(%error, "nobody can tell how the caller's tenant stands");
                    Err(Refusal::Unavailable)
                }
            },
            None if verified.scopes.contains(ADMIN) => Ok(Self::Platform),
            None => Err(small(ADMIN)),
        }
    }

    /// The tenant whose entries the caller may work on, given the one it asked for.
    fn view(self, asked: Option<Tenant>, scopes: &[&str]) -> Result<View, RouteError> {
        match self {
            Self::Platform => Ok(View(asked)),
            Self::Tenant(own, held, _) => {
                if !scopes.iter().any(|scope| held.contains(*scope)) {
                    return Err(small(scopes.first().copied().unwrap_or(ADMIN)).into());
                }
                // Answered alike whether the other tenant exists or not.
                if asked.is_some_and(|asked| asked != own) {
                    return Err(RouteError::Forbidden("a token speaks for its own tenant alone"));
                }
                Ok(View(Some(own)))
            }
        }
    }
}

fn small(needed: &str) -> Refusal {
    Refusal::SmallScope {
        needed: needed.to_owned(),
    }
}

fn asked(parts: &Parts) -> Result<Option<Tenant>, RouteError> {
    let query = parts.uri.query().unwrap_or_default();
    let named = url::form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "tenant");
    named
        .map(|(_, text)| Tenant::from_prefix(&text))
        .transpose()
        .map_err(|fault| RouteError::Invalid(fault.to_string()))
}

/// A caller who may look.
pub(crate) struct Reader(pub(crate) View);

impl FromRequestParts<Arc<State>> for Reader {
    type Rejection = RouteError;
    async fn from_request_parts(parts: &mut Parts, state: &Arc<State>) -> Result<Self, RouteError> {
        let authority = Authority::of(parts, state).await?;
        authority.view(asked(parts)?, &[READ, WRITE]).map(Self)
    }
}

/// A caller who may change entries: the platform any, a tenant its own.
pub(crate) struct Writer {
    authority: Authority,
    asked: Option<Tenant>,
}

impl Writer {
    /// True where the platform itself calls.
    pub(crate) fn is_platform(&self) -> bool {
        matches!(self.authority, Authority::Platform)
    }

    /// Whoever is told to have made the change: of a tenant, the subject of its token.
    pub(crate) fn by(&self) -> By {
        By(match &self.authority {
            Authority::Platform => None,
            Authority::Tenant(.., subject) => subject.clone(),
        })
    }

    /// What the caller sees, for a request that names an entry by its id.
    pub(crate) fn view(self) -> Result<Target, RouteError> {
        let changes_global = self.is_platform();
        let by = self.by();
        let view = self.authority.view(self.asked, &[WRITE])?;
        Ok(Target {
            view,
            changes_global,
            by,
        })
    }

    /// The tenant that a new entry belongs to: the one named in the body for the platform, its own for a tenant.
    pub(crate) fn owner(self, named: Option<Tenant>) -> Result<Option<Tenant>, RouteError> {
        let asked = named.or(self.asked);
        Ok(self.authority.view(asked, &[WRITE])?.0)
    }
}

impl FromRequestParts<Arc<State>> for Writer {
    type Rejection = RouteError;
    async fn from_request_parts(parts: &mut Parts, state: &Arc<State>) -> Result<Self, RouteError> {
        let authority = Authority::of(parts, state).await?;
        // The scope is checked before anything of the body is read.
        if let Authority::Tenant(_, held, _) = &authority
            && !held.contains(WRITE)
        {
            return Err(small(WRITE).into());
        }
        let asked = asked(parts)?;
        Ok(Self { authority, asked })
    }
}

/// What a writer may reach.
pub(crate) struct Target {
    pub(crate) view: View,
    changes_global: bool,
    pub(crate) by: By,
}

/// Who changes something: somebody of a tenant, or the platform's operator.
pub(crate) struct By(Option<Owner>);

impl By {
    /// The platform's operator.
    pub(crate) const OPERATOR: Self = Self(None);

    /// A change that is made, for the audit.
    pub(crate) fn entry(
        &self,
        state: &State,
        action: Action,
        tenant: Option<&Tenant>,
        object: &str,
    ) -> Entry {
        let by = self.0.as_ref().map_or(Actor::Operator, Actor::Owner);
        let audit = state.store.audit(state.clock.now());
        audit.entry(action, tenant, by, object, audit::DONE)
    }
}

impl Target {
    /// Checks that an entry the caller can see is also one it may change.
    pub(crate) fn may_change(&self, owner: Option<&Tenant>) -> Result<(), RouteError> {
        if owner.is_none() && !self.changes_global {
            return Err(RouteError::Forbidden(
                "a global agent is the platform's to change",
            ));
        }
        Ok(())
    }
}

/// The platform itself.
pub(crate) struct Platform;

impl FromRequestParts<Arc<State>> for Platform {
    type Rejection = RouteError;
    async fn from_request_parts(parts: &mut Parts, state: &Arc<State>) -> Result<Self, RouteError> {
        match Authority::of(parts, state).await? {
            Authority::Platform => Ok(Self),
            Authority::Tenant(..) => Err(small(ADMIN).into()),
        }
    }
}
