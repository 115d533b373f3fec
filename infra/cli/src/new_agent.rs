//! `switchyard agent new NAME`: the folder of an agent that runs, is tested, and joins the running system by itself.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use super::Failure;
use super::place::RunningSystem;

/// The files of an agent, by their names.
type Files = &'static [(&'static str, &'static str)];
const PYTHON: Files = &[
    ("README.md", include_str!("../templates/python/README.md")),
    ("agent.py", include_str!("../templates/python/agent.py")),
    ("hosts.py", include_str!("../templates/python/hosts.py")),
    (
        "requirements.txt",
        include_str!("../templates/python/requirements.txt"),
    ),
    ("test_agent.py", include_str!("../templates/python/test_agent.py")),
];
const TYPESCRIPT: Files = &[
    ("README.md", include_str!("../templates/typescript/README.md")),
    ("agent.ts", include_str!("../templates/typescript/agent.ts")),
    ("hosts.ts", include_str!("../templates/typescript/hosts.ts")),
    (
        "agent.test.ts",
        include_str!("../templates/typescript/agent.test.ts"),
    ),
    (
        "package.json",
        include_str!("../templates/typescript/package.json"),
    ),
    (
        "tsconfig.json",
        include_str!("../templates/typescript/tsconfig.json"),
    ),
];
const RUST: Files = &[
    ("README.md", include_str!("../templates/rust/README.md")),
    ("Cargo.toml", include_str!("../templates/rust/Cargo.toml.txt")),
    (
        ".cargo/config.toml",
        include_str!("../templates/rust/.cargo/config.toml"),
    ),
    (".gitignore", "/data\n/target\n"),
    ("rustfmt.toml", include_str!("../templates/rust/rustfmt.toml")),
    ("src/main.rs", include_str!("../templates/rust/src/main.rs")),
    ("src/tests.rs", include_str!("../templates/rust/src/tests.rs")),
];
/// Where the crate lies that agents in Rust are written on, in the clone that this was built from.
const CRATE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/switchyard_agent");
/// Longest name, in characters.
const NAME_MAX: usize = 60;

#[derive(Args)]
#[command(after_help = "Example:\n  switchyard agent new Wordy --python")]
pub(super) struct New {
    #[command(flatten)]
    place: RunningSystem,
    /// What the agent is called: letters, digits, blanks, dots and dashes
    #[arg(value_parser = name)]
    name: String,
    #[command(flatten)]
    sdk: Sdk,
    /// Where its folder is made
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    into: PathBuf,
}

/// What it is written on.
#[derive(Args)]
#[group(required = true, multiple = false)]
struct Sdk {
    /// On the official Python SDK
    #[arg(long)]
    python: bool,
    /// On the official JavaScript SDK, in TypeScript
    #[arg(long)]
    typescript: bool,
    /// On this system's own rooms, in Rust: durable, and a Lambda function too
    #[arg(long)]
    rust: bool,
}

/// A name that fits a card, a folder and a source file alike.
fn name(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || [' ', '-', '_', '.'].contains(&c);
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic());
    match begins && text.len() <= NAME_MAX && text.chars().all(fits) {
        true => Ok(text.trim().to_owned()),
        false => Err(format!(
            "a name begins with a letter, and has at most {NAME_MAX} letters, digits, blanks, dots and dashes"
        )),
    }
}

impl New {
    pub(super) fn run(self) -> Result<(), Failure> {
        let short = self.name.to_lowercase().replace([' ', '.', '_'], "-");
        let folder = self.into.join(&short);
        let endpoints = self.place.endpoints_file();
        let endpoints = std::path::absolute(&endpoints).map_err(Failure::other)?;
        let endpoints = quoted(&endpoints);
        fs::create_dir(&folder).map_err(|fault| fault_at(&folder, &fault))?;
        let (files, main) = match &self.sdk {
            Sdk { python: true, .. } => (PYTHON, "agent.py"),
            Sdk { rust: true, .. } => (RUST, "src/main.rs"),
            _ => (TYPESCRIPT, "agent.ts"),
        };
        for (file, text) in files {
            let text = text
                .replace("AGENT_NAME", &self.name)
                .replace("FOLDER_NAME", &short)
                .replace("SWITCHYARD_CRATE", &switchyard_crate())
                .replace("ENDPOINTS_FILE", &endpoints);
            let file = folder.join(file);
            if let Some(part) = file.parent() {
                fs::create_dir_all(part).map_err(|fault| fault_at(part, &fault))?;
            }
            fs::write(&file, text).map_err(|fault| fault_at(&file, &fault))?;
        }
        told!(
            serde_json::json!({ "made": folder, "main": main }),
            "made {0}: what it does is in {0}/{main}, how it is started in {0}/README.md",
            folder.display()
        );
        Ok(())
    }
}

/// The crate as this clone has it, where the clone is still there: it fits this command. As it is published otherwise.
fn switchyard_crate() -> String {
    match Path::new(CRATE).canonicalize() {
        Ok(place) => format!("path = \"{}\"", quoted(&place)),
        Err(_) => format!("version = \"{}\"", env!("CARGO_PKG_VERSION")),
    }
}

/// A path within a text in quotes.
fn quoted(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"")
}

fn fault_at(place: &Path, fault: &std::io::Error) -> Failure {
    Failure::other(format!("{} cannot be made: {fault}", place.display()))
}
