//! Talks: what is said in one task and in those of one chat after another, on Monday, 30 November 2026.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::world::{World, world};

const TWO: &str = "A flat in Oslo for two, Friday to Sunday, under 120 a night";

struct Talk {
    world: World,
    said: AtomicU32,
}

/// What was searched for, or asked.
type Told = Result<Value, String>;

impl Talk {
    async fn new() -> Self {
        Self {
            world: world().await,
            said: AtomicU32::new(0),
        }
    }

    /// Says one thing after another in a chat; in a task that waits, and in another once it is over.
    async fn says(&self, chat: &str, said: &[Value]) -> (Told, Value) {
        let mut waits: Option<String> = None;
        let mut last = Value::Null;
        for part in said {
            let id = format!("m-{}", self.said.fetch_add(1, Ordering::Relaxed));
            let mut message =
                json!({"messageId": id, "role": "ROLE_USER", "parts": [part], "contextId": chat});
            if let Some(task) = &waits {
                message["taskId"] = task.as_str().into();
            }
            self.world.clock.advance(Duration::from_secs(1));
            last = self.world.say(message).await;
            let is_open = last["status"]["state"] == "TASK_STATE_INPUT_REQUIRED";
            waits = is_open.then(|| last["id"].as_str().unwrap().to_owned());
        }
        let calls = self.world.asked().into_iter().rev();
        let mut searches = calls.filter(|call| call["name"] == "airbnb_search");
        let told = match waits {
            Some(_) => Err(last["status"]["message"]["parts"][0]["text"]
                .as_str()
                .unwrap()
                .to_owned()),
            None => Ok(searches
                .next()
                .map(|call| call["arguments"].clone())
                .unwrap_or_default()),
        };
        (told, last)
    }

    async fn words(&self, said: &[&str]) -> Told {
        let chat = format!("c-{}", self.said.load(Ordering::Relaxed));
        let said: Vec<Value> = said.iter().map(|text| json!({"text": text})).collect();
        self.says(&chat, &said).await.0
    }
}

fn asks(told: Told) -> String {
    told.unwrap_err()
}

#[tokio::test]
async fn of_several_large_places_of_one_name_one_is_said() {
    const TWO: &str = "Portland for two nights from January 8";
    let talk = Talk::new().await;
    let which = "Which Portland: Oregon or Maine?";
    let (told, task) = talk.says("which", &[json!({"text": TWO})]).await;
    assert_eq!(asks(told), which);
    let form = &task["status"]["message"]["parts"][1]["data"];
    assert_eq!(
        form["properties"]["place"]["oneOf"][1]["const"], "Portland, Maine",
        "{form:#}"
    );
    for (reply, place) in [
        (json!({"text": "Maine"}), "Portland, Maine"),
        (json!({"text": "the one in Oregon"}), "Portland, Oregon"),
        (json!({"text": "Portland, Maine"}), "Portland, Maine"),
        (json!({"data": {"place": "Portland, Maine"}}), "Portland, Maine"),
        (json!({"text": "Bergen"}), "Bergen"),
    ] {
        let said = [json!({"text": TWO}), reply.clone()];
        let (told, _) = talk.says("other", &said).await;
        assert_eq!(told.unwrap()["location"], place, "{reply}");
    }
    assert_eq!(asks(talk.words(&[TWO, "the bigger one"]).await), which);
    let told = talk
        .words(&[TWO, "the bigger one", "Oregon, for three"])
        .await
        .unwrap();
    assert_eq!(
        (&told["location"], &told["adults"]),
        (&json!("Portland, Oregon"), &json!(3))
    );
    assert_eq!(asks(talk.words(&["Portland", "Friday to Sunday"]).await), which);
    let told = talk
        .words(&["Portland", "Friday to Sunday", "Maine"])
        .await
        .unwrap();
    assert_eq!(
        (&told["location"], &told["checkin"]),
        (&json!("Portland, Maine"), &json!("2026-12-04"))
    );
}

#[tokio::test]
async fn the_answer_goes_on() {
    let talk = Talk::new().await;
    for (said, guests) in [
        (&["A flat for two, Friday to Sunday", "Oslo"][..], 2),
        (&["A flat in Oslo for two", "Friday to Sunday"], 2),
        (&["A flat in Oslo for two on Friday", "Sunday"], 2),
        (&["A flat in Oslo for two on Friday", "for two nights"], 2),
        (&["Somewhere to stay", "Oslo, from Friday to Sunday for two"], 2),
        (
            &[
                "A flat in Oslo for three",
                "oslo from Friday to Sunday, and for two",
            ],
            2,
        ),
        (
            &["A flat in Oslo and Bergen for two, Friday to Sunday", "Oslo"],
            2,
        ),
        (&["A flat in Oslo", "for two nights", "Friday"], 1),
        (&["Oslo from 30 November to 31 November", "Friday to Sunday"], 1),
    ] {
        let told = talk
            .words(said)
            .await
            .unwrap_or_else(|question| panic!("{said:?}: {question}"));
        let place = told["location"].as_str().unwrap().to_lowercase();
        let read = (
            place.as_str(),
            &told["checkin"],
            &told["checkout"],
            &told["adults"],
        );
        let expected = ("oslo", &json!("2026-12-04"), &json!("2026-12-06"), &json!(guests));
        assert_eq!(read, expected, "{said:?}");
    }
    // A day of departure is as seen from the first one.
    let told = talk
        .words(&["A flat in Oslo on Friday", "Wednesday"])
        .await
        .unwrap();
    assert_eq!(told["checkout"], "2026-12-09");
    // What was right of wrong data is still known when the question is answered.
    let wrong = json!({"data": {"place": "Oslo", "from": "2026-12-04", "to": "Sunday"}});
    let (told, _) = talk.says("wrong", &[wrong, json!({"text": "Sunday"})]).await;
    assert_eq!(told.unwrap()["checkout"], "2026-12-06");
}

#[tokio::test]
async fn people_of_whom_nobody_says_how_many_they_are_are_asked_about_and_never_one() {
    let talk = Talk::new().await;
    for said in [
        "A flat in Oslo for my family, Friday to Sunday",
        "Oslo, Friday to Sunday, for us",
        "Oslo Friday to Sunday for me and my cousins",
    ] {
        assert_eq!(asks(talk.words(&[said]).await), "For how many guests?", "{said}");
        for reply in ["4", "for four", "four of us", "4 people"] {
            let told = talk.words(&[said, reply]).await.unwrap();
            assert_eq!(
                (&told["adults"], &told["location"]),
                (&json!(4), &json!("Oslo")),
                "{said} / {reply}"
            );
        }
    }
}

/// The service has its prices in euros.
#[tokio::test]
async fn a_price_in_other_money_is_asked_about() {
    let talk = Talk::new().await;
    for price in ["120", "120 euros", "€120", "120 EUR"] {
        let said = format!("A flat in Oslo for two, Friday to Sunday, under {price} a night");
        assert_eq!(talk.words(&[&said]).await.unwrap()["maxPrice"], 240, "{price}");
    }
    let kroner = "A flat in Oslo for two, Friday to Sunday, under 1200 kroner a night";
    let (told, task) = talk.says("kroner", &[json!({"text": kroner})]).await;
    let asked = asks(told);
    assert!(asked.contains("at most in EUR"), "{asked}");
    let form = &task["status"]["message"]["parts"][1]["data"]["properties"];
    assert_eq!(form["currency"]["enum"], json!(["EUR"]));
    for (reply, most) in [
        ("100", json!(200)),
        ("90 euros a night", json!(180)),
        ("no limit", Value::Null),
        ("300 in total", json!(300)),
    ] {
        let told = talk.words(&[kroner, reply]).await.unwrap();
        let read = (&told["maxPrice"], &told["location"], &told["adults"]);
        assert_eq!(read, (&most, &json!("Oslo"), &json!(2)), "{reply}");
    }
    let whole = "A flat in Oslo for two, Friday to Sunday, 3000 kroner in total";
    assert_eq!(talk.words(&[whole, "300"]).await.unwrap()["maxPrice"], 300);
    assert_eq!(asks(talk.words(&[kroner, "900 NOK"]).await), asked);
    for (currency, told) in [("NOK", Err(asked)), ("EUR", Ok(1_800))] {
        let data = json!({"place": "Oslo", "from": "2026-12-04", "to": "2026-12-06", "maxPrice": 900, "currency": currency});
        let (read, _) = talk.says(currency, &[json!({"data": data})]).await;
        assert_eq!(read.map(|read| read["maxPrice"].as_i64().unwrap()), told);
    }
    let data = json!({"place": "Oslo", "from": "2026-12-04", "to": "2026-12-06", "maxPrice": 900, "currency": "crowns"});
    let (read, _) = talk.says("crowns", &[json!({"data": data})]).await;
    assert!(asks(read).contains("currency must"));
}

#[tokio::test]
async fn what_is_said_next_in_the_chat_changes_the_last_search() {
    let talk = Talk::new().await;
    let says = async |chat: &str, said: &str| talk.says(chat, &[json!({"text": said})]).await;
    let (first, _) = says("a", TWO).await;
    let mut wanted = first.unwrap();
    for (said, field, value) in [
        ("four adults", "adults", json!(4)),
        ("and in Bergen?", "location", json!("Bergen")),
        ("with a baby", "infants", json!(1)),
        ("under 90 a night", "maxPrice", json!(180)),
        ("from Friday for three nights", "checkout", json!("2026-12-07")),
    ] {
        let (told, task) = says("a", said).await;
        wanted[field] = value;
        if field == "checkout" {
            wanted["maxPrice"] = json!(270);
        }
        assert_eq!(told, Ok(wanted.clone()), "{said}: {task:#}");
    }
    // Another chat knows nothing of it.
    assert!(asks(says("b", "four adults").await.0).contains("In which place"));
}

#[tokio::test]
async fn a_list_is_put_in_order_chosen_from_and_held_against_wishes() {
    let talk = Talk::new().await;
    let says = async |said: &str| talk.says("list", &[json!({"text": said})]).await.1;
    let text = |task: &Value| {
        task["artifacts"][0]["parts"][0]["text"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let names = |task: &Value| -> Vec<String> {
        let list = task["artifacts"][0]["parts"][1]["data"]["listings"]
            .as_array()
            .unwrap();
        list.iter()
            .map(|listing| listing["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let prices = |task: &Value| -> Vec<u32> {
        let list = task["artifacts"][0]["parts"][1]["data"]["listings"]
            .as_array()
            .unwrap();
        let digits = |listing: &Value| -> String {
            let price = listing["price"].as_str().unwrap();
            let digits = price.chars().skip_while(|c| !c.is_ascii_digit());
            digits
                .take_while(|c| c.is_ascii_digit() || *c == ',')
                .filter(|c| *c != ',')
                .collect()
        };
        list.iter()
            .map(|listing| digits(listing).parse().unwrap())
            .collect()
    };
    says("A flat in Oslo for two, Friday to Sunday").await;
    let sorted = says("cheapest first").await;
    assert!(
        prices(&sorted).len() > 2 && prices(&sorted).is_sorted(),
        "{sorted:#}"
    );
    let second = says("the second one").await;
    assert_eq!(names(&second), [names(&sorted)[1].clone()], "{second:#}");
    let kitchen = says("anything with a kitchen?").await;
    assert!(text(&kitchen).contains(", with kitchen:"), "{kitchen:#}");
    assert!(
        !names(&kitchen).is_empty() && names(&kitchen).len() < names(&sorted).len(),
        "{kitchen:#}"
    );
    let sauna = says("with a sauna").await;
    assert!(text(&sauna).contains("I can search by no “sauna”"), "{sauna:#}");
}
