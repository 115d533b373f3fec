//! Three hundred places to stay, ten in each of thirty places, made from their numbers: the same at every look.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::NaiveDate;
use serde_json::{Value, json};

use super::LINK_HOST;
use crate::open_meteo::gazetteer::{self, Place};

/// Where there is something to rent.
const PLACES: [&str; 30] = [
    "Oslo",
    "Bergen",
    "Trondheim",
    "Tromsø",
    "Copenhagen",
    "Stockholm",
    "Helsinki",
    "Reykjavík",
    "London",
    "Edinburgh",
    "Dublin",
    "Paris",
    "Nice",
    "Amsterdam",
    "Berlin",
    "Hamburg",
    "Munich",
    "Vienna",
    "Prague",
    "Warsaw",
    "Budapest",
    "Rome",
    "Milan",
    "Athens",
    "Madrid",
    "Barcelona",
    "Lisbon",
    "Tokyo",
    "Kyoto",
    "New York",
];
const EACH: u64 = 10;
/// What the first of a listing's numbers is; those below belong to nobody.
const FIRST: u64 = 1_000;

const KINDS: [(&str, &str); 4] = [
    ("entire_home", "Flat"),
    ("private_room", "Private room"),
    ("entire_home", "House"),
    ("hotel_room", "Hotel room"),
];
const LOOKS: [&str; 5] = ["Bright", "Quiet", "Cosy", "Modern", "Old"];
const NEAR: [&str; 5] = [
    "by the park",
    "near the station",
    "in the old town",
    "by the water",
    "above a bakery",
];
/// What a place can have, below the names of the groups that the server makes of it.
const HAS: [(&str, &str); 6] = [
    ("Internet and office", "Wifi"),
    ("Kitchen and dining", "Kitchen"),
    ("Bedroom and laundry", "Washer"),
    ("Outdoor", "Balcony"),
    ("Parking and facilities", "Free parking"),
    ("Services", "Pets allowed"),
];

/// The places, looked up once: each search goes through all listings.
fn places() -> &'static [Option<&'static Place>] {
    static FOUND: OnceLock<Vec<Option<&'static Place>>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let found = PLACES
            .iter()
            .map(|city| gazetteer::search(city, None).into_iter().next());
        found.collect()
    })
}

struct Listing {
    number: u64,
    place: &'static Place,
    kind: &'static str,
    name: String,
    guests: u64,
    night: u64,
    rating: f64,
}

/// One of several, by a number that looks like chance.
fn pick<T: Copy>(of: &[T], number: u64, salt: u64) -> Option<T> {
    let at = mixed(number, salt) % of.len() as u64;
    of.get(usize::try_from(at).ok()?).copied()
}

/// Fibonacci hashing: neighbours come out far from each other.
fn mixed(number: u64, salt: u64) -> u64 {
    (number ^ salt.wrapping_mul(0x2545_f491_4f6c_dd1d)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33
}

impl Listing {
    fn of(number: u64) -> Option<Self> {
        let index = number.checked_sub(FIRST)?;
        let place = (*places().get(usize::try_from(index / EACH).ok()?)?)?;
        let (kind, word) = pick(&KINDS, number, 1)?;
        let (look, near) = (pick(&LOOKS, number, 2)?, pick(&NEAR, number, 3)?);
        Some(Self {
            number,
            place,
            kind,
            name: format!("{look} {} {near} (sandbox)", word.to_lowercase()),
            guests: 1 + mixed(number, 4) % 6,
            night: 45 + mixed(number, 5) % 180,
            rating: 4.0 + (mixed(number, 6) % 100) as f64 / 100.0,
        })
    }

    fn url(&self) -> String {
        format!("https://{LINK_HOST}/rooms/{}", self.number)
    }

    /// A little beside the middle of the place.
    fn at(&self) -> (f64, f64) {
        let off = |salt| (mixed(self.number, salt) % 400) as f64 / 10_000.0 - 0.02;
        (self.place.latitude + off(7), self.place.longitude + off(8))
    }
}

fn listings() -> impl Iterator<Item = Listing> {
    (FIRST..FIRST + PLACES.len() as u64 * EACH).filter_map(Listing::of)
}

/// What a stay is asked for.
struct Stay {
    nights: u64,
    people: u64,
}

impl Stay {
    fn read(arguments: &Value) -> Result<Self, String> {
        let date = |name: &str| match arguments.get(name) {
            None => Ok(None),
            Some(value) => {
                let date = value.as_str().and_then(|text| text.parse::<NaiveDate>().ok());
                date.map(Some).ok_or_else(|| format!("{name} is no date"))
            }
        };
        let nights = match (date("checkin")?, date("checkout")?) {
            (Some(first), Some(last)) if last > first => (last - first).num_days().unsigned_abs(),
            (Some(_), Some(_)) => return Err("checkout is not after checkin".to_owned()),
            _ => 1,
        };
        let count = |name: &str| number(arguments, name);
        Ok(Self {
            nights,
            people: count("adults")?.unwrap_or(1) + count("children")?.unwrap_or(0),
        })
    }
}

fn number(arguments: &Value, name: &str) -> Result<Option<u64>, String> {
    match arguments.get(name) {
        None => Ok(None),
        Some(value) => value
            .as_u64()
            .map(Some)
            .ok_or_else(|| format!("{name} is no whole number")),
    }
}

/// `airbnb_search`
pub(super) fn search(arguments: &Value) -> Result<Value, String> {
    let location = arguments.get("location").and_then(Value::as_str);
    let location = location.ok_or("location is required")?;
    let stay = Stay::read(arguments)?;
    let (least, most) = (number(arguments, "minPrice")?, number(arguments, "maxPrice")?);
    let kind = arguments.get("propertyType").and_then(Value::as_str);
    let place = gazetteer::search(location, None).into_iter().next();
    let fits = |listing: &Listing| {
        let price = listing.night * stay.nights;
        place.is_some_and(|place| place.id == listing.place.id)
            && listing.guests >= stay.people
            && least.is_none_or(|least| price >= least)
            && most.is_none_or(|most| price <= most)
            && kind.is_none_or(|kind| kind == listing.kind)
    };
    let results: Vec<Value> = listings()
        .filter(fits)
        .map(|listing| found(&listing, &stay))
        .collect();
    Ok(json!({
        "sandbox": true,
        "searchUrl": format!("https://{LINK_HOST}/s"),
        "searchResults": results,
        "paginationInfo": {},
    }))
}

fn found(listing: &Listing, stay: &Stay) -> Value {
    let (latitude, longitude) = listing.at();
    let (night, total) = (listing.night, listing.night * stay.nights);
    let unit = if stay.nights == 1 { "night" } else { "nights" };
    json!({
        "id": listing.number.to_string(),
        "url": listing.url(),
        "demandStayListing": {
            "id": STANDARD.encode(format!("DemandStayListing:{}", listing.number)),
            "description": {"name": {"localizedStringWithTranslationPreference": listing.name}},
            "location": {"coordinate": {"latitude": latitude, "longitude": longitude}},
        },
        "structuredContent": {"primaryLine": format!("Up to {} guests", listing.guests)},
        "avgRatingA11yLabel": format!("{:.2} out of 5 average rating", listing.rating),
        "structuredDisplayPrice": {
            "primaryLine": {"accessibilityLabel": format!("€ {total} for {} {unit}", stay.nights)},
            "explanationData": {
                "title": "Price details",
                "priceDetails": format!("{} {unit} x € {night}.00: € {total}.00", stay.nights),
            },
        },
    })
}

/// `airbnb_listing_details`
pub(super) fn details(arguments: &Value) -> Result<Value, String> {
    let id = arguments
        .get("id")
        .and_then(Value::as_str)
        .ok_or("id is required")?;
    let listing = id
        .parse()
        .ok()
        .and_then(Listing::of)
        .ok_or("there is no such listing")?;
    Stay::read(arguments)?;
    let (latitude, longitude) = listing.at();
    let has: BTreeMap<&str, &str> = (0..4)
        .filter_map(|salt| pick(&HAS, listing.number, 10 + salt))
        .collect();
    let place = listing.place;
    Ok(json!({
        "sandbox": true,
        "listingUrl": listing.url(),
        "details": [
            {"id": "LOCATION_DEFAULT", "lat": latitude, "lng": longitude, "title": "Where it is",
             "subtitle": format!("{}, {}", place.name, place.country)},
            {"id": "HIGHLIGHTS_DEFAULT", "highlights": "Self check-in, Sandbox"},
            {"id": "DESCRIPTION_DEFAULT", "htmlDescription": {
                "htmlText": format!("{}<br />For up to {} guests. This listing is made up.", listing.name, listing.guests)}},
            {"id": "AMENITIES_DEFAULT", "title": "What it offers", "seeAllAmenitiesGroups": has},
            {"id": "POLICIES_DEFAULT", "title": "House rules", "houseRulesSections": "Check-in after 15:00, No smoking"},
        ],
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_three_hundred_and_they_stay_the_same() {
        let all: Vec<Listing> = listings().collect();
        assert_eq!(all.len(), 300);
        let mut names: Vec<&str> = all.iter().map(|listing| listing.place.name).collect();
        names.dedup();
        assert_eq!(names.len(), 30, "{names:?}");
        let once = search(&json!({"location": "Oslo"})).unwrap();
        assert_eq!(once, search(&json!({"location": "oslo, Norway"})).unwrap());
        assert_eq!(once["searchResults"].as_array().unwrap().len(), 10);
    }

    #[test]
    fn a_search_keeps_to_guests_nights_and_price() {
        let wanted = json!({
            "location": "Oslo", "checkin": "2026-12-04", "checkout": "2026-12-06", "adults": 2, "maxPrice": 240,
        });
        let found = search(&wanted).unwrap();
        let found = found["searchResults"].as_array().unwrap();
        assert!(!found.is_empty() && found.len() < 10, "{found:?}");
        for listing in found {
            let number: u64 = listing["id"].as_str().unwrap().parse().unwrap();
            let listing = Listing::of(number).unwrap();
            assert!(listing.guests >= 2 && listing.night <= 120);
        }
        let brief = search(&json!({"location": "Oslo", "checkin": "2026-12-04", "checkout": "2026-12-05"}));
        let price = &brief.unwrap()["searchResults"][0]["structuredDisplayPrice"]["primaryLine"];
        assert!(
            price["accessibilityLabel"]
                .as_str()
                .unwrap()
                .ends_with(" for 1 night")
        );
        assert_eq!(
            search(&json!({"location": "Atlantis"})).unwrap()["searchResults"],
            json!([])
        );
    }

    #[test]
    fn every_listing_offers_something_and_lies_beside_its_place() {
        for number in FIRST..FIRST + 300 {
            let told = details(&json!({"id": number.to_string()})).unwrap();
            let offers = told["details"][3]["seeAllAmenitiesGroups"].as_object().unwrap();
            assert!(
                !offers.is_empty() && offers.values().all(Value::is_string),
                "{offers:?}"
            );
            let listing = Listing::of(number).unwrap();
            let (latitude, longitude) = listing.at();
            let beside = (latitude - listing.place.latitude).hypot(longitude - listing.place.longitude);
            assert!(beside > 0.0 && beside < 0.03, "{latitude}, {longitude}");
        }
    }

    #[test]
    fn a_listing_is_found_where_the_published_server_puts_it() {
        let oslo = search(&json!({"location": "Oslo"})).unwrap();
        for found in oslo["searchResults"].as_array().unwrap() {
            let listing = &found["demandStayListing"];
            let at = &listing["location"]["coordinate"];
            let (latitude, longitude) = (at["latitude"].as_f64(), at["longitude"].as_f64());
            assert!(
                latitude.is_some_and(|degrees| (59.8..60.0).contains(&degrees)),
                "{found}"
            );
            assert!(
                longitude.is_some_and(|degrees| (10.7..10.8).contains(&degrees)),
                "{found}"
            );
            let id = STANDARD.decode(listing["id"].as_str().unwrap()).unwrap();
            let number = found["id"].as_str().unwrap();
            assert_eq!(
                String::from_utf8(id).unwrap(),
                format!("DemandStayListing:{number}")
            );
        }
    }

    #[test]
    fn what_makes_no_sense_is_told() {
        for (arguments, why) in [
            (json!({}), "location is required"),
            (
                json!({"location": "Oslo", "checkin": "soon"}),
                "checkin is no date",
            ),
            (
                json!({"location": "Oslo", "checkin": "2026-12-06", "checkout": "2026-12-04"}),
                "checkout is not after checkin",
            ),
            (
                json!({"location": "Oslo", "adults": -2}),
                "adults is no whole number",
            ),
        ] {
            assert_eq!(search(&arguments).unwrap_err(), why);
        }
        assert!(details(&json!({"id": "7"})).is_err());
    }
}
