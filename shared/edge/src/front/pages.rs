//! The two pages for people that stand before every function: that a tenant is closed, and that there is nothing at an address.

use std::sync::LazyLock;

use axum::response::{Html, IntoResponse as _, Response};
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, Method, StatusCode};

use super::refusal::not_found;

/// The pages' look: that of the pages to sign in, whose function may be closed as well.
const STYLE: &str = "\
    :root{color-scheme:light dark}\
    body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1rem;box-sizing:border-box;\
    background:light-dark(#f3f4f7,#101216);color:light-dark(#16181d,#eceef3);font:1rem/1.5 system-ui,sans-serif}\
    main{max-width:26rem;padding:2rem;border:1px solid light-dark(#c9ced8,#363c49);border-radius:1rem;\
    background:light-dark(#fff,#1a1d24)}\
    h1{margin:0 0 .5rem;font-size:1.5rem;line-height:1.25}p{margin:0}";

/// What somebody reads who opens a page of a suspended tenant.
pub(super) const CLOSED: Page = Page {
    status: StatusCode::FORBIDDEN,
    title: "This is closed for now",
    text: "Nobody can come in here until whoever runs it lets people in again. Nothing of yours is lost.",
};

/// What somebody reads at an address of nobody's.
const NOTHING: Page = Page {
    status: StatusCode::NOT_FOUND,
    title: "There is nothing here",
    text: "Nothing is found at this address. Look whether it is written as you were given it, or ask whoever gave it to you.",
};

/// The pages load nothing, send nothing and are in nobody's frame.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let style = auth::token::hash(STYLE);
    format!(
        "default-src 'none'; style-src 'sha256-{style}='; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
});

/// A page of one thought.
pub(super) struct Page {
    status: StatusCode,
    title: &'static str,
    text: &'static str,
}

impl Page {
    pub(super) fn answer(&self) -> Response {
        let Self { status, title, text } = *self;
        let page = format!(
            "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><meta name=\"robots\" content=\"noindex\">\
             <title>{title}</title><style>{STYLE}</style></head>\
             <body><main><h1>{title}</h1><p>{text}</p></main></body></html>"
        );
        let headers = [
            (CACHE_CONTROL, "no-store"),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (CONTENT_SECURITY_POLICY, POLICY.as_str()),
        ];
        (status, headers, Html(page)).into_response()
    }
}

/// Who reads an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// Somebody in a browser.
    Person,
    /// Whatever else there is.
    Program,
}

impl Reader {
    /// A browser that opens a page says that it takes one.
    #[must_use]
    pub fn of(method: &Method, headers: &HeaderMap) -> Self {
        let accepts = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
        match accepts.is_some_and(|accepts| accepts.contains("text/html")) && *method == Method::GET {
            true => Self::Person,
            false => Self::Program,
        }
    }
}

/// 404 where no function is: a page for whoever opened one, JSON for programs.
#[must_use]
pub fn nothing_here(reader: Reader) -> Response {
    match reader {
        Reader::Person => NOTHING.answer(),
        Reader::Program => not_found(),
    }
}
