//! Texts as large as they may be, made to be gone through for ever or to go ever deeper: each is answered in its time, and the system
//! is there after it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use system_testing::Local;

/// What such a text is made of: words where a code may stand, changes of mind, and what may be a day or a price.
const WORDS: [&str; 3] = ["it Is ", "no, sorry, I mean ", "1/2-3.4,5 "];
/// Longest that one may take, also on a busy machine: a text that is gone through once more for each of its words takes many minutes.
const LONGEST: Duration = Duration::from_secs(60);

fn giant(word: &str, bytes: usize) -> String {
    format!("Weather in Oslo, {}in Lyon", word.repeat(bytes / word.len()))
}

/// An agent, and a token for those that want one.
struct Asked {
    url: String,
    token: Option<String>,
}

impl Asked {
    async fn call(&self, method: &str, params: Value) -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut request = system_testing::user::http()
            .post(&self.url)
            .header("a2a-version", "1.0")
            .json(&body);
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        let answer = request.send().await.expect("an answer");
        answer.json::<Value>().await.expect("JSON")["result"].take()
    }

    /// Has it read a text, until it has said something to it.
    async fn reads(&self, id: &str, text: &str) {
        let message = json!({"messageId": id, "role": "ROLE_USER", "parts": [{"text": text}]});
        let now = json!({"returnImmediately": true});
        let begun = Instant::now();
        let sent = self
            .call("SendMessage", json!({"message": message, "configuration": now}))
            .await;
        let task = sent["task"]["id"]
            .as_str()
            .unwrap_or_else(|| panic!("{sent}"))
            .to_owned();
        loop {
            let found = self
                .call("GetTask", json!({"id": task, "historyLength": 0}))
                .await;
            let state = found["status"]["state"].as_str().unwrap_or_default();
            let begins = ["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"].contains(&state);
            assert!(
                !state.is_empty() && begun.elapsed() < LONGEST,
                "{id} at {}: {found}",
                self.url
            );
            if !begins {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_giant_text_is_read_in_its_time_by_the_agents_and_by_the_chat() {
    let local = Local::start().await;
    let agent = |name: &str| {
        local
            .endpoint(&format!("/agents/{name}"))
            .trim_end_matches('/')
            .to_owned()
    };
    let calendar = agent("calendar");
    let agents = [
        Asked {
            url: agent("weather"),
            token: None,
        },
        Asked {
            url: agent("airbnb"),
            token: None,
        },
        Asked {
            token: local.system.token("acme", "giant", &calendar),
            url: calendar,
        },
    ];
    for (number, word) in WORDS.into_iter().enumerate() {
        for agent in &agents {
            agent
                .reads(&format!("giant-{number}"), &giant(word, 200_000))
                .await;
        }
        let begun = Instant::now();
        local.user("acme").ask(&giant(word, 110_000)).await;
        assert!(begun.elapsed() < LONGEST, "{word:?} in the chat");
    }
    let user = local.user("acme");
    let answer = user.ask("Weather in Oslo tomorrow?").await;
    user.until(&answer.task_id(), &["completed"]).await;
    local.system.stop().await;
}
