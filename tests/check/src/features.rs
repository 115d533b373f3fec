//! A room alone is built from other people's crates with the features of the whole workspace, so that `-p store` and
//! `--workspace` share them: otherwise the AWS SDK and all below it are built once for each.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use cargo_metadata::MetadataCommand;
use template_testing::root;

/// The features that each crate is built with; two sets where it is also built for macros and build scripts.
type Features = BTreeMap<String, BTreeSet<String>>;

/// What cargo would build for these arguments.
fn features(arguments: &[&str]) -> Features {
    let told = Command::new(env!("CARGO"))
        .args(["tree", "--frozen", "--prefix", "none", "--format", "{p}\t{f}"])
        .args(arguments)
        .current_dir(root())
        .output()
        .unwrap();
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    read(&String::from_utf8(told.stdout).unwrap())
}

fn read(told: &str) -> Features {
    let mut found = Features::new();
    // A line in brackets, or an empty one, is a heading.
    for line in told
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('['))
    {
        let (package, features) = line.trim_end_matches(" (*)").split_once('\t').unwrap();
        // Rooms of our own have a path.
        if !package.contains(" (/") {
            let features = features.trim_end_matches(" (*)").to_owned();
            found.entry(package.to_owned()).or_default().insert(features);
        }
    }
    found
}

/// What is built differently, one sentence each.
fn differing(part: &Features, whole: &Features) -> Vec<String> {
    let differs = |(name, sets): &(&String, &BTreeSet<String>)| {
        !whole.get(*name).is_some_and(|all| sets.is_subset(all))
    };
    let differing = part.iter().filter(differs);
    differing
        .map(|(name, sets)| {
            let whole = whole.get(name);
            format!("{name} has the features {sets:?}, in the workspace {whole:?}")
        })
        .collect()
}

pub(crate) fn a_room_alone_is_built_with_the_features_of_the_workspace() {
    let metadata = MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .no_deps()
        .exec()
        .unwrap();
    let whole = features(&["--workspace", "--edges", "normal,build,dev"]);
    assert!(whole.len() > 300, "the test does not see the crates any more");
    // `cargo run` first: the local system without anybody's tests.
    let mut builds = vec![vec!["--package", "cli", "--edges", "normal,build"]];
    let rooms = metadata.packages.iter().map(|package| package.name.as_str());
    // The empty function is built alone, as it is deployed: it is what the others are measured against.
    for room in rooms.filter(|name| *name != "empty") {
        builds.push(vec!["--package", room, "--edges", "normal,build,dev"]);
    }
    let mut wrong = Vec::new();
    for build in builds {
        let differing = differing(&features(&build), &whole);
        wrong.extend(differing.iter().map(|one| format!("{}: {one}", build[1])));
    }
    assert!(
        wrong.is_empty(),
        "name these in tests/workspace_features/Cargo.toml:\n{}\n",
        wrong.join("\n")
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_seen() {
        let whole = read(
            "serde v1.0.0\talloc,std\nsyn v2.0.0 (proc-macro)\tfull\nserde v1.0.0\tstd (*)\nstore v0.1.0 (/x)\t\n",
        );
        assert_eq!(whole["serde v1.0.0"].len(), 2);
        assert!(differing(&read("serde v1.0.0\tstd\nstore v0.1.0 (/x)\tmore\n"), &whole).is_empty());
        for other in ["serde v1.0.0\talloc\n", "serde v1.0.0\t\n", "serde v2.0.0\tstd\n"] {
            assert_eq!(differing(&read(other), &whole).len(), 1, "{other}");
        }
    }
}
