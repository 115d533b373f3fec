//! `switchyard mqtt …` from the terminal, against a system of its own with a broker of its own.

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use sandbox::mosquitto::Wanted;
use system_testing::binary::{self, Up};

use super::world::Broker;

/// An agent of others: EMQX's Responder.
const ECHO: &str = "acme/lab/echo";

/// The command, with its words and the folder of the running system.
fn mqtt(data: &std::path::Path, words: &[&str]) -> Output {
    let data = data.to_str().expect("a path");
    let words: Vec<&str> = [&["mqtt"], words, &["--data", data]].concat();
    binary::run(&words)
}

fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

#[test]
fn a_broker_is_tried_and_its_agents_are_imported_from_the_terminal() {
    let place = tempfile::tempdir().expect("a folder");
    let system = Up::start_more(place.path(), 0, &["--mqtt", "spawn", "--mqtt-user", ECHO]);
    let data = place.path();

    let tried = mqtt(data, &["check"]);
    let words = said(&tried);
    assert!(tried.status.success() && words.contains("Core"), "{words}");

    for (words, why) in [
        (&["--broker", "mqtt://127.0.0.1:1"][..], "cannot be reached"),
        (&["--as", "acme/lab/nobody", "--password", "x"], "no such user"),
        (
            &["--as", ECHO, "--password", "wrong"],
            "the password is another one",
        ),
    ] {
        let begun = Instant::now();
        let refused = mqtt(data, &[&["check"], words].concat());
        let told = said(&refused);
        assert!(
            !refused.status.success() && told.contains(why) && !told.contains("Core"),
            "{told}"
        );
        // It does not wait for a broker that has refused.
        assert!(begun.elapsed() < Duration::from_secs(5), "{told}");
    }

    let none = mqtt(data, &["import"]);
    assert!(
        none.status.success() && said(&none).contains("no agents"),
        "{}",
        said(&none)
    );
    let rule = "acme/lab/echo:echo@globex";
    let kept = mqtt(data, &["import", rule]);
    assert!(
        kept.status.success() && said(&kept).contains(rule),
        "{}",
        said(&kept)
    );
    for (bad, why) in [
        (&["import", "acme/lab:echo@nobody"][..], "no tenant nobody"),
        (&["import", "acme/lab"], "ORG/UNIT"),
        (
            &["import", "--remove", "acme/other:echo"],
            "no rule of this system",
        ),
    ] {
        let refused = mqtt(data, bad);
        let words = said(&refused);
        assert!(!refused.status.success() && words.contains(why), "{words}");
    }
    assert!(
        said(&mqtt(data, &["import"])).contains(rule),
        "what was refused changed nothing"
    );
    somebody_elses_agent_answers_a_chat(data);

    // The rule is still there when the system rests.
    assert_eq!(system.terminate(), Some(0));
    assert!(said(&mqtt(data, &["import"])).contains(rule));
    let gone = mqtt(data, &["import", "--remove", rule]);
    assert!(
        gone.status.success() && said(&gone).contains("no agents"),
        "{}",
        said(&gone)
    );
}

/// Brokers on which no agent can be.
#[test]
fn a_broker_that_cannot_carry_agents_is_told_why() {
    for (line, why) in [
        ("max_qos 0", "nothing at QoS 1 (Maximum QoS 0)"),
        ("retain_available false", "the broker retains nothing (0x9A)"),
    ] {
        let broker = Broker::start_as(&Wanted {
            lines: vec![line.to_owned()],
            ..Wanted::default()
        });
        let tried = binary::run(&["mqtt", "check", "--broker", &broker.running.url()]);
        let words = said(&tried);
        assert!(!tried.status.success() && words.contains(why), "{line}: {words}");
    }
}

/// EMQX's Responder, which the registry knows by its rule alone, is the only agent of its type.
fn somebody_elses_agent_answers_a_chat(data: &std::path::Path) {
    let endpoints = std::fs::read_to_string(data.join("endpoints.json")).expect("a list of endpoints");
    let endpoints: serde_json::Value = serde_json::from_str(&endpoints).expect("JSON");
    let broker: url::Url = endpoints["mqtt"]["broker"]
        .as_str()
        .expect("a broker")
        .parse()
        .expect("an address");
    let mut echo = Command::new(system_testing::python_of("mqtt"))
        .arg(system_testing::folder().join("python/mqtt_responder.py"))
        .args([broker.port().expect("a port").to_string().as_str(), ECHO])
        .env(
            "MQTT_PASSWORD",
            endpoints["mqtt"]["users"][ECHO].as_str().expect("a password"),
        )
        .stdout(Stdio::null())
        .spawn()
        .expect("the script starts");
    let switchyard = |words: &[&str]| {
        let data = data.to_str().expect("a path");
        said(&binary::run(&[words, &["--data", data]].concat()))
    };
    let begun = Instant::now();
    let known = loop {
        let known = switchyard(&["agent", "list"]);
        if known.contains("Echo") || begun.elapsed() > Duration::from_secs(30) {
            break known;
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    let asked = "Shout hello into the mountains, what is the echo?";
    let answer = switchyard(&["chat", "--tenant", "globex", asked]);
    let _ = echo.kill();
    let _ = echo.wait();
    assert!(
        answer.contains("The mountain answers") && answer.contains("completed (Echo)"),
        "{known}\n{answer}"
    );
}
