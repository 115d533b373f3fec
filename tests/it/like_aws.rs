//! The local system as unkind as AWS (`up --like-aws`): what its users see is the same.

use local::{LikeAws, Options, Tempo};
use serde_json::Value;
use system_testing::Local;

use crate::consent::{agree, link, profile};

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_with_a_consent_is_answered_by_wakes_that_come_twice_and_late() {
    let local = Local::start_as(Options {
        like_aws: Some(LikeAws::default()),
        tempo: Tempo::like_aws(),
        ..Options::default()
    })
    .await;
    let user = local.user("acme");
    let asked = user.ask("Where is my order 1003?").await;
    let waiting = user.until(&asked.task_id(), &["auth-required"]).await;
    let base = local.endpoint("/tenants/acme/base");
    let users: &Value = &local.endpoints()["users"]["acme"];
    let page = agree(&mut profile(&user, base), &link(&waiting), &users[0]).await;
    assert_eq!(page.status, 200, "{page:?}");
    let done = user.until(&asked.task_id(), &["completed"]).await;
    let states: Vec<&str> = done["history"]
        .as_array()
        .expect("states")
        .iter()
        .filter_map(|state| state["state"].as_str().or(state["status"].as_str()))
        .collect();
    assert_eq!(
        states.iter().filter(|state| **state == "completed").count(),
        1,
        "{done:#}"
    );
    assert!(done["artifacts"].to_string().contains("1003"), "{done:#}");
}
