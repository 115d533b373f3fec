//! Commands whose reader leaves: they end, and say nothing of it.

use std::io::{BufRead as _, BufReader};

use crate::binary::{Up, command};

/// How a command ends whose reader takes so many lines: its exit code, and what it says on the standard error.
fn read(arguments: &[&str], lines: usize) -> (Option<i32>, String) {
    let mut child = command(arguments).spawn().unwrap();
    let reader = BufReader::new(child.stdout.take().unwrap());
    let taken = reader.lines().take(lines).map(Result::unwrap).count();
    assert_eq!(taken, lines, "{arguments:?}");
    let ended = child.wait_with_output().unwrap();
    (ended.status.code(), String::from_utf8(ended.stderr).unwrap())
}

#[test]
fn a_command_ends_quietly_where_nobody_reads_on() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().to_str().unwrap();
    let _up = Up::start(place.path(), &[]);
    let weather = ["chat", "--tenant", "acme", "Will it rain in Oslo?"];
    let ends = |arguments: &[&str], lines: usize| {
        let (code, said) = read(arguments, lines);
        assert!(matches!(code, Some(0 | 141)), "{arguments:?}: {code:?} {said}");
        assert_eq!(said, "", "{arguments:?}");
    };
    for (arguments, lines) in [
        (&["deliveries"][..], 1),
        (&["deliveries"], 0),
        (&["agents"], 1),
        (&["agent", "list"], 0),
        (&weather, 1),
        (&weather, 0),
        (&["tenant", "list"], 0),
        (&["token", "--tenant", "acme"], 0),
    ] {
        ends(&[arguments, &["--data", data]].concat(), lines);
    }
    for lines in [0, 1] {
        ends(&["openapi"], lines);
        ends(&["--help"], lines);
    }
}

#[test]
fn a_failure_that_nobody_hears_is_a_failure_still() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().to_str().unwrap();
    let mut child = command(&["agents", "--data", data]).spawn().unwrap();
    drop((child.stdout.take(), child.stderr.take()));
    assert_eq!(child.wait().unwrap().code(), Some(1));
}
