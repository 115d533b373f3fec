//! Whose clock times are by: `Oslo time`, `7 am Pacific`, `UTC`.

use chrono_tz::{TZ_VARIANTS, Tz};
use words::text::{Kind as Piece, Word};

/// Takes the clocks that are named out of the words: `Oslo time`, `New York time`, `UTC`.
pub(super) fn take_zone(words: &mut [Word]) -> Option<Tz> {
    let mut found = None;
    for index in 0..words.len() {
        let Some((zone, first)) = zone_at(words, index) else {
            continue;
        };
        found = Some(zone);
        for word in words.iter_mut().take(index + 1).skip(first) {
            word.kind = Piece::Gap;
        }
    }
    found
}

/// The zone whose name ends at `index`, and where it begins.
fn zone_at(words: &[Word], index: usize) -> Option<(Tz, usize)> {
    let lower = |at: usize| words.get(at).map_or("", |word| word.lower.as_str());
    let is = |zone: &&Tz, city: &str| {
        let name = zone.name().to_lowercase();
        name.rsplit('/').next() == Some(city)
    };
    let find = |city: &str| {
        // The database has these under countries, where only links are left.
        let of_america = match city {
            "eastern" => Some(Tz::America__New_York),
            "central" => Some(Tz::America__Chicago),
            "mountain" => Some(Tz::America__Denver),
            "pacific" => Some(Tz::America__Los_Angeles),
            _ => None,
        };
        of_america.or_else(|| TZ_VARIANTS.iter().find(|zone| is(zone, city)).copied())
    };
    let one = index.checked_sub(1)?;
    match lower(index) {
        "utc" => return Some((Tz::UTC, index)),
        "time" => {}
        // "7 am Pacific"
        city if lower(one).ends_with("am") || lower(one).ends_with("pm") => {
            return find(city).filter(|_| one > 0).map(|zone| (zone, index));
        }
        _ => return None,
    }
    let two = index
        .checked_sub(2)
        .map(|two| (format!("{}_{}", lower(two), lower(one)), two));
    let two = two.and_then(|(city, two)| Some((find(&city)?, two)));
    two.or_else(|| Some((find(lower(one))?, one)))
}
