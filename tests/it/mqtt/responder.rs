//! EMQX's Responder as a process of its own.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::Value;

use super::world::Broker;

/// The responder of `python/mqtt_responder.py`; it is killed when this is dropped.
pub(super) struct Echo {
    process: Child,
    runs: Arc<AtomicUsize>,
    /// Its card, as it is on the broker.
    pub(super) card: Value,
}

impl Echo {
    /// Starts it, and waits until its card says that it is there. Each task takes so many seconds.
    pub(super) async fn start(broker: &Broker, address: &str, seconds: f32) -> Self {
        let (_session, mut told) = broker
            .open("test/echo/watcher", vec![format!("$a2a/v1/discovery/{address}")])
            .await;
        let mut process = Command::new(system_testing::python_of("mqtt"))
            .arg(system_testing::folder().join("python/mqtt_responder.py"))
            .args([&broker.running.port().to_string(), address, &seconds.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the script starts");
        let runs = Arc::new(AtomicUsize::new(0));
        let (said, counted) = (process.stdout.take().expect("its output"), runs.clone());
        std::thread::spawn(move || {
            for line in BufReader::new(said).lines() {
                if line.is_ok_and(|line| line.starts_with("runs ")) {
                    counted.fetch_add(1, Ordering::SeqCst);
                }
            }
        });
        let online = async {
            loop {
                let card = told.recv().await.expect("a session").publication;
                if card.properties.one("a2a-status") == Ok(Some("online")) {
                    return card;
                }
            }
        };
        let card = tokio::time::timeout(Duration::from_secs(20), online).await;
        let card = card.expect("its card comes").payload;
        Self {
            process,
            runs,
            card: serde_json::from_slice(&card).expect("JSON"),
        }
    }

    /// How many tasks it has run.
    pub(super) fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }

    /// Kills it, as a crash would.
    pub(super) fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.kill();
    }
}
