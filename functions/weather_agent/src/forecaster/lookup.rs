//! From names to places, with the replies to what was asked back.

use futures_util::future::try_join_all;
use outbound::open_meteo::{OpenMeteo, OpenMeteoError, Place, fold};
use words::Named;

use crate::atlas::{self, Choice};
use crate::conversation::is_yes;
use crate::question::{MAX_PLACES, Question};
use crate::wanted::{Slot, Wanted};

/// How many results a search asks for: enough for namesakes in small states.
const RESULTS: u8 = 50;
/// Most words that are taken off a name that is not found.
const MAX_CUTS: usize = 3;

/// Looks names up.
pub(super) async fn resolve(open_meteo: &OpenMeteo, names: &[Named]) -> Result<Vec<Slot>, OpenMeteoError> {
    let found = try_join_all(names.iter().map(|name| search(open_meteo, &name.text))).await?;
    let mut rest = names.iter().zip(found).peekable();
    let mut slots = Vec::new();
    while let Some((name, results)) = rest.next() {
        let mut places = atlas::candidates(&name.text, &results);
        let mut qualified = false;
        // "Paris, Texas": what follows may say where it is. All results count then, not only the weighty ones.
        while let Some((area, _)) = rest.peek()
            && area.chained
        {
            let within: Vec<Place> = places
                .iter()
                .filter(|place| atlas::lies_in(place, &area.text))
                .cloned()
                .collect();
            if within.is_empty() {
                break;
            }
            places = within;
            qualified = true;
            rest.next();
        }
        // "Camping in Oslo": a guess in front of a place is none.
        let followed = rest.peek().is_some_and(|(next, _)| next.chained);
        if name.guessed && followed && !qualified && names.len() > 1 && !listed_by_comma(&places, name) {
            continue;
        }
        if places.is_empty() {
            slots.extend(shortened(open_meteo, name).await?);
        } else {
            slots.push(slot(&name.text, places));
        }
    }
    Ok(slots)
}

/// A guess that is a well-known place all the same: "Oslo, Bergen".
fn listed_by_comma(places: &[Place], name: &Named) -> bool {
    places
        .first()
        .is_some_and(|place| place.population >= 50_000 && fold(&place.name) == fold(&name.text))
}

fn slot(asked: &str, places: Vec<Place>) -> Slot {
    match atlas::choose(asked, places) {
        Choice::One(place, others) => Slot::One(Box::new(Wanted {
            asked: asked.to_owned(),
            place: *place,
            others,
        })),
        Choice::Which { listed, more } => Slot::Which {
            asked: asked.to_owned(),
            listed,
            more,
        },
        Choice::None => Slot::Unknown {
            asked: asked.to_owned(),
            suggestion: None,
            guessed: false,
        },
    }
}

async fn search(open_meteo: &OpenMeteo, name: &str) -> Result<Vec<Place>, OpenMeteoError> {
    Ok(open_meteo.search(name, RESULTS).await?.results)
}

/// Tries a name that is not found without its last words, which may be an area ("Cambridge MA"), another place
/// ("oslo bergen") or no name ("Berlin please"); then looks for a similar one.
async fn shortened(open_meteo: &OpenMeteo, name: &Named) -> Result<Vec<Slot>, OpenMeteoError> {
    let words: Vec<&str> = name.text.split_whitespace().collect();
    for cut in 1..words.len().min(MAX_CUTS + 1) {
        let (head, tail) = words.split_at(words.len() - cut);
        let (head, tail) = (head.join(" "), tail.join(" "));
        let places = atlas::candidates(&head, &search(open_meteo, &head).await?);
        if places.is_empty()
            || places
                .first()
                .is_some_and(|place| atlas::is_abbreviated(&head, place))
        {
            continue;
        }
        let within: Vec<Place> = places
            .iter()
            .filter(|place| atlas::lies_in(place, &tail))
            .cloned()
            .collect();
        if !within.is_empty() {
            return Ok(vec![slot(&head, within)]);
        }
        let more = atlas::candidates(&tail, &search(open_meteo, &tail).await?);
        let known = more
            .first()
            .is_some_and(|place| !atlas::is_abbreviated(&tail, place));
        if known {
            return Ok(vec![slot(&head, places), slot(&tail, more)]);
        }
        if !tail.starts_with(char::is_uppercase) {
            return Ok(vec![slot(&head, places)]);
        }
    }
    let suggestion = similar(open_meteo, &name.text).await?.map(Box::new);
    Ok(vec![Slot::Unknown {
        asked: name.text.clone(),
        suggestion,
        guessed: name.guessed,
    }])
}

/// A place whose name differs by a slip or two.
async fn similar(open_meteo: &OpenMeteo, name: &str) -> Result<Option<Place>, OpenMeteoError> {
    let letters: Vec<char> = name.chars().collect();
    let slips = 1 + letters.len() / 5;
    let wanted = fold(name);
    let mut tried = 0;
    // The service matches beginnings: what comes before the slip finds the name.
    for length in [
        letters.len().saturating_sub(1),
        letters.len().saturating_sub(2),
        letters.len() / 2,
        3,
    ] {
        if length < 3 || length >= letters.len() || length == tried {
            continue;
        }
        tried = length;
        let beginning: String = letters.iter().take(length).collect();
        let found = search(open_meteo, &beginning).await?;
        let distance = |place: &Place| strsim::osa_distance(&wanted, &fold(&place.name));
        let near = found.into_iter().filter(|place| distance(place) <= slips);
        let best = near.min_by_key(|place| (distance(place), std::cmp::Reverse(place.population)));
        if best.is_some() {
            return Ok(best);
        }
    }
    Ok(None)
}

/// Applies a reply to what was asked back: it picks one of several places, takes a suggestion, or names another place.
pub(super) async fn apply(
    open_meteo: &OpenMeteo,
    slots: &mut Vec<Slot>,
    reply: &str,
) -> Result<(), OpenMeteoError> {
    let asked_about = match slots.iter().position(|slot| matches!(slot, Slot::Which { .. })) {
        Some(index) => Some(index),
        None if slots.iter().any(|slot| matches!(slot, Slot::One(_))) => None,
        None => slots.iter().position(|slot| matches!(slot, Slot::Unknown { .. })),
    };
    let Some(index) = asked_about else { return Ok(()) };
    let settled = match slots.get(index) {
        Some(Slot::Which { asked, listed, more }) => {
            let far = || atlas::picked_by_area(more, reply).and_then(|index| more.get(index));
            let place = atlas::picked(listed, reply)
                .and_then(|index| listed.get(index))
                .or_else(far);
            place.map(|place| (asked.clone(), place.clone()))
        }
        Some(Slot::Unknown {
            suggestion: Some(place),
            ..
        }) if is_yes(reply) => Some((place.name.clone(), (**place).clone())),
        _ => None,
    };
    if let Some((asked, place)) = settled {
        if let Some(slot) = slots.get_mut(index) {
            *slot = Slot::One(Box::new(Wanted {
                asked,
                place,
                others: Vec::new(),
            }));
        }
        return Ok(());
    }
    let named = Question::read(reply).places;
    if !named.is_empty() {
        let instead = resolve(open_meteo, &named).await?;
        // A word that is no place leaves the question as it was.
        if instead.iter().any(|slot| !matches!(slot, Slot::Unknown { .. }))
            || matches!(slots.get(index), Some(Slot::Unknown { .. }))
        {
            slots.splice(index..=index, instead);
            slots.truncate(MAX_PLACES);
        }
    }
    Ok(())
}

/// The places that are wanted, each once, and the names of those that are not known. Guesses that came to nothing are
/// forgotten.
pub(super) fn sorted(slots: Vec<Slot>) -> (Vec<Wanted>, Vec<(String, Option<Place>)>) {
    let mut wanted: Vec<Wanted> = Vec::new();
    let mut unknown = Vec::new();
    for slot in slots {
        match slot {
            Slot::One(one) if !wanted.iter().any(|known| known.place.id == one.place.id) => wanted.push(*one),
            Slot::Unknown {
                asked,
                suggestion,
                guessed: false,
            } => unknown.push((asked, suggestion.map(|place| *place))),
            _ => {}
        }
    }
    (wanted, unknown)
}
