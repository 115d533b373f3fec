//! `switchyard doctor`: what of this machine the system needs or can use, and whether the running system answers as it should.

use std::process::{Command, Stdio};

use clap::Args;
use serde_json::json;

use crate::Failure;
use crate::verify::Verify;

/// Look at this machine and at the running system, and say what is missing
#[derive(Args)]
pub(crate) struct Doctor {
    #[command(flatten)]
    verify: Verify,
}

/// Programs that something here uses, how each says its version, and what needs it.
const PROGRAMS: [(&str, &str, &str); 6] = [
    ("cargo", "--version", "build and run from a clone"),
    ("node", "--version", "develop the page, and its tests"),
    ("python3", "--version", "agents in Python, and the tests"),
    ("mosquitto", "-h", "up --mqtt spawn"),
    ("docker", "--version", "sam local"),
    ("sam", "--version", "deploy to AWS"),
];

/// Tells whether something is there, and what there is to say of it.
fn tell(name: &str, is_there: bool, note: &str) {
    let mark = if is_there { '✓' } else { '–' };
    told!(
        json!({"check": name, "found": is_there, "note": note}),
        "  {mark} {name:10}  {note}"
    );
}

fn heading(text: &str) {
    if !crate::out::is_json() {
        outln!("{text}");
    }
}

impl Doctor {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        heading("This machine");
        for (program, argument, what) in PROGRAMS {
            let ran = Command::new(program).arg(argument).stdin(Stdio::null()).output();
            let said = ran
                .ok()
                .map(|ran| String::from_utf8_lossy(&ran.stdout).into_owned());
            let version = said
                .as_deref()
                .and_then(|said| said.lines().next())
                .map(str::to_owned);
            match version {
                Some(version) => tell(program, true, &version),
                None => tell(program, false, &format!("is not here; needed to {what}")),
            }
        }
        match crate::up::cache() {
            Some(cache) => {
                let is_there = std::fs::read_dir(&cache).is_ok_and(|mut entries| entries.next().is_some());
                let note = match is_there {
                    true => "the model of sentences is there",
                    false => "the model of sentences is fetched at the first start (91 MB)",
                };
                tell("sentences", is_there, note);
            }
            None => {
                let note = "there is no HOME to keep the model of sentences in: words are matched only";
                tell("sentences", false, note);
            }
        }
        heading("\nThe running system");
        self.verify.run().await
    }
}
