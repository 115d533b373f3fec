//! Many short questions.

use chrono::Weekday;
use domain::{Timestamp, UserContext};
use nlu::{Asked, extract};
use proptest::prelude::*;
use words::MAX_DAYS;

use super::*;

/// What is asked, on a Saturday.
pub(crate) fn read(text: &str) -> Question {
    let asked = Asked {
        known: &Map::new(),
        before: &Map::new(),
        answers: None,
        now: Timestamp::parse("2026-11-21T09:00:00Z").unwrap(),
        user: &UserContext::default(),
    };
    let read = extract(text, &takes(), asked);
    Question::of(&Taken {
        data: read.data,
        unread: read.unread,
        places: read.places,
        ..Taken::default()
    })
}

/// The places of a question, a chained one behind a `>`.
fn places(text: &str) -> String {
    let question = read(text);
    let names = question
        .places
        .iter()
        .map(|place| format!("{}{}", if place.chained { ">" } else { "" }, place.text));
    names.collect::<Vec<_>>().join("|")
}

fn check(text: &str, expect: &str) {
    assert_eq!(places(text), expect, "{text}");
}

fn check_days(text: &str, expect: &[When]) {
    let today = chrono::NaiveDate::from_ymd_opt(2026, 11, 21).unwrap();
    let written = |days: &[When]| -> Vec<_> { days.iter().map(|when| when.to_data(today)).collect() };
    assert_eq!(written(&read(text).days), written(expect), "{text}");
}

fn check_wants(text: &str, expect: &[Want], yes_no: bool) {
    let question = read(text);
    assert_eq!(
        (question.wants.as_slice(), question.yes_no),
        (expect, yes_no),
        "{text}"
    );
}

#[test]
fn one_place_however_it_is_asked_for() {
    for text in [
        "Will it rain in Oslo tomorrow?",
        "Oslo",
        "Oslo tomorrow",
        "Oslo weather",
        "Oslo's weather",
        "weather Oslo",
        "What's the weather like in Oslo?",
        "How's Oslo looking on Sunday?",
        "Do I need an umbrella in Oslo this weekend?",
        "Is Oslo cold in December?",
        "Tell me about the weather in Oslo, please.",
        "please give me a brief outlook for Oslo",
        "Hi! I'm going to Oslo next week, will I need a coat?",
        "rain in Oslo?",
        "I need good shoes for hiking in Oslo",
        "We visit Oslo on 24 December. Snow?",
        "Forecast for Oslo from Monday to Wednesday in Fahrenheit",
        "Will Oslo get snow in the next 5 days?",
        "Oslo: rain tomorrow?",
        "What about Oslo?",
        "Weather in the city of Oslo right now",
        "5-day forecast for Oslo",
        "In Oslo, will it rain?",
        "Weather in Oslo for my trip",
        "Can you tell me if it will be sunny in Oslo?",
        "Weather In Oslo Tomorrow",
    ] {
        check(text, "Oslo");
    }
    for text in [
        "weather in oslo tomorrow",
        "oslo",
        "oslo tomorrow?",
        "is it cold in oslo",
        "how is the weather at oslo",
    ] {
        check(text, "oslo");
    }
    check("WILL IT RAIN IN OSLO TOMORROW", "OSLO");
}

#[test]
fn several_places() {
    check("Oslo and Bergen", "Oslo|Bergen");
    check("weather in oslo and bergen", "oslo|bergen");
    check("Rain in Oslo or Bergen?", "Oslo|Bergen");
    check("Oslo/Bergen", "Oslo|Bergen");
    check("Oslo & Bergen tomorrow", "Oslo|Bergen");
    check("Paris, Rome or Berlin", "Paris|>Rome|Berlin");
    check("Paris, Rome, or Berlin next week", "Paris|>Rome|Berlin");
    check("Will it rain in Oslo tomorrow? And Bergen?", "Oslo|Bergen");
    check("Oslo tomorrow and Bergen on Sunday", "Oslo|Bergen");
    check("in oslo tomorrow and bergen on sunday", "oslo|bergen");
    check("Compare Oslo with Bergen", "Oslo|Bergen");
    check("Is it warmer in Rome than in Athens?", "Rome|Athens");
    check("from Oslo to Bergen", "Oslo|Bergen");
    check("oslo, Rome and münchen", "oslo|>Rome|münchen");
    check("Camping in Oslo", "Camping|>Oslo");
    check("How much snow will fall in Zermatt?", "Zermatt");
    check("Oslo\nBergen\nTromsø", "Oslo|Bergen|Tromsø");
}

#[test]
fn names_of_several_words() {
    check("weather in new york tomorrow", "new york");
    check("Weather in Rio de Janeiro", "Rio de Janeiro");
    check("rain in Newcastle upon Tyne?", "Newcastle upon Tyne");
    check("Is it cold in St. John's?", "St. John's");
    check("Weather in King's Lynn", "King's Lynn");
    check("Weather in The Hague", "The Hague");
    check("weather in the hague", "The Hague");
    check("Washington, D.C. tomorrow", "Washington|>D.C.");
    check("Frankfurt am Main", "Frankfurt am Main");
    check("Trinidad and Tobago", "Trinidad and Tobago");
    check("Wind in Cape Town at 5pm today?", "Cape Town");
    check("storm in kansas city, missouri", "kansas city|>missouri");
    check("Winston-Salem", "Winston-Salem");
    check("São Paulo amanhã", "São Paulo amanhã");
    check(
        "weather in San Francisco and Los Angeles",
        "San Francisco|Los Angeles",
    );
    check("東京", "東京");
}

#[test]
fn where_a_place_is() {
    check("Paris, Texas", "Paris|>Texas");
    check("Springfield in Illinois", "Springfield|>Illinois");
    check("Weather in Cambridge, MA tomorrow", "Cambridge|>MA");
    check("Portland, OR", "Portland|>OR");
    check("Springfield, IN on Monday", "Springfield|>IN");
    check("Paris, France and Rome, Italy", "Paris|>France|Rome|>Italy");
    check("New York, New York", "New York|>New York");
    check("Cambridge MA", "Cambridge MA");
    check(
        "Cambridge, UK and Cambridge, Massachusetts",
        "Cambridge|>UK|Cambridge|>Massachusetts",
    );
    check("Paris in the United States", "Paris|>United States");
}

#[test]
fn towns_that_are_common_words() {
    check("weather in Nice", "Nice");
    check("weather in nice tomorrow", "nice");
    check("will the weather be nice in Oslo", "Oslo");
    check("Is it nice in Nice?", "Nice");
    check("Rain in Reading on Monday", "Reading");
    check("weather in Hot Springs", "Hot Springs");
    check("Will it be nice tomorrow?", "");
}

#[test]
fn no_place_at_all() {
    for text in [
        "",
        "   ",
        "?!",
        "Will it rain tomorrow?",
        "hello",
        "What's the weather like?",
        "do I need an umbrella this weekend",
        "24 December",
        "12345",
        "in Fahrenheit please",
        "Thanks!",
        "How are you?",
        "\u{0}",
    ] {
        check(text, "");
    }
}

#[test]
fn how_a_sentence_begins_is_no_place_beside_one() {
    for text in [
        "Kan du sjekke været i Bergen på lørdag?",
        "Kannst du bitte schauen, wie das Wetter in Bergen wird?",
        "Puoi dirmi che tempo fa a Bergen?",
    ] {
        check(text, "Bergen");
    }
    check("Rio de janeiro weather", "Rio de janeiro");
}

#[test]
fn guesses_are_marked() {
    let guessed = |text| {
        read(text)
            .places
            .iter()
            .map(|place| place.guessed)
            .collect::<Vec<_>>()
    };
    assert_eq!(guessed("oslo"), [true]);
    assert_eq!(guessed("tell me a joke"), [true]);
    assert_eq!(guessed("weather in oslo"), [false]);
    assert_eq!(guessed("Oslo tomorrow"), [false]);
    assert_eq!(guessed("Springfield in Illinois"), [true, false]);
}

#[test]
fn places_are_bounded() {
    let many = (0..50)
        .map(|n| format!("Town{}", char::from(b'a' + n % 26)))
        .collect::<Vec<_>>()
        .join(" and ");
    let question = read(&many);
    assert_eq!(question.places.len(), MAX_PLACES);
    assert!(question.more_places);
}

#[test]
fn days_near_and_far() {
    let day = |day| When::Weekday { day, next: false };
    check_days("Oslo", &[]);
    check_days("Oslo today", &[When::In(0)]);
    check_days("tonight in Oslo", &[When::In(0)]);
    check_days("tomorrow morning in Oslo", &[When::In(1)]);
    check_days("the day after tomorrow", &[When::In(2)]);
    check_days("yesterday", &[When::In(-1)]);
    check_days("today and tomorrow", &[When::In(0), When::In(1)]);
    check_days("in 3 days", &[When::In(3)]);
    check_days("in three days", &[When::In(3)]);
    check_days("in a week", &[When::In(7)]);
    check_days("in two weeks", &[When::In(14)]);
    check_days("3 days from now", &[When::In(3)]);
    let than = Box::new(When::In(1));
    check_days("a week from tomorrow", &[When::Later { days: 7, than }]);
    check_days("next 5 days", &[When::Run { from: 0, count: 5 }]);
    check_days("over the next few days", &[When::Run { from: 0, count: 3 }]);
    check_days("5-day forecast", &[When::Run { from: 0, count: 5 }]);
    check_days("for a week", &[When::Run { from: 0, count: 7 }]);
    check_days("on Sunday", &[day(Weekday::Sun)]);
    check_days("Saturday and Sunday", &[day(Weekday::Sat), day(Weekday::Sun)]);
    check_days("sat and sun", &[day(Weekday::Sat), day(Weekday::Sun)]);
    check_days("will the sun shine", &[]);
    check_days(
        "next Friday",
        &[When::Weekday {
            day: Weekday::Fri,
            next: true,
        }],
    );
    check_days("this weekend", &[When::Weekend { next: false }]);
    check_days("next weekend", &[When::Weekend { next: true }]);
    check_days("next week", &[When::Week { next: true }]);
    check_days("this week", &[When::Week { next: false }]);
    check_days("for the rest of the week", &[When::Week { next: false }]);
    check_days("this week's weather", &[When::Week { next: false }]);
    let span = |first, last| When::Span(Box::new(first), Box::new(last));
    check_days(
        "from Monday to Wednesday",
        &[span(day(Weekday::Mon), day(Weekday::Wed))],
    );
    check_days(
        "between Friday and Sunday",
        &[span(day(Weekday::Fri), day(Weekday::Sun))],
    );
    check_days("Mon-Wed", &[span(day(Weekday::Mon), day(Weekday::Wed))]);
    check_days("tomorrow until Sunday", &[span(When::In(1), day(Weekday::Sun))]);
    check_days("until Sunday", &[span(When::In(0), day(Weekday::Sun))]);
}

#[test]
fn dates() {
    let date = |month, day| When::Date {
        year: None,
        month,
        day,
    };
    let full = |year, month, day| When::Date {
        year: Some(year),
        month,
        day,
    };
    check_days("2026-12-24", &[full(2026, 12, 24)]);
    check_days("on 24 December", &[date(12, 24)]);
    check_days("24th of December 2026", &[full(2026, 12, 24)]);
    check_days("Dec 24", &[date(12, 24)]);
    check_days("December 24th, 2026", &[full(2026, 12, 24)]);
    check_days("24.12.2026", &[full(2026, 12, 24)]);
    check_days("24.12.", &[date(12, 24)]);
    check_days("Sunday, 22 November", &[date(11, 22)]);
    check_days("Sunday 22 November", &[date(11, 22)]);
    let span = |first, last| When::Span(Box::new(first), Box::new(last));
    check_days("22-24 November", &[span(date(11, 22), date(11, 24))]);
    check_days("22 to 24 November", &[span(date(11, 22), date(11, 24))]);
    check_days("from 30 December to 2 January", &[span(date(12, 30), date(1, 2))]);
    check_days(
        "2026-11-22 to 2026-11-24",
        &[span(full(2026, 11, 22), full(2026, 11, 24))],
    );
    check_days("the 24th", &[When::DayOfMonth(24)]);
    check_days("on Christmas Eve", &[date(12, 24)]);
    check_days("in December", &[When::Month(12)]);
    check_days("in May", &[When::Month(5)]);
    check_days("5 May", &[date(5, 5)]);
    check_days("may I ask", &[]);
    check_days("99 December", &[When::Month(12)]);
    check_days("2026-13-40", &[]);
}

#[test]
fn days_and_dates_are_no_places() {
    check("Oslo on Sunday, 22 November", "Oslo");
    check("Weather in Oslo in December", "Oslo");
    check("Oslo 24 December", "Oslo");
    check("Christmas in Innsbruck", "Innsbruck");
}

#[test]
fn units_as_asked() {
    let units = |text| read(text).units;
    assert_eq!(units("Oslo"), Units::default());
    for text in ["Oslo in Fahrenheit", "Oslo in °F", "Oslo in F", "Oslo, degrees F"] {
        assert_eq!(units(text).temperature, TemperatureUnit::Fahrenheit, "{text}");
        check(text, "Oslo");
    }
    assert_eq!(units("Oslo in celsius").temperature, TemperatureUnit::Celsius);
    assert_eq!(
        units("Oslo in imperial units").precipitation,
        PrecipitationUnit::Inch
    );
    assert_eq!(units("wind in mph in Oslo").wind_speed, WindSpeedUnit::Mph);
    assert_eq!(units("wind in m/s in Oslo").wind_speed, WindSpeedUnit::Ms);
    assert_eq!(units("wind in km/h in Oslo").wind_speed, WindSpeedUnit::Kmh);
    assert_eq!(
        units("rain in inches in Oslo").precipitation,
        PrecipitationUnit::Inch
    );
    check("wind in m/s in Oslo", "Oslo");
}

#[test]
fn what_is_asked_for() {
    check_wants("Will it rain in Oslo?", &[Want::Rain], true);
    check_wants("Is it going to be wet in Oslo?", &[Want::Rain], true);
    check_wants("rain in Oslo", &[Want::Rain], false);
    check_wants("Will it stay dry?", &[Want::Dry], true);
    check_wants("Do I need an umbrella?", &[Want::Umbrella], true);
    check_wants("Can you tell me if it will snow?", &[Want::Snow], true);
    check_wants("Could you show me the wind?", &[Want::Wind], false);
    check_wants("How cold will it be?", &[Want::Cold], false);
    check_wants("Will it be hot?", &[Want::Warm], true);
    check_wants("what's the temperature", &[Want::Temperature], false);
    check_wants("rain and wind in Oslo", &[Want::Rain, Want::Wind], false);
    check_wants("weather in Oslo", &[], false);
    check_wants("rain, snow, wind and sun", &[], false);
    check_wants("Will it freeze tonight?", &[Want::Frost], true);
    assert!(read("Will it rain tonight?").tonight);
    // However it is asked, whoever wants a yes or a no gets one.
    let terse = read("Umbrella. Manchester. Wednesday. Yes or no");
    assert!(terse.yes_no && terse.terse);
}

proptest! {
    #[test]
    fn reading_never_fails_and_is_bounded(text in "\\PC{0,300}") {
        let question = read(&text);
        prop_assert!(question.places.len() <= MAX_PLACES);
        prop_assert!(question.places.iter().all(|place| !place.text.is_empty() && place.text.chars().count() <= 80));
        prop_assert!(question.days.len() <= 16 && question.wants.len() <= 3);
    }

    #[test]
    fn words_of_questions_in_any_order_are_harmless(
        words in prop::collection::vec(prop::sample::select(vec![
            "in", "Oslo", "Bergen", ",", "and", "tomorrow", "next", "week", "5", "days", "24", "December", "24.12.2026",
            "rain", "the", "of", "St.", "John's", "OR", "-", "to", "between", "sun", "Sunday", "°F", "m", "/", "s", "in a",
            "99999999999", "2026-11-22", "22-24", "de", "Nice", "'", "’s", ".", "?", "\n", "MA", "from", "now", "few",
        ]), 0..40),
    ) {
        let text = words.join(" ");
        let question = read(&text);
        let today = chrono::NaiveDate::from_ymd_opt(2026, 11, 21).unwrap_or_default();
        for when in &question.days {
            prop_assert!(when.resolve(today).len() <= MAX_DAYS);
        }
        prop_assert!(question.places.len() <= MAX_PLACES);
    }

    #[test]
    fn a_plain_question_gives_its_place_back(name in "[A-Z][bdfgklmnprtvz][a-z]{3,9}", tail in prop::sample::select(vec![
        "", " tomorrow", "?", " on Sunday", " next week in Fahrenheit", " on 24 December", " please",
    ])) {
        let text = format!("Will it rain in {name}{tail}");
        let lower = name.to_lowercase();
        prop_assume!(!words::places::is_common(&lower) && !CHOICES.contains(&lower));
        prop_assert_eq!(places(&text), name);
    }

    #[test]
    fn resolving_never_fails(days in any::<i32>(), count in any::<u32>(), month in 0..20_u32, day in 0..40_u32, today in -700_000..700_000_i32) {
        let today = chrono::NaiveDate::from_epoch_days(today).unwrap_or_default();
        for when in [
            When::In(days), When::Run { from: days, count }, When::Date { year: None, month, day },
            When::Date { year: Some(days), month, day }, When::DayOfMonth(day), When::Month(month),
            When::Weekend { next: true }, When::Week { next: true },
            When::Span(Box::new(When::In(days)), Box::new(When::Date { year: None, month, day })),
        ] {
            prop_assert!(when.resolve(today).len() <= MAX_DAYS);
        }
    }
}

#[test]
fn questions_in_other_languages_are_read() {
    for (text, place, day, wants) in [
        (
            "Wie wird das Wetter morgen in Hamburg?",
            "Hamburg",
            When::In(1),
            &[][..],
        ),
        (
            "Est-ce qu'il va pleuvoir à Besançon demain ?",
            "Besançon",
            When::In(1),
            &[Want::Rain],
        ),
        (
            "¿Lloverá mañana en Sevilla?",
            "Sevilla",
            When::In(1),
            &[Want::Rain],
        ),
        ("¿Qué tiempo hará mañana en Gijón?", "Gijón", When::In(1), &[]),
        (
            "Blir det regn i Bergen i morgen?",
            "Bergen",
            When::In(1),
            &[Want::Rain],
        ),
        (
            "Blir det snø på Lillehammer på lørdag?",
            "Lillehammer",
            When::Weekday {
                day: Weekday::Sat,
                next: false,
            },
            &[Want::Snow],
        ),
        ("明日の東京の天気は？", "東京", When::In(1), &[]),
        ("では、明日の札幌の天気を教えてください", "札幌", When::In(1), &[]),
        (
            "Brauche ich heute in Bremen einen Regenschirm für die Wanderung?",
            "Bremen",
            When::In(0),
            &[Want::Umbrella],
        ),
    ] {
        let question = read(text);
        let places: Vec<&str> = question.places.iter().map(|place| place.text.as_str()).collect();
        assert_eq!(places, [place], "{text}");
        check_days(text, &[day]);
        assert_eq!(question.wants, wants, "{text}");
    }
    // Nothing of it is a place: the agent asks for one.
    assert_eq!(read("Regnet es morgen?").places, []);
}

#[test]
fn what_a_question_takes_goes_by_its_length() {
    words_testing::assert_linear(|text| _ = read(text));
}

#[test]
fn the_schema_is_read_whole() {
    let schema = takes().schema().as_json().clone();
    for line in CHOICES.lines() {
        let (field, line) = line.split_once(": ").unwrap();
        let (name, told) = line.split_once(':').unwrap();
        let choices = schema["properties"][field]["items"]["oneOf"].as_array().unwrap();
        let read = choices.iter().find(|choice| choice["const"] == name);
        assert_eq!(read.unwrap()["description"], told.trim());
    }
    assert_eq!(schema["properties"]["places"]["description"], ASK_PLACE);
}

#[test]
fn who_changes_their_mind_gets_what_was_said_last() {
    for (text, named, days) in [
        ("weather in Paris.. no, in Lyon", "Lyon", 0),
        ("will it rain in Oslo tomorrow, I mean in Bergen", "Bergen", 1),
        ("Oslo tomorrow, sorry, Bergen", "Bergen", 1),
        ("weather in Oslo, make that Sunday", "Oslo", 1),
        ("weather in Oslo tomorrow, sorry for the trouble", "Oslo", 1),
        ("snow in Bonn, actually Köln and Aachen", "Köln|Aachen", 0),
        ("is it dry in Oslo, yes or no", "Oslo", 0),
    ] {
        assert_eq!(
            (places(text).as_str(), read(text).days.len()),
            (named, days),
            "{text}"
        );
    }
}
