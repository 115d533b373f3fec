//! The ladder: a room uses only rooms on lower rungs, functions do not know each other, a function's `main.rs` only
//! wires, and every module says what it is for. Read from `cargo metadata` and the files themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, MetadataCommand, Package};
use template_testing::root;

/// The rungs of `shared/`. A new room needs a line here, and a sentence in ARCHITECTURE.md that no other room's covers.
const SHARED: &[(&str, u8)] = &[
    ("domain", 0),
    ("routes", 0),
    ("a2a", 1),
    ("auth", 1),
    ("words", 1),
    ("nlu", 2),
    ("store", 2),
    ("outbound", 2),
    ("mqtt", 2),
    ("agent", 3),
    ("consent", 3),
    ("llm", 3),
    ("edge", 4),
    ("lambda", 5),
    ("switchyard_agent", 6),
];

/// A room beside the ladder: any room may name it for its tests.
#[derive(Debug)]
struct Beside {
    folder: &'static str,
    /// The rooms it may use.
    uses: &'static [&'static str],
    /// The rooms that may be built from it.
    built_into: &'static [&'static str],
}

const BESIDE: [Beside; 7] = [
    Beside {
        folder: "infra/dynamodb",
        uses: &["workspace_features"],
        built_into: &["local", "switchyard_agent", "tests", "tools", "system_testing"],
    },
    Beside {
        folder: "infra/sandbox",
        uses: &["domain", "auth", "outbound", "workspace_features"],
        built_into: &["local", "cli", "tests", "tools", "system_testing"],
    },
    Beside {
        folder: "tests/kit/store",
        uses: &["domain", "dynamodb", "store", "workspace_features"],
        built_into: &["tests", "tools", "system_testing", "agent_testing"],
    },
    Beside {
        folder: "tests/kit/agent",
        uses: &[
            "domain",
            "auth",
            "nlu",
            "outbound",
            "agent",
            "edge",
            "store_testing",
            "workspace_features",
        ],
        built_into: &["tests", "tools", "system_testing"],
    },
    Beside {
        folder: "tests/kit/template",
        uses: &["workspace_features"],
        built_into: &["check", "tests", "tools", "system_testing"],
    },
    Beside {
        folder: "tests/kit/words",
        uses: &["domain", "workspace_features"],
        built_into: &["tools"],
    },
    Beside {
        folder: "tests/workspace_features",
        uses: &[],
        built_into: &["local"],
    },
];

/// Most lines of a function's `main.rs`.
const MAIN_LINES: usize = 40;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Room {
    name: String,
    /// Below the workspace root: `shared/store`.
    folder: String,
    /// The rooms it is built from.
    uses: Vec<String>,
    /// The rooms that its tests use beside those.
    tests_use: Vec<String>,
}

impl Room {
    fn of(package: &Package, root: &Path) -> Self {
        let folder = package
            .manifest_path
            .as_std_path()
            .parent()
            .unwrap()
            .strip_prefix(root)
            .unwrap();
        let named = |for_tests: bool| {
            let rooms = package.dependencies.iter().filter(|used| used.path.is_some());
            rooms
                .filter(|used| (used.kind == DependencyKind::Development) == for_tests)
                .map(|used| used.rename.clone().unwrap_or_else(|| used.name.clone()))
                .collect()
        };
        // Published, a room is called `switchyard-…`; in code it is what its library is.
        let library = package.targets.iter().find(|target| target.is_lib());
        Self {
            name: library.map_or_else(|| package.name.to_string(), |target| target.name.clone()),
            folder: folder.to_str().unwrap().to_owned(),
            uses: named(false),
            tests_use: named(true),
        }
    }

    fn beside(&self) -> Option<&'static Beside> {
        BESIDE.iter().find(|room| room.folder == self.folder)
    }

    /// `None` where the room has no place in the tree; `tests` stands above everything.
    fn rung(&self) -> Option<u8> {
        match self.folder.split_once('/') {
            Some(("shared", room)) => SHARED
                .iter()
                .find(|(name, _)| *name == room)
                .map(|(_, rung)| *rung),
            Some(("functions", _)) => Some(6),
            Some(("infra", "local")) => Some(7),
            Some(("infra", "cli")) => Some(8),
            // Nothing of ours: what our functions are measured against; and what reads files alone.
            Some(("tests", "empty" | "check")) => Some(0),
            Some(("tests", "kit/system")) => Some(u8::MAX - 2),
            None if self.folder == "tests" => Some(u8::MAX - 1),
            Some(("tests", "tools")) => Some(u8::MAX),
            _ => None,
        }
    }
}

fn rooms() -> Vec<Room> {
    let manifest = root().join("Cargo.toml");
    let metadata = MetadataCommand::new()
        .manifest_path(manifest)
        .no_deps()
        .exec()
        .unwrap();
    metadata
        .packages
        .iter()
        .map(|package| Room::of(package, root()))
        .collect()
}

/// A room is called what its folder is; a kit of tests, for what it helps to test: `tests/kit/store` is `store_testing`.
fn named_for(folder: &str) -> Option<String> {
    if let Some(room) = folder.strip_prefix("tests/kit/") {
        return Some(format!("{room}_testing"));
    }
    let last = Path::new(folder).file_name()?;
    last.to_str().map(str::to_owned)
}

/// What breaks the ladder, one sentence each.
fn broken_rungs(rooms: &[Room]) -> Vec<String> {
    let by_name: BTreeMap<&str, &Room> = rooms.iter().map(|room| (room.name.as_str(), room)).collect();
    let mut broken = Vec::new();
    for room in rooms {
        let Room { name, folder, .. } = room;
        if named_for(folder).as_ref() != Some(name) {
            broken.push(format!(
                "the package {name} lies in {folder}: folder and package have the same name"
            ));
        }
        if let Some(Beside { uses: allowed, .. }) = room.beside() {
            let all = room.uses.iter().chain(&room.tests_use);
            let ours = all.filter(|used| by_name.contains_key(used.as_str()));
            for used in ours.filter(|used| !allowed.contains(&used.as_str())) {
                broken.push(format!(
                    "{name} uses {used}: beside the ladder it may use {allowed:?}"
                ));
            }
            continue;
        }
        let Some(rung) = room.rung() else {
            broken.push(format!(
                "{folder} has no rung: add it to the ladder in tests/check/src/rooms.rs"
            ));
            continue;
        };
        let named = room.uses.iter().map(|used| (used, false));
        for (used, for_tests) in named.chain(room.tests_use.iter().map(|used| (used, true))) {
            let Some(used_room) = by_name.get(used.as_str()) else {
                continue;
            };
            if let Some(beside) = used_room.beside() {
                if !for_tests && !beside.built_into.contains(&name.as_str()) {
                    broken.push(format!("{name} is built from {used}, which is for tests"));
                }
                continue;
            }
            let Some(used_rung) = used_room.rung() else {
                continue;
            };
            if rung == 6 && used_rung == 6 {
                broken.push(format!("{name} uses {used}: functions never depend on each other; what both need goes down a rung"));
            } else if used_rung >= rung {
                broken.push(format!(
                    "{name} (rung {rung}) uses {used} (rung {used_rung}): a room uses only lower rungs"
                ));
            }
        }
    }
    broken
}

/// All files of Rust below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else {
        return found;
    };
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn says_what_it_is_for(source: &str) -> bool {
    let first = source.lines().find(|line| !line.trim().is_empty());
    first
        .and_then(|line| line.strip_prefix("//!"))
        .is_some_and(|words| !words.trim().is_empty())
}

pub(crate) fn a_room_uses_only_lower_rungs() {
    let broken = broken_rungs(&rooms());
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}

/// The rooms that a room is made of, itself included.
fn made_of(rooms: &[Room], name: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![name.to_owned()];
    while let Some(next) = open.pop() {
        if let Some(room) = rooms.iter().find(|room| room.name == next)
            && found.insert(next)
        {
            open.extend(room.uses.iter().cloned());
        }
    }
    found
}

pub(crate) fn only_the_host_has_a_model() {
    let rooms = rooms();
    let functions = rooms.iter().filter(|room| room.folder.starts_with("functions/"));
    let with_model: Vec<&str> = functions
        .filter(|room| made_of(&rooms, &room.name).contains("llm"))
        .map(|room| room.name.as_str())
        .collect();
    assert_eq!(with_model, ["host_agent"]);
    // Nor does the local system choose one: it starts the host as Lambda does.
    let local = rooms.iter().find(|room| room.name == "local").unwrap();
    assert!(!local.uses.contains(&"llm".to_owned()));
}

pub(crate) fn the_bridge_stores_nothing() {
    let rooms = rooms();
    let bridge = rooms.iter().find(|room| room.name == "mqtt_bridge").unwrap();
    // What it hands over is kept by brokers, agents and hosts; `agent`, whose wire it speaks, has a store of its own.
    assert!(!bridge.uses.contains(&"store".to_owned()), "{:?}", bridge.uses);
    assert!(
        made_of(&rooms, "weather_agent").contains("store"),
        "rooms are told by other names"
    );
}

pub(crate) fn every_rung_is_taken_by_a_room() {
    let rooms = rooms();
    for (name, _) in SHARED {
        assert!(
            rooms.iter().any(|room| room.folder == format!("shared/{name}")),
            "shared/{name} is gone: take it off the ladder"
        );
    }
}

pub(crate) fn a_functions_main_only_wires() {
    for room in rooms()
        .iter()
        .filter(|room| room.folder.starts_with("functions/"))
    {
        let main = root().join(&room.folder).join("src/main.rs");
        let Ok(source) = fs::read_to_string(&main) else {
            panic!("{} is missing: a function is a Lambda", main.display());
        };
        let lines = source.lines().count();
        assert!(
            lines <= MAIN_LINES,
            "{} has {lines} lines; {MAIN_LINES} are enough for wiring",
            main.display()
        );
    }
}

pub(crate) fn every_module_says_what_it_is_for() {
    let mut silent = Vec::new();
    for room in rooms() {
        let folder = root().join(&room.folder);
        for below in ["src", "tests", "it", "benches", "examples"] {
            for path in sources(&folder.join(below)) {
                if !says_what_it_is_for(&fs::read_to_string(&path).unwrap()) {
                    silent.push(path.strip_prefix(root()).unwrap().display().to_string());
                }
            }
        }
    }
    assert!(
        silent.is_empty(),
        "these modules do not open with `//! what they are for`:\n{}\n",
        silent.join("\n")
    );
}

/// The variables that a source reads: the first word in capitals after `env.`, or where the environment asks itself.
fn settings_read(source: &str) -> Vec<String> {
    let named = |call: &str| {
        let (_, quoted) = call.split_once("(\"")?;
        let (name, _) = quoted.split_once('"')?;
        let capital = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
        (name.len() > 1 && name.bytes().all(capital)).then(|| name.to_owned())
    };
    let asks = ["env.", "self.optional", "self.required", "self.or"];
    let calls = asks
        .iter()
        .flat_map(|ask| source.split(ask).skip(1))
        .map(|rest| rest.split_once(';').map_or(rest, |(call, _)| call));
    calls.filter_map(named).collect()
}

pub(crate) fn every_setting_is_in_the_table() {
    let table = fs::read_to_string(root().join("shared/edge/src/config.rs")).unwrap();
    let mut read = Vec::new();
    for room in rooms()
        .iter()
        .filter(|room| room.folder.starts_with("functions/") || room.name == "edge")
    {
        for path in sources(&root().join(&room.folder).join("src")) {
            read.extend(settings_read(&fs::read_to_string(path).unwrap()));
        }
    }
    assert!(
        read.len() > 8,
        "only {read:?}: the test does not see the settings any more"
    );
    read.sort();
    read.dedup();
    let documented: Vec<&str> = table
        .lines()
        .filter_map(|line| line.strip_prefix("//! | `")?.split_once('`'))
        .map(|(name, _)| name)
        .collect();
    for name in &read {
        assert!(
            documented.contains(&name.as_str()),
            "{name} is not in the table of shared/edge/src/config.rs"
        );
    }
    for name in documented {
        assert!(
            read.iter().any(|read| read == name),
            "{name} is in the table of shared/edge/src/config.rs, but nobody reads it"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ladder_test_can_fail() {
        let room = |folder: &str, uses: &[&str]| Room {
            name: folder.rsplit('/').next().unwrap().to_owned(),
            folder: folder.to_owned(),
            uses: uses.iter().map(|name| (*name).to_owned()).collect(),
            tests_use: Vec::new(),
        };
        let kit = |folder: &str, uses: &[&str]| Room {
            name: named_for(folder).unwrap(),
            ..room(folder, uses)
        };
        let tested_with = |room: Room, tests_use: &[&str]| Room {
            tests_use: tests_use.iter().map(|name| (*name).to_owned()).collect(),
            ..room
        };
        let check = |rooms: &[Room], expect: &str| {
            let broken = broken_rungs(rooms);
            assert!(
                broken.len() == 1 && broken[0].contains(expect),
                "{expect}: {broken:?}"
            );
        };
        let good = [
            room("shared/domain", &[]),
            tested_with(room("shared/store", &["domain", "serde"]), &["store_testing"]),
            kit("tests/kit/store", &["store", "domain", "serde"]),
            room("functions/registry", &["store"]),
            room("infra/local", &["registry"]),
            room("infra/cli", &["local"]),
            room("tests", &["local", "domain"]),
        ];
        assert_eq!(broken_rungs(&good), Vec::<String>::new());
        check(
            &[room("shared/domain", &["store"]), room("shared/store", &[])],
            "domain (rung 0) uses store (rung 2)",
        );
        check(
            &[room("shared/a2a", &["auth"]), room("shared/auth", &[])],
            "only lower rungs",
        );
        check(
            &[room("functions/a", &["b"]), room("functions/b", &[])],
            "functions never depend on each other",
        );
        check(
            &[room("shared/store", &["tests"]), room("tests", &[])],
            "only lower rungs",
        );
        check(
            &[
                room("shared/store", &["store_testing"]),
                kit("tests/kit/store", &[]),
            ],
            "is for tests",
        );
        check(
            &[kit("tests/kit/store", &["auth"]), room("shared/auth", &[])],
            "beside the ladder",
        );
        let tested = tested_with(room("shared/auth", &[]), &["store"]);
        check(&[tested, room("shared/store", &[])], "only lower rungs");
        check(&[room("shared/attic", &[])], "has no rung");
        check(
            &[Room {
                name: "shop".to_owned(),
                ..room("functions/store", &[])
            }],
            "the same name",
        );

        assert!(says_what_it_is_for("\n//! Words.\nuse x;"));
        for silent in [
            "",
            "//!\n",
            "use x;\n//! late",
            "/// not of the module\nfn x() {}",
        ] {
            assert!(!says_what_it_is_for(silent), "{silent}");
        }
    }
}
