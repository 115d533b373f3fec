//! Whose clock times are by: `Oslo time`, `7 am Pacific`, `UTC`.

use chrono_tz::{TZ_VARIANTS, Tz};
use words::text::{Word, lower, take_out};

/// Takes the clocks that are named out of the words: `Oslo time`, `New York time`, `UTC`.
pub(super) fn take(words: &mut [Word]) -> Option<Tz> {
    let mut found = None;
    for index in 0..words.len() {
        let Some((zone, first)) = zone_at(words, index) else {
            continue;
        };
        found = Some(zone);
        take_out(words, first..index + 1);
    }
    found
}

/// The zone whose name ends at `index`, and where it begins.
fn zone_at(words: &[Word], index: usize) -> Option<(Tz, usize)> {
    let one = index.checked_sub(1)?;
    match (lower(words, index), lower(words, one)) {
        ("utc", _) => Some((Tz::UTC, index)),
        ("time", city) => {
            let two = one.checked_sub(1);
            let two = two.and_then(|two| Some((of_city(&format!("{}_{city}", lower(words, two)))?, two)));
            two.or_else(|| Some((of_city(city)?, one)))
        }
        // "7 am Pacific"
        (city, half) if one > 0 && (half.ends_with("am") || half.ends_with("pm")) => {
            Some((of_city(city)?, index))
        }
        _ => None,
    }
}

/// The zone of a city, as the database names it; of the zones of the United States by what they are called there.
fn of_city(city: &str) -> Option<Tz> {
    let city = match city {
        "eastern" => "new_york",
        "central" => "chicago",
        "mountain" => "denver",
        "pacific" => "los_angeles",
        city => city,
    };
    let is = |zone: &&Tz| zone.name().to_lowercase().rsplit('/').next() == Some(city);
    TZ_VARIANTS.iter().find(is).copied()
}
