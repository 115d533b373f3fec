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
    (
        "requirements.txt",
        include_str!("../templates/python/requirements.txt"),
    ),
    ("test_agent.py", include_str!("../templates/python/test_agent.py")),
];
const TYPESCRIPT: Files = &[
    ("README.md", include_str!("../templates/typescript/README.md")),
    ("agent.ts", include_str!("../templates/typescript/agent.ts")),
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
        let folder = self.name.to_lowercase().replace([' ', '.', '_'], "-");
        let folder = self.into.join(folder);
        let endpoints = self.place.endpoints_file();
        let endpoints = std::path::absolute(&endpoints).map_err(Failure::other)?;
        let endpoints = endpoints
            .to_string_lossy()
            .replace('\\', "\\\\")
            .replace('"', "\\\"");
        fs::create_dir(&folder).map_err(|fault| fault_at(&folder, &fault))?;
        let (files, main) = match self.sdk.python {
            true => (PYTHON, "agent.py"),
            false => (TYPESCRIPT, "agent.ts"),
        };
        for (file, text) in files {
            let text = text
                .replace("AGENT_NAME", &self.name)
                .replace("ENDPOINTS_FILE", &endpoints);
            let file = folder.join(file);
            fs::write(&file, text).map_err(|fault| fault_at(&file, &fault))?;
        }
        outln!(
            "made {0}: what it does is in {0}/{main}, how it is started in {0}/README.md",
            folder.display()
        );
        Ok(())
    }
}

fn fault_at(place: &Path, fault: &std::io::Error) -> Failure {
    Failure::other(format!("{} cannot be made: {fault}", place.display()))
}
