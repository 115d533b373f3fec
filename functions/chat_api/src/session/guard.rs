//! Protection against CSRF: what every request that changes something must show: a JSON content type, and no sign of another site.
//!
//! The session travels in a cookie, so a page of another site could send it along. A JSON content type cannot be sent
//! by a form, and a browser says where a request comes from; clients that are no browsers say nothing, and may.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use edge::origin::comes_from_here;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use url::Url;

use crate::error::RouteError;
use crate::state::AppState;

/// Proof that a request may change something.
pub(crate) struct MayChange;

impl FromRequestParts<Arc<AppState>> for MayChange {
    type Rejection = RouteError;
    async fn from_request_parts(parts: &mut Parts, room: &Arc<AppState>) -> Result<Self, RouteError> {
        check(&parts.headers, &room.base)
    }
}

/// Proof that a request without a body does not come from another site. Only where no form can make the request.
pub(crate) struct FromHere;

impl FromRequestParts<Arc<AppState>> for FromHere {
    type Rejection = RouteError;
    async fn from_request_parts(parts: &mut Parts, room: &Arc<AppState>) -> Result<Self, RouteError> {
        match comes_from_here(&parts.headers, &room.base) {
            true => Ok(Self),
            false => Err(RouteError::CrossOrigin),
        }
    }
}

fn check(headers: &HeaderMap, base: &Url) -> Result<MayChange, RouteError> {
    if !comes_from_here(headers, base) {
        return Err(RouteError::CrossOrigin);
    }
    let media = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let media = media.split(';').next().unwrap_or_default().trim();
    if !media.eq_ignore_ascii_case("application/json") {
        return Err(RouteError::NotJson);
    }
    Ok(MayChange)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn allowed(headers: &[(&'static str, &str)]) -> bool {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, HeaderValue::from_str(value).unwrap());
        }
        check(&map, &Url::parse("https://chat.example/t/acme").unwrap()).is_ok()
    }

    #[test]
    fn a_change_needs_json_and_the_same_origin() {
        let json = ("content-type", "application/json; charset=utf-8");
        assert!(allowed(&[json]));
        assert!(allowed(&[json, ("sec-fetch-site", "same-origin")]));
        assert!(allowed(&[json, ("origin", "https://chat.example")]));
        assert!(allowed(&[
            json,
            ("origin", "http://localhost:3000"),
            ("host", "localhost:3000")
        ]));
        for bad in [
            &[][..],
            &[("content-type", "text/plain")],
            &[("content-type", "application/x-www-form-urlencoded")],
            &[
                json,
                ("sec-fetch-site", "cross-site"),
                ("origin", "https://chat.example"),
            ],
            &[json, ("sec-fetch-site", "same-site")],
            &[json, ("origin", "https://evil.example")],
            &[json, ("origin", "https://evil.example"), ("host", "chat.example")],
            &[json, ("origin", "http://chat.example")],
            &[json, ("origin", "null")],
        ] {
            assert!(!allowed(bad), "{bad:?}");
        }
    }
}
