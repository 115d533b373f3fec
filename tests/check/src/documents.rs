//! What documents name is there: the files that they link and name, and the tests by which they say that something is shown.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use template_testing::root;

use crate::named::tests_of;

/// What a table says twice.
const AGAIN: &str = "the same";
/// The folders that a path begins with.
const FOLDERS: [&str; 7] = [
    "functions/",
    "shared/",
    "infra/",
    "tests/",
    "docs/",
    "events/",
    "fuzz/",
];

/// Every document but the history, which names what was.
fn documents() -> Vec<(PathBuf, String)> {
    fn below(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                below(&path, found);
            } else if path.extension().is_some_and(|end| end == "md") {
                found.push(path);
            }
        }
    }
    let mut found = vec![root().join("tests/data/README.md")];
    found.extend(
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"].map(|name| root().join(name)),
    );
    below(&root().join("docs"), &mut found);
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        (path, text)
    };
    found.into_iter().map(read).collect()
}

/// The places that a document links to, without those elsewhere and without what comes behind `#`.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let all = text
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split([')', ' ']).next());
    all.filter(|link| !link.contains("://") && !link.starts_with("mailto:"))
        .map(|link| link.split('#').next().unwrap_or_default())
        .filter(|link| !link.is_empty())
}

/// The paths of the repository that a document names, as far as they are whole: `tests/it/*.rs` and `docs/NAME` are not.
fn paths(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split('`').skip(1).step_by(2);
    words
        // Tools are installed there, where they are.
        .filter(|word| !word.starts_with("tests/.tools"))
        .filter(|word| FOLDERS.iter().any(|folder| word.starts_with(folder)))
        .filter(|word| {
            !word.contains(|c: char| c.is_whitespace() || c.is_uppercase() || "*{}<>[]…:".contains(c))
        })
}

pub(crate) fn what_documents_link_and_name_is_there() {
    let mut gone = Vec::new();
    for (file, text) in documents() {
        let folder = file.parent().unwrap();
        // A block of code is commands, not names.
        let prose: String = text.split("```").step_by(2).collect();
        let linked = links(&prose).map(|link| folder.join(link));
        let all = linked.chain(paths(&prose).map(|path| root().join(path)));
        gone.extend(
            all.filter(|path| !path.exists())
                .map(|path| format!("{} names {}", file.display(), path.display())),
        );
    }
    assert!(gone.is_empty(), "\n{}\n", gone.join("\n"));
}

/// Names of tests in a cell, with the room that each is of: `ROOM::NAME`, `NAME` (`ROOM`), or `NAME` of the whole system.
fn named(cell: &str) -> Vec<(String, String)> {
    let words: Vec<&str> = cell.split('`').collect();
    let mut named = Vec::new();
    for (n, word) in words.iter().enumerate().skip(1).step_by(2) {
        if word.matches('_').count() < 3
            || word.contains(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'))
        {
            continue;
        }
        if let Some((room, name)) = word.split_once("::") {
            named.push((room.to_owned(), name.to_owned()));
        } else if word.matches('_').count() > 3 {
            let has_room = words.get(n + 1).is_some_and(|between| *between == " (");
            let room = words.get(n + 2).filter(|_| has_room).unwrap_or(&"tests");
            named.push(((*room).to_owned(), (*word).to_owned()));
        }
    }
    named
}

/// The rows of tables with `shown by` that name no test, and the names of tests that there are not.
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
        if !is_shown {
            continue;
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

pub(crate) fn what_is_said_to_be_shown_is_shown_by_tests_that_there_are() {
    let mut wrong = Vec::new();
    let mut shown = 0;
    for (file, text) in documents() {
        shown += text
            .lines()
            .filter(|line| line.starts_with('|') && !named(line).is_empty())
            .count();
        wrong.extend(
            faults(&text, &tests_of)
                .iter()
                .map(|fault| format!("{}: {fault}", file.display())),
        );
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
    assert!(
        shown > 100,
        "only {shown} lines name a test: the check does not see them any more"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_without_a_test_or_with_one_that_is_gone_is_found() {
        let there = |room: &str| match room {
            "tests" => BTreeSet::from(["a_test_that_is_there".to_owned()]),
            _ => BTreeSet::new(),
        };
        for (row, wanted) in [
            ("a | `a_test_that_is_there` |", None),
            ("a | `tests::a_test_that_is_there` |", None),
            ("a | the same |", None),
            ("a | |", Some("no test shows a")),
            ("a | `rubbish` |", Some("no test shows a")),
            (
                "a | `a_test_that_is_gone` |",
                Some("a_test_that_is_gone is no test of tests"),
            ),
            (
                "a | `mqtt::a_test_that_is_there` |",
                Some("a_test_that_is_there is no test of mqtt"),
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

    #[test]
    fn only_whole_paths_of_the_repository_are_looked_for() {
        let text = "See [it](docs/a.md#part), [there](https://b.example), `tests/run`, `tests/it/*.rs`, `docs/NAME` and `cargo run`.";
        assert_eq!(links(text).collect::<Vec<_>>(), ["docs/a.md"]);
        assert_eq!(paths(text).collect::<Vec<_>>(), ["tests/run"]);
    }
}
