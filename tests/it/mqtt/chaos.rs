//! A short run of the chaos program for MQTT: the broker is killed with and without what it kept, the bridge is killed, connections
//! are cut and repeat publications. The long runs are started by hand (`tests/run mqtt-chaos`).

use std::process::{Command, Stdio};

const ALL: [&str; 4] = ["BrokerKilled", "BrokerForgets", "BridgeKilled", "Cut"];

#[test]
fn no_request_is_lost_or_done_twice_when_broker_and_bridge_are_killed() {
    all_end(&[], &ALL);
}

/// The other way: hosts of ours ask, through the same bridge both ways; one host's webhook is slow, and one never answers.
#[test]
fn no_task_of_a_host_is_lost_or_done_twice_when_broker_and_bridge_are_killed() {
    all_end(&["--hosts"], &ALL);
}

/// The broker is alive: each stream goes on within ten seconds, under the correlation that it began with and without a gap.
#[test]
fn a_stream_goes_on_by_itself_when_the_bridge_is_killed_in_its_middle() {
    all_end(&["--bridge-alone"], &["BridgeKilled"]);
}

/// All of a short run's requests have their final task, once, whatever goes wrong.
fn all_end(options: &[&str], troubles: &[&str]) {
    let ended = Command::new(system_testing::binary::path("mqtt_chaos"))
        .args(["--seed", "1", "--requests", "12", "--short", "--limit", "120"])
        .args(options)
        .stdin(Stdio::null())
        .output()
        .expect("the program starts");
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(
        ended.status.success(),
        "{said}\n{}",
        String::from_utf8_lossy(&ended.stderr)
    );
    assert!(said.contains("14 of 14 have their final task"), "{said}");
    for trouble in ALL {
        assert_eq!(said.contains(trouble), troubles.contains(&trouble), "{said}");
    }
}
