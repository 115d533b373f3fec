//! What one message says, on Monday, 30 November 2026.

use serde_json::{Value, json};

use super::*;

fn read(data: &Value, said: &str) -> Result<Wanted, String> {
    asked(data, said).map_err(|(question, _)| question)
}

/// The same; what is asked comes with the fields to fill in.
fn asked(data: &Value, said: &str) -> Result<Wanted, (String, Vec<String>)> {
    let (user, now) = (UserContext::default(), Timestamp::from_millis(1_796_000_000_000));
    let taken = agent_testing::taken((data, said), &takes(), (&user, now));
    let taken = taken.map_err(|question| (question, Vec::new()))?;
    Wanted::of(&taken, (&user, now), None).map_err(|(question, schema)| {
        let fields = schema.requires().into_iter().map(str::to_owned).collect();
        (question, fields)
    })
}

/// What is searched for, however it was said.
fn search(data: &Value, said: &str) -> Result<(String, NaiveDate, NaiveDate, u32, Option<i64>), String> {
    let told = |wanted: Wanted| {
        let (guests, most) = (wanted.said.guests(), wanted.most());
        (wanted.said.place, wanted.first, wanted.last, guests, most)
    };
    read(data, said).map(told)
}

fn words(said: &str) -> Result<Wanted, String> {
    read(&Value::Null, said)
}

/// Place, first day, nights, guests, children, highest price of the stay (0 for none).
type Row = (&'static str, &'static str, &'static str, i64, u32, u32, i64);

const ROWS: [Row; 28] = [
    (
        "A flat in Oslo for two, Friday to Sunday, under 120 a night",
        "Oslo",
        "2026-12-04",
        2,
        2,
        0,
        240,
    ),
    (
        "Find a flat in Oslo for two, Friday to Sunday",
        "Oslo",
        "2026-12-04",
        2,
        2,
        0,
        0,
    ),
    (
        "An apartment in Rome for four guests under 120 euros a night, 4 to 7 December",
        "Rome",
        "2026-12-04",
        3,
        4,
        0,
        360,
    ),
    (
        "Apartment in Paris, Texas from 24 December to 2 January for 2 adults and 3 children",
        "Paris, Texas",
        "2026-12-24",
        9,
        2,
        3,
        0,
    ),
    (
        "Where can we stay in Berlin tomorrow for 3 nights, the three of us?",
        "Berlin",
        "2026-12-01",
        3,
        3,
        0,
        0,
    ),
    (
        "A room in New York this weekend",
        "New York",
        "2026-12-04",
        2,
        1,
        0,
        0,
    ),
    ("A bed in Kyoto tonight", "Kyoto", "2026-11-30", 1, 1, 0, 0),
    (
        "Hotel in Vienna next weekend for 2 people, max 300 in total",
        "Vienna",
        "2026-12-11",
        2,
        2,
        0,
        300,
    ),
    (
        "a cabin near Bergen, 2026-12-28 to 2027-01-02, for 6 people",
        "Bergen",
        "2026-12-28",
        5,
        6,
        0,
        0,
    ),
    (
        "House in Nice from Friday for 5 nights, up to €90 per night",
        "Nice",
        "2026-12-04",
        5,
        1,
        0,
        450,
    ),
    (
        "Somewhere to stay in Madrid on 5 December for one night",
        "Madrid",
        "2026-12-05",
        1,
        1,
        0,
        0,
    ),
    (
        "Lodging in Prague, arriving Friday, leaving Monday",
        "Prague",
        "2026-12-04",
        3,
        1,
        0,
        0,
    ),
    (
        "two adults, one child, Lisbon, 10 to 12 December",
        "Lisbon",
        "2026-12-10",
        2,
        2,
        1,
        0,
    ),
    (
        "I need a studio in Amsterdam from 8 to 11 January",
        "Amsterdam",
        "2027-01-08",
        3,
        1,
        0,
        0,
    ),
    (
        "A flat in Oslo for 2, 4 nights from 31 December",
        "Oslo",
        "2026-12-31",
        4,
        2,
        0,
        0,
    ),
    (
        "A flat in Reykjavík for two weeks from 5 January",
        "Reykjavík",
        "2027-01-05",
        14,
        1,
        0,
        0,
    ),
    (
        "flat in London next week for 2 persons",
        "London",
        "2026-12-07",
        6,
        2,
        0,
        0,
    ),
    (
        "Airbnb in Barcelona, Dec 20 - Dec 23, less than 80 euros a night, 2 guests",
        "Barcelona",
        "2026-12-20",
        3,
        2,
        0,
        240,
    ),
    (
        "A flat in Oslo, no, in Bergen, Friday to Sunday",
        "Bergen",
        "2026-12-04",
        2,
        1,
        0,
        0,
    ),
    (
        "Is there a hotel room in Copenhagen from tomorrow until Thursday?",
        "Copenhagen",
        "2026-12-01",
        2,
        1,
        0,
        0,
    ),
    (
        "villa in Athens 28 February to 2 March 2028",
        "Athens",
        "2028-02-28",
        3,
        1,
        0,
        0,
    ),
    (
        "Eine Wohnung in Berlin von Freitag bis Sonntag",
        "Berlin",
        "2026-12-04",
        2,
        1,
        0,
        0,
    ),
    (
        "FLAT IN OSLO, FRIDAY TO SUNDAY, FOR TWO",
        "OSLO",
        "2026-12-04",
        2,
        2,
        0,
        0,
    ),
    (
        "a room in Dublin on Friday for a night, at most 100 euros",
        "Dublin",
        "2026-12-04",
        1,
        1,
        0,
        100,
    ),
    (
        "Cottage at Edinburgh for 4 friends from the 18th to the 21st",
        "Edinburgh",
        "2026-12-18",
        3,
        4,
        0,
        0,
    ),
    (
        "A house in Stockholm for 2 adults and 2 kids, 26 to 30 December, budget of 200 a night",
        "Stockholm",
        "2026-12-26",
        4,
        2,
        2,
        800,
    ),
    (
        "We are 5 people and want a flat in Munich from Saturday to Tuesday",
        "Munich",
        "2026-12-05",
        3,
        5,
        0,
        0,
    ),
    (
        "Rooms in Milan, 1 to 3 February, within 250 euros altogether",
        "Milan",
        "2027-02-01",
        2,
        1,
        0,
        250,
    ),
];

#[test]
fn words_are_read() {
    let mut wrong = Vec::new();
    for (said, place, first, nights, guests, children, most) in ROWS {
        let got = words(said).map(|wanted| {
            let most = wanted.most().unwrap_or(0);
            (
                wanted.said.place.clone(),
                wanted.first.to_string(),
                wanted.nights(),
                wanted.said.guests(),
                wanted.said.children,
                most,
            )
        });
        let expected = (place.to_owned(), first.to_owned(), nights, guests, children, most);
        if got != Ok(expected) {
            wrong.push(format!("{said}: {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_missing_or_makes_no_sense_is_asked_about() {
    for (said, asks) in [
        ("A flat for two, Friday to Sunday", "In which place"),
        ("A flat in Oslo for two", "From which day to which?"),
        ("Somewhere to stay, please", "In which place"),
        ("A flat in Oslo on Friday", "Until which day?"),
        ("A flat in Oslo for three nights", "From which day?"),
        ("A flat in Oslo in December", "From which day to which?"),
        ("A flat in Oslo, yesterday to tomorrow", "is over"),
        (
            "A flat in Oslo from 3/12 to 5/12",
            "Is 3/12 3 December or 12 March?",
        ),
        (
            "A flat in Oslo from 30 February to 3 March",
            "There is no 30 February.",
        ),
        (
            "A flat in Oslo and Bergen, Friday to Sunday",
            "One place at a time: Oslo or Bergen?",
        ),
        (
            "A flat in Oslo, Friday to Sunday, for 40 people",
            "guests must be 16 at most",
        ),
        ("A flat in Oslo from tomorrow for 90 nights", "at most 30"),
        ("", "In which place"),
        ("🏠🏠🏠", "In which place"),
    ] {
        let question = words(said).expect_err(said);
        assert!(question.contains(asks), "{said}: {question}");
    }
}

#[test]
fn data_is_read_before_words() {
    let whole = json!({
        "place": "Oslo", "from": "2026-12-04", "to": "2026-12-06", "guests": 2, "maxPrice": 120, "colour": ["red"],
    });
    let expected = search(
        &Value::Null,
        "A flat in Oslo for two, Friday to Sunday, under 120 a night",
    );
    assert_eq!(search(&whole, ""), expected);
    assert_eq!(
        search(&whole, "a flat in Rome tomorrow for five people"),
        expected
    );
    let some = json!({"place": "Oslo", "guests": 2, "maxPrice": 120});
    assert_eq!(search(&some, "a flat from Friday to Sunday"), expected);
    let nights = json!({"place": "Oslo", "from": "2026-12-04", "nights": 2, "guests": 2, "maxPrice": 120});
    assert_eq!(search(&nights, ""), expected);
}

#[test]
fn wrong_data_is_asked_about_and_the_rest_is_kept() {
    let good = json!({"place": "Oslo", "from": "2026-12-04", "to": "2026-12-06", "guests": 2});
    for (field, wrong) in [
        ("place", json!(7)),
        ("place", json!({"name": "Oslo"})),
        ("place", json!("")),
        ("from", json!("soon")),
        ("from", json!(1_796_000_000)),
        ("to", json!("2026-02-30")),
        ("guests", json!("two")),
        ("guests", json!(0)),
        ("guests", json!(2.5)),
        ("guests", json!(99_999_999_999_u64)),
        ("children", json!(-1)),
        ("maxPrice", json!([])),
        ("nights", json!("x".repeat(100_000))),
    ] {
        let mut bad = good.clone();
        bad[field] = wrong.clone();
        let question = read(&bad, "").expect_err(field);
        assert!(
            question.starts_with(&format!("{field} must ")) && question.len() < 200,
            "{field}: {question}"
        );
    }
    // Contradictions are asked about as well, and nothing is left out of them.
    for (more, asks) in [
        (json!({"nights": 5}), "nights is not"),
        (json!({"to": "2027-02-01"}), "59 nights"),
        (json!({"to": "2026-12-03"}), "Until which day?"),
        (json!({"from": "2026-11-01"}), "is over"),
        (json!({"from": "2036-12-04", "to": "2036-12-06"}), "too far ahead"),
        (json!({"from": null}), "From which day?"),
        (json!({"children": 16}), "how many guests"),
    ] {
        let mut bad = good.clone();
        let fields = bad.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        let question = read(&bad, "").expect_err(asks);
        assert!(question.contains(asks), "{asks}: {question}");
    }
    let mut agreeing = good.clone();
    agreeing["nights"] = json!(2);
    assert_eq!(search(&agreeing, ""), search(&good, ""));
    let departure = json!({"place": "Oslo", "to": "2026-12-06", "nights": 2, "guests": 2});
    assert_eq!(search(&departure, ""), search(&good, ""));
    let begun = json!({"place": "Oslo", "from": "2026-12-04"});
    assert_eq!(
        search(&begun, "for two people, for two nights"),
        search(&good, "")
    );
    for missing in ["place", "from"] {
        let mut less = good.clone();
        less.as_object_mut().unwrap().remove(missing);
        assert!(read(&less, "").is_err(), "{missing}");
    }
}

#[test]
fn a_form_for_the_days_has_each_of_them_that_is_missing() {
    for (said, fields) in [
        ("A flat in Oslo for two", &["from", "to"][..]),
        ("A flat in Oslo, yesterday to tomorrow", &["from", "to"]),
        ("A flat in Oslo for three nights", &["from"]),
        ("A flat in Oslo on Friday", &["to"]),
    ] {
        assert_eq!(asked(&Value::Null, said).expect_err(said).1, fields, "{said}");
    }
}

#[test]
fn nights_are_named_counted_and_left_on() {
    for (said, first, nights, guests) in [
        ("Oslo tonight and tomorrow night, for two", "2026-11-30", 2, 2),
        ("Bergen for two nights, Friday and Saturday", "2026-12-04", 2, 1),
        (
            "Rome, leaving on 12 December after three nights",
            "2026-12-09",
            3,
            1,
        ),
        ("Madrid, the night of 8 December", "2026-12-08", 1, 1),
        ("Berlin, 8 to 10 December, three", "2026-12-08", 2, 3),
    ] {
        let wanted = words(said).unwrap_or_else(|question| panic!("{said}: {question}"));
        let told = (wanted.first.to_string(), wanted.nights(), wanted.said.guests());
        assert_eq!(told, (first.to_owned(), nights, guests), "{said}");
    }
}

#[test]
fn what_is_no_certain_number_is_asked_about() {
    for said in [
        "Oslo from Friday, -3 nights",
        "Oslo, Friday to Sunday, at most -20 euros",
        "Oslo from Friday for a few nights",
        "Oslo, Friday to Sunday, 3 or 4 guests",
    ] {
        assert!(words(said).is_err(), "{said}");
    }
    let wanted = words("A studio in Amsterdam between 8 and 11 January").unwrap();
    assert_eq!(
        (wanted.first.to_string().as_str(), wanted.nights()),
        ("2027-01-08", 3)
    );
    // Ranges of days have such a sign too.
    let wanted = words("Oslo, 8-10 December, between 80 and 110 euros a night");
    assert!(wanted.is_ok_and(|wanted| wanted.nights() == 2));
}

#[test]
fn who_comes_is_counted() {
    for (said, people) in [
        ("Oslo, Friday to Sunday, me, my mother and my baby", (2, 0, 1)),
        ("Oslo Friday to Sunday for me and my three children", (1, 3, 0)),
        ("Oslo Friday to Sunday for my wife and me", (2, 0, 0)),
        ("Oslo for two couples and a child, Friday to Sunday", (4, 1, 0)),
        (
            "Oslo, Friday to Sunday, two adults and our ten-year-old son",
            (2, 1, 0),
        ),
    ] {
        let wanted = words(said).unwrap();
        assert_eq!(
            (wanted.said.guests(), wanted.said.children, wanted.said.infants),
            people,
            "{said}"
        );
    }
}

#[test]
fn least_prices_and_what_else_it_should_have_are_kept() {
    let wanted =
        words("The cheapest flat in Oslo with a balcony, Friday to Sunday, between 80 and 110 euros a night")
            .unwrap();
    assert_eq!(
        (wanted.least(), wanted.most(), wanted.said.order.is_some()),
        (Some(160), Some(220), true)
    );
    assert_eq!(wanted.said.wishes, ["balcony"]);
    let wanted = words("Oslo, Friday to Sunday, at least 50 euros a night").unwrap();
    assert_eq!((wanted.least(), wanted.most()), (Some(100), None));
}

#[test]
fn what_a_request_takes_goes_by_its_length() {
    words_testing::assert_linear(|text| _ = words(&format!("A flat in Oslo {text}")));
}
