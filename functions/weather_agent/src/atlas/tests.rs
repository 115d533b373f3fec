//! Which place is meant, over a handful of namesakes.

use super::*;

fn place(name: &str, admin1: &str, country: (&str, &str), feature: &str, population: u64) -> Place {
    Place {
        id: i64::try_from(population).unwrap(),
        name: name.into(),
        latitude: 0.0,
        longitude: 0.0,
        elevation: None,
        feature_code: feature.into(),
        country_code: country.0.into(),
        country: country.1.into(),
        admin1: admin1.into(),
        admin2: String::new(),
        timezone: String::new(),
        population,
    }
}

const US: (&str, &str) = ("US", "United States");

fn springfields() -> Vec<Place> {
    vec![
        place("Springfield", "Missouri", US, "PPLA2", 170_188),
        place("Springfield", "Massachusetts", US, "PPLA2", 154_341),
        place("Springfield", "Illinois", US, "PPLA", 114_394),
        place("Springfield", "Maine", US, "PPL", 400),
    ]
}

fn decide(name: &str, found: &[Place]) -> String {
    match choose(name, candidates(name, found)) {
        Choice::None => "none".into(),
        Choice::One(place, others) => {
            let others: Vec<String> = others.iter().map(label).collect();
            format!("{} (not {})", label(&place), others.join("; "))
        }
        Choice::Which { listed, .. } => format!(
            "which: {}",
            listed.iter().map(label).collect::<Vec<_>>().join("; ")
        ),
    }
}

#[test]
fn the_clearly_larger_namesake_is_meant() {
    let found = [
        place("Paris", "Île-de-France", ("FR", "France"), "PPLC", 2_138_551),
        place("Paris", "Texas", US, "PPL", 24_782),
        place("Paris", "Maine", US, "PPL", 5_000),
        place("Parisot", "", ("FR", "France"), "PPL", 600),
    ];
    assert_eq!(
        decide("paris", &found),
        "Paris, Île-de-France, France (not Paris, Texas, United States)"
    );
}

#[test]
fn a_large_city_is_meant_by_its_name_and_not_a_larger_one_whose_name_goes_on() {
    let found = [
        place("Porto Alegre", "", ("BR", "Brazil"), "PPLA", 1_488_252),
        place("Porto", "Porto", ("PT", "Portugal"), "PPLA2", 252_687),
    ];
    assert_eq!(decide("porto", &found), "Porto, Portugal (not )");
}

#[test]
fn namesakes_of_like_size_are_asked_about() {
    assert_eq!(
        decide("Springfield", &springfields()),
        "which: Springfield, Missouri, United States; Springfield, Massachusetts, United States; \
         Springfield, Illinois, United States"
    );
}

#[test]
fn a_country_and_a_state_of_one_name_are_asked_about() {
    let found = [
        place("Georgia", "Georgia", US, "ADM1", 10_711_908),
        place("Georgia", "", ("GE", "Georgia"), "PCLI", 3_731_000),
    ];
    let text = decide("Georgia", &found);
    assert!(text.starts_with("which: Georgia (the country)"), "{text}");
    assert!(text.contains("Georgia, United States (the state)"), "{text}");
    let Choice::Which { listed, .. } = choose("Georgia", candidates("Georgia", &found)) else {
        panic!("{text}")
    };
    for (reply, expect) in [
        ("the country", "PCLI"),
        ("the state", "ADM1"),
        ("USA", "ADM1"),
        ("2", "ADM1"),
    ] {
        assert_eq!(
            picked(&listed, reply).map(|index| listed[index].feature_code.as_str()),
            Some(expect),
            "{reply}"
        );
    }
    assert_eq!(picked(&listed, "the city"), None);
}

#[test]
fn a_state_steps_back_behind_its_city() {
    let found = [
        place("New York", "New York", US, "PPL", 8_804_190),
        place("New York", "New York", US, "ADM1", 19_274_244),
        place("New York Mills", "New York", US, "PPL", 3_000),
    ];
    assert_eq!(decide("New York", &found), "New York, United States (not )");
}

#[test]
fn a_name_in_another_language_is_taken() {
    let found = [place("Munich", "Bavaria", ("DE", "Germany"), "PPLA", 1_260_391)];
    assert_eq!(decide("München", &found), "Munich, Bavaria, Germany (not )");
    assert!(!is_abbreviated("München", &found[0]));
    assert!(is_abbreviated("Mun", &found[0]));
    assert_eq!(decide("Qwerty", &[]), "none");
}

#[test]
fn areas_by_their_names_and_codes() {
    let illinois = &springfields()[2];
    for area in [
        "Illinois",
        "illinois",
        "IL",
        "USA",
        "the United States",
        "US",
        "Illinois state",
    ] {
        assert!(lies_in(illinois, area), "{area}");
    }
    for area in ["Ohio", "MA", "Germany", "", "the", "I"] {
        assert!(!lies_in(illinois, area), "{area}");
    }
    let berlin = place("Berlin", "State of Berlin", ("DE", "Germany"), "PPLC", 3_426_354);
    assert!(lies_in(&berlin, "Germany") && lies_in(&berlin, "Deutschland") && !lies_in(&berlin, "Delaware"));
    let oslo = place(
        "The Hague",
        "South Holland",
        ("NL", "The Netherlands"),
        "PPLA",
        474_292,
    );
    assert!(lies_in(&oslo, "Netherlands") && lies_in(&oslo, "the netherlands") && lies_in(&oslo, "Holland"));
}

#[test]
fn replies_pick_by_number_or_by_area() {
    for (reply, expect) in [
        ("2", Some(1)),
        ("number 2", Some(1)),
        ("the second one", Some(1)),
        ("The first", Some(0)),
        ("last", Some(3)),
        ("Illinois", Some(2)),
        ("the one in Illinois please", Some(2)),
        ("Springfield, Massachusetts", Some(1)),
        ("MA", Some(1)),
        ("ma", Some(1)),
        ("the one in MA", Some(1)),
        ("tell me", None),
        ("Maine", Some(3)),
        ("7", None),
        ("Boston", None),
        ("", None),
        ("the biggest", Some(0)),
    ] {
        assert_eq!(picked(&springfields(), reply), expect, "{reply:?}");
    }
}
