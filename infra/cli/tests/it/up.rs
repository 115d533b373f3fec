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
        let data = place.path().display();
        assert!(
            told.contains(&format!("chat --tenant acme --data {data} \"Will")),
            "as it stands: {told}"
        );
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
fn a_database_without_its_keys_is_not_started_with_new_ones() {
    let place = tempfile::tempdir().unwrap();
    Up::start(place.path(), &[]).end("TERM");
    let (keys, aside) = (place.path().join("secrets.json"), place.path().join("aside"));
    std::fs::rename(&keys, &aside).unwrap();
    let output = switchyard(&["up", "--port", "0", "--data", place.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let told = sentence(&output);
    assert!(
        told.contains("secrets.json is missing") && told.contains("put the file back"),
        "{told}"
    );
    assert!(!keys.exists(), "nothing was made in its place");
    std::fs::rename(&aside, &keys).unwrap();
    Up::start(place.path(), &[]).end("TERM");
}

#[test]
fn containers_must_find_this_machine_where_it_is_said() {
    let arguments = [
        "up",
        "--port",
        "0",
        "--memory",
        "--containers",
        "--container-host",
    ];
    let output = switchyard(&[&arguments[..], &["203.0.113.9"]].concat());
    assert_eq!(output.status.code(), Some(1));
    let told = sentence(&output);
    assert!(
        told.contains("203.0.113.9 is no address of this machine") && told.contains("--container-host"),
        "{told}"
    );
}

/// On a disk of its own, of a few megabytes: started, filled, asked, stopped, started, given room again.
const FULL_DISK: &str = r#"
mount -t tmpfs -o size=6m tmpfs "$DATA"
up() { "$SWITCHYARD" up --port 0 --data "$DATA" >"$OUT/$1" 2>&1 & id=$!
       while ! grep -q 'is ready' "$OUT/$1"; do kill -0 $id || return 1; sleep 0.05; done; }
say() { "$SWITCHYARD" chat --tenant acme --data "$DATA" --wait 10 "$2" >"$OUT/$1" 2>&1; }
up first
say before "Will it rain in Oslo tomorrow?"
dd if=/dev/zero of="$DATA/filler" bs=4k 2>/dev/null || true
say full "Will it rain in Bergen tomorrow?" || true
kill -TERM $id; wait $id || true
"$SWITCHYARD" up --port 0 --data "$DATA" >"$OUT/second" 2>&1 && exit 9
rm "$DATA/filler"
up third
say after "Will it rain in Bergen tomorrow?"
kill -TERM $id; wait $id
"#;

#[test]
fn a_full_disk_is_called_that_and_what_was_stored_stays() {
    let (data, told) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let alone = |script: &str| {
        let mut shell = std::process::Command::new("unshare");
        shell.args(["--mount", "--map-root-user", "sh", "-eu", "-c", script]);
        shell
            .env("DATA", data.path())
            .env("OUT", told.path())
            .env("SWITCHYARD", env!("CARGO_BIN_EXE_switchyard"));
        shell.output()
    };
    let disk = alone(r#"mount -t tmpfs -o size=1m tmpfs "$DATA""#);
    if !disk.is_ok_and(|output| output.status.success()) {
        eprintln!("NOT TRIED: this machine lets nobody mount a disk of their own");
        return;
    }
    let output = alone(FULL_DISK).unwrap();
    let said = |name: &str| std::fs::read_to_string(told.path().join(name)).unwrap_or_default();
    let all =
        ["first", "before", "full", "second", "third", "after"].map(|name| format!("{name}: {}", said(name)));
    assert!(output.status.success(), "{output:?}\n{all:#?}");
    assert!(said("before").contains("Oslo"), "{all:#?}");
    assert!(said("first").contains("the disk is full"), "{all:#?}");
    assert!(!said("full").contains("Bergen:"), "{all:#?}");
    let second = said("second");
    assert!(
        second.contains("switchyard: the disk is full:") && second.contains("make room"),
        "{all:#?}"
    );
    assert!(
        !second.contains("damaged") && !second.contains("move the"),
        "{all:#?}"
    );
    assert!(said("after").contains("Bergen"), "{all:#?}");
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
        (&["chat", "--tenant", "A B"], "tenant"),
        (&["agent", "register"], "CARD_URL"),
        (&["agent", "register", "nonsense"], "CARD_URL"),
        (
            &["agent", "register", "https://a.example/", "--tag", "nocolon"],
            "key:value",
        ),
        (&["agent", "register", "localhost:9100"], "https://"),
        (&["tenant", "set", "acme", "timeZone=Mars/Base"], "Europe/Oslo"),
        (&["tenant", "set", "acme", "locale"], "KEY=VALUE"),
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
    for word in ["up", "chat", "agent", "agents", "token", "status"] {
        assert!(out(&all).contains(word), "{word}");
    }
    // The options of `up` are shown by its own help alone.
    let up = out(&switchyard(&["up", "--help"]));
    for option in ["--port", "--data", "--memory", "--endpoints", "--live"] {
        assert!(up.contains(option) && !out(&all).contains(option), "{option}");
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
    // A tenant that leaves needs none of what one that comes is told.
    let leaves = out(&switchyard(&["tenant", "remove", "--help"]));
    for option in ["--aws", "--stage", "--platform-stack", "--user", "--run"] {
        assert!(leaves.contains(option), "{option}");
    }
    for option in ["--domain", "--certificate", "--public-url", "--out", "`add`"] {
        assert!(!leaves.contains(option), "{option}");
    }
    assert_eq!(switchyard(&["--version"]).status.code(), Some(0));
}
