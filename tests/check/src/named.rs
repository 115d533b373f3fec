//! The tests that there are, by name: documents say by which of them something is shown.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use template_testing::root;

/// Every test function below a folder.
fn tests_below(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.ends_with("node_modules") && !path.ends_with(".tools") {
            tests_below(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("readable");
            for after in text.split("#[").skip(1) {
                let is_test = after.starts_with("test]") || after.starts_with("tokio::test");
                let name = after.split("fn ").nth(1).and_then(|rest| rest.split('(').next());
                found.extend(name.filter(|_| is_test).map(str::to_owned));
            }
        }
    }
}

/// Every test function of a room, or, as `tests`, of the whole system.
pub(crate) fn tests_of(room: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    if room == "tests" {
        tests_below(&root().join("tests/it"), &mut found);
    }
    for place in ["functions", "shared", "infra"] {
        tests_below(&root().join(place).join(room), &mut found);
    }
    found
}
