//! The MCP server that the accommodation agent asks: the sandbox's, or a real one, whose tools are pinned at the start as
//! they are then.

use std::sync::Arc;

use domain::{Entropy, SystemClock};
use outbound::mcp::{McpClient, McpTool, Pins};
use outbound::{Outbound, Policy};
use sandbox::mcp::LINK_HOST;
use serde_json::json;
use url::Url;

use crate::address::below;
use crate::error::StartError;

/// Where the sandbox's is, below the gateway.
pub(crate) const SANDBOX: &str = "/sandbox/mcp";

/// The server, and what of it may be called.
#[derive(Debug, Clone)]
pub(crate) struct Homes {
    /// A real one; the sandbox's otherwise.
    live: Option<Url>,
    tools: Arc<[McpTool]>,
}

/// A client for whoever sits at this machine: it may call servers that run here.
#[must_use]
pub fn client(url: Url, entropy: Arc<dyn Entropy>) -> McpClient {
    let policy = Policy {
        allow_loopback: true,
        ..Policy::default()
    };
    McpClient::new(Outbound::new(policy, entropy), url, Arc::new(SystemClock))
}

impl Homes {
    /// The server at this address, with its tools as they are now; without one the sandbox's.
    pub(crate) async fn pinned(live: Option<Url>, entropy: &Arc<dyn Entropy>) -> Result<Self, StartError> {
        let tools = match &live {
            None => sandbox::mcp::tools().iter().cloned().map(McpTool::of).collect(),
            Some(url) => {
                let tools = client(url.clone(), Arc::clone(entropy)).tools().await;
                tools.map_err(StartError::part("MCP server"))?
            }
        };
        Ok(Self { live, tools })
    }

    /// What is said of it at the start, where it is a real one.
    pub(crate) fn told(&self) -> Option<String> {
        let live = self.live.as_ref()?;
        let names: Vec<&str> = self.tools.iter().map(|tool| tool.name.as_str()).collect();
        let pinned = names.join(", ").escape_debug().to_string();
        Some(format!(
            "Places to stay come from {live}; its tools are pinned as they are now: {pinned}."
        ))
    }

    /// The agent's settings.
    pub(crate) fn settings(&self, gateway: &Url) -> [(&'static str, String); 4] {
        let url = self.live.clone().unwrap_or_else(|| below(gateway, SANDBOX));
        let (hosts, currency) = match self.live {
            Some(_) => Default::default(),
            None => (json!([LINK_HOST]).to_string(), "EUR".to_owned()),
        };
        [
            ("MCP_URL", url.to_string()),
            ("MCP_TOOLS", json!(Pins::of(&self.tools)).to_string()),
            ("MCP_LINK_HOSTS", hosts),
            ("MCP_CURRENCY", currency),
        ]
    }
}
