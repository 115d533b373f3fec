//! Bodies of requests, parsed once.

use serde::de::DeserializeOwned;

use crate::error::RouteError;

/// Parses a body of ours; the fault names the place, never the content.
pub(crate) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, RouteError> {
    serde_json::from_slice(body).map_err(|fault| {
        let what = match fault.classify() {
            serde_json::error::Category::Data => "the body has not the wanted form",
            _ => "the body is not JSON",
        };
        RouteError::Invalid(format!(
            "{what} (line {}, column {})",
            fault.line(),
            fault.column()
        ))
    })
}
