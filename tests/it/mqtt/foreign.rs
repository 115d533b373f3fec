//! Requesters that are not ours.

use std::process::Command;

use serde_json::Value;

use super::identities::{Closed, REQUESTER};
use super::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn emqxs_requester_gets_the_weather() {
    let world = World::start().await;
    gets_the_weather(world.broker.running.port(), None).await;
    world.stop().await;
}

/// It signs in, and hears what is answered below the platform's unit to its own name alone.
#[tokio::test(flavor = "multi_thread")]
async fn emqxs_requester_gets_the_weather_of_a_broker_that_keeps_tenants_apart() {
    let world = Closed::start().await;
    let password = world.passwords[REQUESTER].as_str().expect("a password");
    gets_the_weather(world.port(), Some(password)).await;
    world.local.system.stop().await;
}

async fn gets_the_weather(port: u16, password: Option<&str>) {
    let (port, password) = (port.to_string(), password.map(str::to_owned));
    // Its topics are all of one organisation and unit: the agent's.
    let asked = tokio::task::spawn_blocking(move || {
        Command::new(system_testing::python_of("mqtt"))
            .arg(system_testing::folder().join("python/mqtt_requester.py"))
            .args([&port, "switchyard/platform/weather", "Weather in Oslo tomorrow?"])
            .args(password)
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
}
