//! Days, units, and the answer that fits the question.

use serde_json::json;

use crate::bench::{Bench, places};

#[tokio::test]
async fn the_question_is_answered_first() {
    let bench = Bench::new().await;
    let (text, data) = bench.answer(&["Will it rain in Oslo tomorrow?"]).await;
    assert_eq!(data["sandbox"], true);
    assert_eq!(data["source"], "Open-Meteo");
    let day = &data["places"][0]["days"][0];
    assert_eq!(day["date"], "2026-11-22");
    let chance = day["precipitationProbability"].as_f64().unwrap();
    let snow = day["snowfall"].as_f64().unwrap() > 0.0;
    let head = match chance {
        50.0.. if snow => "No, snow rather than rain is likely",
        25.0.. if snow => "No, snow rather than rain is possible",
        50.0.. => "Yes, rain is likely",
        25.0.. => "No, probably not, but rain is possible",
        _ => "No, no rain is expected",
    };
    assert!(
        text.starts_with(&format!(
            "{head} in Oslo tomorrow (Sunday 22 November): {chance:.0} % chance"
        )),
        "{text}"
    );
    assert!(text.ends_with("(sandbox data)"), "{text}");
    assert_eq!(text.lines().count(), 2, "{text}");
}

#[tokio::test]
async fn several_days_have_a_line_each() {
    let bench = Bench::new().await;
    let (text, data) = bench
        .answer(&["Do I need an umbrella in Bergen over the next 5 days?"])
        .await;
    assert_eq!(data["places"][0]["days"].as_array().unwrap().len(), 5);
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].starts_with("Yes, take an umbrella in Bergen ")
            || lines[0].starts_with("Yes, to be safe: ")
            || lines[0].starts_with("No, "),
        "{text}"
    );
    for (line, date) in lines[1..].iter().zip([
        "Saturday 21",
        "Sunday 22",
        "Monday 23",
        "Tuesday 24",
        "Wednesday 25",
    ]) {
        assert!(line.starts_with(&format!("- {date} November: ")), "{text}");
    }
}

async fn check_days(text: &str, expect: &str) {
    let (answer, data) = Bench::new().await.answer(&[text]).await;
    assert_eq!(
        places(&data),
        [format!("Oslo NO {expect}").trim_end()],
        "{text}\n{answer}"
    );
}

#[tokio::test]
async fn days_are_the_ones_that_were_meant() {
    check_days("Oslo", "2026-11-21").await;
    check_days("Oslo tonight", "2026-11-21").await;
    check_days("forecast for Oslo", "2026-11-21 2026-11-22 2026-11-23").await;
    check_days("Oslo the day after tomorrow", "2026-11-23").await;
    check_days("Oslo on Friday", "2026-11-27").await;
    check_days("Oslo this weekend", "2026-11-21 2026-11-22").await;
    check_days("Oslo today and on Monday", "2026-11-21 2026-11-23").await;
    check_days(
        "Oslo from Monday to Wednesday",
        "2026-11-23 2026-11-24 2026-11-25",
    )
    .await;
    check_days("Oslo in 15 days", "2026-12-06").await;
    check_days("Oslo on 2026-12-01", "2026-12-01").await;
    check_days("Oslo, 1 December", "2026-12-01").await;
}

#[tokio::test]
async fn today_is_the_places_own() {
    let bench = Bench::at("2026-11-21T22:30:00Z").await;
    let (_, data) = bench.answer(&["Weather in Tokyo, Honolulu and Oslo today"]).await;
    assert_eq!(
        places(&data),
        [
            "Tokyo JP 2026-11-22",
            "Honolulu US 2026-11-21",
            "Oslo NO 2026-11-21"
        ]
    );
    let bench = Bench::at("2026-11-21T09:30:00Z").await;
    let (_, data) = bench.answer(&["Honolulu tomorrow"]).await;
    assert_eq!(
        places(&data),
        ["Honolulu US 2026-11-21"],
        "it is still Friday evening there"
    );
}

#[tokio::test]
async fn days_out_of_reach_are_told() {
    let bench = Bench::new().await;
    let (text, data) = bench.answer(&["Will it snow in Oslo on 24 December?"]).await;
    assert_eq!(places(&data), ["Oslo NO"]);
    assert_eq!(
        text,
        "I cannot tell yet about Oslo on Thursday 24 December: forecasts reach 16 days, to Sunday 6 December."
    );
    let (text, data) = bench.answer(&["Oslo from 5 December to 8 December"]).await;
    assert_eq!(places(&data), ["Oslo NO 2026-12-05 2026-12-06"]);
    assert!(
        text.contains("I cannot tell yet about Oslo on Monday 7 and Tuesday 8 December"),
        "{text}"
    );
    let (text, _) = bench.answer(&["Oslo yesterday"]).await;
    assert!(
        text.contains("not the weather of the past (on Friday 20 November)"),
        "{text}"
    );
    let asked = bench.question(&["Oslo on 30 February"]).await;
    assert_eq!(asked, "There is no 30 February. Which day do you mean?");
    let (_, data) = bench.answer(&["Oslo on 30 February", "on 28 November"]).await;
    assert_eq!(places(&data), ["Oslo NO 2026-11-28"]);
    let (text, _) = bench.answer(&["Oslo in 5000 days"]).await;
    assert!(text.contains("forecasts reach 16 days"), "{text}");
}

#[tokio::test]
async fn units_are_the_ones_asked_for() {
    let bench = Bench::new().await;
    let high = async |text| {
        let (answer, data) = bench.answer(&[text]).await;
        (
            answer,
            data["places"][0]["days"][0]["temperatureMax"].as_f64().unwrap(),
            data["units"].clone(),
        )
    };
    let (_, celsius, units) = high("Oslo tomorrow").await;
    assert_eq!(
        (&units["temperature"], &units["windSpeed"]),
        (&"°C".into(), &"km/h".into())
    );
    let (text, fahrenheit, units) = high("Oslo tomorrow in Fahrenheit").await;
    assert_eq!(
        (&units["temperature"], &units["windSpeed"]),
        (&"°F".into(), &"km/h".into())
    );
    assert!(
        (celsius * 1.8 + 32.0 - fahrenheit).abs() < 0.2,
        "{celsius} {fahrenheit}"
    );
    assert!(text.contains(" °F"), "{text}");
    let (text, _, units) = high("Oslo tomorrow in imperial units").await;
    assert_eq!(
        (&units["precipitation"], &units["windSpeed"]),
        (&"inches".into(), &"mph".into())
    );
    assert!(text.contains(" mph from the "), "{text}");
}

#[tokio::test]
async fn what_is_being_done_is_said() {
    let heard = async |said: &str| {
        let task = Bench::new().await.task(&[said]).await;
        let agents = task["history"].as_array().unwrap().iter().cloned();
        let mut agents = agents.filter(|message| message["role"] == "ROLE_AGENT");
        agents.next().map(|message| message["parts"][0]["text"].clone())
    };
    let looking = "Looking up the weather in Oslo, Rome and Munich …";
    assert_eq!(heard("oslo, Rome and münchen").await, Some(looking.into()));
    assert_eq!(heard("hello").await, None);
}

#[tokio::test]
async fn every_kind_of_weather_gets_an_answer() {
    let bench = Bench::new().await;
    for (text, expect) in [
        (
            "Will it stay dry in Oslo tomorrow?",
            &["Yes, it should stay dry", "Yes, probably, but a shower", "No, "][..],
        ),
        (
            "Will it snow in Oslo tomorrow?",
            &[
                "Yes, snow is likely",
                "No, probably not, but snow",
                "No, no snow is expected",
            ],
        ),
        (
            "Will it be windy in Oslo tomorrow?",
            &[
                "Yes, it will be",
                "No, not really: there will be some wind",
                "No, there will be little",
            ],
        ),
        (
            "Will it be cold in Oslo tomorrow?",
            &[
                "Yes, it will be cold",
                "No, not really: it will be cool",
                "No, it will not",
            ],
        ),
        (
            "Will it be hot in Dubai tomorrow?",
            &[
                "Yes, it will be",
                "No, not really: it will be mild",
                "No, it will not",
            ],
        ),
        ("How cold will it be in Oslo tomorrow?", &["Temperatures of "]),
        (
            "Will it freeze in Oslo tomorrow?",
            &[
                "Yes, it will freeze",
                "No, probably not, but frost",
                "No, no frost",
            ],
        ),
        (
            "Is it sunny in Oslo tomorrow?",
            &[
                "Yes, it will be sunny",
                "Yes, partly: there will be sun",
                "No, there will be little sun",
            ],
        ),
        (
            "Will there be a storm in Oslo?",
            &["Yes, ", "No, probably not, but strong gusts", "No, no storm"],
        ),
        ("wind and rain in Oslo tomorrow", &["It will be", "There will be"]),
        ("temperatures in Oslo this weekend", &["Temperatures of "]),
        (
            "Weather in Oslo this weekend",
            &["Oslo on Saturday 21 and Sunday 22 November: "],
        ),
    ] {
        let (answer, _) = bench.answer(&[text]).await;
        assert!(
            expect.iter().any(|start| answer.starts_with(start)),
            "{text}\n{answer}"
        );
    }
}

#[tokio::test]
async fn places_have_days_of_their_own() {
    let bench = Bench::new().await;
    let expect = ["Oslo NO 2026-11-22", "Bergen NO 2026-11-29"];
    for text in [
        "weather in Oslo tomorrow and in Bergen on 29 November",
        "Will it rain tomorrow in Oslo, and on 29 November in Bergen?",
        "in Oslo tomorrow; in Bergen 29 November",
    ] {
        let (answer, data) = bench.answer(&[text]).await;
        assert_eq!(places(&data), expect, "{text}\n{answer}");
    }
    let (_, data) = bench.answer(&["Oslo and Bergen tomorrow"]).await;
    assert_eq!(places(&data), ["Oslo NO 2026-11-22", "Bergen NO 2026-11-22"]);
}

#[tokio::test]
async fn days_are_the_users_own_where_the_clock_is_known() {
    // Sunday morning in Tokyo, Saturday evening in New York.
    let new_york = async || {
        let bench = Bench::at("2026-11-22T01:30:00Z").await;
        bench.with(Some("en-US".into()), Some("America/New_York".into()))
    };
    let (text, data) = new_york().await.answer(&["Tokyo tomorrow"]).await;
    assert_eq!(places(&data), ["Tokyo JP 2026-11-22"], "{text}");
    let (text, data) = new_york().await.answer(&["Tokyo today"]).await;
    assert_eq!(places(&data), ["Tokyo JP 2026-11-22"], "{text}");
    assert!(
        text.contains("In Tokyo it is already Sunday 22 November."),
        "{text}"
    );
    let nobody_knows = Bench::at("2026-11-22T01:30:00Z").await;
    let (_, data) = nobody_knows.answer(&["Tokyo tomorrow"]).await;
    assert_eq!(places(&data), ["Tokyo JP 2026-11-23"]);
}

#[tokio::test]
async fn a_date_in_numbers_is_read_as_the_region_writes_it_or_asked_about() {
    let in_region = async |locale: &str, text: &str| {
        let bench = Bench::new().await.with(Some(locale.into()), None);
        places(&bench.answer(&[text]).await.1)
    };
    assert_eq!(in_region("en-GB", "Oslo on 3/12").await, ["Oslo NO 2026-12-03"]);
    assert_eq!(in_region("en-US", "Oslo on 12/3").await, ["Oslo NO 2026-12-03"]);
    assert_eq!(in_region("en-US", "Oslo on 24/11").await, ["Oslo NO 2026-11-24"]);
    assert_eq!(in_region("de-DE", "Oslo am 3.12.").await, ["Oslo NO 2026-12-03"]);
    let bench = Bench::new().await;
    let asked = bench.question(&["Oslo on 3/12"]).await;
    assert_eq!(asked, "Is 3/12 3 December or 12 March?");
    let (_, data) = bench.answer(&["Oslo on 3/12", "3 December"]).await;
    assert_eq!(places(&data), ["Oslo NO 2026-12-03"]);
}

#[tokio::test]
async fn what_is_not_had_or_not_understood_is_said() {
    let bench = Bench::new().await;
    for (text, expect) in [
        ("humidity in Singapore", "I have no humidity, only temperature"),
        ("rain and fog in Oslo", "I have no fog, only"),
        ("pollen in Graz tomorrow", "I can make nothing of “pollen”"),
        ("Oslo on Friday at noon", "not noon: this is about the whole day"),
        ("Oslo at 5pm", "not 5pm: this is about the whole day"),
        (
            "Oslo tomorrow morning",
            "not the morning: this is about the whole day",
        ),
        (
            "Is it raining in Oslo right now?",
            "not the weather of this moment",
        ),
        ("hourly forecast for Oslo", "no hours"),
        ("When will it stop raining in Oslo?", "no hours"),
        ("weather in Oslo every day at 8", "I cannot do this regularly"),
        ("email me when it rains in Oslo", "I cannot send e-mail"),
        ("weather in Oslo on 45/13", "nothing of “45” and “13”"),
        (
            "Oslo last Christmas",
            "not the weather of the past (on Thursday 25 December 2025)",
        ),
    ] {
        let (answer, _) = bench.answer(&[text]).await;
        assert!(answer.contains(expect), "{text}\n{answer}");
    }
    for text in [
        "thanks for nothing. weather in Oslo",
        "Hi! Will I need my grandma's umbrella in Oslo tomorrow?",
        "Oslo tomorrow",
    ] {
        let (answer, _) = bench.answer(&[text]).await;
        assert!(
            !answer.contains("nothing of") && !answer.contains("only"),
            "{text}\n{answer}"
        );
    }
}

#[tokio::test]
async fn places_are_compared() {
    let bench = Bench::new().await;
    let (text, data) = bench
        .answer(&["Will it be warmer in Oslo or Cairo tomorrow?"])
        .await;
    let high = |place: usize| {
        data["places"][place]["days"][0]["temperatureMax"]
            .as_f64()
            .unwrap()
    };
    assert_eq!(
        text.lines().next().unwrap(),
        format!(
            "It will be warmer in Cairo ({:.0} °C) than in Oslo ({:.0} °C) tomorrow (Sunday 22 November).",
            high(1),
            high(0)
        )
    );
    let (text, _) = bench.answer(&["Is Oslo warmer than Cairo tomorrow?"]).await;
    assert!(text.starts_with("No, it will be warmer in Cairo"), "{text}");
}

#[tokio::test]
async fn a_name_is_found_in_the_case_that_a_sentence_puts_it_in() {
    let bench = Bench::new().await;
    for (said, expect) in [
        ("pogoda w Krakowie", "Krak"),
        ("pogoda w Warszawie", "Warsaw"),
        ("погода в Хабаровске", "Khabarovsk"),
        ("погода в Москве", "Moscow"),
    ] {
        let (answer, _) = bench.answer(&[said]).await;
        assert!(answer.contains(expect), "{said}: {answer}");
        assert!(!answer.contains("I know no place"), "{said}: {answer}");
    }
    // What is behind it may say when.
    let asked = bench
        .question(&["Jaka pogoda będzie w Krakowie za dwa miesiące?"])
        .await;
    assert!(asked.contains("I know no place"), "{asked}");
}

#[tokio::test]
async fn the_sun_has_its_times_and_its_strength() {
    let bench = Bench::new().await;
    for (said, expect) in [
        (
            "sunrise in Oslo tomorrow?",
            r"^The sun rises at 0[89]:\d\d in Oslo tomorrow",
        ),
        (
            "When does the sun set in Rome on Friday?",
            r"^The sun sets at 16:\d\d in Rome on Friday",
        ),
        ("UV index Sydney", r"^The UV index reaches \d+ \(.*\) in Sydney"),
        (
            "do I need sunscreen in Oslo tomorrow",
            r"^No, the UV index reaches \d+ \(low; no sunscreen is needed\)",
        ),
        (
            "sunset in Tromsø on 30 November",
            r"^The sun neither rises nor sets in Troms",
        ),
        (
            "sunrise in Oslo tomorrow and on Friday",
            r"^The sun rises at .* tomorrow .* and the sun rises at .* on Friday .* in Oslo\.",
        ),
    ] {
        let (answer, _) = bench.answer(&[said]).await;
        let fits = regex_lite::Regex::new(expect).unwrap();
        assert!(fits.is_match(&answer), "{said}: {answer}");
        assert!(!answer.contains("I have "), "{said}: {answer}");
    }
}

/// Each said in the same chat, one after the other, with the days and places that it comes to.
#[tokio::test]
async fn a_follow_up_changes_the_last_question_of_its_chat() {
    let bench = Bench::new().await;
    for (said, expect, begins) in [
        (
            "Will it rain in Lyon tomorrow?",
            &["Lyon FR 2026-11-22"][..],
            "(Yes|No),.* rain",
        ),
        ("and in Bergen?", &["Bergen NO 2026-11-22"], "(Yes|No),.* rain"),
        (
            "is it windy there?",
            &["Bergen NO 2026-11-22"],
            "(Yes|No),.* wind",
        ),
        (
            "what about Monday, in Fahrenheit",
            &["Bergen NO 2026-11-23"],
            "(Yes|No),.* wind",
        ),
        (
            "email me every day",
            &["Bergen NO 2026-11-23"],
            "[^@]*I cannot send e-mail",
        ),
        ("and Oslo", &["Oslo NO 2026-11-23"], "[^@]* wind"),
        (
            "and the weather there this weekend",
            &["Oslo NO 2026-11-21 2026-11-22"],
            "Oslo on Saturday 21",
        ),
        ("weather in Rome", &["Rome IT 2026-11-21"], "Rome today"),
    ] {
        let (text, data) = crate::bench::answer(&bench.in_chat("c-1", said).await);
        assert_eq!(places(&data), expect, "{said}\n{text}");
        let fits = regex_lite::Regex::new(&format!("^{begins}")).unwrap();
        assert!(fits.is_match(&text), "{said}: {text}");
    }
}

#[tokio::test]
async fn a_follow_up_that_is_asked_back_about_is_one_still() {
    let bench = Bench::new().await;
    bench.in_chat("c-1", "Will it rain in Lyon tomorrow?").await;
    let asked = bench.in_chat("c-1", "and in Springfield?").await;
    assert!(crate::bench::told(&asked).contains("Several places"), "{asked:#}");
    let told = bench
        .tell_in(asked, [json!([{ "text": "Illinois" }])], Some("c-1"))
        .await;
    let (text, data) = crate::bench::answer(&told);
    assert_eq!(places(&data), ["Springfield US 2026-11-22"], "{text}");
    assert!(
        text.contains("rain") && (text.starts_with("Yes,") || text.starts_with("No,")),
        "{text}"
    );
}

#[tokio::test]
async fn what_is_told_as_data_counts_before_words() {
    let bench = Bench::new().await;
    let told = json!([
        {"text": "Will it rain in Bergen and Rome tomorrow?"},
        {"data": {"places": ["Paris, Texas"], "days": ["2026-12-04/2026-12-06"], "units": ["imperial"], "more": [1]}},
    ]);
    let (text, data) = crate::bench::answer(&bench.tell([told], None).await);
    assert_eq!(
        places(&data),
        ["Paris US 2026-12-04 2026-12-05 2026-12-06"],
        "{text}"
    );
    assert!(
        text.contains("rain") && data["units"]["temperature"] == "°F",
        "{text}"
    );
    for (data, wrong) in [
        (json!({"places": 7}), "places must be a list."),
        (json!({"places": ["Oslo", 7]}), "places[1] must be text."),
        (
            json!({"places": [""]}),
            "places[0] must have 1 characters at least.",
        ),
        (
            json!({"places": ["x".repeat(100_000)]}),
            "places[0] must have 80 characters at most.",
        ),
        (
            json!({"places": ["Oslo"], "days": ["Friday"]}),
            "days[0] must be a day such as",
        ),
        (
            json!({"places": ["Oslo"], "days": ["2026-12-06/2026-12-04"]}),
            "days[0] must be a day such as",
        ),
        (
            json!({"places": ["Oslo"], "units": ["kelvin"]}),
            "units[0] must be one of",
        ),
        (
            json!({"places": null, "days": null, "guests": "two"}),
            "Which place do you want",
        ),
    ] {
        let task = bench.tell([json!([{ "data": data }])], None).await;
        assert_eq!(task["status"]["state"], "TASK_STATE_INPUT_REQUIRED", "{task:#}");
        assert!(crate::bench::told(&task).contains(wrong), "{task:#}");
    }
    let many: Vec<String> = (0..100).map(|number| format!("Oslo{number}")).collect();
    let task = bench.tell([json!([{ "data": {"places": many} }])], None).await;
    assert_eq!(task["status"]["state"], "TASK_STATE_INPUT_REQUIRED", "{task:#}");
}
