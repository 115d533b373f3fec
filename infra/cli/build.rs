//! The version that `--version` says: with the commit where it is built from a clone.

use std::process::Command;

fn main() {
    let version = env!("CARGO_PKG_VERSION");
    let asked = Command::new("git")
        .args(["rev-parse", "--short=10", "HEAD"])
        .output();
    let commit = asked.ok().filter(|told| told.status.success());
    let commit = commit.map(|told| String::from_utf8_lossy(&told.stdout).trim().to_owned());
    let told = commit
        .filter(|commit| !commit.is_empty())
        .map_or(version.to_owned(), |commit| format!("{version} ({commit})"));
    println!("cargo::rustc-env=SWITCHYARD_VERSION={told}");
    println!("cargo::rerun-if-changed=../../.git/HEAD");
    println!("cargo::rerun-if-changed=../../.git/logs/HEAD");
}
