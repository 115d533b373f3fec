//! What it says of orders, and whose.

use serde_json::{Value, json};

use crate::world::{GOOD, Says, world};

fn text(task: &Value) -> &str {
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{task}");
    task["artifacts"][0]["parts"][0]["text"].as_str().unwrap()
}

fn data(task: &Value) -> &Value {
    &task["artifacts"][0]["parts"][1]["data"]
}

#[tokio::test]
async fn an_order_is_found_by_its_number() {
    let world = world().await;
    let task = world.ask(GOOD, "Where is my order 1001?", None).await;
    assert_eq!(
        text(&task),
        "Order 1001 is on its way, expected on Tuesday 24 November 2026. It holds 1 × lantern. Placed on Monday 16 \
         November 2026."
    );
    assert_eq!(
        data(&task),
        &json!({
            "orders": [{
                "id": "1001", "status": "shipped", "items": [{ "name": "lantern", "quantity": 1 }],
                "placedAt": "2026-11-16T10:00:00.000Z", "eta": "2026-11-24T10:00:00.000Z",
                "updatedAt": "2026-11-20T10:00:00.000Z",
            }],
            "unknown": [],
        })
    );
}

#[tokio::test]
async fn several_numbers_are_answered_together_and_an_unknown_one_is_said_to_be() {
    let world = world().await;
    let task = world.ask(GOOD, "status of orders 1001 and 1002", None).await;
    assert_eq!(text(&task).lines().count(), 2, "{task}");
    let task = world.ask(GOOD, "and what of 1002 and 9999?", None).await;
    assert!(
        text(&task).ends_with("\nThere is no order 9999 of yours."),
        "{task}"
    );
    assert_eq!(data(&task)["unknown"], json!(["9999"]));
}

#[tokio::test]
async fn what_is_another_tenants_or_another_customers_does_not_exist() {
    let world = world().await;
    // 2001 is there at the other tenant, for the same subject; 1003 is a colleague's, 1004 nobody's.
    for number in ["2001", "1003", "1004"] {
        let task = world.ask(GOOD, &format!("Where is order {number}?"), None).await;
        assert_eq!(text(&task), format!("There is no order {number} of yours."));
        assert_eq!(data(&task)["orders"], json!([]));
        assert!(
            !task.to_string().contains("present") && !task.to_string().contains("globex"),
            "{task}"
        );
    }
}

#[tokio::test]
async fn own_orders_are_listed_newest_first() {
    let world = world().await;
    let task = world.ask(GOOD, "my orders", None).await;
    let ids: Vec<&str> = data(&task)["orders"]
        .as_array()
        .unwrap()
        .iter()
        .map(|order| order["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["1002", "1001"]);
    let task = world.ask(GOOD, "When does my latest order arrive?", None).await;
    assert!(
        text(&task).starts_with("Order 1002 was delivered on Friday 20 November 2026."),
        "{task}"
    );
}

#[tokio::test]
async fn who_has_no_orders_is_asked_for_a_number() {
    let world = world().await;
    let stranger = Says {
        subject: "user-new",
        ..GOOD
    };
    let task = world.ask(stranger, "my orders", None).await;
    assert_eq!(task["status"]["state"], "TASK_STATE_INPUT_REQUIRED", "{task}");
    // One digit is a count, but not where a number was asked for.
    let one = world.ask(stranger, "7", task["id"].as_str()).await;
    assert_eq!(text(&one), "There is no order 7 of yours.");
    let task = world.ask(stranger, "my orders", None).await;
    let task = world.ask(stranger, "1004", task["id"].as_str()).await;
    assert_eq!(text(&task), "There is no order 1004 of yours.");
    let task = world.ask(GOOD, "hello", None).await;
    let parts = &task["status"]["message"]["parts"];
    assert_eq!(
        parts[0]["text"],
        "Which order do you mean? Tell me its number, such as 1001."
    );
    // What a form is made of, for whoever shows one.
    assert_eq!(parts[1]["mediaType"], agent::SCHEMA_MEDIA_TYPE);
    assert_eq!(parts[1]["data"]["required"], json!(["orders"]));
}

#[tokio::test]
async fn what_says_too_little_is_about_the_orders_before() {
    let world = world().await;
    let first = world.ask(GOOD, "Where is my order 1001?", None).await;
    let context = format!("@{}", first["contextId"].as_str().unwrap());
    let next = world.ask(GOOD, "When will it be here?", Some(&context)).await;
    assert!(text(&next).starts_with("Order 1001 is on its way"), "{next}");
    let refund = world.ask(GOOD, "I want a refund", Some(&context)).await;
    assert_eq!(refund["status"]["state"], "TASK_STATE_REJECTED", "{refund}");
}

#[tokio::test]
async fn what_orders_are_not_found_by_is_named() {
    let world = world().await;
    let task = world.ask(GOOD, "my orders since 3 December 2024", None).await;
    let unused = "I did not use “3 December 2024”: I find orders by their numbers alone.\n";
    assert!(text(&task).starts_with(unused), "{task}");
}

#[tokio::test]
async fn any_number_of_orders_is_there_in_pages() {
    let world = world().await;
    world.many_orders(250).await;
    let ids = |task: &Value| -> Vec<String> {
        let orders = data(task)["orders"].as_array().unwrap();
        orders
            .iter()
            .map(|order| order["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let first = world.ask(GOOD, "my orders", None).await;
    assert_eq!(
        ids(&first),
        (0..20).map(|at| format!("{}", 5249 - at)).collect::<Vec<_>>()
    );
    assert!(text(&first).ends_with("There are older ones: ask for page 2 of your orders."));
    assert_eq!(data(&first)["nextPage"], 2);
    let last = world.ask(GOOD, "page 13 of my orders", None).await;
    // The last ten of them, and the two that were there before.
    assert_eq!(ids(&last).len(), 12, "{last}");
    assert_eq!(ids(&last)[9..], ["5000", "1002", "1001"]);
    assert!(!text(&last).contains("older ones"));
    let none = world.ask(GOOD, "page 14 of my orders", None).await;
    assert_eq!(none["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
}

#[tokio::test]
async fn what_cannot_be_done_is_said() {
    let world = world().await;
    let task = world.ask(GOOD, "cancel my order 1001", None).await;
    assert!(
        text(&task).starts_with(
            "I cannot cancel orders or anything in them: I only say how far they are.\nOrder 1001 is"
        ),
        "{task}"
    );
    let task = world.ask(GOOD, "I want a refund", None).await;
    assert_eq!(task["status"]["state"], "TASK_STATE_REJECTED", "{task}");
    let task = world.ask(GOOD, "Has order 1001 been cancelled?", None).await;
    assert!(text(&task).starts_with("Order 1001 is"), "{task}");
}
