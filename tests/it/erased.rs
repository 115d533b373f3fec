//! A guest with chats, files, finished, waiting and running tasks, feedback and a browser that is told is erased: a raw read of every table
//! finds nothing of theirs, and everything else of a kind that is written down.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use store::schema::{ALL, Life, kind_of};
use system_testing::dynamodb::call;
use system_testing::{Local, User};
use url::Url;

/// Words that stand nowhere else.
const CANARY: &str = "Quillfeather";

/// Every item of the system, by its table.
pub(crate) async fn everything(local: &Local) -> Vec<(&'static str, Value)> {
    let mut database = Url::parse(local.endpoint("/dynamodb")).expect("an address");
    let key = local.endpoint("/dynamodb_key/access_key_id");
    database.set_username(key).expect("a key");
    let mut all = Vec::new();
    for table in ALL {
        let mut start = Value::Null;
        loop {
            let body =
                json!({ "TableName": format!("switchyard-{}", table.name), "ExclusiveStartKey": start });
            let mut told = call(database.as_str(), "Scan", &body).await;
            if let Value::Array(page) = told["Items"].take() {
                all.extend(page.into_iter().map(|item| (table.name, item)));
            }
            start = told["LastEvaluatedKey"].take();
            if start.is_null() {
                break;
            }
        }
    }
    all
}

/// Items without the end that their kind has, or of no kind. What hangs on a task is the store's own test to look at.
fn wrong(all: &[(&str, Value)]) -> Vec<String> {
    let text = |item: &Value, name: &str| item[name]["S"].as_str().unwrap_or_default().to_owned();
    let is_wrong = |(table, item): &&(&str, Value)| {
        let (pk, sk) = (text(item, "pk"), text(item, "sk"));
        match kind_of(table, (&pk, &sk)).map(|kind| kind.life) {
            None => true,
            Some(Life::Ends(_)) => item.get("expires_at").is_none(),
            Some(_) => false,
        }
    };
    let wrong = all.iter().filter(is_wrong);
    wrong
        .map(|(table, item)| format!("{table}: {} / {}", text(item, "pk"), text(item, "sk")))
        .collect()
}

async fn erase(user: &User, local: &Local) -> Value {
    for _ in 0..60 {
        let told = user.call(Method::DELETE, "/api/me", None).await;
        match told.status.as_u16() {
            200 => return told.json(),
            202 => local.advance(Duration::from_secs(30)).await,
            _ => panic!("{told:?}"),
        }
    }
    panic!("it does not come to an end");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_who_is_erased_leaves_nothing_in_any_table() {
    let local = Local::start().await;
    let (user, stays) = (local.user("acme"), local.user("acme"));
    let other = stays.ask("Will it rain in Oslo tomorrow?").await.task_id();
    stays.until(&other, &["completed"]).await;

    let rain = user
        .chat("trip", "m1", "Will it rain in Oslo tomorrow?")
        .await
        .task_id();
    user.until(&rain, &["completed"]).await;
    let thought = json!({ "verdict": "good" });
    let path = format!("/api/chats/trip/feedback/{rain}");
    assert_eq!(user.call(Method::PUT, &path, Some(thought)).await.status, 204);
    let asked = user
        .chat("where", "m1", "What will the weather be tomorrow?")
        .await;
    user.until(&asked.task_id(), &["input-required"]).await;
    let words = format!("My cat is called {CANARY}. Write a report on coffee.");
    user.chat("talk", "m1", &words).await;
    let named = json!({ "title": CANARY });
    assert_eq!(
        user.call(Method::PATCH, "/api/chats/talk", Some(named))
            .await
            .status,
        200
    );
    let gone = user.chat("gone", "m1", &format!("Hello {CANARY}")).await;
    assert_eq!(gone.status, 200);
    assert_eq!(
        user.call(Method::DELETE, "/api/chats/gone", None).await.status,
        204
    );

    let before = everything(&local).await;
    assert_eq!(wrong(&before), Vec::<String>::new());
    let said = before
        .iter()
        .filter(|(_, item)| item.to_string().contains("Hello Quillfeather"));
    assert_eq!(said.count(), 0, "words of a chat that was deleted");
    let owner = before.iter().find_map(|(_, item)| {
        let is_chat = item["title"]["S"] == CANARY;
        is_chat.then(|| item["owner"]["S"].as_str().map(str::to_owned))?
    });
    let owner = owner.expect("a chat with that title");
    let of_owner = |all: &[(&str, Value)]| -> Vec<String> {
        let own = all.iter().map(|(table, item)| format!("{table}: {item}"));
        // The audit keeps ids, also of those who were erased, and no words.
        own.filter(|item| item.contains(CANARY) || item.contains(&owner) && !item.starts_with("audit: "))
            .collect()
    };
    assert!(of_owner(&before).len() > 15, "{}", of_owner(&before).len());

    let certificate = erase(&user, &local).await;
    assert!(certificate["doneAt"].is_string(), "{certificate:#}");
    for kind in ["tasks", "chats", "sessions", "counts"] {
        assert!(
            certificate["erased"][kind].as_u64() > Some(0),
            "{kind}: {certificate:#}"
        );
    }
    let after = everything(&local).await;
    assert_eq!(of_owner(&after), Vec::<String>::new());
    assert_eq!(wrong(&after), Vec::<String>::new());
    let outlives = |(table, item): &(&str, Value)| *table == "audit" && item["actor"]["S"] == owner.as_str();
    assert!(after.iter().any(outlives), "who was erased is told by their id");

    // Their cookie leads nowhere, and nobody else is touched.
    assert_eq!(user.get("/api/session").await.json()["who"], "nobody");
    assert_eq!(user.call(Method::DELETE, "/api/me", None).await.status, 404);
    assert_eq!(stays.task(&other).await["status"], "completed");
    local.system.stop().await;
}
