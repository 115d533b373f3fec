//! What the page's files, its style sheet and its logo are served with.

use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

/// Of an address that names what it holds.
pub(crate) const FOR_EVER: &str = "public, max-age=31536000, immutable";
const ASKS: &str = "no-cache";

/// Nothing of it is read as something else, or by another site.
pub(crate) fn guarded(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    );
    response
}

/// What the bytes are known by: FNV-1a, 64 bits. Only a cache looks at it.
pub(crate) fn tag_of(bytes: &[u8]) -> String {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// The bytes under their tag; `version` is the address's query, which may name the tag.
pub(crate) fn answered(
    version: Option<String>,
    headers: &HeaderMap,
    tag: &str,
    (media, bytes): (HeaderValue, Vec<u8>),
) -> Response {
    let is_named = version.is_some_and(|query| query.strip_prefix("v=") == Some(tag));
    // Who asks for no version, or for one that is over, does not keep this for the other.
    let keeps = if is_named { FOR_EVER } else { ASKS };
    let entity = format!("\"{tag}\"");
    let known = headers.get(IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let is_known = known.is_some_and(|known| known.contains(&entity));
    let mut response = match is_known {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => bytes.into_response(),
    };
    let own = response.headers_mut();
    if !is_known {
        own.insert(CONTENT_TYPE, media);
    }
    own.insert(CACHE_CONTROL, HeaderValue::from_static(keeps));
    if let Ok(entity) = HeaderValue::from_str(&entity) {
        own.insert(ETAG, entity);
    }
    guarded(response)
}
