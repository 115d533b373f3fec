//! The app state, and one request with it.

use std::convert::Infallible;
use std::sync::Arc;

use agent::WakeDoor;
use axum::extract::FromRequestParts;
use consent::{Consent, Consents};
use domain::{Clock, Entropy, Tenant};
use http::HeaderMap;
use http::request::Parts;
use outbound::below;
use tracing::Span;
use url::Url;

/// What the function is built of, and what every request works with.
pub struct State {
    /// The consents and grants of the one tenant it serves.
    pub consents: Consents,
    /// The tenant's base URL; the redirect URI is `callback` below it.
    pub base: Url,
    /// The queue of the agent whose task waits.
    pub wake: Arc<dyn WakeDoor>,
}

impl State {
    pub(crate) fn tenant(&self) -> &Tenant {
        &self.consents.tenant
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        self.consents.clock.as_ref()
    }

    pub(crate) fn entropy(&self) -> &dyn Entropy {
        self.consents.entropy.as_ref()
    }

    /// The redirect URI, to the letter.
    pub(crate) fn redirect_uri(&self) -> String {
        below(&self.base, "callback").into()
    }

    /// The link of a consent.
    pub(crate) fn link(&self, consent: &Consent) -> Url {
        below(&self.base, &format!("connect/{}", consent.id))
    }
}

/// One request of a browser.
pub(crate) struct Visit {
    pub(crate) app: Arc<State>,
    pub(crate) headers: HeaderMap,
}

impl FromRequestParts<Arc<State>> for Visit {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<State>) -> Result<Self, Infallible> {
        Span::current().record("tenant.id", app.tenant().name());
        Ok(Self {
            app: Arc::clone(app),
            headers: parts.headers.clone(),
        })
    }
}
