//! MCP servers that are not ours, on the official Python SDK in both of its versions, and so in both revisions of the protocol.

use std::sync::Arc;

use domain::SystemEntropy;
use outbound::mcp::{McpClient, McpError, Pins};
use outbound::{Outbound, Policy};
use serde_json::{Map, Value, json};
use tests::peers::McpServer;

fn oslo() -> Map<String, Value> {
    Map::from_iter([("location".to_owned(), json!("Oslo"))])
}

#[tokio::test]
async fn the_official_python_server_is_asked_in_both_revisions() {
    for (environment, arguments) in [
        ("mcp", &[][..]),
        ("mcp", &["--json"]),
        ("mcp1", &[]),
        ("mcp1", &["--json"]),
    ] {
        let server = McpServer::start(environment, arguments);
        let policy = Policy {
            allow_loopback: true,
            ..Policy::default()
        };
        let outbound = Outbound::new(policy, Arc::new(SystemEntropy));
        let client = McpClient::new(outbound, server.url.parse().expect("a URL"));
        let tools = client.tools().await.expect("tools");
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["airbnb_search", "text", "broken"], "{environment}");
        let annotations = &tools[0].definition["annotations"];
        assert_eq!(annotations["readOnlyHint"], true, "{environment}");
        let pins = Pins::of(&tools);
        for _ in 0..2 {
            let found = client
                .call(&pins, "airbnb_search", oslo())
                .await
                .expect("an answer");
            let name = &found["searchResults"][0]["name"];
            assert_eq!(
                name, "A flat in Oslo for 1",
                "{environment} {arguments:?}: {found}"
            );
        }
        let broken = client.call(&pins, "broken", oslo()).await;
        assert!(
            matches!(&broken, Err(McpError::Failed(words)) if words.contains("no Oslo today") || words.contains("broken")),
            "{environment} {arguments:?}: {broken:?}"
        );
        let text = client.call(&pins, "text", oslo()).await;
        assert!(
            text.is_ok_and(|said| said["result"] == "Nice place, Oslo"),
            "{environment} {arguments:?}"
        );
    }
}
