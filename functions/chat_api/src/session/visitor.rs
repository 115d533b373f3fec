//! Sessions: who asks, or nobody yet.
//!
//! The cookie holds a random token; the table holds its hash and the owner it stands for. A guest's owner is made with
//! the first thing the guest asks for, never by a look. Who has signed in (`oauth_callback` begins such sessions) is looked up
//! with each request: a session ends with what it was proved by.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use domain::{ExposeSecret, Owner};
use http::HeaderValue;
use http::request::Parts;
use store::LiveSession;
use store::audit::Action;
use tracing::Span;
use tracing::field::display;

use crate::error::RouteError;
use crate::state::AppState;

/// The session that the request came with, where it is still good.
pub(crate) struct Seen(pub(crate) Option<LiveSession>);

impl FromRequestParts<Arc<AppState>> for Seen {
    type Rejection = RouteError;
    async fn from_request_parts(parts: &mut Parts, room: &Arc<AppState>) -> Result<Self, RouteError> {
        Span::current().record("tenant.id", room.tenant.name());
        let Some(token) = edge::session::presented(&parts.headers, &room.tenant, &room.base) else {
            return Ok(Self(None));
        };
        let hash = auth::token::hash(token.expose_secret());
        let sessions = room.store.sessions();
        let session = sessions
            .live_session(&room.tenant, &hash, room.clock.now())
            .await?;
        if let Some(session) = &session {
            Span::current().record("requester", display(&session.owner));
        }
        Ok(Self(session))
    }
}

/// The owner behind the request's session; `None` where it has no session that is still good. Where nobody is let in who has
/// not signed in, there are no others.
pub(crate) struct Visitor(pub(crate) Option<Owner>);

impl FromRequestParts<Arc<AppState>> for Visitor {
    type Rejection = RouteError;
    async fn from_request_parts(parts: &mut Parts, room: &Arc<AppState>) -> Result<Self, RouteError> {
        let seen = Seen::from_request_parts(parts, room).await?;
        Self::of(&seen, room)
    }
}

impl Visitor {
    /// Whoever came with that session, where they are let in.
    pub(crate) fn of(seen: &Seen, room: &AppState) -> Result<Self, RouteError> {
        let Seen(session) = seen;
        let is_signed_in = session
            .as_ref()
            .is_some_and(|session| session.signed_in.is_some());
        if room.require_sign_in && !is_signed_in {
            return Err(RouteError::SignInRequired {
                at: room.sign_in.clone(),
            });
        }
        Ok(Self(session.as_ref().map(|session| session.owner.clone())))
    }
}

impl Seen {
    /// Whether browsers of whoever came are told of tasks.
    pub(crate) fn pushes(&self) -> bool {
        self.0.as_ref().is_some_and(|session| session.pushes)
    }
}

impl AppState {
    /// What an owner is known by in a browser, which keeps under it what has not left yet. It leads to nothing.
    pub(crate) fn mark(&self, owner: &Owner) -> String {
        auth::token::hash(&format!("kept in a browser/{}/{owner}", self.tenant.prefix()))
    }

    /// Whether what a browser kept under this mark may leave in the name of whoever is there now. What nobody wrote a new guest says,
    /// or the guest that this browser has become meanwhile.
    pub(crate) fn may_say(&self, mark: &str, Seen(session): &Seen) -> bool {
        match session {
            None => mark.is_empty(),
            Some(session) if mark.is_empty() => session.signed_in.is_none(),
            Some(session) => mark == self.mark(&session.owner),
        }
    }
}

/// Makes a guest and a session for it; the header value is the cookie to set.
pub(crate) async fn welcome_guest(room: &AppState) -> Result<(Owner, HeaderValue), RouteError> {
    let owner = Owner::guest(&room.entropy.uuid().to_string())
        .map_err(|error| RouteError::invalid("invalid_owner", &error.to_string()))?;
    let token = edge::session::token(room.entropy.as_ref());
    let now = room.clock.now();
    let hash = auth::token::hash(token.expose_secret());
    let lifetime = room.settings.session_lifetime;
    let entry = room.entry(Action::ChatGuest, &owner, "session");
    let told = room.store.telling(&entry);
    told.sessions()
        .create_session(&room.tenant, &hash, &owner, now, now.after(lifetime))
        .await?;
    entry.tell(&room.store).await;
    let cookie = edge::session::given((&room.tenant, &room.base), &token, lifetime)
        .ok_or_else(|| RouteError::invalid("invalid_cookie", "the cookie cannot be written"))?;
    Ok((owner, cookie))
}
