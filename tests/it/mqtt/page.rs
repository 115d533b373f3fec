//! `docs/mqtt.md` says of each clause what shows it: by tests that there are.

use std::collections::{BTreeMap, BTreeSet};

use system_testing::named::tests_of;

/// What the page says twice.
const AGAIN: &str = "the same";

/// Names of tests in a cell, with the room that each is of: `NAME` or `NAME` (`ROOM`).
fn named(cell: &str) -> Vec<(String, String)> {
    let words: Vec<&str> = cell.split('`').collect();
    let mut named = Vec::new();
    for (n, word) in words.iter().enumerate().skip(1).step_by(2) {
        if word.matches('_').count() < 4 {
            continue;
        }
        let has_room = words.get(n + 1).is_some_and(|between| *between == " (");
        let room = words.get(n + 2).filter(|_| has_room).unwrap_or(&"tests");
        named.push(((*room).to_owned(), (*word).to_owned()));
    }
    named
}

/// The clauses that no test shows, and the names of tests that there are not.
fn faults(page: &str, tests: &dyn Fn(&str) -> BTreeSet<String>) -> Vec<String> {
    let mut rooms: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut faults = Vec::new();
    let mut is_shown = false;
    for line in page.lines() {
        let cells: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
        let last = cells.last().copied().unwrap_or_default();
        match line.starts_with('|') {
            false => is_shown = false,
            true if last == "shown by" => is_shown = true,
            true if is_shown
                && !last.starts_with("---")
                && !last.starts_with(AGAIN)
                && named(last).is_empty() =>
            {
                faults.push(format!(
                    "no test shows {}",
                    cells.first().copied().unwrap_or_default()
                ));
            }
            true => {}
        }
        for (room, name) in named(line) {
            let there = rooms.entry(room.clone()).or_insert_with(|| tests(&room));
            if !there.contains(&name) {
                faults.push(format!("{name} is no test of {room}"));
            }
        }
    }
    faults
}

#[test]
fn every_clause_of_the_page_names_tests_that_there_are() {
    let page = std::fs::read_to_string(system_testing::root().join("docs/mqtt.md")).expect("the page");
    assert_eq!(faults(&page, &tests_of), Vec::<String>::new());
    let clauses = page.lines().filter(|line| !named(line).is_empty()).count();
    assert!(clauses > 60, "{clauses} lines name a test");
}

#[test]
fn a_clause_without_a_test_or_with_one_that_is_gone_is_found() {
    let there = |room: &str| match room {
        "tests" => BTreeSet::from(["a_test_that_is_there".to_owned()]),
        _ => BTreeSet::new(),
    };
    for (row, wanted) in [
        ("a | `a_test_that_is_there` |", None),
        ("a | the same |", None),
        ("a | |", Some("no test shows a")),
        ("a | `rubbish` |", Some("no test shows a")),
        (
            "a | `a_test_that_is_gone` |",
            Some("a_test_that_is_gone is no test of tests"),
        ),
        (
            "a | `a_test_that_is_there` (`mqtt`) |",
            Some("a_test_that_is_there is no test of mqtt"),
        ),
    ] {
        let page = format!("| clause | shown by |\n|---|---|\n| {row}\n");
        assert_eq!(faults(&page, &there).first().map(String::as_str), wanted, "{row}");
    }
}
