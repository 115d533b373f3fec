//! Data beside words: a model that reads any language sends agents what they take, by the schemas that their cards publish.

use serde_json::{Value, json};
use system_testing::models::BOTH;

use super::walk::system;
use super::*;

fn send(to: &str, message: &str, data: Value) -> (&'static str, Value) {
    (
        "send_message",
        json!({"agent_type": to, "message": message, "data": data}),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_rule_of_ours_reads_reaches_the_agents_as_data() {
    for dialect in BOTH {
        let stay =
            json!({"place": "Oslo", "from": "2026-01-02", "to": "2026-01-04", "guests": 2, "maxPrice": 120});
        let mut wrong = stay.clone();
        wrong["from"] = "pátek".into();
        let days = json!({"places": ["Oslo"], "days": ["2026-01-02/2026-01-04"]});
        let server = ModelServer::start([
            dialect.calls([
                send("airbnb", "byt pro dva", wrong),
                send("weather", "jaké bude počasí", days.clone()),
            ]),
            dialect.calls([
                send("airbnb", "byt pro dva", stay),
                send("weather", "jaké bude počasí", days),
            ]),
            dialect.says("Hotovo."),
        ])
        .await;
        let local = system(dialect, &server, false).await;
        let user = local.user("acme");
        let answer = user
            .ask("Byt v Oslu pro dva od pátku do neděle, a jaké tam bude počasí?")
            .await;
        let task = user
            .until(&answer.task_id(), &["completed", "failed", "input-required"])
            .await;
        assert_eq!(task["status"], "completed", "{dialect:?} {task:#}");
        let told = task.to_string();
        let stay = "in Oslo, from Friday 2 January 2026 to Sunday 4 January 2026 (2 nights), for 2 guests, for at most 240";
        assert!(told.contains(stay), "{task:#}");
        assert!(told.contains("Weather forecast"), "{task:#}");
        let asked = server.asked();
        assert_eq!(asked.len(), 3, "{dialect:?}");
        let first = asked[0].body.to_string();
        assert!(
            first.contains("maxPrice"),
            "the catalogue has the schema: {first}"
        );
        let second = asked[1].body["messages"].to_string();
        assert!(
            second.contains("data.from must be a day such as 2026-12-04."),
            "{second}"
        );
        local.system.stop().await;
    }
}
