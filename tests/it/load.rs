//! 1,000 sends at once over two tenants: none lost, none doubled, no 5xx, nobody sees another's.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use futures_util::StreamExt;
use serde_json::{Value, json};
use system_testing::Local;

const SENDS: usize = 1_000;
const AT_ONCE: usize = 64;

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_concurrent_sends_over_two_tenants() {
    let local = Local::start().await;
    let http = system_testing::user::http();
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

    // Every task ends, and each owner's list holds the owner's own and nothing else.
    let mut own: HashMap<(usize, usize), HashSet<String>> = HashMap::new();
    for (number, ids) in by_number.iter().enumerate() {
        let owner = (number % 2, (number / 2) % sides[number % 2].1.len());
        own.entry(owner).or_default().extend(ids.iter().cloned());
    }
    for ((side, owner), ids) in &own {
        let (host, owners) = &sides[*side];
        let mut completed = HashSet::new();
        for _ in 0..600 {
            completed = list(&http, host, &owners[*owner], "&status=TASK_STATE_COMPLETED").await;
            if completed.len() >= ids.len() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(250)).await;
            // On a machine so busy that the database did not answer in time, work is due again later.
            local.advance(Duration::from_secs(1)).await;
        }
        assert_eq!(completed, *ids, "owner {owner} of {host}: what completed");
        let all = list(&http, host, &owners[*owner], "").await;
        assert_eq!(all, *ids, "owner {owner} of {host}: all there is");
    }

    // Nor does anybody find another's by its id: a neighbour, or the same name at another tenant.
    for number in (0..SENDS).step_by(20) {
        let id = by_number[number].iter().next().expect("one");
        let (host, owners) = &sides[number % 2];
        let owner = (number / 2) % owners.len();
        let (other_host, other_owners) = &sides[(number + 1) % 2];
        for (host, token, expect) in [
            (host, &owners[owner], 200),
            (host, &owners[(owner + 1) % owners.len()], 404),
            (other_host, &other_owners[owner], 404),
        ] {
            let call = http.get(format!("{host}/tasks/{id}")).bearer_auth(token).send();
            assert_eq!(
                call.await.expect("an answer").status(),
                expect,
                "task {number} at {host}"
            );
        }
    }
    local.system.stop().await;
}

/// The ids of the owner's tasks, over all pages.
async fn list(http: &reqwest::Client, host: &str, token: &str, filter: &str) -> HashSet<String> {
    let (mut ids, mut page) = (HashSet::new(), String::new());
    loop {
        let url = format!("{host}/tasks?pageSize=100&historyLength=0{filter}&pageToken={page}");
        let call = http
            .get(url)
            .bearer_auth(token)
            .header("a2a-version", "1.0")
            .send();
        let listed: Value = call.await.expect("an answer").json().await.expect("JSON");
        let tasks = listed["tasks"].as_array().unwrap_or_else(|| panic!("{listed}"));
        ids.extend(
            tasks
                .iter()
                .filter_map(|task| task["id"].as_str().map(str::to_owned)),
        );
        match listed["nextPageToken"].as_str() {
            Some(next) if !next.is_empty() => next.clone_into(&mut page),
            _ => return ids,
        }
    }
}
