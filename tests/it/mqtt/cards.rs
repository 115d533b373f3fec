//! Many cards on a broker, as the terminal lists them.

use a2a::mqtt::Publication;
use futures_util::StreamExt as _;
use mqtt::Publisher as _;
use sandbox::mosquitto::Wanted;

use super::world::Broker;

/// Puts so many cards of 2.8 KB into each of these units.
async fn fill(broker: &Broker, units: usize, each: usize) {
    let (session, _told) = broker.open("big/filler/x", Vec::new()).await;
    let card = format!(
        r#"{{"name": "Agent", "description": "{}", "skills": [{{}}]}}"#,
        "x".repeat(2_740)
    );
    let cards =
        (0..units).flat_map(|unit| (0..each).map(move |n| format!("$a2a/v1/discovery/big/u{unit}/a{n}")));
    futures_util::stream::iter(cards)
        .map(|topic| {
            let publication = Publication {
                topic,
                payload: card.clone().into(),
                retain: true,
                ..Publication::default()
            };
            session.publish(publication)
        })
        .buffer_unordered(64)
        .for_each(|told| async move { assert!(told.is_ok(), "{told:?}") })
        .await;
}

/// How many the command lists.
fn listed(broker: &Broker, units: &[String]) -> usize {
    let url = broker.running.url();
    let mut arguments = vec!["mqtt", "agents", "--json", "--broker", &url, "--org", "big"];
    for unit in units {
        arguments.extend(["--unit", unit.as_str()]);
    }
    let output = tests::binary::run(&arguments);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).lines().count()
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_cards_are_all_listed() {
    let broker = Broker::start();
    fill(&broker, 1, 10_000).await;
    assert_eq!(listed(&broker, &[]), 10_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stock_mosquitto_gives_the_cards_of_ten_units_one_by_one() {
    // As it is without any configuration.
    let stock = ["max_queued_messages 1000", "max_inflight_messages 20"];
    let broker = Broker::start_as(&Wanted {
        lines: stock.map(str::to_owned).to_vec(),
        ..Wanted::default()
    });
    fill(&broker, 10, 200).await;
    let units: Vec<String> = (0..10).map(|unit| format!("u{unit}")).collect();
    assert_eq!(listed(&broker, &units), 2_000);
}
