//! 1,000 sends at once over two tenants: none lost, none doubled, no 5xx, nobody sees another's.

use std::collections::HashSet;

use futures_util::StreamExt;
use serde_json::{Value, json};
use tests::Local;

const SENDS: usize = 1_000;
const AT_ONCE: usize = 64;

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_concurrent_sends_over_two_tenants() {
    let local = Local::start().await;
    let http = tests::user::http();
    let side = |tenant: &str| {
        let host = local
            .endpoint(&format!("/tenants/{tenant}/host_agent"))
            .trim_end_matches('/')
            .to_owned();
        let owners: Vec<String> = (0..5)
            .map(|owner| {
                local
                    .system
                    .token(tenant, &format!("owner-{owner}"), &host)
                    .expect("a token")
            })
            .collect();
        (host, owners)
    };
    let sides = [side("acme"), side("globex")];

    // Every fourth message is sent twice at once, as an impatient client does.
    let mut sends = Vec::new();
    for number in 0..SENDS {
        let (host, owners) = &sides[number % 2];
        let token = &owners[(number / 2) % owners.len()];
        let times = if number % 4 == 0 { 2 } else { 1 };
        for _ in 0..times {
            sends.push((number, host.clone(), token.clone()));
        }
    }
    let answers: Vec<(usize, String)> = futures_util::stream::iter(sends)
        .map(|(number, host, token)| {
            let http = http.clone();
            async move {
                let body = json!({ "jsonrpc": "2.0", "id": number, "method": "SendMessage", "params": {
                    "message": { "messageId": format!("load-{number}"), "role": "ROLE_USER", "parts": [{ "text": "hello" }] },
                    "configuration": { "returnImmediately": true } } });
                let answer = http.post(&host).bearer_auth(&token).header("a2a-version", "1.0").json(&body).send().await.expect("an answer");
                assert_eq!(answer.status(), 200);
                let answer: Value = answer.json().await.expect("JSON");
                let id = answer["result"]["task"]["id"].as_str().unwrap_or_else(|| panic!("{number}: {answer}"));
                (number, id.to_owned())
            }
        })
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;

    let mut by_number: Vec<HashSet<String>> = vec![HashSet::new(); SENDS];
    for (number, id) in &answers {
        by_number[*number].insert(id.clone());
    }
    assert!(
        by_number.iter().all(|ids| ids.len() == 1),
        "one message, one task"
    );
    let all: HashSet<&String> = by_number.iter().flatten().collect();
    assert_eq!(all.len(), SENDS, "no two messages share a task");

    // Every task ends, and is found by its owner alone.
    let checks = futures_util::stream::iter(by_number.iter().enumerate())
        .map(|(number, ids)| {
            let (http, sides) = (http.clone(), &sides);
            let id = ids.iter().next().expect("one").clone();
            async move {
                let (host, owners) = &sides[number % 2];
                let mine = &owners[(number / 2) % owners.len()];
                let url = format!("{host}/tasks/{id}");
                let mut state = String::new();
                for _ in 0..600 {
                    let task: Value = http
                        .get(&url)
                        .bearer_auth(mine)
                        .send()
                        .await
                        .expect("an answer")
                        .json()
                        .await
                        .expect("JSON");
                    state = task["status"]["state"].as_str().unwrap_or_default().to_owned();
                    if state == "TASK_STATE_COMPLETED" {
                        break;
                    }
                    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
                }
                assert_eq!(state, "TASK_STATE_COMPLETED", "task {number}");
                let neighbour = &owners[(number / 2 + 1) % owners.len()];
                assert_eq!(
                    http.get(&url)
                        .bearer_auth(neighbour)
                        .send()
                        .await
                        .expect("an answer")
                        .status(),
                    404
                );
                let (other_host, other_owners) = &sides[(number + 1) % 2];
                let theirs = format!("{other_host}/tasks/{id}");
                let token = &other_owners[(number / 2) % other_owners.len()];
                assert_eq!(
                    http.get(&theirs)
                        .bearer_auth(token)
                        .send()
                        .await
                        .expect("an answer")
                        .status(),
                    404
                );
            }
        })
        // Few at once: the workers need the processors more than the ones who wait.
        .buffer_unordered(4);
    assert_eq!(checks.count().await, SENDS);
    local.system.stop().await;
}
