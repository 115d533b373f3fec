//! Where a request of a browser comes from. Cookies travel along with what other sites make a browser send; a browser says
//! which site that was, and clients that are no browsers say nothing, and may.

use http::header::{HOST, ORIGIN};
use http::{HeaderMap, HeaderName};
use url::Url;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// True where nothing says that the request comes from another site than the one at this address.
#[must_use]
pub fn comes_from_here(headers: &HeaderMap, base: &Url) -> bool {
    if let Some(site) = headers.get(&FETCH_SITE) {
        return matches!(site.as_bytes(), b"same-origin" | b"none");
    }
    let Some(origin) = headers.get(ORIGIN) else {
        return true;
    };
    let Some(origin) = origin.to_str().ok().and_then(|text| Url::parse(text).ok()) else {
        return false;
    };
    if origin.origin() == base.origin() {
        return true;
    }
    // The same server by another name, such as localhost for 127.0.0.1.
    let host = headers.get(HOST).and_then(|value| value.to_str().ok());
    let authority = match (origin.host_str(), origin.port()) {
        (Some(name), Some(port)) => Some(format!("{name}:{port}")),
        (name, _) => name.map(str::to_owned),
    };
    host.is_some() && host == authority.as_deref()
}
