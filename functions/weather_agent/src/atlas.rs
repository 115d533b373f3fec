//! Which place of a name is meant.

use outbound::open_meteo::{Place, fold};
use words::areas;

/// A place that is this many times as weighty as the next is meant without saying so.
const CLEARLY: u64 = 3;
/// Most places that a question back lists.
const MAX_LISTED: usize = 5;
/// Fewer people than this make no namesake worth a mention.
const NOTABLE: u64 = 10_000;

/// A city of so many people is meant by its name alone, whatever else begins with it.
const LARGE: u64 = 100_000;

/// Which place is meant.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Choice {
    /// This one; and well-known namesakes.
    One(Box<Place>, Vec<Place>),
    /// One of these: somebody has to say which.
    Which {
        /// The weightiest, to ask about.
        listed: Vec<Place>,
        /// The others.
        more: Vec<Place>,
    },
    /// No place has the name.
    None,
}

/// The places that may be meant by a name, weightiest first, out of what a search found.
pub(crate) fn candidates(name: &str, found: &[Place]) -> Vec<Place> {
    let wanted = fold(name);
    let longer = format!("{wanted} ");
    let is_place = |place: &&Place| !matches!(place.feature_code.as_str(), "PPLX" | "POST" | "AIRP" | "HTL");
    let named = |place: &Place| {
        let name = fold(&place.name);
        name == wanted || name.starts_with(&longer)
    };
    let places: Vec<&Place> = found.iter().filter(is_place).collect();
    let any_named = places.iter().any(|place| named(place));
    // The first result may have the name in another language: "München" finds Munich.
    let first = places.first().map(|place| fold(&place.name)).unwrap_or_default();
    let mut kept: Vec<Place> = Vec::new();
    for (index, place) in places.into_iter().enumerate() {
        // What a name only begins with is not that name: "Mars" is not Marseille, "mind" not Minden.
        let whole = !is_abbreviated(name, place) || is_misspelt(name, place);
        let fits = named(place) || whole && (index == 0 || !any_named && fold(&place.name) == first);
        let twin = |known: &Place| {
            fold(&known.name) == fold(&place.name)
                && known.country_code == place.country_code
                && known.admin1 == place.admin1
                && is_region(known) == is_region(place)
        };
        if fits && !kept.iter().any(twin) {
            kept.push(place.clone());
        }
    }
    // A state or country steps back behind a city of its name: New York, Washington, Luxembourg.
    let cities: Vec<(String, u64)> = kept
        .iter()
        .filter(|place| !is_region(place))
        .map(|place| (place.country_code.clone(), place.population))
        .collect();
    kept.retain(|place| {
        let behind = |(country, people): &(String, u64)| {
            *country == place.country_code
                && (*people >= 100_000 || people.saturating_mul(10) >= place.population)
        };
        !is_region(place) || !cities.iter().any(behind)
    });
    // Who says Porto does not mean Porto Alegre, which is larger.
    let is_it = |place: &Place| fold(&place.name) == wanted;
    let has_city = |place: &Place| is_it(place) && !is_region(place) && place.population >= LARGE;
    if kept.iter().any(has_city) {
        kept.retain(is_it);
    }
    kept.sort_by_key(|place| std::cmp::Reverse(weight(place, &wanted)));
    kept
}

/// Decides among candidates.
pub(crate) fn choose(name: &str, candidates: Vec<Place>) -> Choice {
    let wanted = fold(name);
    let weights: Vec<u64> = candidates.iter().map(|place| weight(place, &wanted)).collect();
    let mut candidates = candidates.into_iter();
    let Some(first) = candidates.next() else {
        return Choice::None;
    };
    let rest: Vec<Place> = candidates.collect();
    let top = weights.first().copied().unwrap_or(0);
    if weights
        .get(1)
        .is_none_or(|second| top >= second.saturating_mul(CLEARLY))
    {
        let name = fold(&first.name);
        let notable =
            |place: &Place| fold(&place.name) == name && (place.population >= NOTABLE || is_region(place));
        let others = rest.into_iter().filter(notable).take(2).collect();
        return Choice::One(Box::new(first), others);
    }
    let close = weights
        .iter()
        .take_while(|weight| weight.saturating_mul(20) >= top)
        .count()
        .min(MAX_LISTED);
    let mut listed: Vec<Place> = std::iter::once(first).chain(rest).collect();
    let more = listed.split_off(close.min(listed.len()));
    Choice::Which { listed, more }
}

fn weight(place: &Place, wanted: &str) -> u64 {
    let people = place.population.max(1);
    let exact = if fold(&place.name) == wanted { 2 } else { 1 };
    let kind = match place.feature_code.as_str() {
        "PPLC" => 20,
        "ADM1" => 3,
        _ => 10,
    };
    people.saturating_mul(exact).saturating_mul(kind)
}

/// A state, a region or a country: too large for one forecast.
pub(crate) fn is_region(place: &Place) -> bool {
    place.feature_code.starts_with("ADM") || place.feature_code.starts_with("PCL")
}

/// The name only begins like the place's: `Osl` for Oslo.
pub(crate) fn is_abbreviated(name: &str, place: &Place) -> bool {
    let (wanted, full) = (fold(name), fold(&place.name));
    full != wanted && full.starts_with(&wanted) && !full.starts_with(&format!("{wanted} "))
}

/// The name is at least half of the place's, from its beginning: `Reykj` for Reykjavík.
pub(crate) fn is_half(name: &str, place: &Place) -> bool {
    is_abbreviated(name, place) && fold(name).len() * 2 >= fold(&place.name).len()
}

/// The name is the place's with a slip of the pen, and one more for each five letters.
pub(crate) fn is_misspelt(name: &str, place: &Place) -> bool {
    let slips = 1 + name.chars().count() / 5;
    strsim::osa_distance(&fold(name), &fold(&place.name)) <= slips
}

/// The place's full name goes on behind the name that was asked for: `Mexico` for Mexico City, `Osl` for Oslo.
pub(crate) fn is_part_of(name: &str, place: &Place) -> bool {
    let (wanted, full) = (fold(name), fold(&place.name));
    full != wanted && full.starts_with(&wanted)
}

/// Whether a place lies in an area: a country, a state, a county, or the usual short form of one.
pub(crate) fn lies_in(place: &Place, area: &str) -> bool {
    let wanted = fold(area);
    let wanted = wanted.strip_prefix("the ").unwrap_or(&wanted);
    let wanted = wanted.strip_suffix(" state").unwrap_or(wanted);
    if wanted.is_empty() {
        return false;
    }
    let country = fold(&place.country);
    country.strip_prefix("the ").unwrap_or(&country) == wanted
        || fold(&place.admin1) == wanted
        || !place.admin2.is_empty() && fold(&place.admin2) == wanted
        || wanted.len() == 2
            && place.country_code.eq_ignore_ascii_case(wanted)
            && areas::state(wanted).is_none()
        || areas::country(wanted).is_some_and(|code| place.country_code == code)
        || areas::state(wanted)
            .is_some_and(|(code, name)| place.country_code == code && fold(&place.admin1) == fold(name))
}

/// Which of the listed places a reply picks: by where it is, or by its number.
pub(crate) fn picked(listed: &[Place], reply: &str) -> Option<usize> {
    let by_number = || {
        let words: Vec<String> = words(reply);
        match words.iter().find_map(|word| number(word, words.len()))? {
            0 => listed.len().checked_sub(1),
            number => Some(number - 1).filter(|index| *index < listed.len()),
        }
    };
    picked_by_area(listed, reply)
        .or_else(|| picked_by_kind(listed, reply))
        .or_else(by_number)
}

/// "the country", "the state": the one listed place of that kind.
fn picked_by_kind(listed: &[Place], reply: &str) -> Option<usize> {
    let words = words(reply);
    let said = |word: &str| words.iter().any(|said| said == word);
    let only = |kind: &dyn Fn(&Place) -> bool| {
        let mut fitting = listed
            .iter()
            .enumerate()
            .filter(|(_, place)| kind(place))
            .map(|(index, _)| index);
        fitting.next().filter(|_| fitting.next().is_none())
    };
    if said("country") {
        only(&|place| place.feature_code.starts_with("PCL"))
    } else if said("state") || said("region") || said("province") {
        only(&|place| place.feature_code.starts_with("ADM"))
    } else if said("city") || said("town") || said("village") {
        only(&|place| !is_region(place))
    } else {
        None
    }
}

fn words(reply: &str) -> Vec<String> {
    fold(reply).split(' ').take(60).map(str::to_owned).collect()
}

/// Which of the places a reply picks by where it is.
pub(crate) fn picked_by_area(listed: &[Place], reply: &str) -> Option<usize> {
    let words: Vec<String> = words(reply);
    let by_area = |place: &Place| {
        let longest = words.len().min(5);
        (1..=longest).any(|length| {
            words.windows(length).any(|window| {
                let area = window.join(" ");
                // Two letters are a code only where they stand alone or in capitals: "me" is not Maine.
                let code = area.len() == 2;
                let plain = !code || words.len() == 1 || reply.contains(&area.to_uppercase());
                plain && lies_in(place, &area)
            })
        })
    };
    listed.iter().position(by_area)
}

/// A place in a list, from 1; 0 is the last.
fn number(word: &str, words: usize) -> Option<usize> {
    Some(match word {
        "first" | "1st" | "biggest" | "largest" | "any" | "whatever" | "either" => 1,
        "second" | "2nd" => 2,
        "third" | "3rd" => 3,
        "fourth" | "4th" => 4,
        "fifth" | "5th" => 5,
        "last" => 0,
        "one" if words == 1 => 1,
        "two" if words == 1 => 2,
        "three" if words == 1 => 3,
        "four" if words == 1 => 4,
        "five" if words == 1 => 5,
        _ => {
            return word
                .parse()
                .ok()
                .filter(|number| (1..=MAX_LISTED).contains(number));
        }
    })
}

/// A place with what tells it from its namesakes: `Springfield, Illinois, United States`.
pub(crate) fn label(place: &Place) -> String {
    let mut parts = vec![place.name.as_str()];
    if !place.admin1.is_empty() && fold(&place.admin1) != fold(&place.name) {
        parts.push(&place.admin1);
    }
    if !place.country.is_empty() && fold(&place.country) != fold(&place.name) {
        parts.push(&place.country);
    }
    let label = parts.join(", ");
    match place.feature_code.get(..3) {
        Some("PCL") => format!("{label} (the country)"),
        Some("ADM") => format!("{label} (the state)"),
        _ => label,
    }
}

#[cfg(test)]
mod tests;
