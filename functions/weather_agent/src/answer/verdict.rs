//! What a day's forecast says to one kind of question.

use chrono::NaiveTime;
use outbound::open_meteo::Day;

use super::numbers::{Shown, direction, percent};
use crate::question::Want;
use crate::wmo;

/// How surely the answer is yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// Nobody can tell.
    Unknown,
    /// No.
    No,
    /// Perhaps.
    Maybe,
    /// Yes.
    Yes,
}

/// What a day's forecast says to one kind of question.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Verdict {
    pub(super) level: Level,
    /// "rain is likely"
    pub(super) clause: String,
    /// "80 % chance, about 4 mm"
    pub(super) detail: String,
}

/// From this chance on something is likely, in per cent.
const LIKELY: f64 = 50.0;
/// From this chance on something is possible, in per cent.
const POSSIBLE: f64 = 25.0;

/// What a day says to what is wanted.
pub(super) fn of(want: Want, day: &Day, shown: Shown) -> Verdict {
    match want {
        Want::Rain => rain(
            day,
            shown,
            ["no rain is expected", "rain is possible", "rain is likely"],
        ),
        Want::Umbrella => rain(
            day,
            shown,
            [
                "you can leave the umbrella at home",
                "an umbrella may be of use",
                "take an umbrella",
            ],
        ),
        Want::Dry => {
            let wet = falls(day);
            let (level, clause) = match wet {
                Level::Yes => (Level::No, format!("{} is likely", what_falls(day))),
                Level::Maybe => (Level::Maybe, "a shower is possible".into()),
                Level::No | Level::Unknown => (Level::Yes, "it should stay dry".into()),
            };
            Verdict {
                level,
                clause,
                detail: wet_detail(day, shown),
            }
        }
        Want::Snow => snow(day, shown),
        Want::Wind => wind(day, shown),
        Want::Storm => storm(day, shown),
        Want::Sun => sun(day),
        Want::Cold => degrees(day, shown, |celsius| match celsius {
            ..=8.0 => (Level::Yes, "it will be cold"),
            ..=14.0 => (Level::Maybe, "it will be cool"),
            _ => (Level::No, "it will not be cold"),
        }),
        Want::Jacket => degrees(day, shown, |celsius| match celsius {
            ..=17.0 => (Level::Yes, "take a jacket"),
            ..=22.0 => (Level::Maybe, "a light jacket may be of use"),
            _ => (Level::No, "you can leave the jacket at home"),
        }),
        Want::Warm => degrees(day, shown, |celsius| match celsius {
            27.0.. => (Level::Yes, "it will be hot"),
            20.0.. => (Level::Yes, "it will be warm"),
            15.0.. => (Level::Maybe, "it will be mild"),
            _ => (Level::No, "it will not be warm"),
        }),
        Want::Frost => frost(day, shown),
        Want::Uv => uv(day),
        Want::Sunrise => sun_at(day, "rises", |(rises, _)| rises),
        Want::Sunset => sun_at(day, "sets", |(_, sets)| sets),
        Want::Temperature => Verdict {
            level: Level::Yes,
            clause: range(std::slice::from_ref(day), shown),
            detail: String::new(),
        },
    }
}

/// By the WHO's scale; from 3 on it advises protection.
fn uv(day: &Day) -> Verdict {
    let Some(index) = day.uv_index else {
        return unknown("UV index");
    };
    let (level, word) = match index {
        11.0.. => (Level::Yes, "extreme"),
        8.0.. => (Level::Yes, "very high"),
        6.0.. => (Level::Yes, "high"),
        3.0.. => (Level::Yes, "moderate"),
        _ => (Level::No, "low"),
    };
    let advice = match level {
        Level::Yes => "use sunscreen",
        _ => "no sunscreen is needed",
    };
    Verdict {
        level,
        clause: format!("the UV index reaches {index:.0} ({word}; {advice})"),
        detail: String::new(),
    }
}

/// When the sun does something; which no yes or no says.
fn sun_at(day: &Day, does: &str, at: impl Fn((NaiveTime, NaiveTime)) -> NaiveTime) -> Verdict {
    let clause = match day.sun.map(at) {
        Some(time) => format!("the sun {does} at {}", time.format("%H:%M")),
        None => "the sun neither rises nor sets".to_owned(),
    };
    Verdict {
        level: Level::Unknown,
        clause,
        detail: String::new(),
    }
}

fn temperatures(days: &[Day], shown: Shown) -> Option<String> {
    let low = days.iter().filter_map(|day| day.temperature_min);
    let high = days.iter().filter_map(|day| day.temperature_max);
    shown.temperatures(low.min_by(f64::total_cmp), high.max_by(f64::total_cmp))
}

/// "2 to 6 °C, rain is likely on 2 of 5 days"
pub(super) fn overview(days: &[Day], shown: Shown) -> String {
    let wet: Vec<&str> = days
        .iter()
        .filter(|day| falls(day) == Level::Yes)
        .map(what_falls)
        .collect();
    let what = match (wet.contains(&"rain"), wet.contains(&"snow")) {
        (true, true) => "rain or snow",
        (false, true) => "snow",
        _ => "rain",
    };
    let falls = match wet.len() {
        0 => "rain is likely on none of the days".to_owned(),
        many => format!("{what} is likely on {many} of {} days", days.len()),
    };
    temperatures(days, shown)
        .into_iter()
        .chain([falls])
        .collect::<Vec<_>>()
        .join(", ")
}

/// "temperatures of 2 to 6 °C are expected"
pub(super) fn range(days: &[Day], shown: Shown) -> String {
    match temperatures(days, shown) {
        Some(degrees) => format!("temperatures of {degrees} are expected"),
        None => "the temperature is not known".into(),
    }
}

fn unknown(what: &str) -> Verdict {
    Verdict {
        level: Level::Unknown,
        clause: format!("the {what} is not known"),
        detail: String::new(),
    }
}

/// How surely anything falls from the sky.
fn falls(day: &Day) -> Level {
    let wet = day
        .weather_code
        .is_some_and(|code| wmo::is_rain(code) || wmo::is_snow(code));
    match (day.precipitation_probability, day.precipitation) {
        (Some(chance), _) if chance >= LIKELY => Level::Yes,
        (Some(chance), _) if chance >= POSSIBLE => Level::Maybe,
        (Some(_), _) => Level::No,
        // Far ahead the service tells amounts without chances.
        (None, Some(amount)) if amount > 0.0 && wet => Level::Yes,
        (None, Some(amount)) if amount > 0.0 || wet => Level::Maybe,
        (None, None) if wet => Level::Maybe,
        (None, _) => Level::No,
    }
}

fn what_falls(day: &Day) -> &'static str {
    if day.weather_code.is_some_and(wmo::is_snow) {
        "snow"
    } else {
        "rain"
    }
}

fn wet_detail(day: &Day, shown: Shown) -> String {
    let chance = day
        .precipitation_probability
        .map(|chance| format!("{} chance", percent(chance)));
    let amount = day
        .precipitation
        .filter(|amount| *amount > 0.0)
        .map(|amount| format!("about {}", shown.precipitation(amount)));
    chance.into_iter().chain(amount).collect::<Vec<_>>().join(", ")
}

fn rain(day: &Day, shown: Shown, [no, maybe, yes]: [&str; 3]) -> Verdict {
    let level = falls(day);
    if what_falls(day) == "snow" && level > Level::No {
        let surely = if level == Level::Yes {
            "is likely"
        } else {
            "is possible"
        };
        let snow = snow(day, shown);
        return Verdict {
            level: Level::No,
            clause: format!("snow rather than rain {surely}"),
            detail: snow.detail,
        };
    }
    let clause = match level {
        Level::Yes => yes,
        Level::Maybe => maybe,
        Level::No | Level::Unknown => no,
    };
    Verdict {
        level,
        clause: clause.into(),
        detail: wet_detail(day, shown),
    }
}

fn snow(day: &Day, shown: Shown) -> Verdict {
    let depth = day.snowfall.filter(|depth| *depth > 0.0);
    let code = day.weather_code.is_some_and(wmo::is_snow);
    let (level, clause) = match (falls(day), depth.is_some() || code) {
        (Level::Yes, true) => (Level::Yes, "snow is likely"),
        (_, true) => (Level::Maybe, "snow is possible"),
        (_, false) => (Level::No, "no snow is expected"),
    };
    let chance = day
        .precipitation_probability
        .filter(|_| level > Level::No)
        .map(|chance| format!("{} chance", percent(chance)));
    let depth = depth.map(|depth| format!("about {}", shown.snowfall(depth)));
    Verdict {
        level,
        clause: clause.into(),
        detail: chance.into_iter().chain(depth).collect::<Vec<_>>().join(", "),
    }
}

fn wind(day: &Day, shown: Shown) -> Verdict {
    let Some(speed) = day.wind_speed else {
        return unknown("wind");
    };
    let (level, clause) = match shown.kmh(speed) {
        50.0.. => (Level::Yes, "it will be very windy"),
        30.0.. => (Level::Yes, "it will be windy"),
        18.0.. => (Level::Maybe, "there will be some wind"),
        _ => (Level::No, "there will be little wind"),
    };
    let gusts = day
        .wind_gusts
        .map(|gusts| format!(" with gusts of {}", shown.wind_speed(gusts)))
        .unwrap_or_default();
    let from = day
        .wind_direction
        .map(|degrees| format!(", from the {}", direction(degrees)))
        .unwrap_or_default();
    Verdict {
        level,
        clause: clause.into(),
        detail: format!("up to {}{gusts}{from}", shown.wind_speed(speed)),
    }
}

fn storm(day: &Day, shown: Shown) -> Verdict {
    let thunder = day.weather_code.is_some_and(wmo::is_thunder);
    let gusts = day.wind_gusts.map_or(0.0, |gusts| shown.kmh(gusts));
    let (level, clause) = match (thunder, gusts) {
        (true, _) => (Level::Yes, "thunderstorms are likely"),
        (_, 90.0..) => (Level::Yes, "a storm is likely"),
        (_, 65.0..) => (Level::Maybe, "strong gusts are possible"),
        _ => (Level::No, "no storm is expected"),
    };
    let detail = day
        .wind_gusts
        .map(|gusts| format!("gusts of up to {}", shown.wind_speed(gusts)));
    Verdict {
        level,
        clause: clause.into(),
        detail: detail.unwrap_or_default(),
    }
}

fn sun(day: &Day) -> Verdict {
    let Some(code) = day.weather_code else {
        return unknown("sky");
    };
    let (level, clause) = match code {
        0 | 1 => (Level::Yes, "it will be sunny"),
        2 => (Level::Maybe, "there will be sun and clouds"),
        _ => (Level::No, "there will be little sun"),
    };
    let detail = day
        .sunshine_hours
        .map(|hours| format!("{hours:.0} hours of sunshine"));
    Verdict {
        level,
        clause: clause.into(),
        detail: detail.unwrap_or_default(),
    }
}

fn degrees(day: &Day, shown: Shown, judge: fn(f64) -> (Level, &'static str)) -> Verdict {
    let Some(high) = day.temperature_max else {
        return unknown("temperature");
    };
    let (level, clause) = judge(shown.celsius(high));
    let detail = shown
        .temperatures(day.temperature_min, day.temperature_max)
        .unwrap_or_default();
    Verdict {
        level,
        clause: clause.into(),
        detail,
    }
}

fn frost(day: &Day, shown: Shown) -> Verdict {
    let Some(low) = day.temperature_min else {
        return unknown("temperature");
    };
    let (level, clause) = match shown.celsius(low) {
        ..=0.0 => (Level::Yes, "it will freeze"),
        ..=2.0 => (Level::Maybe, "frost on the ground is possible"),
        _ => (Level::No, "no frost is expected"),
    };
    Verdict {
        level,
        clause: clause.into(),
        detail: format!("down to {}", shown.temperature(low)),
    }
}
