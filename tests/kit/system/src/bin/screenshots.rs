//! Pictures of the page in its states, for people to look at: `cargo run -p system_testing --bin screenshots -- docs/shots`.
//!
//! A browser does it, driven by `tests/js/browser/screenshots.mjs`, before a system of today's code: `tests/run tools` installs what
//! that needs.

use std::env;
use std::error::Error;
use std::path::Path;
use std::process::Command;

fn main() -> Result<(), Box<dyn Error>> {
    let mut given = env::args_os().skip(1);
    let (Some(folder), None) = (given.next(), given.next()) else {
        return Err("usage: screenshots FOLDER".into());
    };
    let folder = env::current_dir()?.join(folder);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    run(Command::new(env!("CARGO"))
        .args(["build", "--locked", "--bin", "switchyard"])
        .current_dir(&root))?;
    run(Command::new("node")
        .arg("tests/js/browser/screenshots.mjs")
        .arg(folder)
        .current_dir(&root))
}

/// Runs it to its end, with our own output.
fn run(command: &mut Command) -> Result<(), Box<dyn Error>> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command
        .status()
        .map_err(|error| format!("{program} cannot be run: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("{program} failed: {status}").into()),
    }
}
