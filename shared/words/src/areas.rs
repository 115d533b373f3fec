//! Short and everyday names of countries and states, in small letters.

/// The country code of an everyday name.
#[must_use]
pub fn country(name: &str) -> Option<&'static str> {
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
#[must_use]
pub fn state(code: &str) -> Option<(&'static str, &'static str)> {
    STATES.iter().find_map(|(country, states)| {
        let mut states = states.split(", ").filter_map(|state| state.split_once(' '));
        states.find_map(|(known, name)| (known == code).then_some((*country, name)))
    })
}

/// The states of a country, each behind its code.
#[rustfmt::skip]
const STATES: &[(&str, &str)] = &[
    (
        "US",
        "al Alabama, ak Alaska, az Arizona, ar Arkansas, ca California, co Colorado, ct Connecticut, de Delaware, dc District \
        of Columbia, fl Florida, ga Georgia, hi Hawaii, id Idaho, il Illinois, in Indiana, ia Iowa, ks Kansas, ky Kentucky, la \
        Louisiana, me Maine, md Maryland, ma Massachusetts, mi Michigan, mn Minnesota, ms Mississippi, mo Missouri, mt \
        Montana, ne Nebraska, nv Nevada, nh New Hampshire, nj New Jersey, nm New Mexico, ny New York, nc North Carolina, nd \
        North Dakota, oh Ohio, ok Oklahoma, or Oregon, pa Pennsylvania, ri Rhode Island, sc South Carolina, sd South Dakota, \
        tn Tennessee, tx Texas, ut Utah, vt Vermont, va Virginia, wa Washington, wv West Virginia, wi Wisconsin, wy Wyoming",
    ),
    (
        "CA",
        "ab Alberta, bc British Columbia, mb Manitoba, nb New Brunswick, nl Newfoundland and Labrador, ns Nova Scotia, on \
        Ontario, pe Prince Edward Island, qc Quebec, sk Saskatchewan",
    ),
    (
        "AU",
        "nsw New South Wales, qld Queensland",
    ),
];
