//! What every answer tells a browser, unless its function says otherwise: nobody keeps it, it is what it says it is, and no
//! page of another site gets hold of it.

use http::header::{CACHE_CONTROL, STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderName, HeaderValue};

const USUAL: [(HeaderName, &str); 5] = [
    (CACHE_CONTROL, "no-store"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    ),
];
/// A year, for the host alone: what else lies in its domain is not ours.
const STRICT: &str = "max-age=31536000";

/// Whether the caller came by https, as the gateway says it.
pub(super) fn is_https(headers: &HeaderMap) -> bool {
    let proto = headers.get("x-forwarded-proto");
    proto.is_some_and(|proto| proto.as_bytes().eq_ignore_ascii_case(b"https"))
}

/// Adds what the function has not said itself.
pub(super) fn complete(headers: &mut HeaderMap, https: bool) {
    for (name, value) in USUAL {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    if https {
        let strict = HeaderValue::from_static(STRICT);
        headers.entry(STRICT_TRANSPORT_SECURITY).or_insert(strict);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_function_says_itself_stays() {
        let mut headers = HeaderMap::new();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("max-age=60"));
        complete(&mut headers, false);
        assert_eq!(headers[CACHE_CONTROL], "max-age=60");
        assert_eq!(headers[X_CONTENT_TYPE_OPTIONS], "nosniff");
        assert!(
            !headers.contains_key(STRICT_TRANSPORT_SECURITY),
            "by http it means nothing"
        );
        let mut asked = HeaderMap::new();
        assert!(!is_https(&asked));
        asked.insert("x-forwarded-proto", HeaderValue::from_static("https"));
        assert!(is_https(&asked));
        complete(&mut headers, true);
        assert_eq!(headers[STRICT_TRANSPORT_SECURITY], STRICT);
    }
}
