//! Parts of one message: each shows in the answer's own stream as soon as it is there, and a denial ends its own alone.

use std::sync::Arc;

use domain::{ManualClock, Timestamp};
use local::Data;
use reqwest::StatusCode;
use serde_json::Value;
use system_testing::Local;
use system_testing::browser::Page;
use url::Url;

use super::agents::Agent;
use super::play;

const ASKED: &str =
    "Will it rain in Oslo tomorrow, where is my order 1003, and write a report about electric cars";

/// A job's state on a card.
fn state<'a>(card: &'a Value, agent: &str) -> &'a str {
    let jobs = card["data"]["jobs"].as_array().into_iter().flatten();
    let own = jobs.filter(|job| job["agentType"] == agent || job["agentName"] == agent);
    own.filter_map(|job| job["state"].as_str())
        .next()
        .unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn each_part_shows_as_soon_as_it_is_there_and_a_denial_ends_its_own_alone() {
    let clock = Arc::new(ManualClock::new(
        Timestamp::parse(play::BEGINS).expect("a moment"),
    ));
    let local = Local::resume((0, Data::Memory), Arc::clone(&clock), play::tenants()).await;
    let report = Agent::start(&local, "slow-report").await;
    let ticker = play::tick(clock);
    let user = local.user("acme");
    let chunks = user.chat_as_it_comes(("c", "m1", ASKED), |_| false).await;
    // The stream has ended with two parts open, and has the forecast.
    let cards: Vec<&Value> = chunks.iter().map(|(_, chunk)| chunk).collect();
    let cards: Vec<&Value> = cards
        .into_iter()
        .filter(|chunk| chunk["type"] == "data-task")
        .collect();
    let last = cards.last().expect("a card");
    let shown = last.to_string();
    assert_eq!(state(last, "Weather"), "completed", "{last:#}");
    assert_ne!(state(last, "Report"), "completed", "{last:#}");
    assert_eq!(last["data"]["state"], "auth-required", "{last:#}");
    assert!(shown.contains("Oslo"), "{last:#}");
    let said: String = chunks
        .iter()
        .filter_map(|(_, chunk)| chunk["delta"].as_str())
        .collect();
    assert!(
        said.contains("in Oslo tomorrow"),
        "the forecast does not wait: {said}"
    );

    let id = last["data"]["taskId"].as_str().expect("an id").to_owned();
    let link = user.task(&id).await["authUrl"]
        .as_str()
        .expect("a link")
        .to_owned();
    let base = local.endpoint("/tenants/acme/base").to_owned();
    let mut browser = user.browser(Url::parse(&base).expect("an address").path());
    let known = &local.endpoints()["users"]["acme"][0];
    let of = |name: &str| known[name].as_str().expect("a login").to_owned();
    let (name, password) = (of("username"), of("password"));
    let form = browser.open(&link).await;
    let fill = [("username", name.as_str()), ("password", password.as_str())];
    let page = browser.submit(&form, &fill).await;
    let denied = Page {
        html: page.html.replacen("<button", "<nothing", 1),
        ..page
    };
    assert_eq!(browser.submit(&denied, &[]).await.status, StatusCode::OK);
    // The report goes on, and the whole says what of it was done.
    let open = user.until(&id, &["working"]).await;
    assert!(open["completedAt"].is_null(), "{open:#}");
    let contexts =
        std::collections::BTreeSet::from([open["contextId"].as_str().unwrap_or_default().to_owned()]);
    report.finish_reports(&contexts).await;
    let done = user.until(&id, &["completed", "failed"]).await;
    ticker.abort();
    assert_eq!(done["status"], "completed", "{done:#}");
    assert!(
        done["statusMessage"].to_string().contains("2 of 3 done."),
        "{done:#}"
    );
    local.system.stop().await;
}
