//! What is read of questions, and what is asked.

use domain::{MessageId, Part};
use serde_json::json;

use super::*;

/// A Monday morning.
const NOW: i64 = 1_796_029_200_000;

fn reading() -> Reading {
    let user = UserContext {
        locale: Some("en-GB".into()),
        time_zone: Some("Europe/Oslo".into()),
    };
    Reading::of(&user, Timestamp::from_millis(NOW))
}

fn message(parts: Vec<Part>) -> Message {
    Message::user(MessageId::derived("m"), parts)
}

fn read(said: &[&str]) -> Result<Wanted, String> {
    let said: Vec<Message> = said.iter().map(|text| message(vec![Part::text(*text)])).collect();
    reading().read(&said.iter().collect::<Vec<_>>())
}

/// A question in one line: kind, days, hours, minutes.
fn told(wanted: &Wanted) -> String {
    let days = match wanted.days.as_slice() {
        [one] => one.format("%m-%d").to_string(),
        [first, .., last] => format!(
            "{}..{} ({})",
            first.format("%m-%d"),
            last.format("%m-%d"),
            wanted.days.len()
        ),
        [] => String::new(),
    };
    let hours = wanted.hours.map_or(String::new(), |hours| {
        format!(" {}-{}", hours.from.format("%H:%M"), hours.to.format("%H:%M"))
    });
    format!("{:?} {days}{hours} {}", wanted.kind, wanted.minutes)
}

#[test]
fn questions_are_read() {
    for (said, expected) in [
        ("Am I free on Friday?", "Free 12-04 60"),
        ("am i busy tomorrow", "Free 12-01 60"),
        (
            "Do I have time on Wednesday afternoon?",
            "Free 12-02 12:00-18:00 60",
        ),
        ("Am I free at 3 pm on Friday?", "Free 12-04 15:00-16:00 60"),
        ("Am I free at 3 on Friday?", "Free 12-04 15:00-16:00 60"),
        ("Am I free tomorrow at 14:30?", "Free 12-01 14:30-15:30 60"),
        (
            "Am I free tomorrow between 2 and 4 pm?",
            "Free 12-01 14:00-16:00 60",
        ),
        (
            "Am I free on Friday from 9:30 to 11?",
            "Free 12-04 09:30-11:00 60",
        ),
        ("Am I available tonight?", "Free 11-30 18:00-23:00 60"),
        ("Am I free this weekend?", "Free 12-05..12-06 (2) 60"),
        ("Am I free on Monday and Friday?", "Free 11-30..12-04 (2) 60"),
        ("Am I free a week from tomorrow?", "Free 12-08 60"),
        ("What is on my calendar tomorrow?", "Events 12-01 60"),
        ("What's on on Friday?", "Events 12-04 60"),
        ("what do I have on Thursday", "Events 12-03 60"),
        ("Show my meetings this week", "Events 11-30..12-06 (7) 60"),
        ("What time is my meeting tomorrow?", "Events 12-01 60"),
        ("Do I have any appointments on 24 December?", "Events 12-24 60"),
        (
            "An hour for lunch with Ines next week?",
            "Slot 12-07..12-13 (7) 11:00-14:00 60",
        ),
        ("Find half an hour for a call tomorrow", "Slot 12-01 30"),
        ("90 minutes for planning this week", "Slot 11-30..12-06 (7) 90"),
        (
            "an hour and a half on Tuesday morning",
            "Slot 12-01 06:00-12:00 90",
        ),
        ("When am I free on Thursday?", "Slot 12-03 60"),
        ("Is there a slot on Friday?", "Slot 12-04 60"),
        ("Am I free on 3/12?", "Free 12-03 60"),
        ("Am I free on 1 January?", "Free 01-01 60"),
        ("¿Estoy libre el viernes?", "Free 12-04 60"),
        ("Bin ich am Freitag frei?", "Free 12-04 60"),
        (
            "Am I free from 3 December until 5 December?",
            "Free 12-03..12-05 (3) 60",
        ),
        (
            "Am I free on Friday between 9 and 12?",
            "Free 12-04 09:00-12:00 60",
        ),
        (
            "Am I free on Friday from 10 pm to 2 am?",
            "Free 12-04 22:00-02:00 60",
        ),
        ("free on Friday 8-10?", "Free 12-04 08:00-10:00 60"),
        (
            "Find an hour and forty minutes on Thursday or Tuesday",
            "Slot 12-03..12-08 (2) 100",
        ),
        ("Meetings in the week of 9 December", "Events 12-07..12-13 (7) 60"),
        // Over one midnight; over more of them each day has its own part.
        (
            "What's on from Saturday 20:00 to Sunday 12:00",
            "Events 12-05 20:00-12:00 60",
        ),
        (
            "Am I free Saturday 8 pm to Sunday 8 am?",
            "Free 12-05 20:00-08:00 60",
        ),
        (
            "Am I free from 8 pm Saturday to Sunday 8 am?",
            "Free 12-05 20:00-08:00 60",
        ),
        (
            "Am I free from 11 pm on 29 December to 1:30 am on 30 December?",
            "Free 12-29 23:00-01:30 60",
        ),
        (
            "Am I free from Friday 6 pm to Sunday 8 pm?",
            "Free 12-04..12-06 (3) 18:00-20:00 60",
        ),
        (
            "Am I free Monday 9 am to 11 am and Tuesday?",
            "Free 11-30..12-01 (2) 09:00-11:00 60",
        ),
        (
            "Find half an hour with Olu before Friday",
            "Slot 11-30..12-03 (4) 30",
        ),
        ("Could we do dinner on Saturday?", "Free 12-05 18:00-22:00 60"),
    ] {
        let read = read(&[said]);
        assert_eq!(read.as_ref().map(told).as_deref(), Ok(expected), "{said}");
    }
}

#[test]
fn what_makes_no_sense_is_asked_about_and_what_is_said_next_goes_on() {
    for (said, asked) in [
        (
            "Am I free on Friday from 5 pm to 3 pm?",
            "15:00 is not after 17:00",
        ),
        ("Am I free on Friday from 8 am to 8 am?", "is not after"),
        ("Find a slot of minus 20 minutes tomorrow", "How long"),
        ("A meeting of zero minutes on Friday, when?", "How long"),
        (
            "Is there a 3 hour gap on Friday between 2 and 4 pm?",
            "no 180 minutes",
        ),
        (
            "Am I free on Tuesday 4 December 2026?",
            "4 December 2026 is a Friday",
        ),
        (
            "Am I free from 2026-12-10 to 2026-12-01?",
            "ends before it begins",
        ),
        ("Show the 32nd of December", "no such day"),
        ("Am I free from 9:00 at 10:00 on Friday at 11:00?", "on which day"),
        (
            "Am I free from Saturday 8 pm to Saturday 7 pm?",
            "ends before it begins",
        ),
        ("Can we meet at 25:00 tomorrow?", "cannot read all of that"),
        ("Am I free on November 8 or 9?", "cannot read all of that"),
        ("Suis-je libre demain de 14h à 16h ?", "From when to when"),
        (
            "Am I free on 28 March 2027 at 02:30?",
            "clocks change on 28 March",
        ),
    ] {
        let question = read(&[said]).unwrap_err();
        assert!(question.contains(asked), "{said}: {question}");
        assert!(question.ends_with('?'), "{question}");
    }
    let mended = read(&["Am I free on Friday from 5 pm to 3 pm?", "from 3 pm to 5 pm"]).unwrap();
    assert_eq!(told(&mended), "Free 12-04 15:00-17:00 60");
}

#[test]
fn what_is_missing_is_asked_and_the_answer_goes_on() {
    for (said, asked) in [
        (&["Am I free?"][..], "Which day"),
        (&["What is on my calendar?"], "Which day"),
        (&["tomorrow"], "Shall I say whether you are free"),
        (&["hello"], "What shall I look up"),
        (&[""], "What shall I look up"),
        (&["Am I free on 30 February?"], "There is no 30 February."),
        (&["Am I free from 1 December to 31 March?"], "31 days"),
    ] {
        let question = read(said).unwrap_err();
        assert!(question.contains(asked), "{said:?}: {question}");
    }
    let answered = read(&["Am I free?", "on Friday"]).unwrap();
    assert_eq!(told(&answered), "Free 12-04 60");
    let changed = read(&["Am I free on Friday?", "no, on Thursday"]).unwrap();
    assert_eq!(told(&changed), "Free 12-03 60");
    // What a code leaves in a message changes nothing.
    let coded = read(&["Am I free on Friday?", "••••-••••"]).unwrap();
    assert_eq!(told(&coded), "Free 12-04 60");
}

#[test]
fn another_clock_may_be_named() {
    for (said, zone) in [
        (
            "Am I free on Friday at 3 pm New York time?",
            Tz::America__New_York,
        ),
        ("Am I free on Friday at 15:00 UTC?", Tz::UTC),
        ("Am I free on Friday at 15:00 Tokyo time?", Tz::Asia__Tokyo),
        ("Do I have time on Friday?", Tz::Europe__Oslo),
    ] {
        assert_eq!(read(&[said]).unwrap().zone, Some(zone), "{said}");
    }
}

#[test]
fn what_the_card_publishes_is_read_field_by_field() {
    let read = |data: serde_json::Value| reading().read(&[&message(vec![Part::data(data)])]);
    let good = json!({
        "ask": "slot", "from": "2026-12-04", "to": "2026-12-05", "fromTime": "09:00", "toTime": "17:00", "minutes": 30,
        "timeZone": "America/Chicago",
    });
    let schema = schema();
    let named: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(named, good.as_object().unwrap().keys().collect::<Vec<_>>());
    let wanted = read(good.clone()).unwrap();
    assert_eq!(told(&wanted), "Slot 12-04..12-05 (2) 09:00-17:00 30");
    assert_eq!(wanted.zone, Some(Tz::America__Chicago));
    for name in named {
        let mut wrong = good.clone();
        wrong[name] = json!(true);
        let asked = read(wrong).unwrap_err();
        assert!(
            asked.contains(&format!("`{name}`")) && asked.ends_with('?'),
            "{name}: {asked}"
        );
    }
}

#[test]
fn data_come_before_words_and_wrong_data_are_asked_about() {
    let read = |data: serde_json::Value, text: &str| {
        let message = message(vec![Part::data(data), Part::text(text)]);
        reading().read(&[&message])
    };
    let whole = json!({"ask": "slot", "from": "2026-12-04", "to": "2026-12-05", "minutes": 45, "fromTime": "10:00", "toTime": "12:00"});
    assert_eq!(
        told(&read(whole, "Am I free tomorrow?").unwrap()),
        "Slot 12-04..12-05 (2) 10:00-12:00 45"
    );
    let half = json!({"from": "2026-12-04", "other": [1]});
    assert_eq!(told(&read(half, "Am I free?").unwrap()), "Free 12-04 60");
    for (wrong, named) in [
        (json!({"ask": "delete"}), "`ask`"),
        (json!({"from": "soon"}), "`from`"),
        (json!({"from": 20_261_204}), "`from`"),
        (json!({"minutes": 100_000}), "`minutes`"),
        (json!({"minutes": -5}), "`minutes`"),
        (json!({"fromTime": "25:00"}), "`fromTime`"),
        (json!({"timeZone": "Oslo"}), "`timeZone`"),
        (
            json!({"from": "2026-12-04", "to": "2026-12-03"}),
            "`to` is before",
        ),
        (json!({"from": "2026-12-04", "to": "2027-12-04"}), "31 days"),
        (json!({"from": "x".repeat(100_000)}), "`from`"),
    ] {
        let question = read(wrong.clone(), "Am I free on Friday?").unwrap_err();
        assert!(question.contains(named), "{wrong}: {question}");
        assert!(question.len() < 200);
    }
}

#[test]
fn times_stand_apart_and_days_are_named_twice() {
    for (said, expected) in [
        (
            "An hour with Kari on Friday, after 1 pm, done by 5 pm",
            "Slot 12-04 13:00-17:00 60",
        ),
        (
            "Half an hour on Friday before noon, from 9",
            "Slot 12-04 09:00-12:00 30",
        ),
        (
            "What is on this weekend, Saturday and Sunday",
            "Events 12-05..12-06 (2) 60",
        ),
        (
            "Am I busy from 22:30 tonight to 00:30?",
            "Free 11-30 22:30-00:30 60",
        ),
        (
            "Which appointments did I have in November?",
            "Events 11-01..11-30 (30) 60",
        ),
        (
            "What meetings did I have in October?",
            "Events 10-01..10-31 (31) 60",
        ),
    ] {
        let wanted = read(&[said]).unwrap_or_else(|question| panic!("{said}: {question}"));
        assert_eq!(told(&wanted), expected, "{said}");
    }
}

#[test]
fn days_within_a_longer_time_and_open_ends_are_read() {
    for (question, expected) in [
        ("Am I free on Tuesday next week?", "12-08"),
        ("Am I free every Friday in December?", "12-04..12-25 (4)"),
        ("Am I free on Monday or next week?", "11-30..12-13 (8)"),
        ("Am I free next month?", "12-01..12-31 (31)"),
        ("Am I free after 5 pm on Friday?", "17:00-00:00"),
        ("Am I free before 10 am tomorrow?", "00:00-10:00"),
        ("Am I free tomorrow after lunch?", "14:00-00:00"),
        ("Am I free tomorrow morning from 2 to 4?", "02:00-04:00"),
    ] {
        let wanted = read(&[question]).unwrap_or_else(|asks| panic!("{question}: {asks}"));
        assert!(told(&wanted).contains(expected), "{question}: {}", told(&wanted));
    }
}

/// What relates one time to another and is not read is asked about: the time beside it alone would be another one.
#[test]
fn what_is_left_over_beside_a_time_is_asked_about() {
    for question in [
        "Am I free until Friday?",
        "Am I free any day next week except Friday?",
        "What is on the day before Christmas Eve?",
        "Am I free from Friday?",
        "Am I free not before 10 am on Friday?",
        "Am I free on 3, 4 and 5 December?",
        "Am I free on Friday the 5th of the month after next?",
    ] {
        assert!(read(&[question]).is_err(), "{question}: {:?}", read(&[question]));
    }
}

#[test]
fn lengths_and_times_are_read_as_people_say_them() {
    for (said, minutes) in [
        ("Find me a 25-minute slot tomorrow", 25),
        ("A half-hour slot with Ines tomorrow", 30),
        ("When can I fit in forty minutes tomorrow?", 40),
        ("A two-hour slot tomorrow", 120),
    ] {
        assert_eq!(read(&[said]).unwrap().minutes, minutes, "{said}");
    }
    for (said, from, to) in [
        (
            "Am I free tomorrow between half past nine and eleven in the morning?",
            (9, 30),
            (11, 0),
        ),
        (
            "Am I free tomorrow from a quarter to ten to quarter past eleven?",
            (9, 45),
            (11, 15),
        ),
        (
            "Am I free tomorrow between ten past nine and noon?",
            (9, 10),
            (12, 0),
        ),
    ] {
        let hours = read(&[said]).unwrap().hours.unwrap();
        let time = |(hour, minute)| chrono::NaiveTime::from_hms_opt(hour, minute, 0).unwrap();
        assert_eq!((hours.from, hours.to), (time(from), time(to)), "{said}");
    }
    // The day of NOW is a Monday.
    let asked = read(&["Am I free today, Wednesday?"]).unwrap_err();
    assert_eq!(asked, "30 November 2026 is a Monday. Which day do you mean?");
    assert!(read(&["Am I free today, Monday?"]).is_ok());
}

#[test]
fn what_a_question_takes_goes_by_its_length() {
    words_testing::assert_linear(|text| _ = read(&["Am I free?", text]));
}
