//! Holds answers of a running system against `docs/openapi.json`, by a validator that is not ours.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// An answer as the check takes it; the path as the document writes it, `/api/tasks/{id}`.
#[must_use]
pub fn answer((method, path): (&str, &str), status: u16, media: &str, body: &str) -> Value {
    json!({ "method": method, "path": path, "status": status, "media": media, "body": body })
}

/// Panics where the document is not valid, or an answer is none that it knows; says how many kinds of answers fit.
#[must_use]
pub fn check(answers: Vec<Value>) -> String {
    let folder = crate::folder();
    let mut python = Command::new(crate::python())
        .arg(folder.join("python/check_openapi.py"))
        .arg(folder.join("../docs/openapi.json"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("python starts");
    let mut input = python.stdin.take().expect("its input is piped");
    // The script reads all of it before it writes anything.
    input
        .write_all(Value::from(answers).to_string().as_bytes())
        .expect("it reads");
    drop(input);
    let done = python.wait_with_output().expect("it ends");
    assert!(
        done.status.success(),
        "answers that docs/openapi.json does not describe:\n{}",
        String::from_utf8_lossy(&done.stderr)
    );
    String::from_utf8_lossy(&done.stdout).into_owned()
}
