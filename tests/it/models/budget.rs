//! What a tenant may spend in a day: reserved before each call, never passed, and told in plain words where it is used up.

use std::time::Duration;

use domain::{Clock as _, SettingChange, Tenant};
use futures_util::StreamExt as _;
use serde_json::Value;
use store::DayUsage;
use system_testing::models::{BOTH, Piece, Stop};
use system_testing::{Local, User};

use super::walk::limited;
use super::*;

const AT_ONCE: usize = 50;
/// A prompt with one step is reserved some 5,500 tokens: not quite four of them.
const LIMIT: u64 = 20_000;

/// An answer that takes a while.
fn slow(dialect: Dialect) -> Reply {
    let mut pieces: Vec<Piece> = dialect.text("Good day.").into_iter().map(Piece::Bytes).collect();
    pieces.push(Piece::Pause(Duration::from_millis(100)));
    pieces.extend(dialect.stop(Stop::Said).into_iter().map(Piece::Bytes));
    pieces.push(Piece::End);
    Reply::Stream {
        content_type: dialect.content_type(),
        pieces,
    }
}

async fn today(local: &Local, tenant: &str) -> DayUsage {
    let tenant = Tenant::parse(tenant).unwrap();
    let usage = local.system.store().usage();
    let told = usage.last(&tenant, local.clock.now(), 1).await.unwrap();
    told.into_iter().next().unwrap_or_default()
}

async fn ended(user: &User, prompt: &str) -> Value {
    let answer = user.ask(prompt).await;
    let over = ["completed", "failed", "rejected", "canceled"];
    user.until(&answer.task_id(), &over).await
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_tasks_at_once_stay_within_the_budget_of_the_day_and_wait_for_each_other() {
    for dialect in BOTH {
        let server = ModelServer::start([slow(dialect)]).await;
        let local = limited(dialect, &server, false, LIMIT).await;
        let users: Vec<User> = (0..AT_ONCE).map(|_| local.user("acme")).collect();
        let asked = futures_util::stream::iter(&users)
            .map(|user| ended(user, "Guten Tag, wie steht es?"))
            .buffer_unordered(AT_ONCE)
            .collect::<Vec<Value>>();
        let watch = async {
            loop {
                let used = today(&local, "acme").await.used;
                assert!(used <= LIMIT, "{used} are reserved or used");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let tasks = tokio::select! {
            tasks = asked => tasks,
            () = watch => unreachable!(),
        };
        // What calls hold comes back: nobody is refused while most of the day's tokens are there.
        let done = tasks.iter().filter(|task| task["status"] == "completed");
        assert_eq!(done.count(), AT_ONCE, "{tasks:#?}");
        let told = today(&local, "acme").await;
        let calls: u64 = told.models.values().map(|model| model.calls).sum();
        assert_eq!(calls, u64::try_from(AT_ONCE).unwrap());
        assert_eq!(
            calls,
            u64::try_from(server.asked().len()).unwrap(),
            "{dialect:?}: nobody else was asked"
        );
        assert_eq!(told.reserved, 0, "all that ended is counted");
        assert_eq!(
            today(&local, "globex").await,
            DayUsage::default(),
            "each tenant has its own"
        );
        local.system.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_spent_budget_leaves_the_rules_and_the_tenants_own_limit_wins() {
    let dialect = Dialect::OpenAi;
    let server = ModelServer::start([dialect.says("Ich bin es.")]).await;
    let local = limited(dialect, &server, true, 10).await;
    let user = local.user("acme");
    let task = ended(&user, "Will it rain in Oslo tomorrow?").await;
    assert_eq!(task["status"], "completed", "{task:#}");
    assert!(server.asked().is_empty(), "the rules did it");

    let acme = Tenant::parse("acme").unwrap();
    let more = [SettingChange::parse("tokens_per_day", Some("100000")).unwrap()];
    assert!(local.system.store().tenants().set(&acme, &more).await.unwrap());
    local.clock.advance(store::SETTINGS_TTL);
    let task = ended(&user, "Wer bist du?").await;
    assert!(task.to_string().contains("Ich bin es."), "{task:#}");
    local.system.stop().await;
}
