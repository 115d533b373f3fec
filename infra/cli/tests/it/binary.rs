//! The binary itself, run as a user runs it.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use local::Endpoints;

/// Runs a command to its end.
pub(crate) fn switchyard(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_switchyard"));
    command
        .env("SWITCHYARD_UNDERSTANDING", "words")
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

pub(crate) fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The one sentence a failing command says.
pub(crate) fn sentence(output: &Output) -> String {
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(text.lines().count(), 1, "one line: {text}");
    assert!(text.starts_with("switchyard: "), "{text}");
    text
}

/// `switchyard up`, ready.
pub(crate) struct Up {
    pub(crate) child: Child,
    pub(crate) endpoints: Endpoints,
}

impl Up {
    pub(crate) fn start(data: &Path, more: &[&str]) -> Self {
        let file = data.join("endpoints.json");
        let _from_an_earlier_run = std::fs::remove_file(&file);
        let mut arguments = vec!["up", "--port", "0", "--data", data.to_str().unwrap()];
        arguments.extend(more);
        let mut child = command(&arguments).spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(30);
        let text = loop {
            if let Ok(text) = std::fs::read_to_string(&file) {
                break text;
            }
            let ended = child.try_wait().unwrap();
            if ended.is_some() || Instant::now() >= deadline {
                let _over = child.kill();
                panic!("it did not start: {ended:?}");
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        Self {
            child,
            endpoints: serde_json::from_str(&text).unwrap(),
        }
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-s", name, &pid])
                .status()
                .unwrap()
                .success()
        );
    }

    /// Signals, and waits for the end.
    pub(crate) fn end(mut self, signal: &str) -> Output {
        self.signal(signal);
        let child = std::mem::replace(&mut self.child, command(&["--version"]).spawn().unwrap());
        child.wait_with_output().unwrap()
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _over = self.child.kill();
        let _reaped = self.child.wait();
    }
}
