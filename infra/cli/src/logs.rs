//! `switchyard logs`: what the running system logs, out of the file in its data folder.

use std::io::{BufRead as _, BufReader, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde_json::Value;

use crate::Failure;
use crate::agents::{printable, text};
use crate::place::RunningSystem;

/// The log, in the data folder.
pub(crate) const FILE: &str = "log.jsonl";
/// How often `--follow` looks.
const LOOK: Duration = Duration::from_millis(300);

/// Show what the running system logs
#[derive(Args)]
pub(crate) struct Logs {
    #[command(flatten)]
    place: RunningSystem,
    /// Only lines about this task, by its id or the beginning of that
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// Go on with what comes
    #[arg(long, short)]
    follow: bool,
}

impl Logs {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let file: PathBuf = self.place.beside(FILE);
        let mut reader = BufReader::new(opened(&file)?);
        let mut line = String::new();
        loop {
            if reader.read_line(&mut line).map_err(Failure::other)? > 0 && line.ends_with('\n') {
                self.show(line.trim_end());
                line.clear();
                continue;
            }
            if !self.follow {
                return Ok(());
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                _ = tokio::signal::ctrl_c() => return Ok(()),
            }
        }
    }

    fn show(&self, line: &str) {
        if self.task.as_ref().is_some_and(|id| !line.contains(id.as_str())) {
            return;
        }
        match serde_json::from_str::<Value>(line) {
            Ok(entry) => told!(entry, "{}", printed(&entry)),
            Err(_) => outln!("{line}"),
        }
    }
}

fn opened(file: &Path) -> Result<std::fs::File, Failure> {
    std::fs::File::open(file).map_err(|fault| match fault.kind() {
        ErrorKind::NotFound => Failure::other(format!(
            "there is no {}: a system that keeps nothing (`--memory`), or prints its log (`--log json`), keeps none",
            file.display()
        )),
        _ => Failure::other(format!("{}: {fault}", file.display())),
    })
}

/// An entry in a line: when, how bad, what, and everything else that it says.
fn printed(entry: &Value) -> String {
    let known = ["timestamp", "level", "message", "target", "span"];
    let more = entry.as_object().into_iter().flatten();
    let more = more.filter(|(name, _)| !known.contains(&name.as_str()));
    let more: String = more
        .map(|(name, value)| match value.as_str() {
            Some(value) => format!(" {name}={value}"),
            None => format!(" {name}={value}"),
        })
        .collect();
    let of = |pointer: &str| text(entry, pointer).unwrap_or_default();
    let time = of("/timestamp").get(11..19).unwrap_or_default();
    printable(&format!("{time} {} {}{more}", of("/level"), of("/message")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_entry_is_a_line() {
        let entry = json!({ "timestamp": "2026-11-28T02:41:15.161Z", "level": "WARN", "message": "late", "task.id": "t", "n": 2,
            "target": "host_agent" });
        assert_eq!(printed(&entry), "02:41:15 WARN late n=2 task.id=t");
    }
}
