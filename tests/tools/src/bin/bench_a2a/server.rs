//! A server as a process of its own.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tools::load::processor_time;

/// A server that says where it listens, and ends with this value.
pub(crate) struct Server {
    pub(crate) name: &'static str,
    process: Child,
    pub(crate) url: String,
    pub(crate) http: reqwest::Client,
}

impl Server {
    pub(crate) fn start(name: &'static str, mut command: Command) -> Self {
        let mut process = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut line = String::new();
        let stdout = process.stdout.take().expect("its output is piped");
        BufReader::new(stdout)
            .read_line(&mut line)
            .expect("it says where it listens");
        let said: Value =
            serde_json::from_str(&line).unwrap_or_else(|_| panic!("{name} said {line:?}, not its URL"));
        Self {
            name,
            process,
            url: said["url"].as_str().expect("a URL").to_owned(),
            http: system_testing::user::http(),
        }
    }

    pub(crate) async fn call(&self, method: &str, params: Value) -> reqwest::Response {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        self.http
            .post(&self.url)
            .header("A2A-Version", "1.0")
            .header("content-type", "application/json")
            .body(body.to_string())
            .send()
            .await
            .unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    /// The id of the process.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// The processor time that the process has taken so far.
    pub(crate) fn cpu(&self) -> Duration {
        processor_time(self.id())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
