//! The bridge as a process of its own, and what stands in for Secrets Manager before it.

use std::fs::OpenOptions;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use auth::{Sealer, TrustedIssuer};
use axum::Json;
use axum::routing::post;
use domain::{ExposeSecret as _, SystemEntropy};
use serde_json::{Value, json};
use url::Url;

/// How it is started, again and again.
pub(crate) struct Bridge {
    pub(crate) url: Url,
    program: PathBuf,
    variables: Vec<(&'static str, String)>,
    process: Option<Child>,
    log: PathBuf,
}

impl Bridge {
    /// For these agents at that broker; hosts of these issuers may call. What it says goes into a file of that folder.
    pub(crate) async fn new(
        folder: &Path,
        broker: SocketAddr,
        agents: &[Value],
        issuers: &[TrustedIssuer],
    ) -> Self {
        let secrets = secrets().await;
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let listen = free.local_addr().expect("an address");
        drop(free);
        let url = format!("http://{listen}/");
        let variables = vec![
            ("LISTEN", listen.to_string()),
            ("BRIDGE_URL", url.clone()),
            ("SEALING_KEYS_SECRET", "sealing".to_owned()),
            ("AWS_ENDPOINT_URL_SECRETS_MANAGER", secrets),
            ("AWS_REGION", "eu-north-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", "AKIACHAOS".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "none".to_owned()),
            ("ALLOW_LOOPBACK", "true".to_owned()),
            ("MQTT_BROKER", format!("mqtt://{broker}")),
            ("MQTT_ORGS", json!(["chaos", "switchyard"]).to_string()),
            ("MQTT_AGENTS", json!(agents).to_string()),
            ("TRUSTED_ISSUERS", json!(issuers).to_string()),
        ];
        let mut program = std::env::current_exe().expect("a program");
        program.set_file_name("mqtt_bridge");
        assert!(
            program.exists(),
            "{} is missing: cargo build -p mqtt_bridge",
            program.display()
        );
        Self {
            url: url.parse().expect("a URL"),
            program,
            variables,
            process: None,
            log: folder.join("bridge.log"),
        }
    }

    /// The end of what it said.
    pub(crate) fn said(&self) -> String {
        let said = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = said.lines().rev().take(20).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }

    /// Whether it has ended by itself.
    pub(crate) fn is_gone(&mut self) -> bool {
        self.process
            .as_mut()
            .is_some_and(|process| !matches!(process.try_wait(), Ok(None)))
    }

    pub(crate) fn start(&mut self) {
        let log = OpenOptions::new().create(true).append(true).open(&self.log);
        let log = log.expect("a file for what the bridge says");
        let process = Command::new(&self.program)
            .env_clear()
            .envs(self.variables.iter().map(|(name, value)| (*name, value.as_str())))
            .stdout(log.try_clone().expect("the same file"))
            .stderr(log)
            .stdin(Stdio::null())
            .spawn();
        self.process = Some(process.expect("the bridge starts"));
    }

    /// As a crash would end it.
    pub(crate) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Stands in for Secrets Manager; its address.
async fn secrets() -> String {
    let key = Sealer::generate_key(&SystemEntropy).expose_secret().to_owned();
    let told = json!([["k1", key]]).to_string();
    let router = axum::Router::new().route(
        "/",
        post(move || async move { Json(json!({ "Name": "sealing", "SecretString": told })) }),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}
