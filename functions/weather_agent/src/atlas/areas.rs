//! Short and everyday names of countries and states, folded.

/// The country code of an everyday name.
pub(super) fn country(name: &str) -> Option<&'static str> {
    Some(match name {
        "uk" | "great britain" | "britain" => "GB",
        "usa" | "us" | "america" | "states" | "united states of america" => "US",
        "uae" | "emirates" => "AE",
        "holland" => "NL",
        "korea" => "KR",
        "czechia" | "czech republic" => "CZ",
        "turkey" | "turkiye" => "TR",
        "ivory coast" => "CI",
        "deutschland" => "DE",
        "norge" => "NO",
        "espana" => "ES",
        _ => return None,
    })
}

/// The country and the full name of a state by its code.
pub(super) fn state(code: &str) -> Option<(&'static str, &'static str)> {
    STATES
        .iter()
        .find(|(known, ..)| *known == code)
        .map(|(_, country, name)| (*country, *name))
}

const STATES: &[(&str, &str, &str)] = &[
    ("al", "US", "Alabama"),
    ("ak", "US", "Alaska"),
    ("az", "US", "Arizona"),
    ("ar", "US", "Arkansas"),
    ("ca", "US", "California"),
    ("co", "US", "Colorado"),
    ("ct", "US", "Connecticut"),
    ("de", "US", "Delaware"),
    ("dc", "US", "District of Columbia"),
    ("fl", "US", "Florida"),
    ("ga", "US", "Georgia"),
    ("hi", "US", "Hawaii"),
    ("id", "US", "Idaho"),
    ("il", "US", "Illinois"),
    ("in", "US", "Indiana"),
    ("ia", "US", "Iowa"),
    ("ks", "US", "Kansas"),
    ("ky", "US", "Kentucky"),
    ("la", "US", "Louisiana"),
    ("me", "US", "Maine"),
    ("md", "US", "Maryland"),
    ("ma", "US", "Massachusetts"),
    ("mi", "US", "Michigan"),
    ("mn", "US", "Minnesota"),
    ("ms", "US", "Mississippi"),
    ("mo", "US", "Missouri"),
    ("mt", "US", "Montana"),
    ("ne", "US", "Nebraska"),
    ("nv", "US", "Nevada"),
    ("nh", "US", "New Hampshire"),
    ("nj", "US", "New Jersey"),
    ("nm", "US", "New Mexico"),
    ("ny", "US", "New York"),
    ("nc", "US", "North Carolina"),
    ("nd", "US", "North Dakota"),
    ("oh", "US", "Ohio"),
    ("ok", "US", "Oklahoma"),
    ("or", "US", "Oregon"),
    ("pa", "US", "Pennsylvania"),
    ("ri", "US", "Rhode Island"),
    ("sc", "US", "South Carolina"),
    ("sd", "US", "South Dakota"),
    ("tn", "US", "Tennessee"),
    ("tx", "US", "Texas"),
    ("ut", "US", "Utah"),
    ("vt", "US", "Vermont"),
    ("va", "US", "Virginia"),
    ("wa", "US", "Washington"),
    ("wv", "US", "West Virginia"),
    ("wi", "US", "Wisconsin"),
    ("wy", "US", "Wyoming"),
    ("ab", "CA", "Alberta"),
    ("bc", "CA", "British Columbia"),
    ("mb", "CA", "Manitoba"),
    ("nb", "CA", "New Brunswick"),
    ("nl", "CA", "Newfoundland and Labrador"),
    ("ns", "CA", "Nova Scotia"),
    ("on", "CA", "Ontario"),
    ("pe", "CA", "Prince Edward Island"),
    ("qc", "CA", "Quebec"),
    ("sk", "CA", "Saskatchewan"),
    ("nsw", "AU", "New South Wales"),
    ("qld", "AU", "Queensland"),
];
