//! Sentences over made-up days.

use chrono::Datelike;

use super::*;
use crate::question::tests::read;

fn date(month: u32, day: u32) -> NaiveDate {
    NaiveDate::from_ymd_opt(2026, month, day).unwrap()
}

fn day(date: NaiveDate) -> Day {
    Day {
        date,
        weather_code: Some(61),
        temperature_max: Some(6.2),
        temperature_min: Some(-0.4),
        precipitation: Some(4.2),
        precipitation_probability: Some(80.0),
        snowfall: Some(0.0),
        wind_speed: Some(24.6),
        wind_gusts: Some(48.0),
        wind_direction: Some(225.0),
        sunshine_hours: Some(1.25),
        uv_index: Some(4.4),
        sun: chrono::NaiveTime::from_hms_opt(8, 31, 0).zip(chrono::NaiveTime::from_hms_opt(15, 40, 0)),
    }
}

fn answered(days: Vec<Day>) -> Answered {
    let place = Place {
        id: 1,
        name: "Oslo".into(),
        latitude: 59.9,
        longitude: 10.7,
        elevation: None,
        feature_code: "PPLC".into(),
        country_code: "NO".into(),
        country: "Norway".into(),
        admin1: "Oslo".into(),
        admin2: String::new(),
        timezone: "Europe/Oslo".into(),
        population: 1,
    };
    Answered {
        wanted: Wanted {
            asked: "oslo".into(),
            place,
            others: Vec::new(),
            told_apart: false,
            days: Vec::new(),
        },
        forecast: None,
        today: date(11, 21),
        horizon: date(12, 6),
        days,
        unknown: Vec::new(),
        outside: Vec::new(),
        date_there: std::cmp::Ordering::Equal,
    }
}

fn check(question: &str, days: Vec<Day>, expect: &str) {
    let (text, _) = compose(&read(question), &[answered(days)], &[]);
    assert_eq!(text, expect, "{question}");
}

#[test]
fn one_day_in_one_sentence() {
    let rest = "Light rain, 0 to 6 °C, wind up to 25 km/h from the south-west.";
    let all = "ight rain, 0 to 6 °C, 80 % chance of rain (4.2 mm), wind up to 25 km/h from the south-west.";
    let tomorrow = vec![day(date(11, 22))];
    check(
        "Will it rain in Oslo tomorrow?",
        tomorrow.clone(),
        &format!(
            "Yes, rain is likely in Oslo tomorrow (Sunday 22 November): 80 % chance, about 4.2 mm. {rest}"
        ),
    );
    check(
        "rain in Oslo tomorrow",
        tomorrow.clone(),
        &format!("Rain is likely in Oslo tomorrow (Sunday 22 November): 80 % chance, about 4.2 mm. {rest}"),
    );
    check(
        "Will it stay dry, and will it be windy in Oslo tomorrow?",
        tomorrow.clone(),
        "No, rain is likely in Oslo tomorrow (Sunday 22 November): 80 % chance, about 4.2 mm. \
         No, not really: there will be some wind: up to 25 km/h with gusts of 48 km/h, from the south-west. Light rain, 0 to 6 °C.",
    );
    check(
        "Do I need a jacket in Oslo tomorrow?",
        tomorrow.clone(),
        "Yes, take a jacket in Oslo tomorrow (Sunday 22 November): 0 to 6 °C. Light rain, 80 % chance of rain (4.2 mm), wind \
         up to 25 km/h from the south-west.",
    );
    check(
        "Oslo tomorrow",
        tomorrow,
        &format!("Oslo tomorrow (Sunday 22 November): l{all}"),
    );
    check(
        "Will it freeze in Oslo tonight?",
        vec![day(date(11, 21))],
        &format!(
            "Yes, it will freeze in Oslo tonight (Saturday 21 November, the whole day): down to 0 °C. L{all}"
        ),
    );
}

#[test]
fn several_days_say_which_ones_decide() {
    let mut days: Vec<Day> = [22, 23, 24, 25]
        .into_iter()
        .map(|number| day(date(11, number)))
        .collect();
    for day in &mut days {
        if day.date.day() % 2 == 1 {
            day.precipitation_probability = Some(5.0);
        }
    }
    let (text, _) = compose(&read("Will it rain in Oslo?"), &[answered(days)], &[]);
    assert!(
        text.starts_with("Yes, rain is likely in Oslo on Sunday 22 and Tuesday 24 November.\n- Sunday"),
        "{text}"
    );
}

#[test]
fn several_days_are_summed_up_before_they_are_listed() {
    let days = |change: fn(usize, &mut Day)| -> Vec<Day> {
        let mut days: Vec<Day> = [22, 23, 24].map(|number| day(date(11, number))).into();
        days.iter_mut().enumerate().for_each(|(at, day)| change(at, day));
        days
    };
    let check = |days: Vec<Day>, expect: &str| {
        let (text, _) = compose(
            &read("Weather in Oslo from Sunday to Tuesday"),
            &[answered(days)],
            &[],
        );
        let head = "Oslo from Sunday 22 to Tuesday 24 November: ";
        assert_eq!(text.lines().next(), Some(&*format!("{head}{expect}:")), "{text}");
    };
    check(days(|_, _| {}), "0 to 6 °C, rain is likely on 3 of 3 days");
    let dry = |at, day: &mut Day| {
        day.precipitation_probability = Some(5.0);
        day.temperature_max = Some([6.0, 11.0, 4.0][at]);
    };
    check(days(dry), "0 to 11 °C, rain is likely on none of the days");
    let snowy = |at, day: &mut Day| day.weather_code = Some([73, 61, 73][at]);
    check(days(snowy), "0 to 6 °C, rain or snow is likely on 3 of 3 days");
}

#[test]
fn snow_is_not_called_rain() {
    let snowy = Day {
        weather_code: Some(73),
        snowfall: Some(2.9),
        ..day(date(11, 22))
    };
    let (text, _) = compose(&read("Will it rain in Oslo?"), &[answered(vec![snowy])], &[]);
    assert!(
        text.starts_with("No, snow rather than rain is likely in Oslo tomorrow"),
        "{text}"
    );
    assert!(
        text.contains("80 % chance, about 2.9 cm. Moderate snow, 0 to 6 °C, wind"),
        "{text}"
    );
}

#[test]
fn ranges_of_days_are_named_briefly() {
    let run = |first: NaiveDate, count| first.iter_days().take(count).collect::<Vec<_>>();
    assert_eq!(
        dates::several(&run(date(11, 23), 7), date(11, 21)),
        "from Monday 23 to Sunday 29 November"
    );
    assert_eq!(
        dates::several(&run(date(11, 30), 7), date(11, 21)),
        "from Monday 30 November to Sunday 6 December"
    );
    assert_eq!(
        dates::several(&run(date(11, 30), 2), date(11, 21)),
        "on Monday 30 November and Tuesday 1 December"
    );
    assert_eq!(
        dates::several(&[date(11, 22)], date(11, 21)),
        "on Sunday 22 November"
    );
    assert_eq!(dates::several(&[], date(11, 21)), "");
}
