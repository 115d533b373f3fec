//! `switchyard up`: starting, stopping, and what it says when it cannot.

use std::time::{Duration, Instant};

use crate::binary::{Up, out, sentence, switchyard};

#[test]
fn it_says_where_to_click_and_stops_cleanly() {
    for signal in ["TERM", "INT"] {
        let place = tempfile::tempdir().unwrap();
        let up = Up::start(place.path(), &[]);
        let bases: Vec<String> = up
            .endpoints
            .tenants
            .values()
            .map(|tenant| tenant.base.to_string())
            .collect();
        let begun = Instant::now();
        let output = up.end(signal);
        assert_eq!(output.status.code(), Some(0), "{signal}");
        assert!(begun.elapsed() < Duration::from_secs(5), "{signal}");
        let told = out(&output);
        assert!(
            told.contains("Switchyard is ready") && bases.iter().all(|base| told.contains(base)),
            "{told}"
        );
        assert!(told.contains("chat --tenant acme"), "{told}");
    }
}

/// What a system said on its two outputs while somebody asked it something.
fn told_while_asked(log: &[&str]) -> (String, String) {
    let place = tempfile::tempdir().unwrap();
    let up = Up::start(place.path(), log);
    let data = place.path().to_str().unwrap();
    let prompt = "Will it rain\nin Oslo \u{1b}[31mtomorrow?";
    let asked = switchyard(&["chat", "--tenant", "acme", "--data", data, prompt]);
    assert_eq!(asked.status.code(), Some(0), "{asked:?}");
    let output = up.end("TERM");
    (out(&output), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_task_is_one_line_for_people_and_nothing_else_is() {
    let (told, _) = told_while_asked(&[]);
    let lines: Vec<&str> = told.lines().filter(|line| line.contains(" acme ● ")).collect();
    let [line] = lines.as_slice() else {
        panic!("one line for one task: {told}")
    };
    assert!(
        line.contains("● Weather ✓ ") && line.ends_with("Will it rain in Oslo [31mtomorrow?"),
        "{line}"
    );
    assert!(
        !told.contains('\u{1b}'),
        "a pipe gets no colours, whatever people write: {told:?}"
    );
    assert!(!told.contains("_aws"), "CloudWatch does not read this: {told}");

    let (told, errors) = told_while_asked(&["--log", "json"]);
    for line in told.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
        assert!(line["level"].is_string() && line.get("_aws").is_none(), "{line}");
    }
    assert!(
        told.contains("task acknowledged") && !told.contains("Oslo"),
        "{told}"
    );
    assert!(errors.contains("Switchyard is ready"), "{errors}");

    let (told, errors) = told_while_asked(&["--log", "off"]);
    assert!(
        told.contains("● Weather ✓ ") && errors.is_empty(),
        "{told}{errors}"
    );
    let (_, errors) = told_while_asked(&["--log", "debug"]);
    assert!(errors.contains("DEBUG"), "{errors}");
}

#[test]
fn a_second_one_on_the_same_folder_or_port_is_told_so() {
    let place = tempfile::tempdir().unwrap();
    let up = Up::start(place.path(), &[]);
    let data = place.path().to_str().unwrap();
    let same = switchyard(&["up", "--port", "0", "--data", data]);
    assert_eq!(same.status.code(), Some(1));
    assert!(sentence(&same).contains("is in use by another switchyard"));
    let port = up.endpoints.gateway.port().unwrap().to_string();
    let taken = switchyard(&["--port", &port, "--memory"]);
    assert_eq!(taken.status.code(), Some(1));
    assert!(sentence(&taken).contains(&format!("port {port} is taken")));
    assert!(
        place.path().join("endpoints.json").exists(),
        "the first one's list is still there"
    );
}

#[test]
fn a_damaged_or_unusable_folder_is_told_in_one_sentence() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("secrets.json"), "{").unwrap();
    let output = switchyard(&["up", "--port", "0", "--data", place.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(sentence(&output).contains("the data folder is damaged"));
    let file = tempfile::NamedTempFile::new().unwrap();
    let output = switchyard(&["up", "--port", "0", "--data", file.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(sentence(&output).contains("cannot be used"));
}

#[test]
fn wrong_usage_is_told_with_a_hint_and_its_own_exit_code() {
    for (arguments, word) in [
        (&["up", "--prot", "1"][..], "--port"),
        (&["up", "--port", "x"], "--port"),
        (&["up", "--port", "70000"], "--port"),
        (&["up", "--live", "moon"], "weather"),
        (&["up", "--memory", "--data", "x"], "--memory"),
        (&["up", "--log", "=="], "--log"),
        (&["fly"], "fly"),
        (&["chat"], "--tenant"),
        (&["chat", "--tenant", "A B"], "tenant"),
        (&["agent", "register"], "CARD_URL"),
        (&["agent", "register", "nonsense"], "CARD_URL"),
        (
            &["agent", "register", "https://a.example/", "--tag", "nocolon"],
            "key:value",
        ),
        (&["token"], "--tenant"),
    ] {
        let output = switchyard(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(
            told.contains(word) && told.starts_with("error: "),
            "{arguments:?} {told}"
        );
    }
}

#[test]
fn every_command_explains_itself() {
    let all = switchyard(&["--help"]);
    assert_eq!(all.status.code(), Some(0));
    for word in [
        "up",
        "chat",
        "agent",
        "agents",
        "token",
        "--port",
        "--data",
        "--memory",
        "--endpoints",
        "--live",
    ] {
        assert!(out(&all).contains(word), "{word}");
    }
    for command in [
        &["up"][..],
        &["chat"],
        &["agent"],
        &["agent", "register"],
        &["agents"],
        &["token"],
    ] {
        let help = switchyard(&[command, &["--help"]].concat());
        assert_eq!(help.status.code(), Some(0), "{command:?}");
        assert!(out(&help).contains("Usage: switchyard"), "{command:?}");
    }
    assert_eq!(switchyard(&["--version"]).status.code(), Some(0));
}
