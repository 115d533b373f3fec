//! The chat page: one document for every view, and the files it is built of (`ui/`), all from here. Nothing else is loaded, and
//! the policy says so to the browser.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use domain::Brand;
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    IF_NONE_MATCH, VARY,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::json;

use crate::error::RouteError;
use crate::page::brand::manifest_of;
use crate::page::serving::{FOR_EVER, answered, guarded, tag_of};
use crate::state::AppState;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; font-src 'self'; \
    worker-src 'self'; manifest-src 'self'; img-src 'self' data: blob:; base-uri 'self'; form-action 'self'; \
    frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types switchyard-worker";
/// The service worker fetches what the page asks for, and does nothing else.
const WORKER_POLICY: &str =
    "default-src 'none'; connect-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'";
const PERMISSIONS: &str = "camera=(), geolocation=(), microphone=(), payment=(), usb=()";
/// What the page calls itself where its tenant has not said.
pub(crate) const PRODUCT: &str = "Switchyard";

/// What the document is served with, wherever it comes from.
const HEADERS: [(&str, &str); 6] = [
    ("content-type", "text/html; charset=utf-8"),
    ("cache-control", "no-cache"),
    ("content-security-policy", POLICY),
    ("referrer-policy", "no-referrer"),
    ("permissions-policy", PERMISSIONS),
    ("cross-origin-opener-policy", "same-origin"),
];

pub(crate) async fn page(State(room): State<Arc<AppState>>) -> Response {
    let mut response = document(&room, &room.own.brand().await).into_response();
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    guarded(response)
}

/// The service worker: the page's own, behind what it opens while the server cannot be reached.
pub(crate) async fn worker(State(room): State<Arc<AppState>>, headers: HeaderMap) -> Response {
    let brand = room.own.brand().await;
    let own = room
        .built
        .names()
        .into_iter()
        .map(|name| format!("assets/{name}"));
    let of_brand = [
        sheet_of(&brand),
        logo_of(&brand),
        manifest_of_brand(&room, &brand),
    ];
    let of_brand = of_brand.into_iter().flatten();
    let page = json!({
        "html": document(&room, &brand),
        "headers": HEADERS.iter().copied().collect::<BTreeMap<_, _>>(),
        "files": own.chain(of_brand).collect::<Vec<_>>(),
    });
    let script = format!("self.page = {page};\n{}", room.built.worker()).into_bytes();
    let media = HeaderValue::from_static("text/javascript; charset=utf-8");
    let mut response = answered(None, &headers, &tag_of(&script), (media, script));
    let policy = HeaderValue::from_static(WORKER_POLICY);
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    response
}

/// The page of every view, as its tenant has it.
fn document(room: &AppState, brand: &Brand) -> String {
    // The base makes every address on the page relative to the tenant, whichever view it shows.
    let base = format!("{}/", room.base.path().trim_end_matches('/'));
    let index = room.built.index();
    let index = match manifest_of_brand(room, brand) {
        Some(manifest) => with_manifest(&index, &manifest),
        None => index.into_owned(),
    };
    index
        .replace("{{base}}", &escaped(&base))
        .replace("{{tenant}}", &escaped(room.tenant.name()))
        .replace("{{product}}", &escaped(brand.name.as_deref().unwrap_or(PRODUCT)))
        .replacen("</head>", &format!("{}</head>", head_of(brand)), 1)
}

pub(crate) async fn asset(
    State(room): State<Arc<AppState>>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Response, RouteError> {
    let file = room.built.file(&name).ok_or(RouteError::NotFound)?;
    let own = [
        (ETAG, file.tag.clone().into_owned()),
        (CACHE_CONTROL, FOR_EVER.to_owned()),
        (VARY, "accept-encoding".to_owned()),
    ];
    let says = |name| headers.get(name).and_then(|value| value.to_str().ok());
    if says(IF_NONE_MATCH).is_some_and(|known| known.contains(&*file.tag)) {
        return Ok(guarded((StatusCode::NOT_MODIFIED, own).into_response()));
    }
    let media = [(CONTENT_TYPE, file.media)];
    let takes = says(ACCEPT_ENCODING).is_some_and(|takes| takes.contains("gzip"));
    if let Some(packed) = file.packed().filter(|_| takes) {
        let coding = [(CONTENT_ENCODING, "gzip")];
        return Ok(guarded((own, media, coding, packed).into_response()));
    }
    let plain = file.plain().ok_or(RouteError::NotFound)?;
    Ok(guarded((own, media, plain).into_response()))
}

/// What the document's head says of a brand: its style sheet comes after the page's own.
fn head_of(brand: &Brand) -> String {
    let mut head = String::new();
    if let Some(sheet) = sheet_of(brand) {
        head.push_str(&format!("<link rel=\"stylesheet\" href=\"{sheet}\">\n"));
    }
    if let Some(logo) = logo_of(brand) {
        head.push_str(&format!(
            "<meta name=\"logo\" content=\"{logo}\">\n<link rel=\"icon\" href=\"{logo}\">\n"
        ));
    }
    head
}

/// The addresses of a brand's style sheet and logo, by what they hold: of hexadecimal digits alone.
fn sheet_of(brand: &Brand) -> Option<String> {
    let css = brand.accents.is_some().then(|| brand.css())?;
    Some(format!("brand.css?v={}", tag_of(css.as_bytes())))
}

/// The address of the brand's own manifest, where there is a brand.
fn manifest_of_brand(room: &AppState, brand: &Brand) -> Option<String> {
    let text = manifest_of(room, brand).filter(|_| *brand != Brand::default())?;
    Some(format!("manifest.webmanifest?v={}", tag_of(text.as_bytes())))
}

/// The document with another manifest than the build's.
fn with_manifest(index: &str, manifest: &str) -> String {
    const LINK: &str = "<link rel=\"manifest\" href=\"";
    let Some((before, (_, after))) = index
        .split_once(LINK)
        .and_then(|(before, rest)| Some((before, rest.split_once('"')?)))
    else {
        return index.to_owned();
    };
    format!("{before}{LINK}{manifest}\"{after}")
}

fn logo_of(brand: &Brand) -> Option<String> {
    brand.logo.as_ref().map(|hash| format!("logo?v={hash}"))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('"', "&quot;")
        .replace('<', "&lt;")
}
