//! The bridge to an MQTT broker, as a caller of agents there has it.

use domain::SecretString;
use url::Url;

/// A bridge to a broker, and how it is called for one tenant.
#[derive(Debug, Clone)]
pub struct Bridge {
    /// The bridge's URL.
    pub url: Url,
    /// The caller's token for the bridge.
    pub token: SecretString,
}
