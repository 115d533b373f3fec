//! MCP servers that are not ours: on the official Python SDK in both of its versions, and so in both revisions of the protocol; and
//! the one for stays that is published on npm, on the official TypeScript SDK.

use std::sync::Arc;

use domain::{SystemClock, SystemEntropy};
use outbound::mcp::{McpClient, McpError, Pins};
use outbound::{Outbound, Policy};
use serde_json::{Map, Value, json};
use system_testing::peers::McpServer;

fn oslo() -> Map<String, Value> {
    Map::from_iter([("location".to_owned(), json!("Oslo"))])
}

fn client(server: &McpServer) -> McpClient {
    let policy = Policy {
        allow_loopback: true,
        ..Policy::default()
    };
    let outbound = Outbound::new(policy, Arc::new(SystemEntropy));
    McpClient::new(
        outbound,
        server.url.parse().expect("a URL"),
        Arc::new(SystemClock),
    )
}

/// Our default settings and the sandbox are made for this server: its tools are there under their names, take every argument that
/// the sandbox's take, by the same types, and what fails there (it has no network here) fails in plain words.
#[tokio::test]
async fn the_published_server_for_stays_has_the_tools_that_are_asked_for() {
    let server = McpServer::start_published();
    let client = client(&server);
    let tools = client.tools().await.expect("tools");
    let ours: Value =
        serde_json::from_str(include_str!("../../infra/sandbox/src/mcp/tools.json")).expect("JSON");
    for ours in ours.as_array().expect("a list") {
        let theirs = tools.iter().find(|tool| ours["name"] == tool.name.as_str());
        let theirs = &theirs.unwrap_or_else(|| panic!("no {}", ours["name"])).definition["inputSchema"];
        assert_eq!(
            ours["inputSchema"]["required"], theirs["required"],
            "{}",
            ours["name"]
        );
        for (name, schema) in ours["inputSchema"]["properties"].as_object().expect("an object") {
            assert_eq!(
                theirs["properties"][name]["type"], schema["type"],
                "{}: {name}",
                ours["name"]
            );
        }
    }
    let pins = Pins::of(&tools);
    let stay = json!({"location": "Oslo", "checkin": "2026-12-04", "checkout": "2026-12-06", "adults": 2});
    let asked = [
        ("airbnb_search", stay),
        ("airbnb_listing_details", json!({"id": "1"})),
    ];
    for (tool, arguments) in asked {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let failed = client.call(&pins, tool, arguments).await;
        assert!(
            matches!(&failed, Err(McpError::Failed(words)) if words.contains("ENOTFOUND")),
            "{tool}: {failed:?}"
        );
    }
    // What is not pinned is not called, and nothing that the server does not know is.
    let none = Pins::of(&[]);
    assert!(client.call(&none, "airbnb_search", oslo()).await.is_err());
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
        let client = client(&server);
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
