//! MCP servers that are not ours: on the official Python SDK in both of its versions, and so in both revisions of the protocol; by
//! FastMCP; the one for stays that is published on npm, on the official TypeScript SDK; and the one of the protocol's own project
//! that has something of everything.

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
async fn python_servers_of_two_makers_are_asked_in_both_revisions() {
    for (environment, arguments) in [
        ("mcp", &[][..]),
        ("mcp", &["--json"]),
        ("mcp1", &[]),
        ("mcp1", &["--json"]),
        ("mcp", &["--fast"]),
        ("mcp", &["--fast", "--json"]),
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

/// Our agents read data, and data is read beside every kind of block that the protocol knows; where there are words alone, that is
/// said, whatever stands beside them.
#[tokio::test]
async fn the_server_that_has_everything_spoils_nothing_by_what_is_odd() {
    let server = McpServer::start_everything();
    let client = client(&server);
    let tools = client.tools().await.expect("tools");
    assert!(tools.len() >= 10, "{}", tools.len());
    let pins = Pins::of(&tools);
    for (tool, arguments) in [
        ("echo", json!({"message": "hello"})),
        ("get-tiny-image", json!({})),
        (
            "get-annotated-message",
            json!({"messageType": "success", "includeImage": true}),
        ),
        ("get-resource-links", json!({"count": 2})),
        (
            "get-resource-reference",
            json!({"resourceType": "Text", "resourceId": 1}),
        ),
        // News of its progress come before the answer.
        (
            "trigger-long-running-operation",
            json!({"duration": 1, "steps": 4}),
        ),
    ] {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let told = client.call(&pins, tool, arguments).await;
        let is_words =
            matches!(&told, Err(McpError::Call(error)) if error.to_string().contains("its text is no JSON"));
        assert!(is_words, "{tool}: {told:?}");
    }
    let place = Map::from_iter([("location".to_owned(), json!("Chicago"))]);
    let found = client.call(&pins, "get-structured-content", place).await;
    assert!(
        found.as_ref().is_ok_and(|found| found["temperature"].is_number()),
        "{found:?}"
    );
    let said = json!({"message": "{\"rain\": 4}"});
    let said = client
        .call(&pins, "echo", said.as_object().cloned().unwrap_or_default())
        .await;
    assert!(said.is_err(), "words stand before it: {said:?}");
    let refused = client.call(&pins, "get-sum", oslo()).await;
    assert!(matches!(refused, Err(McpError::Misfit { .. })), "{refused:?}");
}
