//! The app state, and one request with it.

use std::convert::Infallible;
use std::sync::Arc;

use agent::WakeDoor;
use axum::extract::FromRequestParts;
use consent::{Consent, Consents};
use domain::{Clock, Entropy, Tenant};
use http::HeaderMap;
use http::request::Parts;
use tracing::Span;
use url::Url;

/// What every request works with.
pub(crate) struct App {
    pub(crate) consents: Consents,
    /// The tenant's base URL; the redirect URI is `callback` below it.
    pub(crate) base: Url,
    pub(crate) wake: Arc<dyn WakeDoor>,
}

impl App {
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
        self.below("callback").into()
    }

    /// The link of a consent.
    pub(crate) fn link(&self, consent: &Consent) -> Url {
        self.below(&format!("connect/{}", consent.id))
    }

    fn below(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}/{path}", self.base.path().trim_end_matches('/')));
        url
    }
}

/// One request of a browser.
pub(crate) struct Visit {
    pub(crate) app: Arc<App>,
    pub(crate) headers: HeaderMap,
}

impl FromRequestParts<Arc<App>> for Visit {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Infallible> {
        Span::current().record("tenant.id", app.tenant().name());
        Ok(Self {
            app: Arc::clone(app),
            headers: parts.headers.clone(),
        })
    }
}
