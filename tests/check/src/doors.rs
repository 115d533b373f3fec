//! The doors of `deny.toml`: who may name which crate. cargo-deny reads that list too, each night; it takes minutes to build.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use cargo_metadata::{MetadataCommand, PackageId};
use template_testing::root;
use toml::{Table, Value};

/// The crates that are not for everybody, with those who may name them.
fn doors(text: &str) -> BTreeMap<String, BTreeSet<String>> {
    let document: Table = text.parse().unwrap();
    let texts = |list: Option<&Value>| {
        let list = list.and_then(Value::as_array).into_iter().flatten();
        list.map(|one| one.as_str().unwrap().to_owned()).collect()
    };
    let listed = document["bans"]["deny"].as_array().unwrap();
    listed
        .iter()
        .map(|door| {
            (
                door["crate"].as_str().unwrap().to_owned(),
                texts(door.get("wrappers")),
            )
        })
        .collect()
}

/// Who names a crate past its door, one sentence each.
fn past(doors: &BTreeMap<String, BTreeSet<String>>, uses: &[(String, String)]) -> Vec<String> {
    let wrong = uses
        .iter()
        .filter(|(user, used)| doors.get(used).is_some_and(|may| !may.contains(user)));
    wrong
        .map(|(user, used)| format!("{user} names {used}, which deny.toml keeps for others"))
        .collect()
}

pub(crate) fn crates_are_named_by_those_alone_who_may() {
    let metadata = MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .other_options(["--locked".to_owned(), "--all-features".to_owned()])
        .exec()
        .unwrap();
    let names: BTreeMap<&PackageId, String> = metadata
        .packages
        .iter()
        .map(|package| (&package.id, package.name.to_string()))
        .collect();
    let nodes = metadata.resolve.as_ref().unwrap().nodes.iter();
    let uses: Vec<(String, String)> = nodes
        .flat_map(|node| node.dependencies.iter().map(move |used| (&node.id, used)))
        .map(|(user, used)| (names[user].clone(), names[used].clone()))
        .collect();
    let doors = doors(&fs::read_to_string(root().join("deny.toml")).unwrap());
    let known = uses.iter().filter(|(_, used)| doors.contains_key(used)).count();
    assert!(
        known > 15,
        "only {known} uses of what has a door: the check does not see them any more"
    );
    let past = past(&doors, &uses);
    assert!(past.is_empty(), "\n{}\n", past.join("\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_goes_past_a_door_is_seen() {
        let doors =
            doors("[bans]\ndeny = [{ crate = \"sdk\", wrappers = [\"store\"] }, { crate = \"ssl\" }]");
        let uses = |user: &str, used: &str| past(&doors, &[(user.to_owned(), used.to_owned())]).len();
        assert_eq!((uses("store", "sdk"), uses("agent", "sdk")), (0, 1));
        assert_eq!((uses("store", "ssl"), uses("agent", "serde")), (1, 0));
    }
}
