//! What people say, on Monday, 30 November 2026.

use domain::{MessageId, Part};
use serde_json::{Value, json};

use super::*;

fn reading() -> Reading {
    Reading::of(&UserContext::default(), Timestamp::from_millis(1_796_000_000_000))
}

fn message(parts: Vec<Part>) -> Message {
    Message::user(MessageId::derived("m"), parts)
}

fn read(said: &[&str]) -> Result<Wanted, String> {
    let messages: Vec<Message> = said.iter().map(|text| message(vec![Part::text(*text)])).collect();
    reading().read(&messages.iter().collect::<Vec<_>>())
}

fn data(value: Value, text: &str) -> Result<Wanted, String> {
    let parts = vec![Part::data(value), Part::text(text)];
    reading().read(&[&message(parts)])
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
        let got = read(&[said]).map(|wanted| {
            let most = wanted.most().unwrap_or(0);
            (
                wanted.place.clone(),
                wanted.first.to_string(),
                wanted.nights(),
                wanted.guests,
                wanted.children,
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
            "how many guests",
        ),
        ("A flat in Oslo from tomorrow for 90 nights", "at most 30"),
        ("", "In which place"),
        ("🏠🏠🏠", "In which place"),
    ] {
        let question = read(&[said]).expect_err(said);
        assert!(question.contains(asks), "{said}: {question}");
    }
}

#[test]
fn of_several_large_places_of_one_name_one_is_said() {
    const TWO: &str = "Portland for two nights from January 8";
    let which = "Which Portland: Oregon or Maine?";
    assert_eq!(read(&[TWO]), Err(which.to_owned()));
    for (reply, place) in [
        ("Maine", "Portland, Maine"),
        ("the one in Oregon", "Portland, Oregon"),
        ("Portland, Maine", "Portland, Maine"),
        ("Bergen", "Bergen"),
    ] {
        let wanted = read(&[TWO, reply]).unwrap();
        assert_eq!(
            (wanted.whole_place().as_str(), wanted.nights()),
            (place, 2),
            "{reply}"
        );
    }
    assert_eq!(read(&[TWO, "the bigger one"]), Err(which.to_owned()));
    assert_eq!(
        read(&[TWO, "the bigger one", "Oregon, for three"])
            .unwrap()
            .guests,
        3
    );
    // What else is missing is asked at once, and may come first.
    assert_eq!(
        read(&["Portland"]).unwrap_err(),
        format!("{which} From which day to which?")
    );
    assert_eq!(read(&["Portland", "Friday to Sunday"]), Err(which.to_owned()));
    let wanted = read(&["Portland", "Friday to Sunday", "Maine"]).unwrap();
    assert_eq!((wanted.place.as_str(), wanted.nights()), ("Portland, Maine", 2));
    assert_eq!(
        data(json!({"place": "Portland"}), "from tomorrow for a night"),
        Err(which.to_owned())
    );
}

#[test]
fn the_answer_goes_on() {
    for said in [
        &["A flat for two, Friday to Sunday", "Oslo"][..],
        &["A flat in Oslo for two", "Friday to Sunday"],
        &["A flat in Oslo for two on Friday", "Sunday"],
        &["A flat in Oslo for two on Friday", "for two nights"],
        &["Somewhere to stay", "Oslo, from Friday to Sunday", "for two"],
        &[
            "A flat in Bergen for three, Friday to Sunday",
            "oslo, and for two",
        ],
        &["A flat in Oslo and Bergen for two, Friday to Sunday", "Oslo"],
    ] {
        let wanted = read(said).unwrap_or_else(|question| panic!("{said:?}: {question}"));
        assert_eq!(
            (
                wanted.place.to_lowercase().as_str(),
                wanted.first.to_string().as_str(),
                wanted.nights(),
                wanted.guests
            ),
            (
                "oslo",
                "2026-12-04",
                2,
                if said[0].contains("two") || said.len() > 2 || said[0].contains("three") {
                    2
                } else {
                    1
                }
            ),
            "{said:?}"
        );
    }
}

#[test]
fn data_is_read_before_words() {
    let whole = json!({
        "place": "Oslo", "from": "2026-12-04", "to": "2026-12-06", "guests": 2, "maxPrice": 120, "colour": ["red"],
    });
    let expected = read(&["A flat in Oslo for two, Friday to Sunday, under 120 a night"]);
    assert_eq!(data(whole.clone(), ""), expected);
    assert_eq!(data(whole, "a flat in Rome tomorrow for five people"), expected);
    let some = json!({"place": "Oslo", "guests": 2, "maxPrice": 120});
    assert_eq!(data(some, "a flat from Friday to Sunday"), expected);
    let nights = json!({"place": "Oslo", "from": "2026-12-04", "nights": 2, "guests": 2, "maxPrice": 120});
    assert_eq!(data(nights, ""), expected);
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
        let question = data(bad, "").expect_err(field);
        assert!(
            question.contains(&format!(" {field} ")) && question.len() < 200,
            "{field}: {question}"
        );
    }
    // What was right of it is still known when the question is answered.
    let mut bad = good.clone();
    bad["to"] = json!("Sunday");
    let said = [
        message(vec![Part::data(bad)]),
        message(vec![Part::text("Sunday")]),
    ];
    let wanted = reading().read(&said.iter().collect::<Vec<_>>()).unwrap();
    assert_eq!((wanted.place.as_str(), wanted.nights()), ("Oslo", 2));
    // Contradictions are asked about as well, and nothing is left out of them.
    for (more, asks) in [
        (json!({"nights": 5}), "nights is not"),
        (json!({"to": "2027-02-01"}), "59 nights"),
        (json!({"to": "2026-12-03"}), "Until which day?"),
        (json!({"from": "2026-11-01"}), "is over"),
        (json!({"from": "2036-12-04", "to": "2036-12-06"}), "too far ahead"),
        (json!({"from": null}), "to is there"),
        (json!({"children": 16}), "how many guests"),
    ] {
        let mut bad = good.clone();
        let fields = bad.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        let question = data(bad, "").expect_err(asks);
        assert!(question.contains(asks), "{asks}: {question}");
    }
    let mut agreeing = good.clone();
    agreeing["nights"] = json!(2);
    assert_eq!(data(agreeing, ""), data(good.clone(), ""));
    let departure = json!({"place": "Oslo", "to": "2026-12-06", "nights": 2, "guests": 2});
    assert_eq!(data(departure, ""), data(good.clone(), ""));
    let begun = json!({"place": "Oslo", "from": "2026-12-04"});
    assert_eq!(
        data(begun, "for two people, for two nights"),
        data(good.clone(), "")
    );
    for missing in ["place", "from"] {
        let mut less = good.clone();
        less.as_object_mut().unwrap().remove(missing);
        assert!(data(less, "").is_err(), "{missing}");
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
        let wanted = read(&[said]).unwrap_or_else(|question| panic!("{said}: {question}"));
        let told = (wanted.first.to_string(), wanted.nights(), wanted.guests);
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
        assert!(read(&[said]).is_err(), "{said}");
    }
    let wanted = read(&["A studio in Amsterdam between 8 and 11 January"]).unwrap();
    assert_eq!(
        (wanted.first.to_string().as_str(), wanted.nights()),
        ("2027-01-08", 3)
    );
    // Ranges of days have such a sign too.
    let wanted = read(&["Oslo, 8-10 December, between 80 and 110 euros a night"]);
    assert!(wanted.is_ok_and(|wanted| wanted.nights() == 2));
}

#[test]
fn people_of_whom_nobody_says_how_many_they_are_are_asked_about_and_never_one() {
    for said in [
        "A flat in Oslo for my family, Friday to Sunday",
        "Oslo, Friday to Sunday, for us",
        "Oslo Friday to Sunday for me and my cousins",
    ] {
        assert_eq!(read(&[said]), Err("For how many guests?".to_owned()), "{said}");
        for reply in ["4", "for four", "four of us", "4 people"] {
            let answered = read(&[said, reply]).unwrap();
            assert_eq!(
                (answered.guests, answered.place.as_str()),
                (4, "Oslo"),
                "{said} / {reply}"
            );
        }
    }
    for (said, people) in [
        ("Oslo, Friday to Sunday, me, my mother and my baby", (2, 1)),
        ("Oslo Friday to Sunday for me and my three children", (1, 3)),
        ("Oslo Friday to Sunday for my wife and me", (2, 0)),
        ("Oslo for two couples and a child, Friday to Sunday", (4, 1)),
        (
            "Oslo, Friday to Sunday, two adults and our ten-year-old son",
            (2, 1),
        ),
    ] {
        let wanted = read(&[said]).unwrap();
        assert_eq!((wanted.guests, wanted.children), people, "{said}");
    }
}

/// The service has its prices in euros.
#[test]
fn a_price_in_other_money_is_asked_about() {
    let euros = || reading().priced_in(Some("EUR".parse().unwrap()));
    let read = |said: &[&str]| {
        let messages: Vec<Message> = said.iter().map(|text| message(vec![Part::text(*text)])).collect();
        euros().read(&messages.iter().collect::<Vec<_>>())
    };
    for price in ["120", "120 euros", "€120", "120 EUR"] {
        let wanted = read(&[&format!(
            "A flat in Oslo for two, Friday to Sunday, under {price} a night"
        )])
        .unwrap();
        assert_eq!(
            (wanted.most(), wanted.currencies.as_slice()),
            (Some(240), &["EUR".to_owned()][..]),
            "{price}"
        );
    }
    let kroner = "A flat in Oslo for two, Friday to Sunday, under 1200 kroner a night";
    let asked = read(&[kroner]).unwrap_err();
    assert!(asked.contains("at most in EUR"), "{asked}");
    for (reply, most) in [
        ("100", Some(200)),
        ("90 euros a night", Some(180)),
        ("no limit", None),
        ("300 in total", Some(300)),
    ] {
        let wanted = read(&[kroner, reply]).unwrap();
        assert_eq!(
            (wanted.most(), wanted.place.as_str(), wanted.guests),
            (most, "Oslo", 2),
            "{reply}"
        );
    }
    assert_eq!(read(&[kroner, "900 NOK"]).unwrap_err(), asked);
    let data = |currency: &str| {
        let data = json!({"place": "Oslo", "from": "2026-12-04", "to": "2026-12-06", "maxPrice": 900, "currency": currency});
        euros().read(&[&message(vec![Part::data(data)])])
    };
    assert_eq!(data("NOK").unwrap_err(), asked);
    assert_eq!(data("EUR").unwrap().most(), Some(1_800));
    assert!(data("crowns").unwrap_err().contains("currency must"));
}

#[test]
fn what_a_request_takes_goes_by_its_length() {
    words_testing::assert_linear(|text| _ = read(&["A flat in Oslo", text]));
}
