//! A page that follows a task through `/api/tasks/{id}/events`.

use futures_util::StreamExt as _;
use serde_json::Value;
use tokio::time::Instant;

use crate::specialist::HALF_DONE;

/// When the page showed what the webhook was told.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seen {
    pub(crate) half: Option<Instant>,
    pub(crate) end: Option<Instant>,
}

/// Follows a task to its end.
pub(crate) async fn follow(http: reqwest::Client, base: String, cookie: String, task: String) -> Seen {
    let mut seen = Seen::default();
    let mut after = String::from("0");
    // A stream ends after a while; a browser then comes back by itself.
    for _ in 0..10 {
        let url = format!("{base}/api/tasks/{task}/events");
        let call = http
            .get(url)
            .header("cookie", &cookie)
            .header("last-event-id", &after);
        let Ok(answer) = call.send().await else { continue };
        assert!(answer.status().is_success(), "{answer:?}");
        let (mut frames, mut text) = (answer.bytes_stream(), String::new());
        while let Some(Ok(frame)) = frames.next().await {
            let now = Instant::now();
            text.push_str(&String::from_utf8_lossy(&frame));
            while let Some((event, rest)) = text.split_once("\n\n") {
                let line = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
                if let Some(id) = line("id: ") {
                    id.clone_into(&mut after);
                }
                if let Some(data) = line("data: ") {
                    note(data, now, &mut seen);
                }
                text = rest.to_owned();
            }
        }
        if seen.end.is_some() {
            break;
        }
    }
    seen
}

fn note(data: &str, now: Instant, seen: &mut Seen) {
    let event: Value = serde_json::from_str(data).unwrap_or_default();
    if event["type"] != "status" {
        return;
    }
    if event["message"] == HALF_DONE {
        seen.half.get_or_insert(now);
    }
    if event["state"] == "completed" {
        seen.end.get_or_insert(now);
    }
}
