//! What the page's files, its style sheet and its logo are served with.

use axum::response::Response;
use http::header::X_CONTENT_TYPE_OPTIONS;
use http::{HeaderName, HeaderValue};

/// Of an address that names what it holds.
pub(crate) const FOR_EVER: &str = "public, max-age=31536000, immutable";

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
