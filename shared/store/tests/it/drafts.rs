//! The draft of an answer, beside its task.

use store::{AnswerDraft, DRAFT_MAX, measured};
use store_testing::Database;

use crate::*;

fn draft(turn: u32, attempt: u64, text: &str) -> AnswerDraft {
    AnswerDraft {
        turn,
        attempt,
        text: text.to_owned(),
    }
}

async fn begun() -> (Store, Database, TaskKey) {
    let (store, database) = store_testing::start().await;
    let key = created(&store, &task()).await;
    (store, database, key)
}

#[tokio::test]
async fn a_draft_gives_way_to_a_longer_one_or_a_later_attempt_and_to_nothing_else() {
    let (store, _database, key) = begun().await;
    let tasks = store.tasks();
    assert_eq!(tasks.draft(&key, now()).await.unwrap(), None);
    for (put, is_ahead) in [
        (draft(0, 101, "It"), true),
        (draft(0, 101, "It rains"), true),
        (draft(0, 101, "It rains"), true),
        (draft(0, 101, "It ra"), false),
        (draft(0, 101, "It snows"), false),
        (draft(0, 102, ""), true),
        (draft(0, 101, "It rains all day"), false),
        (draft(1, 201, "S"), true),
        (draft(0, 102, "It rains all day"), false),
    ] {
        let was = tasks.draft(&key, now()).await.unwrap();
        assert_eq!(
            tasks.put_draft(&key, &put, now()).await.unwrap(),
            is_ahead,
            "{put:?}"
        );
        let expected = if is_ahead { Some(put) } else { was };
        assert_eq!(tasks.draft(&key, now()).await.unwrap(), expected);
    }
}

#[tokio::test]
async fn a_draft_ends_by_itself_and_is_of_one_task_of_one_tenant() {
    let (store, database, key) = begun().await;
    let tasks = store.tasks();
    let said = draft(0, 101, "It rains");
    assert!(tasks.put_draft(&key, &said, now()).await.unwrap());
    assert_eq!(tasks.draft(&key, later(3_599)).await.unwrap(), Some(said));
    assert_eq!(tasks.draft(&key, later(3_602)).await.unwrap(), None);
    let elsewhere = TaskKey {
        tenant: tenant("globex"),
        ..key.clone()
    };
    assert_eq!(tasks.draft(&elsewhere, now()).await.unwrap(), None);
    let (pk, _) = place(&key);
    let items = database.items(&database.tables().tasks, &pk);
    let beside = items.iter().find(|item| item["sk"]["S"] == "DRAFT").unwrap();
    assert!(beside["expires_at"]["N"].is_string(), "{beside}");
    for index in ["context_pk", "owner_pk", "status_pk", "due_shard"] {
        assert!(beside[index].is_null(), "it is in no index: {beside}");
    }
}

#[tokio::test]
async fn with_its_tasks_end_a_draft_is_gone_at_no_request_more() {
    let (store, database) = store_testing::start().await;
    let (mut plain, mut asked) = (task(), task());
    plain.id = TaskId::from_bytes([7; 16]);
    let terms = &mut asked.history[0].terms;
    terms.extensions = vec!["urn:x:words-as-they-come".to_owned()];
    let mut costs = Vec::new();
    for mut task in [plain, asked] {
        let wants = !task.history[0].terms.is_none();
        task.history[0].message_id = MessageId::derived(&format!("{wants}"));
        let key = created(&store, &task).await;
        let said = draft(0, 101, "It rains");
        assert!(store.tasks().put_draft(&key, &said, now()).await.unwrap());
        let working = step(&store, task, TaskState::Working, later(1)).await;
        assert_eq!(
            store.tasks().draft(&key, later(1)).await.unwrap(),
            Some(said),
            "it is under way"
        );
        let (_, calls) = measured(step(&store, working, TaskState::Completed, later(2))).await;
        costs.push((calls.total(), calls.capacity.write));
        let (pk, _) = place(&key);
        let items = database.items(&database.tables().tasks, &pk);
        assert_eq!(items.iter().any(|item| item["sk"]["S"] == "DRAFT"), !wants);
    }
    assert_eq!(costs[0].0, costs[1].0, "{costs:?}");
    assert!(costs[1].1 <= costs[0].1 + 2.0, "{costs:?}");
}

#[tokio::test]
async fn a_long_draft_is_cut_at_a_character_and_costs_what_its_packed_text_does() {
    let (store, _database, key) = begun().await;
    let tasks = store.tasks();
    let long = draft(0, 101, &"\u{e6}\u{f8}\u{e5} ".repeat(10_000));
    let (put, calls) = measured(tasks.put_draft(&key, &long, now())).await;
    assert!(put.unwrap());
    assert_eq!((calls.total(), calls.capacity.write), (1, 1.0));
    let kept = tasks.draft(&key, now()).await.unwrap().unwrap().text;
    assert!(long.text.starts_with(&kept) && kept.len() > DRAFT_MAX - 2 && kept.len() <= DRAFT_MAX);
    let longer = draft(0, 101, &format!("{}more", long.text));
    assert!(
        tasks.put_draft(&key, &longer, now()).await.unwrap(),
        "the same beginning is there already"
    );
}

#[tokio::test]
async fn readers_of_the_task_do_not_see_it_and_rubbish_in_it_is_no_draft() {
    let (store, database, key) = begun().await;
    let tasks = store.tasks();
    let before = tasks.find(&key, now()).await.unwrap();
    let log = tasks.events(&key, 0, 100).await.unwrap();
    let (pk, _) = place(&key);
    let rubbish = [
        json!({"attempt": {"S": "first"}, "text": {"N": "7"}}),
        json!({"attempt": {"N": "-1"}, "turn": {"N": "0"}, "length": {"N": "1"}, "text": {"S": "x"}, "expires_at": {"N": "99999999999"}}),
        json!({"attempt": {"N": "1"}, "turn": {"N": "0"}, "length": {"N": "1"}, "text": {"B": "AAAA"}, "expires_at": {"N": "99999999999"}}),
        json!({"body": {"S": "{}"}}),
        json!({}),
    ];
    for mut item in rubbish {
        item["pk"] = json!({ "S": pk });
        item["sk"] = json!({ "S": "DRAFT" });
        database.put(&database.tables().tasks, &item);
        assert_eq!(tasks.draft(&key, now()).await.unwrap(), None, "{item}");
        assert_eq!(tasks.find(&key, now()).await.unwrap(), before, "{item}");
        assert_eq!(tasks.events(&key, 0, 100).await.unwrap(), log, "{item}");
        let owed = tasks.owed(&key, 0, now()).await.unwrap();
        assert_eq!((&owed.events, &owed.stored), (&log, &before), "{item}");
    }
    // The one without an attempt gives way; what follows the task's end leaves the draft its own.
    let said = draft(0, 101, "It rains");
    assert!(tasks.put_draft(&key, &said, now()).await.unwrap());
    let stored = before.unwrap();
    let done = step(&store, stored.task, TaskState::Completed, later(1)).await;
    tasks.end(&done).await.unwrap();
    assert_eq!(tasks.draft(&key, later(3_602)).await.unwrap(), None);
}
