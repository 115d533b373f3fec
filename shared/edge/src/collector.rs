//! The collector that spans are sent to.

use url::Url;

/// Where spans go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collector {
    /// In front of `/v1/traces`.
    pub endpoint: Url,
    /// The name of this process there.
    pub service: String,
}

impl Collector {
    /// The collector there, which knows this process as a part of Switchyard; each request's span names its function.
    #[must_use]
    pub fn at(endpoint: Url) -> Self {
        Self {
            endpoint,
            service: "switchyard".to_owned(),
        }
    }
}
