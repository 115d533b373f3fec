//! A specialist of which nothing is heard, from the user's side: the task becomes `unknown` with the reason, and takes a
//! late result, a retry by hand, or a cancel.

use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use system_testing::{Local, User};

use crate::scripted::{Scripted, Sent};

const PROMPT: &str = "Am I free on Friday in my calendar?";

struct Silent {
    local: Local,
    user: User,
    agent: Scripted,
    sent: Sent,
    id: String,
}

/// A task whose specialist took it and said nothing more until the time limit.
async fn silent() -> Silent {
    let local = Local::start().await;
    let agent = Scripted::start(&local, "calendar", PROMPT).await;
    let user = local.user("acme");
    let (id, sent) = tokio::join!(user.begin(PROMPT), agent.nth(1));
    for _ in 0..40 {
        local.advance(Duration::from_secs(120)).await;
        if user.task(&id).await["status"] == "unknown" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let task = user.until(&id, &["unknown"]).await;
    assert!(
        task.to_string()
            .contains("Nothing was heard from calendar within 30 minutes"),
        "it says why: {task:#}"
    );
    Silent {
        local,
        user,
        agent,
        sent,
        id,
    }
}

impl Silent {
    async fn post(&self, action: &str) -> Value {
        let path = format!("/api/tasks/{}/{action}", self.id);
        let answer = self.user.call(Method::POST, &path, Some(json!({}))).await;
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
        answer.json()
    }

    async fn end(self) {
        assert_eq!(self.agent.sent().len(), 1, "it was asked once");
        self.local.system.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_task_takes_its_result_however_late() {
    let silent = silent().await;
    silent.local.advance(Duration::from_secs(3 * 3600)).await;
    let (agent, sent) = (&silent.agent, &silent.sent);
    agent
        .reports(sent, "TASK_STATE_COMPLETED", None, Some("You are free."))
        .await;
    let task = silent.user.until(&silent.id, &["completed"]).await;
    assert!(task.to_string().contains("You are free."), "{task:#}");
    silent.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_task_is_asked_after_when_its_user_says_so() {
    let silent = silent().await;
    silent.agent.knows(json!({
        "id": silent.sent.remote, "contextId": "c", "status": { "state": "TASK_STATE_COMPLETED" },
        "artifacts": [{ "artifactId": "a", "parts": [{ "text": "You are free." }] }],
    }));
    let retried = silent.post("retry").await;
    assert_eq!(retried["id"], json!(silent.id), "the same task goes on");
    let task = silent.user.until(&silent.id, &["completed"]).await;
    assert!(task.to_string().contains("You are free."), "{task:#}");
    silent.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_task_can_be_called_off_and_takes_nothing_then() {
    let silent = silent().await;
    assert_eq!(silent.post("cancel").await["status"], "canceled");
    let (agent, sent) = (&silent.agent, &silent.sent);
    agent
        .reports(sent, "TASK_STATE_COMPLETED", None, Some("You are free."))
        .await;
    let task = silent.user.task(&silent.id).await;
    assert_eq!(task["status"], "canceled");
    assert!(!task.to_string().contains("You are free."), "{task:#}");
    silent.end().await;
}
