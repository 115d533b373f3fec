//! What is said at the end, in words and as data.

use chrono::NaiveDate;
use domain::{Artifact, Part};
use serde_json::json;
use words::Currency;

use crate::listing::Listing;
use crate::wanted::Wanted;

/// The list, in words and as data.
pub(crate) fn artifact(wanted: &Wanted, mut listings: Vec<Listing>, currency: Option<Currency>) -> Artifact {
    // What no listing says cannot be chosen by.
    let is_told = |wish: &&String| listings.iter().any(|listing| listing.has(wish));
    let (told, untold): (Vec<&String>, Vec<&String>) = wanted.said.wishes.iter().partition(is_told);
    listings.retain(|listing| told.iter().all(|wish| listing.has(wish)));
    let data = json!({
        "place": wanted.whole_place(),
        "from": wanted.first.to_string(),
        "to": wanted.last.to_string(),
        "nights": wanted.nights(),
        "guests": wanted.said.guests(),
        "children": wanted.said.children,
        "infants": wanted.said.infants,
        "pets": wanted.said.pets,
        "minPrice": wanted.least(),
        "maxPrice": wanted.most(),
        "currency": wanted.currencies.first().filter(|_| wanted.currencies.len() == 1),
        "listings": listings,
    });
    let parts = vec![
        Part::text(text(wanted, &listings, (&told, &untold), currency)),
        Part::data(data),
    ];
    Artifact::new("stays", parts).named("Places to stay")
}

fn text(
    wanted: &Wanted,
    listings: &[Listing],
    (told, untold): (&[&String], &[&String]),
    currency: Option<Currency>,
) -> String {
    let with = match told {
        [] => String::new(),
        told => format!(", with {}", words::listed(told, "and")),
    };
    let asked = format!("{}{with}", asked(wanted, currency));
    if listings.is_empty() {
        return format!("I found no place to stay {asked}.");
    }
    let count = match listings.len() {
        1 => "One place to stay".to_owned(),
        count => format!("{count} places to stay"),
    };
    let mut text = format!("{count} {asked}:");
    for (number, listing) in (1..).zip(listings) {
        text.push_str(&format!("\n{number}. {}", line(listing)));
    }
    if !untold.is_empty() && !listings.is_empty() {
        let untold: Vec<String> = untold.iter().map(|wish| format!("“{wish}”")).collect();
        let untold = words::listed(&untold, "or");
        text.push_str(&format!(
            "\n\nI can search by no {untold}, and none of these tells of it."
        ));
    }
    text
}

/// What was looked for, so that everybody sees what was understood.
fn asked(wanted: &Wanted, currency: Option<Currency>) -> String {
    let nights = match wanted.nights() {
        1 => "one night".to_owned(),
        nights => format!("{nights} nights"),
    };
    let people = |count: u32, one: &str, more: &str| match count {
        1 => format!("1 {one}"),
        count => format!("{count} {more}"),
    };
    let mut whom = people(wanted.said.guests(), "guest", "guests");
    let others = [
        (wanted.said.children, "child", "children"),
        (wanted.said.infants, "infant", "infants"),
        (wanted.said.pets, "pet", "pets"),
    ];
    for (count, one, more) in others.into_iter().filter(|(count, ..)| *count > 0) {
        whom = format!("{whom} and {}", people(count, one, more));
    }
    let bound = match (wanted.least(), wanted.most()) {
        (Some(least), Some(most)) => Some(format!("between {least} and {most}")),
        (Some(least), None) => Some(format!("at least {least}")),
        (None, most) => most.map(|most| format!("at most {most}")),
    };
    let price = bound.map(|bound| match wanted.currencies.as_slice() {
        _ if !wanted.is_price_for(currency) => {
            ", at any price, as the service does not say which currency its prices are in".to_owned()
        }
        [one] => format!(", for {bound} {one} altogether"),
        _ => format!(", for {bound} altogether"),
    });
    format!(
        "in {}, from {} to {} ({nights}), for {whom}{}",
        wanted.whole_place(),
        day(wanted.first),
        day(wanted.last),
        price.unwrap_or_default()
    )
}

fn day(date: NaiveDate) -> String {
    date.format("%A %-d %B %Y").to_string()
}

fn line(listing: &Listing) -> String {
    let mut parts = vec![listing.name.clone()];
    parts.extend(
        [&listing.price, &listing.rating]
            .into_iter()
            .filter(|text| !text.is_empty())
            .cloned(),
    );
    let mut line = parts.join("; ");
    for (label, text) in [("Offers", &listing.offers), ("Rules", &listing.rules)] {
        if !text.is_empty() {
            line.push_str(&format!(". {label}: {text}"));
        }
    }
    if let Some(url) = &listing.url {
        line.push_str(&format!(". See {url}"));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_of_a_listing_is_told_apart() {
        let listing = Listing {
            id: "7".into(),
            name: "Bright flat".into(),
            price: "€ 200 for 2 nights".into(),
            rating: String::new(),
            url: Some("https://www.airbnb.com/rooms/7".parse().unwrap()),
            position: None,
            offers: "Kitchen, Wifi".into(),
            rules: "No smoking".into(),
        };
        assert_eq!(
            line(&listing),
            "Bright flat; € 200 for 2 nights. Offers: Kitchen, Wifi. Rules: No smoking. See https://www.airbnb.com/rooms/7"
        );
    }
}
