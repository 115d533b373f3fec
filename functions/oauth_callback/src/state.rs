//! The app state, and one request with it.

use std::convert::Infallible;
use std::sync::Arc;

use agent::WakeDoor;
use axum::extract::FromRequestParts;
use consent::{Consent, Consents};
use domain::{Brand, Clock, Entropy, Tenant};
use http::HeaderMap;
use http::request::Parts;
use outbound::below;
use tracing::Span;
use url::Url;

use crate::issuers::SignInIssuers;
use crate::proof::Proofs;

/// What the function is built of, and what every request works with.
#[derive(Clone)]
pub struct State {
    /// The consents and grants of the one tenant it serves; of an agent of the platform those of the tenant that a request
    /// is about, and of nobody until that is known.
    pub consents: Consents,
    /// The tenant's base URL, or the agent's own for this; the redirect URI is `callback` below it.
    pub base: Url,
    /// What it does with proofs of a browser.
    pub proofs: Proofs,
    /// Where people sign in to the chat.
    pub sign_in: SignInIssuers,
    /// The queue of the agent whose task waits.
    pub wake: Arc<dyn WakeDoor>,
}

impl State {
    pub(crate) fn tenant(&self) -> &Tenant {
        &self.consents.tenant
    }

    /// How the tenant's pages look; the request's standing was read just now.
    pub(crate) fn brand(&self) -> Brand {
        self.consents.store.tenants().brand(self.tenant())
    }

    /// Whether it serves every tenant, for an agent of the platform.
    pub(crate) fn serves_all(&self) -> bool {
        self.consents.agent.is_some()
    }

    /// What links and states call a consent: where every tenant is served, by which tenant it is to be looked for. That is a
    /// hint alone: nothing is found under another tenant's key.
    pub(crate) fn reference(&self, consent: &Consent) -> String {
        match self.serves_all() {
            true => consent::reference(self.tenant(), &consent.id),
            false => consent.id.clone(),
        }
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        self.consents.clock.as_ref()
    }

    pub(crate) fn entropy(&self) -> &dyn Entropy {
        self.consents.entropy.as_ref()
    }

    /// True where the tenant is reached by https.
    pub(crate) fn is_https(&self) -> bool {
        self.base.scheme() == "https"
    }

    /// The redirect URI, to the letter.
    pub(crate) fn redirect_uri(&self) -> String {
        below(&self.base, "callback").into()
    }

    /// Where whoever has signed in comes back to, to the letter.
    pub(crate) fn signed_in_uri(&self) -> String {
        below(&self.base, "signin/callback").into()
    }

    /// The link of a consent.
    pub(crate) fn link(&self, consent: &Consent) -> Url {
        below(&self.base, &format!("connect/{}", self.reference(consent)))
    }
}

/// One request of a browser.
pub(crate) struct Visit {
    pub(crate) app: Arc<State>,
    pub(crate) headers: HeaderMap,
}

impl Visit {
    /// The request as one of the tenant that this reference of a consent names, and the consent's id; `None` for what is
    /// none.
    pub(crate) fn located<'r>(&self, reference: &'r str) -> Option<(Self, &'r str)> {
        if !self.app.serves_all() {
            let (app, headers) = (Arc::clone(&self.app), self.headers.clone());
            return Some((Self { app, headers }, reference));
        }
        let (tenant, id) = consent::read_reference(reference)?;
        Span::current().record("tenant.id", tenant.name());
        let app = State {
            consents: self.app.consents.in_tenant(tenant),
            ..State::clone(&self.app)
        };
        let (app, headers) = (Arc::new(app), self.headers.clone());
        Some((Self { app, headers }, id))
    }
}

impl FromRequestParts<Arc<State>> for Visit {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<State>) -> Result<Self, Infallible> {
        if !app.serves_all() {
            Span::current().record("tenant.id", app.tenant().name());
        }
        Ok(Self {
            app: Arc::clone(app),
            headers: parts.headers.clone(),
        })
    }
}
