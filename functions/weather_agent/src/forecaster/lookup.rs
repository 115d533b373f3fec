//! From names to places, with the replies to what was asked back.

use futures_util::future::try_join_all;
use outbound::open_meteo::{OpenMeteo, OpenMeteoError, Place, fold};
use words::{Named, When};

use crate::atlas::{self, Choice};
use crate::question::MAX_PLACES;
use crate::wanted::{Slot, Wanted};

/// How many results a search asks for: enough for namesakes in small states.
const RESULTS: u8 = 50;
/// Most words that are taken off a name that is not found.
const MAX_CUTS: usize = 3;

/// Endings that a name takes behind "in" in Polish and Russian, with what it ends in by itself: "w Krakowie", "в Москве".
const ENDINGS: [(&str, &str); 7] = [
    ("ie", ""),
    ("ie", "a"),
    ("iu", ""),
    ("u", ""),
    ("е", ""),
    ("е", "а"),
    ("и", "ь"),
];
/// Fewest letters that are left of it.
const STEM: usize = 4;

/// Looks names up; `own_days` are the days of each, where they have their own.
pub(super) async fn resolve(
    open_meteo: &OpenMeteo,
    names: &[Named],
    own_days: &[Vec<When>],
) -> Result<Vec<Slot>, OpenMeteoError> {
    let found = try_join_all(names.iter().map(|name| search(open_meteo, &name.text))).await?;
    let mut days: Vec<&[When]> = own_days.iter().map(Vec::as_slice).collect();
    days.resize(names.len(), &[]);
    let mut rest = names.iter().zip(days).zip(found).peekable();
    let mut slots = Vec::new();
    while let Some(((name, days), results)) = rest.next() {
        let mut places = atlas::candidates(&name.text, &results);
        let mut qualified = false;
        // "Paris, Texas": what follows may say where it is. All results count then, not only the weighty ones.
        while let Some(((area, _), _)) = rest.peek()
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
        let followed = rest.peek().is_some_and(|((next, _), _)| next.chained);
        if name.guessed && followed && !qualified && names.len() > 1 && !listed_by_comma(&places, name) {
            continue;
        }
        if name.loose && !qualified {
            keep_spelled_out(&name.text, &mut places);
        }
        if places.is_empty() {
            slots.extend(shortened(open_meteo, (name, &results), days).await?);
        } else {
            slots.push(slot(&name.text, places, qualified, days));
        }
    }
    Ok(slots)
}

/// Keeps the places that are called so letter by letter. Searches also find what begins with a name, or what others call a place:
/// "chess" finds Chessy, and "half" Half Moon Bay.
fn keep_spelled_out(name: &str, places: &mut Vec<Place>) {
    let wanted = fold(name);
    places.retain(|place| fold(&place.name) == wanted);
}

/// A guess that is a well-known place all the same: "Oslo, Bergen".
fn listed_by_comma(places: &[Place], name: &Named) -> bool {
    places
        .first()
        .is_some_and(|place| place.population >= 50_000 && fold(&place.name) == fold(&name.text))
}

fn slot(asked: &str, places: Vec<Place>, told_apart: bool, days: &[When]) -> Slot {
    let days = days.to_vec();
    match atlas::choose(asked, places) {
        Choice::One(place, others) => Slot::One(Box::new(Wanted {
            asked: asked.to_owned(),
            place: *place,
            others,
            told_apart,
            days,
        })),
        Choice::Which { listed, more } => Slot::Which {
            asked: asked.to_owned(),
            listed,
            more,
            days,
        },
        Choice::None => Slot::Unknown {
            asked: asked.to_owned(),
            suggestion: None,
            guessed: false,
            days,
        },
    }
}

async fn search(open_meteo: &OpenMeteo, name: &str) -> Result<Vec<Place>, OpenMeteoError> {
    Ok(open_meteo.search(name, RESULTS).await?.results)
}

/// Tries a name that is not found without its last words, which may be an area ("Cambridge MA"), another place
/// ("oslo bergen") or no name ("Berlin please"); then looks for a similar one.
async fn shortened(
    open_meteo: &OpenMeteo,
    (name, found): (&Named, &[Place]),
    days: &[When],
) -> Result<Vec<Slot>, OpenMeteoError> {
    let words: Vec<&str> = name.text.split_whitespace().collect();
    let candidates = async |text: &str| {
        let mut places = atlas::candidates(text, &search(open_meteo, text).await?);
        if name.loose {
            keep_spelled_out(text, &mut places);
        }
        Ok::<_, OpenMeteoError>(places)
    };
    // What stands behind it may say when: it is asked about.
    let declined = match words.as_slice() {
        [_] if !name.loose => by_itself(open_meteo, &name.text).await?,
        _ => None,
    };
    if let Some((text, places)) = declined {
        return Ok(vec![slot(&text, places, false, days)]);
    }
    for cut in 1..words.len().min(MAX_CUTS + 1) {
        let (head, tail) = words.split_at(words.len() - cut);
        let (head, tail) = (head.join(" "), tail.join(" "));
        let places = candidates(&head).await?;
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
            return Ok(vec![slot(&head, within, true, days)]);
        }
        let more = candidates(&tail).await?;
        let known = more
            .first()
            .is_some_and(|place| !atlas::is_abbreviated(&tail, place));
        if known {
            return Ok(vec![
                slot(&head, places, false, days),
                slot(&tail, more, false, days),
            ]);
        }
        if !tail.starts_with(char::is_uppercase) {
            return Ok(vec![slot(&head, places, false, days)]);
        }
    }
    for part in other_scripts(&name.text) {
        let places = atlas::candidates(&part, &search(open_meteo, &part).await?);
        if places
            .first()
            .is_some_and(|place| !atlas::is_abbreviated(&part, place))
        {
            return Ok(vec![slot(&part, places, false, days)]);
        }
    }
    // Whoever means a place may have begun its name: "Reykj".
    let begun = found
        .iter()
        .find(|place| !name.loose && atlas::is_half(&name.text, place));
    let similar = similar(open_meteo, name).await?;
    let suggestion = similar.or_else(|| begun.cloned()).map(Box::new);
    Ok(vec![Slot::Unknown {
        asked: name.text.clone(),
        suggestion,
        guessed: name.guessed || name.loose,
        days: days.to_vec(),
    }])
}

/// A name that has an ending of another case as it is by itself, with the places of it.
async fn by_itself(
    open_meteo: &OpenMeteo,
    name: &str,
) -> Result<Option<(String, Vec<Place>)>, OpenMeteoError> {
    for (ending, own) in ENDINGS {
        let stem = name.strip_suffix(ending);
        let Some(stem) = stem.filter(|stem| stem.chars().count() >= STEM) else {
            continue;
        };
        let text = format!("{stem}{own}");
        let places = atlas::candidates(&text, &search(open_meteo, &text).await?);
        if places
            .first()
            .is_some_and(|place| !atlas::is_abbreviated(&text, place))
        {
            return Ok(Some((text, places)));
        }
    }
    Ok(None)
}

/// Parts of a text in another script that may be a place's name, whose other words nobody here can read: its words, the
/// last first; the first letters where words are not set apart.
fn other_scripts(text: &str) -> Vec<String> {
    let foreign = |text: &str| {
        text.chars()
            .any(|letter| letter as u32 > 0x2ff && letter.is_alphabetic())
    };
    if !foreign(text) {
        return Vec::new();
    }
    let words: Vec<&str> = text
        .split_whitespace()
        .rev()
        .filter(|word| foreign(word))
        .collect();
    match words.as_slice() {
        [word] => {
            let letters = word.chars().count().min(MAX_CUTS + 2);
            (2..letters)
                .rev()
                .map(|length| word.chars().take(length).collect())
                .collect()
        }
        words => words
            .iter()
            .take(MAX_CUTS)
            .map(|word| (*word).to_owned())
            .collect(),
    }
}

/// A place whose name differs by a slip or two.
async fn similar(open_meteo: &OpenMeteo, name: &Named) -> Result<Option<Place>, OpenMeteoError> {
    let letters: Vec<char> = name.text.chars().collect();
    let wanted = fold(&name.text);
    // Every word of prose is like some place's name.
    let most = if name.loose { 1 } else { usize::MAX };
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
        let near = found
            .into_iter()
            .filter(|place| atlas::is_misspelt(&name.text, place) && distance(place) <= most);
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
    (reply, named): (&str, Vec<Named>),
) -> Result<(), OpenMeteoError> {
    let asked_about = match slots.iter().position(|slot| matches!(slot, Slot::Which { .. })) {
        Some(index) => Some(index),
        None if slots.iter().any(|slot| matches!(slot, Slot::One(_))) => None,
        None => slots.iter().position(|slot| matches!(slot, Slot::Unknown { .. })),
    };
    let Some(index) = asked_about else { return Ok(()) };
    let settled = match slots.get(index) {
        Some(Slot::Which {
            asked,
            listed,
            more,
            days,
        }) => {
            let far = || atlas::picked_by_area(more, reply).and_then(|index| more.get(index));
            let place = atlas::picked(listed, reply)
                .and_then(|index| listed.get(index))
                .or_else(far);
            place.map(|place| (asked.clone(), place.clone(), days.clone()))
        }
        Some(Slot::Unknown {
            suggestion: Some(place),
            days,
            ..
        }) if words::yes_or_no(reply) == Some(true) => {
            Some((place.name.clone(), (**place).clone(), days.clone()))
        }
        _ => None,
    };
    if let Some((asked, place, days)) = settled {
        if let Some(slot) = slots.get_mut(index) {
            *slot = Slot::One(Box::new(Wanted {
                asked,
                place,
                others: Vec::new(),
                told_apart: true,
                days,
            }));
        }
        return Ok(());
    }
    if !named.is_empty() {
        let instead = resolve(open_meteo, &named, &[]).await?;
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
            Slot::One(one)
                if !wanted
                    .iter()
                    .any(|known| known.place.id == one.place.id && known.days == one.days) =>
            {
                wanted.push(*one);
            }
            Slot::Unknown {
                asked,
                suggestion,
                guessed: false,
                ..
            } => unknown.push((asked, suggestion.map(|place| *place))),
            _ => {}
        }
    }
    (wanted, unknown)
}
