//! MCP servers, as whoever sits at this machine asks them; and the sandbox's.

use std::sync::Arc;

use domain::Entropy;
use outbound::mcp::McpClient;
use outbound::{Outbound, Policy};
use url::Url;

/// Where the sandbox's is, below the gateway.
pub(crate) const SANDBOX: &str = "/sandbox/mcp";

/// A client for whoever sits at this machine: it may call servers that run here.
pub(crate) fn client(url: Url, entropy: Arc<dyn Entropy>) -> McpClient {
    let policy = Policy {
        allow_loopback: true,
        ..Policy::default()
    };
    McpClient::new(Outbound::new(policy, entropy), url)
}
