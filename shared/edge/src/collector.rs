//! The collector that spans are sent to.

use std::borrow::Cow;
use std::str::FromStr;

use http::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;
use url::Url;

/// Where spans go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collector {
    /// In front of `/v1/traces`.
    pub endpoint: Url,
    /// What it knows us by.
    pub headers: Headers,
    /// The name of this process there.
    pub service: String,
}

impl Collector {
    /// The collector there, which knows this process as a part of Switchyard; each request's span names its function.
    #[must_use]
    pub fn at(endpoint: Url, headers: Headers) -> Self {
        Self {
            endpoint,
            headers,
            service: "switchyard".to_owned(),
        }
    }
}

/// Headers of each request to a collector, as OpenTelemetry writes them: `name=value,name=value`, values percent-encoded. They
/// are never printed, as one of them is usually a key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headers(pub(crate) HeaderMap);

impl FromStr for Headers {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // What is wrong is not quoted: it may be the key.
        const WRONG: &str = "headers are written name=value,name=value with percent-encoded values";
        let mut headers = HeaderMap::new();
        for one in text.split(',').filter(|one| !one.trim().is_empty()) {
            let (name, value) = one.split_once('=').ok_or(WRONG)?;
            let value: Cow<'_, [u8]> = percent_decode_str(value.trim()).into();
            let mut value = HeaderValue::from_bytes(&value).map_err(|_| WRONG)?;
            value.set_sensitive(true);
            headers.append(HeaderName::from_str(name.trim()).map_err(|_| WRONG)?, value);
        }
        Ok(Self(headers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_as_opentelemetry_writes_them_and_never_shown() {
        let headers: Headers = "api-key=a%20b%3D, x-team = 7 ,".parse().unwrap();
        assert_eq!(headers.0["api-key"], "a b=");
        assert_eq!(headers.0["x-team"], "7");
        assert!(!format!("{headers:?}").contains("a b"), "{headers:?}");
        assert_eq!("".parse::<Headers>(), Ok(Headers::default()));
        for wrong in [
            "api-key",
            "=secret",
            "a b=secret",
            "api-key=se%0Acret",
            "api-key=a,secret",
        ] {
            let error = wrong.parse::<Headers>().unwrap_err();
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
