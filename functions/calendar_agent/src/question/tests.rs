//! What is read of questions, and what is asked.

use super::*;

/// A Monday morning.
const NOW: i64 = 1_796_029_200_000;

/// What a message asks, its data before its words.
fn read_with(known: &Value, said: &str) -> Result<Wanted, String> {
    let user = UserContext {
        locale: Some("en-GB".into()),
        time_zone: Some("Europe/Oslo".into()),
    };
    let now = Timestamp::from_millis(NOW);
    let taken = agent_testing::taken((known, said), &takes(), (&user, now))?;
    Wanted::of(&taken, &user, now).map_err(|(_, question)| question)
}

fn read(said: &str) -> Result<Wanted, String> {
    read_with(&json!({}), said)
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
            "Am I free Monday 9 am to 11 am and Tuesday?",
            "Free 11-30..12-01 (2) 09:00-11:00 60",
        ),
        (
            "Find half an hour with Olu before Friday",
            "Slot 11-30..12-03 (4) 30",
        ),
        ("Could we do dinner on Saturday?", "Free 12-05 18:00-22:00 60"),
        ("Which day am I free this weekend?", "Free 12-05..12-06 (2) 60"),
        ("What's my availability on Friday?", "Free 12-04 60"),
        ("Show me when I am free on Friday", "Free 12-04 60"),
        ("What have I got booked on Friday?", "Events 12-04 60"),
        ("Show Friday", "Events 12-04 60"),
    ] {
        let read = read(said);
        assert_eq!(read.as_ref().map(told).as_deref(), Ok(expected), "{said}");
    }
}

#[test]
fn what_makes_no_sense_is_asked_about() {
    for (said, asked) in [
        (
            "Am I free on Friday from 5 pm to 3 pm?",
            "15:00 is not after 17:00",
        ),
        ("Am I free on Friday from 8 am to 8 am?", "is not after"),
        (
            "Find a slot of minus 20 minutes tomorrow",
            "minutes must be 5 at least",
        ),
        (
            "A meeting of zero minutes on Friday, when?",
            "minutes must be 5 at least",
        ),
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
        ("Show the 32nd of December", "cannot read “32nd”"),
        (
            "Am I free from Friday 6 pm to Sunday 8 pm?",
            "the same hours of each day",
        ),
        ("Am I free from 9:00 at 10:00 on Friday at 11:00?", "on which day"),
        (
            "Am I free from Saturday 8 pm to Saturday 7 pm?",
            "the same hours of each day",
        ),
        ("Can we meet at 25:00 tomorrow?", "cannot read “25”"),
        ("Am I free on November 8 or 9?", "cannot read “9”"),
        ("Delete everything on Friday", "I only look at your calendar"),
        ("Suis-je libre demain de 14h à 16h ?", "From when to when"),
        (
            "Am I free on 28 March 2027 at 02:30?",
            "clocks change on 28 March",
        ),
    ] {
        let question = read(said).unwrap_err();
        assert!(question.contains(asked), "{said}: {question}");
    }
}

#[test]
fn what_is_missing_is_asked() {
    for (said, asked) in [
        ("Am I free?", ASK_DAYS),
        ("What is on my calendar?", ASK_DAYS),
        ("tomorrow", ASK_KIND),
        ("hello", ASK_KIND),
        ("", ASK_KIND),
        (
            "Am I free on 30 February?",
            "There is no 30 February. Which day do you mean?",
        ),
        (
            "Am I free from 1 December to 31 March?",
            "I look at 31 days at most. From which day to which?",
        ),
    ] {
        assert_eq!(read(said).unwrap_err(), asked, "{said}");
    }
}

#[test]
fn nobody_ends_what_they_agreed_to_by_a_follow_up() {
    let asks = |recalled: &[&str]| {
        let taken = Taken {
            data: json!({"ask": "disconnect", "days": ["P1D"]})
                .as_object()
                .cloned()
                .unwrap(),
            recalled: recalled.iter().map(|name| (*name).to_owned()).collect(),
            ..Taken::default()
        };
        Wanted::of(&taken, &UserContext::default(), Timestamp::from_millis(NOW)).is_err()
    };
    assert!(asks(&["ask"]));
    assert!(!asks(&["days"]));
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
        assert_eq!(read(said).unwrap().zone, Some(zone), "{said}");
    }
}

#[test]
fn what_the_card_publishes_is_read_field_by_field() {
    let good = json!({
        "ask": "slot", "days": ["2026-12-04/2026-12-05"], "hours": "09:00/17:00", "minutes": 30, "timeZone": "America/Chicago",
    });
    let schema = schema();
    let named: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(named.len(), good.as_object().unwrap().len());
    let wanted = read_with(&good, "Am I free tomorrow?").unwrap();
    assert_eq!(told(&wanted), "Slot 12-04..12-05 (2) 09:00-17:00 30");
    assert_eq!(wanted.zone, Some(Tz::America__Chicago));
    for name in named {
        let mut wrong = good.clone();
        wrong[name] = json!(true);
        let asked = read_with(&wrong, "").unwrap_err();
        assert!(asked.starts_with(name.as_str()), "{name}: {asked}");
    }
    let half = json!({"days": ["2026-12-04"], "other": [1]});
    assert_eq!(told(&read_with(&half, "Am I free?").unwrap()), "Free 12-04 60");
    for (wrong, named) in [
        (json!({"ask": "delete"}), "ask"),
        (json!({"days": ["soon"]}), "days"),
        (json!({"days": ["2026-12-04/2026-12-03"]}), "days"),
        (json!({"days": []}), "days"),
        (json!({"days": ["2026-12-04/2027-12-04"]}), "31 days"),
        (json!({"days": ["x".repeat(100_000)]}), "days"),
        (json!({"minutes": 100_000}), "minutes"),
        (json!({"minutes": -5}), "minutes"),
        (json!({"hours": "25:00"}), "hours"),
        (json!({"timeZone": "Oslo"}), "timeZone"),
    ] {
        let question = read_with(&wrong, "Am I free on Friday?").unwrap_err();
        assert!(question.contains(named), "{wrong}: {question}");
        assert!(question.len() < 200);
    }
}

#[test]
fn the_schema_is_read_whole() {
    let read = takes().schema().as_json().clone();
    for (name, told) in KINDS {
        let choice = json!({"const": name, "description": told});
        let choices = read["properties"]["ask"]["oneOf"].as_array().unwrap();
        assert!(choices.contains(&choice), "{choice}");
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
        let wanted = read(said).unwrap_or_else(|question| panic!("{said}: {question}"));
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
        let wanted = read(question).unwrap_or_else(|asks| panic!("{question}: {asks}"));
        assert!(told(&wanted).contains(expected), "{question}: {}", told(&wanted));
    }
}

#[test]
fn a_day_is_the_one_of_its_name() {
    // The day of NOW is a Monday.
    let asked = read("Am I free today, Wednesday?").unwrap_err();
    assert_eq!(asked, "30 November 2026 is a Monday. Which day do you mean?");
    assert!(read("Am I free today, Monday?").is_ok());
}

#[test]
fn what_a_question_takes_goes_by_its_length() {
    words_testing::assert_linear(|text| _ = read(text));
}
