//! Requesters that are not ours.

use std::process::Command;

use serde_json::Value;

use super::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn emqxs_requester_gets_the_weather() {
    let world = World::start().await;
    // Its topics are all of one organisation and unit: the agent's.
    let port = world.broker.running.port().to_string();
    let asked = tokio::task::spawn_blocking(move || {
        Command::new(tests::python_of("mqtt"))
            .arg(tests::folder().join("python/mqtt_requester.py"))
            .args([&port, "switchyard/platform/weather", "Weather in Oslo tomorrow?"])
            .output()
            .expect("the script runs")
    });
    let output = asked.await.expect("it ends");
    let said = String::from_utf8_lossy(&output.stdout);
    let replies: Vec<Value> = said
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let last = replies
        .last()
        .unwrap_or_else(|| panic!("nothing: {}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(last["kind"], "terminal", "{replies:#?}");
    world.stop().await;
}
