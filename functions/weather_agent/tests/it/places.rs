//! Which place is meant, asked back where nobody can tell.

use crate::bench::{Bench, places};

async fn check(said: &[&str], expect: &[&str]) {
    let (text, data) = Bench::new().await.answer(said).await;
    let found: Vec<String> = data["places"]
        .as_array()
        .unwrap()
        .iter()
        .map(|place| {
            let of = |field: &str| place[field].as_str().unwrap().to_owned();
            format!("{}, {}, {}", of("name"), of("admin1"), of("countryCode"))
        })
        .collect();
    assert_eq!(found, expect, "{said:?}\n{text}");
}

#[tokio::test]
async fn places_are_found_however_they_are_named() {
    check(&["Oslo"], &["Oslo, Oslo, NO"]).await;
    check(
        &["Paris, Rome or Berlin"],
        &[
            "Paris, Île-de-France, FR",
            "Rome, Lazio, IT",
            "Berlin, State of Berlin, DE",
        ],
    )
    .await;
    check(
        &["Berlin, Hamburg, Munich"],
        &[
            "Berlin, State of Berlin, DE",
            "Hamburg, Hamburg, DE",
            "Munich, Bavaria, DE",
        ],
    )
    .await;
    check(&["Paris, Texas"], &["Paris, Texas, US"]).await;
    check(&["Cambridge, MA"], &["Cambridge, Massachusetts, US"]).await;
    check(&["weather in Cambridge MA"], &["Cambridge, Massachusetts, US"]).await;
    check(
        &["Cambridge, UK and Cambridge, Massachusetts"],
        &["Cambridge, England, GB", "Cambridge, Massachusetts, US"],
    )
    .await;
    check(&["Springfield in Illinois"], &["Springfield, Illinois, US"]).await;
    check(&["Portland, OR"], &["Portland, Oregon, US"]).await;
    check(
        &["Paris, France and Rome, Italy"],
        &["Paris, Île-de-France, FR", "Rome, Lazio, IT"],
    )
    .await;
    check(&["New York, New York"], &["New York, New York, US"]).await;
    check(&["weather in NYC"], &["New York, New York, US"]).await;
    check(&["Camping in Oslo this weekend"], &["Oslo, Oslo, NO"]).await;
    check(&["oslo bergen"], &["Oslo, Oslo, NO", "Bergen, Vestland, NO"]).await;
    check(&["Berlin bitte"], &["Berlin, State of Berlin, DE"]).await;
    check(&["weather in the hague"], &["The Hague, South Holland, NL"]).await;
    check(&["weather in münchen"], &["Munich, Bavaria, DE"]).await;
    check(&["Oslo and oslo"], &["Oslo, Oslo, NO"]).await;
    check(
        &["What about Washington, D.C.?"],
        &["Washington, District of Columbia, US"],
    )
    .await;
}

#[tokio::test]
async fn a_clear_namesake_is_mentioned() {
    let bench = Bench::new().await;
    let (text, data) = bench.answer(&["Weather in Paris tomorrow"]).await;
    assert!(
        text.contains("This is Paris, Île-de-France, France; there is also Paris, Texas, United States"),
        "{text}"
    );
    assert_eq!(
        data["places"][0]["alternatives"][0],
        "Paris, Texas, United States"
    );
    let (text, _) = bench.answer(&["Weather in Paris, France"]).await;
    assert!(!text.contains("there is also"), "{text}");
    let (text, _) = bench.answer(&["Weather in Osl"]).await;
    assert!(text.contains("I took “Osl” to be Oslo, Norway."), "{text}");
}

#[tokio::test]
async fn what_a_name_only_begins_with_is_asked_about() {
    let bench = Bench::new().await;
    let question = bench.question(&["Weather in Reykj"]).await;
    assert_eq!(
        question,
        "I know no place called “Reykj”; did you mean Reykjavík, Iceland? Which place do you mean?"
    );
    let (_, data) = bench.answer(&["Weather in Reykj", "yes"]).await;
    assert_eq!(places(&data), ["Reykjavík IS 2026-11-21"]);
    for said in [
        "am I free, and will it rain tomorrow?",
        "never mind the rain",
        "is it windy, mind you?",
    ] {
        let question = bench.question(&[said]).await;
        assert!(
            question.starts_with("Which place do you want the weather for?"),
            "{said}: {question}"
        );
    }
}

/// Words that a search finds places by: their names or other names begin so, or are like them. Found by asking for every English
/// stop word and every word of the tables.
const EVERYDAY: &[&str] = &[
    "amber", "big", "born", "came", "chess", "due", "easter", "fire", "free", "greater", "half", "hell",
    "hid", "kitchen", "lab", "little", "long", "lower", "mind", "name", "nay", "nos", "paid", "past", "pool",
    "ran", "rang", "road", "said", "salt", "shant", "state", "tries", "used", "villa", "wait", "wie",
];

#[tokio::test]
async fn everyday_words_are_no_places_in_prose() {
    let bench = Bench::new().await;
    for word in EVERYDAY {
        let said = format!("is it {word} today, and will it rain?");
        let question = bench.question(&[&said]).await;
        assert!(question.contains("Which place do you want"), "{said}: {question}");
    }
    // These are what some town is called; the answer names it.
    for (word, place) in [
        ("marathon", "Marathon"),
        ("moss", "Moss"),
        ("page", "Page"),
        ("side", "Side"),
    ] {
        let (text, _) = bench.answer(&[&format!("will it rain for the {word}?")]).await;
        assert!(text.contains(&format!("in {place} today")), "{text}");
    }
}

#[tokio::test]
async fn an_ambiguous_place_is_asked_about_and_the_reply_understood() {
    let bench = Bench::new().await;
    let first = "Will it rain in Springfield tomorrow?";
    let question = bench.question(&[first]).await;
    assert_eq!(
        question,
        "Several places are called “Springfield”. Which one do you mean?\n\
         1. Springfield, Missouri, United States\n\
         2. Springfield, Massachusetts, United States\n\
         3. Springfield, Illinois, United States\n\
         4. Springfield, Oregon, United States\n\
         5. Springfield, Ohio, United States"
    );
    for (reply, expect) in [
        ("Illinois", "Illinois"),
        ("the one in Illinois", "Illinois"),
        ("3", "Illinois"),
        ("The second one, please", "Massachusetts"),
        ("MA", "Massachusetts"),
        ("Springfield, Oregon", "Oregon"),
        ("Virginia", "Virginia"),
    ] {
        let (text, data) = bench.answer(&[first, reply]).await;
        assert_eq!(data["places"][0]["admin1"], expect, "{reply}");
        assert!(
            text.contains("rain") && text.contains("in Springfield tomorrow"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn replies_may_change_the_question() {
    let bench = Bench::new().await;
    let first = "Will it rain in Springfield tomorrow?";
    let (_, data) = bench.answer(&[first, "Actually Boston"]).await;
    assert_eq!(places(&data), ["Boston US 2026-11-22"]);
    let (_, data) = bench
        .answer(&[first, "Illinois, and make it Monday, in Fahrenheit"])
        .await;
    assert_eq!(places(&data), ["Springfield US 2026-11-23"]);
    assert_eq!(data["units"]["temperature"], "°F");
    let again = bench.question(&[first, "I don't know"]).await;
    assert!(
        again.starts_with("Several places are called “Springfield”"),
        "{again}"
    );
    let (_, data) = bench.answer(&[first, "what?", "2"]).await;
    assert_eq!(data["places"][0]["admin1"], "Massachusetts");
}

#[tokio::test]
async fn two_ambiguous_places_are_asked_about_in_turn() {
    let bench = Bench::new().await;
    let first = "Compare Springfield and Cambridge";
    assert!(bench.question(&[first]).await.contains("“Springfield”"));
    assert!(bench.question(&[first, "Ohio"]).await.contains("“Cambridge”"));
    let (_, data) = bench.answer(&[first, "Ohio", "the one in England"]).await;
    assert_eq!(
        places(&data),
        ["Springfield US 2026-11-21", "Cambridge GB 2026-11-21"]
    );
}

#[tokio::test]
async fn a_country_and_a_state_of_one_name() {
    let bench = Bench::new().await;
    let question = bench.question(&["Weather in Georgia"]).await;
    assert!(
        question.contains("Georgia (the country)") && question.contains("(the state)"),
        "{question}"
    );
    let (text, data) = bench.answer(&["Weather in Georgia", "the country"]).await;
    assert_eq!(data["places"][0]["countryCode"], "GE");
    assert!(
        text.contains("Georgia is large: this is the weather at its centre."),
        "{text}"
    );
    let (_, data) = bench.answer(&["Weather in Georgia", "the US state"]).await;
    assert_eq!(data["places"][0]["countryCode"], "US");
}

#[tokio::test]
async fn an_unknown_place_is_told_and_the_others_answered() {
    let bench = Bench::new().await;
    let (text, data) = bench.answer(&["Rain in Oslo and Qwertyville tomorrow?"]).await;
    assert_eq!(places(&data), ["Oslo NO 2026-11-22"]);
    assert!(text.contains("I know no place called “Qwertyville”."), "{text}");
    assert_eq!(data["unknown"][0]["asked"], "Qwertyville");
    let (text, data) = bench.answer(&["Rain in Oslo and Trondhiem tomorrow?"]).await;
    assert!(
        text.contains("“Trondhiem”; did you mean Trondheim, Trøndelag, Norway?"),
        "{text}"
    );
    assert_eq!(data["unknown"][0]["suggestion"], "Trondheim, Trøndelag, Norway");
}

#[tokio::test]
async fn a_suggestion_is_taken_with_a_yes() {
    let bench = Bench::new().await;
    let question = bench.question(&["Will it rain in Bergenn?"]).await;
    assert_eq!(
        question,
        "I know no place called “Bergenn”; did you mean Bergen, Vestland, Norway? Which place do you mean?"
    );
    for reply in ["yes", "Yes please", "Bergen", "I meant Bergen"] {
        let (_, data) = bench.answer(&["Will it rain in Bergenn?", reply]).await;
        assert_eq!(places(&data), ["Bergen NO 2026-11-21"], "{reply}");
    }
    let question = bench.question(&["Will it rain in Qwertyville?"]).await;
    assert_eq!(
        question,
        "I know no place called “Qwertyville”. Which place do you mean?"
    );
}

#[tokio::test]
async fn no_place_is_asked_for() {
    let bench = Bench::new().await;
    for first in [
        "Will it rain tomorrow?",
        "hello",
        "",
        "tell me a joke",
        "\u{0}\u{0}",
    ] {
        let question = bench.question(&[first]).await;
        assert!(
            question.starts_with("Which place do you want the weather for?"),
            "{first}: {question}"
        );
    }
    let (text, data) = bench.answer(&["Will it rain tomorrow?", "Oslo"]).await;
    assert_eq!(places(&data), ["Oslo NO 2026-11-22"]);
    assert!(text.contains("rain"), "{text}");
}

#[tokio::test]
async fn more_places_than_are_taken() {
    let bench = Bench::new().await;
    let many = "Oslo, Bergen, Rome, Berlin, Madrid, Tokyo, Cairo, Lima, Quito, Dublin and Nairobi";
    let (text, data) = bench.answer(&[many]).await;
    assert_eq!(data["places"].as_array().unwrap().len(), 8);
    assert!(text.contains("I took only the first 8 places"), "{text}");
}
