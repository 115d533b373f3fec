//! What is read of agents that nobody here wrote.

use serde_json::json;

use super::*;

fn read(schema: &Value, examples: &[&str], said: &str) -> Extraction {
    let known = Map::new();
    let asked = Asked {
        known: &known,
        before: &Map::new(),
        answers: None,
        now: Timestamp::parse("2026-11-21T09:00:00Z").unwrap(),
        user: &UserContext::default(),
    };
    extract(said, &Takes::new(schema, examples), asked)
}

fn laundry() -> Value {
    json!({
        "type": "object",
        "properties": {
            "tickets": {"type": "array", "items": {"type": "string", "format": "id"}, "description": "Numbers of laundry tickets"},
            "shirts": {"type": "integer", "description": "Number of shirts or blouses"},
            "wash": {"oneOf": [
                {"const": "gentle", "description": "for silk, wool or delicate things"},
                {"const": "hot", "description": "boiled, for white linen"},
            ], "default": "gentle", "description": "Washing programme"},
            "pickup": {"type": "string", "format": "date"},
        },
        "required": ["shirts"],
    })
}

#[test]
fn values_are_bound_by_what_a_schema_says_of_itself() {
    for (said, data) in [
        ("twelve shirts, please", json!({"shirts": 12})),
        ("3 blouses with the linen", json!({"shirts": 3, "wash": "hot"})),
        ("wash 2 silk shirts", json!({"wash": "gentle"})),
        ("a wash", json!({"wash": "gentle"})),
        ("where is ticket A-778?", json!({"tickets": ["A-778"]})),
        (
            "tickets 7 and 1001-1003",
            json!({"tickets": ["7", "1001", "1002", "1003"]}),
        ),
        ("hello", json!({})),
    ] {
        let read = read(&laundry(), &[], said);
        assert_eq!(Value::Object(read.data.clone()), data, "{said}");
        assert_eq!(
            read.missing.is_empty(),
            read.data.contains_key("shirts"),
            "{said}"
        );
    }
}

#[test]
fn a_value_that_no_field_holds_is_named() {
    for (said, unsure) in [
        ("two shirts on 3 December", vec!["3 December"]),
        ("two shirts and 4 socks", vec!["4"]),
        ("two shirts since 2026", vec!["2026"]),
        ("two shirts now", vec![]),
    ] {
        assert_eq!(read(&laundry(), &[], said).unsure, unsure, "{said}");
    }
    assert_eq!(
        read(&laundry(), &[], "two striped shirts").unread,
        ["two", "striped", "shirts"]
    );
}

#[test]
fn data_counts_before_words_which_continue_lists() {
    let known = json!({"shirts": 5, "tickets": ["1"], "starch": true});
    let asked = Asked {
        known: known.as_object().unwrap(),
        before: &Map::new(),
        answers: None,
        now: Timestamp::from_millis(0),
        user: &UserContext::default(),
    };
    let takes = Takes::new(&laundry(), &[]);
    let read = extract("two shirts, tickets 1 and 778", &takes, asked);
    let expect = json!({"shirts": 5, "tickets": ["1", "778"], "starch": true});
    assert_eq!(Value::Object(read.data), expect);
}

#[test]
fn a_number_alone_answers_a_question() {
    let takes = Takes::new(&laundry(), &[]);
    for is_answer in [true, false] {
        let asked = Asked {
            known: &Map::new(),
            before: &Map::new(),
            answers: is_answer.then_some("shirts"),
            now: Timestamp::from_millis(0),
            user: &UserContext::default(),
        };
        assert_eq!(extract("Six.", &takes, asked).missing.is_empty(), is_answer);
    }
}

#[test]
fn what_is_left_is_text_behind_what_examples_say_before_it() {
    let schema = json!({"type": "object", "properties": {"song": {"type": "string"}}, "required": ["song"]});
    let examples = [
        "Play the song {Yesterday} for me",
        "Spiel das Lied {Atemlos}",
        "Put on some music by {Grieg}",
    ];
    for (said, song) in [
        (
            "play some music by Johnny Cash & June",
            Some("Johnny Cash & June"),
        ),
        ("Bitte spiel das Lied 99 Luftballons!", Some("99 Luftballons")),
        ("play some music", None),
    ] {
        assert_eq!(
            read(&schema, &examples, said).data.get("song"),
            song.map(Value::from).as_ref(),
            "{said}"
        );
    }
}

fn tennis() -> Value {
    let slot = |format: &str| json!({"type": "string", "format": format});
    json!({
        "type": "object",
        "properties": {
            "what": {"oneOf": [
                {"const": "lesson", "description": "`{length}` `teach me`"},
                {"const": "court", "description": "courts play"},
                {"const": "ball", "description": "balls"},
            ]},
            "days": {"type": "array", "items": slot("day")},
            "hours": slot("hours"),
            "length": {"type": "integer", "format": "duration"},
            "clock": slot("time-zone"),
        },
    })
}

#[test]
fn time_is_bound_as_its_formats_say() {
    for (said, data) in [
        (
            "a court on Friday from 2 to 4 pm",
            json!({"what": "court", "days": ["2026-11-27"], "hours": "14:00/16:00"}),
        ),
        (
            "90 minutes tomorrow at 9, London time",
            json!({"what": "lesson", "days": ["P1D"], "hours": "09:00", "length": 90, "clock": "Europe/London"}),
        ),
        ("teach me to play", json!({"what": "lesson"})),
        ("balls for the court", json!({"what": "court"})),
        (
            "a court on Tuesday or Monday",
            json!({"what": "court", "days": ["2026-11-24", "2026-11-30"]}),
        ),
        (
            "court, Saturday 8 pm to Sunday 1 am",
            json!({"what": "court", "days": ["2026-11-21"], "hours": "20:00/01:00"}),
        ),
        (
            "court on Friday from 5 to 3 pm, no, from 3 to 5 pm",
            json!({"what": "court", "days": ["2026-11-27"], "hours": "15:00/17:00"}),
        ),
    ] {
        let read = read(&tennis(), &[], said);
        assert_eq!((Value::Object(read.data), read.unclear), (data, None), "{said}");
    }
}

#[test]
fn what_is_left_over_of_time_is_asked_about() {
    for (said, field, question) in [
        ("a court on 3, 4 and 5 December", "days", "cannot read “3”"),
        ("a court any day next week except Friday", "days", "“except”"),
        ("the day before Christmas Eve", "days", "“before”"),
        ("a court from Friday", "days", "“from”"),
        ("not before 10 am on Friday", "hours", "“not”"),
        ("a court on 30 February", "days", "There is no 30 February"),
        (
            "a court on Monday 24 December 2026",
            "days",
            "24 December 2026 is a Thursday",
        ),
        ("Monday from 5 pm to 3 pm", "hours", "15:00 is not after 17:00"),
        (
            "Friday 6 pm to Sunday 8 pm",
            "hours",
            "the same hours of each day",
        ),
        ("from 9:00 at 10:00 on Friday at 11:00", "hours", "on which day"),
    ] {
        let read = read(&tennis(), &[], said);
        let (unclear, asked) = read.unclear.unwrap_or_default();
        assert_eq!(unclear, field, "{said}: {asked}");
        assert!(asked.contains(question), "{said}: {asked}");
        assert!(!read.data.contains_key(field), "{said}");
    }
}

#[test]
fn what_reading_takes_goes_by_the_length() {
    let text =
        json!({"type": "object", "properties": {"topic": {"type": "string"}, "steps": {"type": "integer"}}});
    for schema in [laundry(), tennis(), text] {
        words_testing::assert_linear(|said| _ = read(&schema, &["a note on {a}"], said));
    }
}
