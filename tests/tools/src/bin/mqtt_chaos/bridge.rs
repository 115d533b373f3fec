//! The bridge as a process of its own, and what stands in for Secrets Manager before it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use auth::Sealer;
use axum::Json;
use axum::routing::post;
use domain::{ExposeSecret as _, SystemEntropy};
use serde_json::{Value, json};
use url::Url;

/// How it is started, again and again.
pub(crate) struct Bridge {
    program: PathBuf,
    variables: Vec<(&'static str, String)>,
    process: Option<Child>,
}

impl Bridge {
    /// For these agents, by their addresses, at that broker.
    pub(crate) async fn new(broker: SocketAddr, agents: &[(&str, &Url)]) -> Self {
        let secrets = secrets().await;
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let listen = free.local_addr().expect("an address");
        drop(free);
        let agents: Vec<Value> = agents
            .iter()
            .map(|(address, url)| json!({ "address": address, "url": url }))
            .collect();
        let variables = vec![
            ("LISTEN", listen.to_string()),
            ("BRIDGE_URL", format!("http://{listen}/")),
            ("SEALING_KEYS_SECRET", "sealing".to_owned()),
            ("AWS_ENDPOINT_URL_SECRETS_MANAGER", secrets),
            ("AWS_REGION", "eu-north-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", "AKIACHAOS".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "none".to_owned()),
            ("ALLOW_LOOPBACK", "true".to_owned()),
            ("MQTT_BROKER", format!("mqtt://{broker}")),
            ("MQTT_ORGS", json!(["chaos"]).to_string()),
            ("MQTT_AGENTS", json!(agents).to_string()),
        ];
        let mut program = std::env::current_exe().expect("a program");
        program.set_file_name("mqtt_bridge");
        assert!(
            program.exists(),
            "{} is missing: cargo build -p mqtt_bridge",
            program.display()
        );
        Self {
            program,
            variables,
            process: None,
        }
    }

    pub(crate) fn start(&mut self) {
        let process = Command::new(&self.program)
            .env_clear()
            .envs(self.variables.iter().map(|(name, value)| (*name, value.as_str())))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
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
