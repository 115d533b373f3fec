//! Who is let in at a function of one tenant: everybody while the tenant is active, otherwise nobody.

use std::sync::LazyLock;

use axum::extract::Request;
use axum::response::{Html, IntoResponse as _, Response};
use domain::{Tenant, Timestamp};
use http::header::{ACCEPT, CONTENT_SECURITY_POLICY};
use http::{Method, StatusCode};
use store::{Standing, Store};

use super::refusal::{later, not_found, refused};

/// The page's look: that of the pages to sign in, whose function may be closed as well.
const STYLE: &str = "\
    :root{color-scheme:light dark}\
    body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1rem;box-sizing:border-box;\
    background:light-dark(#f3f4f7,#101216);color:light-dark(#16181d,#eceef3);font:1rem/1.5 system-ui,sans-serif}\
    main{max-width:26rem;padding:2rem;border:1px solid light-dark(#c9ced8,#363c49);border-radius:1rem;\
    background:light-dark(#fff,#1a1d24)}\
    h1{margin:0 0 .5rem;font-size:1.5rem;line-height:1.25}p{margin:0}";

/// What somebody reads who opens a page of a suspended tenant.
static CLOSED: LazyLock<String> = LazyLock::new(|| {
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><meta name=\"robots\" content=\"noindex\">\
         <title>This is closed for now</title><style>{STYLE}</style></head>\
         <body><main><h1>This is closed for now</h1><p>Nobody can come in here until whoever runs it lets people in again. \
         Nothing of yours is lost.</p></main></body></html>"
    )
});

/// The page loads nothing, sends nothing and is in nobody's frame.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let style = auth::token::hash(STYLE);
    format!(
        "default-src 'none'; style-src 'sha256-{style}='; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
});

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
                [(CONTENT_SECURITY_POLICY, POLICY.as_str())],
                Html(CLOSED.as_str()),
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
