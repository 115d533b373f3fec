//! Peers that are not ours: agents and MCP servers on the official Python SDKs, as processes of their own.

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
        let delay = delay.to_string();
        let arguments = ["--generation", generation, "--delay", &delay];
        Self::of(started("venv", "python/currency_agent.py", &arguments))
    }

    /// Starts one that answers so many seconds later, when it is done, by a mere message.
    #[must_use]
    pub fn start_blocking(delay: f32) -> Self {
        let arguments = ["--blocking", "--delay", &delay.to_string()];
        Self::of(started("venv", "python/currency_agent.py", &arguments))
    }

    /// Starts another agent on the official Python SDK, by its file.
    #[must_use]
    pub fn start_python(file: &str) -> Self {
        Self::of(started("venv", file, &["--port", "0"]))
    }

    /// Starts another agent on the official JavaScript SDK, by its file.
    #[must_use]
    pub fn start_node(file: &str) -> Self {
        Self::of(node(file, &["--port", "0"]))
    }

    /// Starts the one of `js/a2a-agent.mjs`, on the official JavaScript SDK.
    #[must_use]
    pub fn start_javascript(arguments: &[&str]) -> Self {
        Self::of(node("js/a2a-agent.mjs", arguments))
    }

    /// Starts any other agent that says where it listens.
    #[must_use]
    pub fn start_program(command: &mut Command) -> Self {
        Self::of(listening(command))
    }

    fn of((process, said): (Child, Value)) -> Self {
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

/// Starts a script in an environment; the process, and the line of JSON that it says once it listens.
fn started(environment: &str, script: &str, arguments: &[&str]) -> (Child, Value) {
    listening(
        Command::new(crate::python_of(environment))
            .arg(crate::folder().join(script))
            .args(arguments),
    )
}

/// The same of a script for Node, which ends with its standard input.
fn node(script: &str, arguments: &[&str]) -> (Child, Value) {
    let mut command = Command::new("node");
    command.arg(crate::folder().join(script)).args(arguments);
    listening(command.stdin(Stdio::piped()))
}

/// Starts a program; the process, and the line of JSON that it says once it listens.
fn listening(command: &mut Command) -> (Child, Value) {
    let mut process = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the script starts");
    let mut line = String::new();
    let mut stdout = BufReader::new(process.stdout.take().expect("its output is piped"));
    stdout.read_line(&mut line).expect("it says where it listens");
    // Some libraries say more there later, and die where nobody reads it.
    std::thread::spawn(move || std::io::copy(&mut stdout, &mut std::io::sink()));
    (process, serde_json::from_str(&line).expect("a line of JSON"))
}

/// An MCP server that is not ours, as of `python/mcp_server.py`; it ends with this value.
pub struct McpServer {
    process: Child,
    /// Its URL.
    pub url: String,
}

impl McpServer {
    /// Starts it in an environment, `mcp` or `mcp1`, which are the versions of the SDK, and waits until it listens.
    #[must_use]
    pub fn start(environment: &str, arguments: &[&str]) -> Self {
        Self::of(started(environment, "python/mcp_server.py", arguments))
    }

    /// Starts the server for stays that is published on npm, behind HTTP (`js/mcp-airbnb.mjs`) and without a network.
    #[must_use]
    pub fn start_published() -> Self {
        Self::of(node("js/mcp-airbnb.mjs", &[]))
    }

    /// Starts the server of the protocol's own project that has something of everything, behind `js/mcp-everything.mjs`.
    #[must_use]
    pub fn start_everything() -> Self {
        Self::of(node("js/mcp-everything.mjs", &[]))
    }

    fn of((process, said): (Child, Value)) -> Self {
        let url = said["url"].as_str().expect("a URL").to_owned();
        Self { process, url }
    }
}

/// Somebody else's OpenID provider, `js/oidc-provider.mjs`; it ends with this value.
pub struct OpenidProvider {
    process: Child,
    /// Its issuer identifier.
    pub issuer: String,
}

impl OpenidProvider {
    /// Starts it for one client, the chat at this base, and waits until it listens.
    #[must_use]
    pub fn start(client: &str, secret: &str, base: &str) -> Self {
        let (process, said) = node("js/oidc-provider.mjs", &[client, secret, base]);
        let issuer = said["issuer"].as_str().expect("an issuer").to_owned();
        Self { process, issuer }
    }

    /// Has it do what only a test wants: see the script.
    pub async fn does(&self, what: &str) {
        let url = format!("{}/test/{what}", self.issuer);
        let answer = crate::user::http().post(url).send().await.expect("an answer");
        assert!(answer.status().is_success(), "{what}: {answer:?}");
    }
}

impl Drop for OpenidProvider {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for McpServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for CurrencyAgent {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
