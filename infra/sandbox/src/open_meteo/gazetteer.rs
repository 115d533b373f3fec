//! The places the sandbox knows, and how a search finds them.

use std::collections::HashMap;
use std::sync::OnceLock;

use chrono_tz::Tz;
use outbound::open_meteo::fold;

const PLACES: &str = include_str!("places.tsv");
const COUNTRIES: &str = include_str!("countries.tsv");
/// What larger places are called elsewhere.
const NAMES: &str = include_str!("names.tsv");

/// One place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Place {
    pub(crate) id: u32,
    pub(crate) name: &'static str,
    pub(crate) latitude: f64,
    pub(crate) longitude: f64,
    pub(super) elevation: Option<f64>,
    pub(super) feature_code: &'static str,
    pub(super) country_code: &'static str,
    pub(crate) country: &'static str,
    pub(super) country_id: u32,
    pub(super) admin1: &'static str,
    pub(super) timezone: &'static str,
    pub(super) population: u64,
    /// The name and the other names, folded.
    folded: Vec<String>,
}

/// All places, read once.
pub(super) fn places() -> &'static [Place] {
    static READ: OnceLock<Vec<Place>> = OnceLock::new();
    READ.get_or_init(|| {
        let countries: HashMap<&str, (&str, u32)> = rows(COUNTRIES)
            .filter_map(|row| match row.as_slice() {
                [code, name, id] => Some((*code, (*name, id.parse().ok()?))),
                _ => None,
            })
            .collect();
        rows(PLACES).filter_map(|row| place(&row, &countries)).collect()
    })
}

fn rows(table: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    table
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split('\t').collect())
}

fn place(row: &[&'static str], countries: &HashMap<&str, (&'static str, u32)>) -> Option<Place> {
    let [
        id,
        name,
        latitude,
        longitude,
        elevation,
        feature,
        code,
        admin1,
        timezone,
        population,
        others,
    ] = row
    else {
        return None;
    };
    let (country, country_id) = countries.get(code).copied()?;
    let others = others.split(';').filter(|other| !other.is_empty());
    Some(Place {
        id: id.parse().ok()?,
        name,
        latitude: latitude.parse().ok()?,
        longitude: longitude.parse().ok()?,
        elevation: elevation.parse().ok(),
        feature_code: feature,
        country_code: code,
        country,
        country_id,
        admin1,
        timezone,
        population: population.parse().ok()?,
        folded: std::iter::once(*name).chain(others).map(fold).collect(),
    })
}

/// The places that a name stands for alone, folded, where it is what others call them: Kopenhagen, Mailand.
fn elsewhere() -> &'static HashMap<String, u32> {
    static READ: OnceLock<HashMap<String, u32>> = OnceLock::new();
    READ.get_or_init(|| {
        rows(NAMES)
            .filter_map(|row| match row.as_slice() {
                [id, names] => Some((id.parse::<u32>().ok()?, *names)),
                _ => None,
            })
            .flat_map(|(id, names)| names.split(';').map(move |name| (fold(name), id)))
            .collect()
    })
}

/// Finds places by the beginning of a name, whole names first, then by population. One letter finds nothing, two
/// only whole names; what follows a comma narrows by country or first administrative level.
pub(crate) fn search(text: &str, country_code: Option<&str>) -> Vec<&'static Place> {
    let (name, area) = match text.split_once(',') {
        Some((name, areas)) => (fold(name), fold(areas.split(',').next().unwrap_or(""))),
        None => (fold(text), String::new()),
    };
    if name.chars().count() < 2 {
        return Vec::new();
    }
    let within = |place: &Place| {
        area.is_empty()
            || [place.country, place.admin1, place.country_code]
                .map(fold)
                .contains(&area)
    };
    let in_country =
        |place: &Place| country_code.is_none_or(|code| code.eq_ignore_ascii_case(place.country_code));
    let elsewhere = elsewhere().get(&name).copied();
    let rank = |place: &Place| {
        if place.folded.contains(&name) || elsewhere == Some(place.id) {
            Some(0)
        } else if name.chars().count() > 2 && place.folded.iter().any(|known| known.starts_with(&name)) {
            Some(1)
        } else {
            None
        }
    };
    let mut found: Vec<(u8, &Place)> = places()
        .iter()
        .filter(|place| within(place) && in_country(place))
        .filter_map(|place| rank(place).map(|rank| (rank, place)))
        .collect();
    found.sort_by_key(|(rank, place)| (*rank, std::cmp::Reverse(place.population)));
    found.into_iter().map(|(_, place)| place).collect()
}

/// The time zone of a coordinate: that of the nearest place known, or the nautical one where none is near.
pub(super) fn zone_of(latitude: f64, longitude: f64) -> Tz {
    let distance = |place: &Place| {
        let east = (place.longitude - longitude) * latitude.to_radians().cos();
        (place.latitude - latitude).hypot(east)
    };
    let near = places()
        .iter()
        .map(|place| (distance(place), place))
        .filter(|(distance, _)| *distance < 15.0)
        .min_by(|(a, _), (b, _)| a.total_cmp(b));
    if let Some((_, place)) = near
        && let Ok(zone) = place.timezone.parse()
    {
        return zone;
    }
    // The POSIX names count westwards.
    let hours = (longitude / 15.0).round() as i32;
    let name = match hours {
        0 => "Etc/GMT".to_owned(),
        east if east > 0 => format!("Etc/GMT-{east}"),
        west => format!("Etc/GMT+{}", -west),
    };
    name.parse().unwrap_or(Tz::UTC)
}

/// Metres above the sea of a coordinate, from the nearest place of which it is known.
pub(super) fn elevation_of(latitude: f64, longitude: f64) -> f64 {
    let near =
        |place: &&Place| (place.latitude - latitude).abs() < 0.3 && (place.longitude - longitude).abs() < 0.3;
    places()
        .iter()
        .filter(near)
        .find_map(|place| place.elevation)
        .unwrap_or(38.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &[&str]) {
        let found: Vec<String> = search(text, None)
            .iter()
            .take(expect.len().max(1))
            .map(|p| format!("{} {}", p.name, p.country_code))
            .collect();
        assert_eq!(found, expect, "{text}");
    }

    #[test]
    fn every_row_is_read_and_its_zone_exists() {
        assert_eq!(places().len(), rows(PLACES).count());
        assert!(places().len() > 500);
        for place in places() {
            assert!(place.timezone.parse::<Tz>().is_ok(), "{place:?}");
            assert!(
                place.latitude.abs() <= 90.0 && place.longitude.abs() <= 180.0,
                "{place:?}"
            );
        }
    }

    #[test]
    fn names_are_found_whatever_their_spelling() {
        check("Oslo", &["Oslo NO"]);
        check("oslo", &["Oslo NO"]);
        check("München", &["Munich DE"]);
        check("munchen", &["Munich DE"]);
        check("NYC", &["New York US"]);
        check("Saint Petersburg", &["Saint Petersburg RU"]);
        check("Tromso", &["Tromsø NO"]);
        check("São Paulo", &["São Paulo BR"]);
        check("Reykj", &["Reykjavík IS"]);
        check("Paris", &["Paris FR", "Paris US"]);
        check("Paris, Texas", &["Paris US"]);
        check("Cambridge", &["Cambridge GB", "Cambridge CA", "Cambridge US"]);
        check("Georgia", &["Georgia US", "Georgia GE"]);
        // As neighbours call them.
        check("Kopenhagen", &["Copenhagen DK"]);
        check("Mailand", &["Milan IT"]);
        check("Viena", &["Vienna AT"]);
        check("Lisboa", &["Lisbon PT"]);
        check("Londres", &["London GB"]);
        check("Варшава", &["Warsaw PL"]);
    }

    #[test]
    fn short_and_unknown_names_find_nothing() {
        for text in ["", "O", "Os", "Qwertyville", ",", ", Norway", "\u{0}"] {
            assert_eq!(search(text, None), Vec::<&Place>::new(), "{text:?}");
        }
    }

    #[test]
    fn a_country_code_narrows() {
        assert!(
            search("Paris", Some("US"))
                .iter()
                .all(|place| place.country_code == "US")
        );
    }

    #[test]
    fn coordinates_have_zones() {
        assert_eq!(zone_of(59.9, 10.7), Tz::Europe__Oslo);
        assert_eq!(zone_of(-33.9, 151.2), Tz::Australia__Sydney);
        assert_eq!(zone_of(-45.0, -125.0).name(), "Etc/GMT+8");
    }
}
