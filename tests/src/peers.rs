//! Peers that are not ours: agents on the official Python SDK, as processes of their own.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// The currency agent of `python/currency_agent.py`; it ends with this value.
pub struct CurrencyAgent {
    process: Child,
    /// Its URL.
    pub url: String,
    /// Its card's URL.
    pub card: String,
}

impl CurrencyAgent {
    /// Starts it and waits until it listens. `generation` is `1.0`, `0.3` or `both`; `delay` the seconds its work takes.
    #[must_use]
    pub fn start(generation: &str, delay: f32) -> Self {
        let script = crate::folder().join("python/currency_agent.py");
        let mut process = Command::new(crate::python())
            .arg(script)
            .args(["--generation", generation, "--delay", &delay.to_string()])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the agent starts");
        let mut line = String::new();
        let stdout = process.stdout.take().expect("its output is piped");
        BufReader::new(stdout)
            .read_line(&mut line)
            .expect("it says where it listens");
        let said: Value = serde_json::from_str(&line).expect("a line of JSON");
        let text = |name: &str| said[name].as_str().expect("a URL").to_owned();
        Self {
            process,
            url: text("url"),
            card: text("card"),
        }
    }

    /// How often its executor ran.
    pub async fn runs(&self) -> u64 {
        let stats = crate::user::http()
            .get(format!("{}stats", self.url))
            .send()
            .await
            .expect("it answers");
        let stats: Value = stats.json().await.expect("JSON");
        stats["runs"].as_u64().expect("a number")
    }
}

impl Drop for CurrencyAgent {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
