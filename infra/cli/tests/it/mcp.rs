//! MCP servers from the command line: pins, and a system that asks a server named at its start.

use serde_json::Value;

use crate::binary::{Up, out, sentence, switchyard};

#[test]
fn tools_are_pinned_and_what_changed_is_shown() {
    let place = tempfile::tempdir().unwrap();
    let up = Up::start(place.path(), &[]);
    let server = format!("{}sandbox/mcp", up.endpoints.gateway);
    let file = place.path().join("tools.json");
    let pin = |more: &[&str]| {
        let arguments = ["mcp", "pin", &server, "--file", file.to_str().unwrap()];
        switchyard(&[&arguments, more].concat())
    };
    let first = out(&pin(&[]));
    assert!(
        first.contains("new: airbnb_search") && first.contains("new: airbnb_listing_details"),
        "{first}"
    );
    let setting = first.lines().last().unwrap().strip_prefix("MCP_TOOLS=").unwrap();
    let pins: Value = serde_json::from_str(setting).unwrap();
    assert_eq!(pins["airbnb_search"].as_str().unwrap().len(), 64);
    assert!(out(&pin(&[])).starts_with("Nothing has changed."));
    assert!(pin(&["--check"]).status.success());

    let before = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, before.replace("Finds places to stay", "Finds flats")).unwrap();
    let check = pin(&["--check"]);
    assert_eq!(check.status.code(), Some(1));
    let told = out(&check);
    assert!(
        told.contains("description was: Finds flats.")
            && told.contains("description is:  Finds places to stay."),
        "{told}"
    );
    assert!(
        std::fs::read_to_string(&file).unwrap().contains("Finds flats"),
        "it only looked"
    );
    let one = out(&pin(&["--tool", "airbnb_search"]));
    assert!(
        one.contains("gone: airbnb_listing_details") && !one.lines().last().unwrap().contains("details"),
        "{one}"
    );

    assert!(sentence(&pin(&["--tool", "nothing"])).contains("has no tool nothing"));
    let nobody = switchyard(&[
        "mcp",
        "pin",
        "http://127.0.0.1:1/mcp",
        "--file",
        file.to_str().unwrap(),
    ]);
    assert!(sentence(&nobody).contains("cannot be reached"));
    let inside = switchyard(&[
        "mcp",
        "pin",
        "http://169.254.169.254/mcp",
        "--file",
        file.to_str().unwrap(),
    ]);
    assert!(sentence(&inside).contains("not allowed"));
    up.end("TERM");
}

#[test]
fn a_server_named_at_the_start_is_pinned_and_asked() {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = Up::start(there.path(), &[]);
    let url = format!("{}sandbox/mcp", server.endpoints.gateway);
    let up = Up::start(here.path(), &["--live", &format!("mcp={url}")]);
    let data = here.path().to_str().unwrap();
    let prompt = "A flat in Oslo for two, Friday to Sunday";
    let said = out(&switchyard(&[
        "chat", "--tenant", "acme", "--data", data, "--wait", "20", prompt,
    ]));
    assert!(
        said.contains("places to stay in Oslo") && said.contains("(sandbox)"),
        "{said}"
    );
    // Not a host whose links are known to a system that asks a real server.
    assert!(!said.contains("listings.sandbox.example"), "{said}");
    let told = out(&up.end("TERM"));
    let pinned = format!(
        "Places to stay come from {url}; its tools are pinned as they are now: airbnb_search, airbnb_listing_details."
    );
    assert!(told.contains(&pinned), "{told}");
    server.end("TERM");
    let none = switchyard(&["up", "--memory", "--port", "0", "--live", &format!("mcp={url}")]);
    assert_eq!(none.status.code(), Some(1));
    assert!(sentence(&none).contains("MCP server"));
}
