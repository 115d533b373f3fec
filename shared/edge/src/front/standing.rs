//! Who is let in at a function of one tenant: everybody while the tenant is active, otherwise nobody.

use axum::extract::Request;
use axum::response::{Html, IntoResponse as _, Response};
use domain::{Tenant, Timestamp};
use http::header::{ACCEPT, CONTENT_SECURITY_POLICY};
use http::{Method, StatusCode};
use store::{Standing, Store};

use super::refusal::{later, not_found, refused};

/// What somebody reads who opens a page of a suspended tenant.
const CLOSED: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
    <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>This is closed for now</title>\
    <h1>This is closed for now</h1><p>Nobody can come in here until whoever runs it lets people in again. Nothing of yours is lost.</p>";

/// The page loads nothing, sends nothing and is in nobody's frame.
const POLICY: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Who reads an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    /// Somebody in a browser.
    Person,
    /// Whatever else there is.
    Program,
}

/// What everybody is answered, where the tenant is not active.
pub(super) async fn refusal(
    (store, tenant): (&Store, &Tenant),
    reader: Reader,
    now: Timestamp,
) -> Option<Response> {
    match store.tenants().standing(tenant, now).await {
        Ok(Standing::Active) => None,
        Ok(Standing::Suspended) if reader == Reader::Person => {
            let page = (
                StatusCode::FORBIDDEN,
                [(CONTENT_SECURITY_POLICY, POLICY)],
                Html(CLOSED),
            );
            Some(page.into_response())
        }
        Ok(Standing::Suspended) => Some(refused(
            StatusCode::FORBIDDEN,
            "tenant_suspended",
            "this is closed until whoever runs it lets people in again; nothing is lost",
        )),
        Ok(Standing::Gone) => Some(not_found()),
        Err(error) => {
            tracing::warn!(tenant.id = tenant.name(), %error, "nobody can tell how the tenant stands");
            Some(later(
                "unavailable",
                "this is out of reach at the moment; try again shortly",
            ))
        }
    }
}

impl Reader {
    /// A browser that opens a page says that it takes one.
    pub(super) fn of(request: &Request) -> Self {
        let accepts = request
            .headers()
            .get(ACCEPT)
            .and_then(|value| value.to_str().ok());
        match accepts.is_some_and(|accepts| accepts.contains("text/html")) && *request.method() == Method::GET
        {
            true => Self::Person,
            false => Self::Program,
        }
    }
}
