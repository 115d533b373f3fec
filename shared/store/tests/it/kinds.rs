//! Every item is of a kind that is written down, and has an end where its kind says so.

use serde_json::Value;
use store::audit::{Action, Actor, DONE};
use store::schema::{KINDS, Life, kind_of};
use store_testing::Database;

use crate::*;

/// What is wrong with the items of these tables: of no kind, or without the end that their kind has. A task that is not over has none, nor has
/// what hangs on it.
fn wrong(database: &Database) -> Vec<String> {
    let tables = [
        "tasks", "sessions", "registry", "identity", "orders", "tenants", "audit",
    ];
    let items = tables.map(|table| (table, database.everything(&format!("switchyard-{table}"))));
    let text = |item: &Value, name: &str| item[name]["S"].as_str().unwrap_or_default().to_owned();
    let all = || items.iter().flat_map(|(_, items)| items);
    let is_over = |pk: &str| {
        let is_task = |item: &&Value| text(item, "pk") == pk && text(item, "sk") == "TASK";
        all()
            .find(is_task)
            .is_none_or(|task| task.get("expires_at").is_some())
    };
    let mut wrong = Vec::new();
    for (table, items) in &items {
        for item in items {
            let (pk, sk) = (text(item, "pk"), text(item, "sk"));
            let has_end = item["expires_at"]["N"].is_string();
            let fits = match kind_of(table, (&pk, &sk)).map(|kind| kind.life) {
                None => false,
                Some(Life::Ends(_)) => has_end,
                // What made a task lies elsewhere, and names it.
                Some(Life::WithTask) if sk == "MESSAGE" => {
                    let place = format!(
                        "{}#task#{}",
                        pk.split("#message#").next().unwrap_or_default(),
                        text(item, "task_id")
                    );
                    has_end == is_over(&place)
                }
                Some(Life::WithTask) => has_end == is_over(&pk),
                Some(Life::Stays(why)) => !why.is_empty(),
            };
            if !fits {
                wrong.push(format!("{table}: {pk} / {sk}, end {:?}", item["expires_at"]));
            }
        }
    }
    wrong
}

#[tokio::test]
async fn every_item_has_an_end_or_a_reason_for_none() {
    let (_store, database) = golden::written().await;
    assert_eq!(wrong(&database), Vec::<String>::new());
    let (store, database) = store_testing::start().await;
    erasure::lives(&store, 1, "words").await;
    let (acme, guest) = (tenant("acme"), owner("guest-1"));
    let told = store.audit(now());
    told.tell(Action::ShareEnd, Some(&acme), Actor::Owner(&guest), "chat", DONE)
        .await;
    told.tell(Action::TypeDeclare, None, Actor::Operator, "weather", DONE)
        .await;
    assert_eq!(database.everything("switchyard-audit").len(), 2);
    store
        .erasures()
        .erase(&tenant("acme"), &owner("guest-2"), None, now())
        .await
        .unwrap();
    assert_eq!(wrong(&database), Vec::<String>::new());

    // One of no kind, and one that lost its end.
    database.put(
        "switchyard-tasks",
        &json!({ "pk": { "S": "acme#host#thing#1" }, "sk": { "S": "THING" } }),
    );
    database.put(
        "switchyard-sessions",
        &json!({ "pk": { "S": "acme#chat#of-1" }, "sk": { "S": "MESSAGE#1" } }),
    );
    assert_eq!(wrong(&database).len(), 2);
    for kind in KINDS {
        assert!(kind.partition.contains('*'), "{kind:?}");
    }
}

#[tokio::test]
async fn a_chat_and_all_in_it_ends_a_year_after_its_last_message() {
    let (store, database) = store_testing::start().await;
    let (acme, user) = (tenant("acme"), owner("user-1"));
    let (sessions, day) = (store.sessions(), 24 * 3600);
    let id = domain::ChatId::parse("trip").unwrap();
    let opened = sessions
        .open_chat(&acme, &user, &id, "A trip", now())
        .await
        .unwrap();
    let store::Opened::New(chat) = opened else {
        panic!("it is known")
    };
    let said = |id: &str, at| store::StoredMessage {
        id: message_id(id),
        at,
        body: json!({ "id": id }),
        edits: 0,
    };
    sessions
        .add_first(&acme, chat.place(), &said("one", now()))
        .await
        .unwrap();
    let ends = || {
        let pk = format!("acme#chat#{}", chat.place());
        let items = database.items("switchyard-sessions", &pk).into_iter();
        let mut ends: Vec<u64> = items
            .map(|item| item["expires_at"]["N"].as_str().unwrap().parse().unwrap())
            .collect();
        ends.sort_unstable();
        ends.dedup();
        ends
    };
    let after = |days: u64| (later(days * day).seconds() + 1).unsigned_abs();
    assert_eq!(ends(), [after(365)]);
    // A day later that is not worth the writes, and what comes then ends after the chat.
    sessions
        .add_message(&acme, chat.place(), &said("two", later(day)))
        .await
        .unwrap();
    assert_eq!(ends(), [after(365), after(366)]);
    sessions
        .add_message(&acme, chat.place(), &said("three", later(50 * day)))
        .await
        .unwrap();
    assert_eq!(ends(), [after(415)]);

    // Where its tenant keeps chats for ten days, the next message says so.
    let set = domain::SettingChange::parse("retention", Some("chats=10")).unwrap();
    store.tenants().add(&acme).await.unwrap();
    assert!(store.tenants().set(&acme, &[set]).await.unwrap());
    store.tenants().standing(&acme, later(51 * day)).await.unwrap();
    sessions
        .add_message(&acme, chat.place(), &said("four", later(51 * day)))
        .await
        .unwrap();
    assert_eq!(ends(), [after(61)]);
    let find = |days: u64| sessions.find_chat(&acme, &user, &id, later(days * day));
    assert!(find(60).await.unwrap().is_some());
    assert!(find(62).await.unwrap().is_none());
    // One that is over is another one, with nothing of before in it.
    let again = sessions
        .open_chat(&acme, &user, &id, "Again", later(62 * day))
        .await
        .unwrap();
    assert!(matches!(again, store::Opened::New(_)), "{again:?}");
    let read = sessions
        .conversation(&acme, chat.place(), later(62 * day))
        .await
        .unwrap();
    assert!(read.messages.is_empty(), "{read:?}");
}
