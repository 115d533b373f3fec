//! The tenant's tasks by state, as its operators see them.

use std::time::Duration;

use serde_json::{Value, json};

use super::sessions::signed_in;
use super::world::{Browser, World, says};

#[tokio::test]
async fn an_operator_sees_the_tasks_of_all_by_state_stuck_ones_first_and_nothing_of_what_was_said() {
    let world = World::new().await;
    let (app, ada) = (world.app(Duration::ZERO), signed_in(&world).await);
    let overview = async || ada.get(&app, "/api/ops/tasks").await.json();
    let nothing = json!({"counts": {}, "countedTo": 1000, "more": false, "tasks": []});
    assert_eq!(overview().await, nothing);
    let guest = Browser::default();
    for (number, said) in ["hello", "ask", "fail", "lost", "park"].into_iter().enumerate() {
        let told = says(&format!("c{number}"), &format!("m{number}"), said);
        guest.post(&app, "/api/chat", &told).await;
        world.work().await;
        world.clock.advance(Duration::from_secs(1));
    }
    let seen = overview().await;
    let counts = json!({"failed": 1, "input-required": 1, "unknown": 1, "working": 1});
    assert_eq!(seen["counts"], counts, "{seen}");
    let states = |seen: &Value| -> Vec<(Value, Value)> {
        let tasks = seen["tasks"].as_array().unwrap().iter();
        tasks
            .map(|task| (task["state"].clone(), task["stuck"].clone()))
            .collect()
    };
    let silent = (json!("unknown"), json!("silent"));
    let asks = (json!("input-required"), Value::Null);
    let works = |stuck: Value| (json!("working"), stuck);
    assert_eq!(states(&seen), [silent.clone(), asks.clone(), works(Value::Null)]);
    let text = seen.to_string();
    for said in ["Which one?", "Nothing was heard", "ask", "park", "guest"] {
        let quoted = format!("\"{said}");
        assert!(
            !text.contains(&quoted) && !text.contains("Which one"),
            "{said}: {text}"
        );
    }
    // The course of one, without a word of anybody.
    let of = |id: &str| format!("/api/ops/tasks?task={id}");
    let one = seen["tasks"][1]["taskId"].as_str().unwrap();
    let course = ada.get(&app, &of(one)).await.json();
    let last = course["history"].as_array().unwrap().last().cloned();
    assert_eq!(last.unwrap()["state"], "input-required", "{course}");
    let text = course.to_string();
    assert!(!text.contains("Which one") && !text.contains("message"), "{text}");
    for (id, status) in [("none", 400), ("00000000-0000-4000-8000-000000000000", 404)] {
        assert_eq!(ada.get(&app, &of(id)).await.status, status, "{id}");
    }
    assert_eq!(
        guest.get(&app, &of(one)).await.status,
        404,
        "not even who began it"
    );
    // It was due after a minute, and nobody came.
    world.clock.advance(Duration::from_secs(60 + 180));
    let late = overview().await;
    assert_eq!(
        states(&late),
        [silent.clone(), works(json!("overdue")), asks.clone()]
    );
    // Somebody works on it: three times, and dies each time.
    let key = {
        let task = &late["tasks"][1]["taskId"];
        store::TaskKey {
            tenant: world.tenant.clone(),
            agent: world.host.name.clone(),
            id: serde_json::from_value(task.clone()).unwrap(),
        }
    };
    for attempt in 1..=3_u32 {
        let now = domain::Clock::now(world.clock.as_ref());
        let until = now.after(Duration::from_secs(30));
        let leased = world
            .store
            .tasks()
            .lease(&key, &format!("w{attempt}"), now, until)
            .await;
        assert!(matches!(leased.unwrap(), store::Leased::Taken(_)));
        let stuck = if attempt < 3 {
            Value::Null
        } else {
            json!("failing")
        };
        let seen = overview().await;
        assert!(states(&seen).contains(&works(stuck)), "{attempt}: {seen}");
        world.clock.advance(Duration::from_secs(31));
    }
}
