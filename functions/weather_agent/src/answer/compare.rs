//! Which place has more of something.

use chrono::NaiveDate;
use outbound::open_meteo::Day;

use super::numbers::Shown;
use super::{Answered, dates};
use crate::question::Compare;

/// "It will be warmer in Bergen (8 °C) than in Oslo (4 °C) on Saturday 28 November." `None` where there is nothing to
/// compare: fewer than two places with one day each.
pub(super) fn sentence(compare: Compare, yes_no: bool, places: &[Answered], shown: Shown) -> Option<String> {
    let one_day = |place: &Answered| match place.days.as_slice() {
        [day] => Some((measured(compare, day)?, day.date)),
        _ => None,
    };
    let days: Vec<(f64, NaiveDate)> = places.iter().map(one_day).collect::<Option<_>>()?;
    let values = places
        .iter()
        .zip(&days)
        .map(|(place, (value, _))| (place, *value));
    let mut ranked: Vec<(&Answered, f64)> = values.collect();
    let falling = !matches!(compare, Compare::Colder | Compare::Drier);
    ranked.sort_by(|(_, one), (_, other)| {
        let order = one.total_cmp(other);
        if falling { order.reverse() } else { order }
    });
    let ((first, most), (second, next)) = (ranked.first()?, ranked.get(1)?);
    let more = match compare {
        Compare::Warmer => "warmer",
        Compare::Colder => "colder",
        Compare::Wetter => "wetter",
        Compare::Drier => "drier",
        Compare::Windier => "windier",
        Compare::Sunnier => "sunnier",
    };
    let at = |place: &Answered, value: f64| {
        format!("{} ({})", place.wanted.place.name, written(compare, value, shown))
    };
    let when = match days
        .iter()
        .find(|(_, date)| Some(date) != days.first().map(|(_, date)| date))
    {
        None => format!(" {}", dates::one(days.first()?.1, first.today, false)),
        Some(_) => String::new(), // each its own, which stand below
    };
    let (one, other) = (at(first, *most), at(second, *next));
    if written(compare, *most, shown) == written(compare, *next, shown) {
        let no = if yes_no { "No, it" } else { "It" };
        return Some(format!("{no} will be much the same in {one} and {other}{when}."));
    }
    let asked_first = places.first().is_some_and(|asked| std::ptr::eq(asked, *first));
    let head = match (yes_no, asked_first) {
        (true, true) => "Yes, it",
        (true, false) => "No, it",
        (false, _) => "It",
    };
    Some(format!("{head} will be {more} in {one} than in {other}{when}."))
}

fn measured(compare: Compare, day: &Day) -> Option<f64> {
    match compare {
        Compare::Warmer | Compare::Colder => day.temperature_max,
        Compare::Wetter | Compare::Drier => day.precipitation,
        Compare::Windier => day.wind_speed,
        Compare::Sunnier => day.sunshine_hours,
    }
}

fn written(compare: Compare, value: f64, shown: Shown) -> String {
    match compare {
        Compare::Warmer | Compare::Colder => shown.temperature(value),
        Compare::Wetter | Compare::Drier => shown.precipitation(value),
        Compare::Windier => shown.wind_speed(value),
        Compare::Sunnier => format!("{value:.0} hours of sunshine"),
    }
}
