//! The real command `switchyard`, as a process of its own that can be killed.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The path of a program of this build. `tests/run` builds it before the tests.
///
/// # Panics
/// Where it is missing.
#[must_use]
pub fn path(name: &str) -> PathBuf {
    let mut path = std::env::current_exe().expect("a test is a file");
    path.pop();
    if path.ends_with("deps") {
        path.pop();
    }
    let path = path.join(name);
    assert!(
        path.exists(),
        "{} is missing: `tests/run programs` makes it",
        path.display()
    );
    path
}

/// Runs the command to its end.
#[must_use]
pub fn run(arguments: &[&str]) -> Output {
    Command::new(path("switchyard"))
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("the command starts")
}

/// A running `switchyard up`.
pub struct Up {
    process: Child,
    /// What its `endpoints.json` holds.
    pub endpoints: Value,
    /// From start to ready.
    pub took: Duration,
}

impl Up {
    /// Starts it on a data folder and waits until it is ready.
    #[must_use]
    pub fn start(data: &Path, port: u16) -> Self {
        Self::start_more(data, port, &[])
    }

    /// The same with more arguments.
    #[must_use]
    pub fn start_more(data: &Path, port: u16, more: &[&str]) -> Self {
        let mut place = vec![OsStr::new("--data"), data.as_os_str()];
        place.extend(more.iter().map(OsStr::new));
        Self::start_with(&place, &data.join("endpoints.json"), port)
    }

    /// Starts one that keeps everything in memory, and waits until it is ready.
    #[must_use]
    pub fn in_memory(port: u16) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("endpoints.json");
        let place = [
            OsStr::new("--memory"),
            OsStr::new("--endpoints"),
            file.as_os_str(),
        ];
        Self::start_with(&place, &file, port)
    }

    fn start_with(place: &[&OsStr], file: &Path, port: u16) -> Self {
        let _ = std::fs::remove_file(file);
        let began = Instant::now();
        let mut process = Command::new(path("switchyard"))
            .env("SWITCHYARD_UNDERSTANDING", "words")
            .args(["up", "--port", &port.to_string()])
            .args(place)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the command starts");
        while !file.exists() {
            if let Some(status) = process.try_wait().expect("a process has a state") {
                panic!("switchyard up ended: {status}");
            }
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "switchyard up is not ready after a minute"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
        let took = began.elapsed();
        let endpoints = serde_json::from_slice(&std::fs::read(file).expect("readable")).expect("JSON");
        Self {
            process,
            endpoints,
            took,
        }
    }

    /// The id of the process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// A user of one of its tenants.
    #[must_use]
    pub fn base(&self, tenant: &str) -> &str {
        self.endpoints["tenants"][tenant]["base"]
            .as_str()
            .expect("a base URL")
    }

    /// SIGKILL: no word of warning.
    pub fn kill(&mut self) {
        self.process.kill().expect("it can be killed");
        self.process.wait().expect("it ends");
    }

    /// SIGTERM, and its exit code.
    #[must_use]
    pub fn terminate(mut self) -> Option<i32> {
        let id = self.process.id().to_string();
        Command::new("kill")
            .args(["-TERM", &id])
            .status()
            .expect("kill runs");
        self.process.wait().expect("it ends").code()
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A port that was free a moment ago.
#[must_use]
pub fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a free port")
        .port()
}
