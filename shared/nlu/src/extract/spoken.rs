//! Places, days, a time of the day, and several choices at once: what is read in one sentence as a whole, since each tells the others.
//!
//! A choice is told by its own words, and by the words and the `phrases` of its description, or by a value of a `{field}`. Phrases
//! are taken out first, so that "in Fahrenheit" names no place; then time, then places, and words at last. Where one choice alone
//! can be had, phrases count before words, and then what the schema has first.

use domain::READ_MAX;
use serde_json::{Map, Value, json};
use words::text::{self, Kind, Word};
use words::{Days, Named, When, asks_yes_no, places, price};

use super::one_of::OneOf;
use super::stays::Stay;
use super::takes::{Field, Slot, Takes};
use super::timed::Clock;
use super::{Asked, Extraction, left};

/// Longest correction, in words, in which an unknown word is taken for a place.
const INSTEAD_MAX: usize = 2;
/// Most characters of a name, or of an answer.
const TEXT_MAX: usize = 80;

/// Most phrases that are kept as what is left.
const REST_MAX: usize = 8;
const NOT_ALL_READ: &str =
    "I cannot read all of that. From which day to which, for how many guests, and up to which price?";

/// Reads what is said; what somebody takes back within it counts no more.
pub(super) fn read(said: &str, takes: &Takes, asked: Asked<'_>) -> Extraction {
    let reader = Reader::new(takes, asked);
    let (said, instead) = reader.corrected(said);
    let mut read = reader.clause(said);
    if let Some(mut instead) = instead {
        read.unclear
            .take_if(|(field, _)| instead.data.contains_key(field));
        read.data.append(&mut instead.data);
        read.places.append(&mut instead.places);
        read.unclear = instead.unclear.or(read.unclear);
    }
    // Data that names other places or days leaves nothing of before.
    let is_known = |field: &Field| {
        let known = asked.known.get(&field.name).is_some_and(|value| !value.is_null());
        known && matches!(field.slot, Slot::Places | Slot::Days)
    };
    if takes.fields.iter().any(is_known) {
        let open = takes
            .fields
            .iter()
            .filter(|field| matches!(field.slot, Slot::Parts | Slot::Answers));
        read.data
            .extend(open.map(|field| (field.name.clone(), Value::Null)));
    }
    // A price is said as data or in words, and so is a last day or a number of nights. A number alone is of what it was before.
    let of_stay = |is: fn(&str) -> bool| {
        let fields = takes.fields.iter();
        fields.filter(move |field| matches!(field.slot, Slot::Stay(part) if is(part)))
    };
    for is in [is_price, |part: &str| matches!(part, "departure" | "nights")] {
        if of_stay(is).any(|field| asked.known.contains_key(&field.name)) {
            let own = of_stay(is).filter(|field| field.slot != Slot::Stay("price-per") || !said.is_empty());
            own.for_each(|field| _ = read.data.insert(field.name.clone(), Value::Null));
        }
    }
    for (name, known) in asked.known {
        match (read.data.get_mut(name), known) {
            (Some(Value::Array(said)), Value::Array(known)) if reader.asks(name) => {
                said.splice(0..0, known.iter().cloned());
            }
            _ => _ = read.data.insert(name.clone(), known.clone()),
        }
    }
    read.unclear.take_if(|(field, _)| asked.known.contains_key(field));
    read.missing = takes.schema().missing(&read.data);
    read
}

struct Reader<'a> {
    takes: &'a Takes,
    /// The field that is asked for, where any answer is its.
    answers: Option<&'a str>,
    asked: Asked<'a>,
    clock: Clock,
}

impl<'a> Reader<'a> {
    fn new(takes: &'a Takes, asked: Asked<'a>) -> Self {
        Self {
            takes,
            answers: asked.answers.filter(|name| takes.is_in_turn(name)),
            asked,
            clock: Clock::of(asked.now, asked.user),
        }
    }

    /// Whether what is said is an answer, for this field.
    fn asks(&self, name: &str) -> bool {
        self.answers == Some(name)
    }

    /// A message without what it takes back itself, and what it says instead: "Paris.. no, in Lyon".
    fn corrected<'t>(&self, said: &'t str) -> (&'t str, Option<Extraction>) {
        let Some((before, behind)) = words::corrected(said) else {
            return (said, None);
        };
        let instead = self.clause(behind);
        // "Sorry for the trouble" names no place, though nobody knows "trouble".
        let short = behind.split_whitespace().count() <= INSTEAD_MAX;
        let names = instead.places.iter().any(|place| short || !place.guessed);
        let says = names || instead.unclear.is_some() || instead.data.values().any(|value| !value.is_null());
        if says {
            (before, Some(instead))
        } else {
            (said, None)
        }
    }

    fn clause(&self, said: &str) -> Extraction {
        let takes = self.takes;
        let english = |word: &str| places::is_common(word) || takes.is_topic(word);
        let glossed = takes
            .abroad
            .as_ref()
            .and_then(|abroad| abroad.in_english(said, english));
        let most = takes.named(|slot| *slot == Slot::Stay("price-most"));
        let in_english = glossed.as_deref().unwrap_or(said);
        let in_english = match most {
            Some(_) if self.asked.answers == most => price::spelled(&format!("at most {in_english}")),
            Some(_) => price::spelled(in_english),
            None => in_english.to_owned(),
        };
        let mut words = text::split(&in_english, READ_MAX);
        let wants_yes_no = asks_yes_no(&words);
        let mut chosen = self.phrases(&mut words);
        text::mark_topic(&mut words, |word| takes.is_topic(word));
        let stay = takes.is_of_stays().then(|| Stay::take(&in_english, &mut words));
        let mut timed = self.clock.take(&mut words, takes, (said, glossed.as_deref()));
        let told = (self.asked.before, self.clock.today);
        let stay = stay.map(|stay| stay.data(takes, (&mut words, &timed.time), told));
        let (stay, unclear) = stay.unwrap_or_default();
        timed.unclear = timed.unclear.or(unclear);
        let time = &timed.time;
        if timed.minutes.is_some() {
            let field = takes.named(|slot| matches!(slot, Slot::Length));
            let told = takes.choices().filter(|(_, one)| one.field.as_deref() == field);
            chosen.extend(told.map(|(field, one)| (0, field, &one.value)));
        }
        let phrases = chosen.len();
        let mut named = match takes.named(|slot| matches!(slot, Slot::Places | Slot::Place)) {
            Some(_) => places::find(&words),
            None => Vec::new(),
        };
        if let Some(field) = takes.named(|slot| *slot == Slot::Place) {
            let before = self.asked.before;
            let is_reply =
                (self.asked.answers.is_some() || !before.is_empty()) && !before.contains_key(field);
            // "Vilnius from Friday": who begins with a name means it; "Paris, Texas", but not "Prague, arriving".
            named.retain(|place| {
                (is_reply || !place.guessed || place.at == 0)
                    && (!place.chained || place.text.starts_with(char::is_uppercase))
            });
        }
        for (at, word) in words.iter().enumerate() {
            let is_open = word.kind == Kind::Word && !named.iter().any(|place| place.has(at));
            let told = |one: &OneOf| is_open && one.words.contains(&word.lower);
            let found = takes.choices().filter(|(_, one)| told(one));
            chosen.extend(found.map(|(field, one)| (at, field, &one.value)));
        }
        // "And in Fahrenheit" says nothing of what is wanted.
        let wants = chosen.len() > phrases || wants_yes_no && phrases > 0;
        let mut data = one_of_each(takes, &chosen, phrases);
        data.extend(stay);
        chosen.sort_by_key(|(at, ..)| *at);
        chosen.retain(|(_, field, _)| !matches!(field.slot, Slot::Choice(_)));
        for (_, field, value) in &chosen {
            let values = data.entry(field.name.clone()).or_insert_with(|| json!([]));
            if let Some(values) = values.as_array_mut().filter(|values| !values.contains(value)) {
                values.push((*value).clone());
            }
        }
        let with_own = own_days(&named, time);
        let parts: Vec<Value> = together(&named, &with_own)
            .map(|(place, days)| json!({"places": [place], "days": self.clock.written(days)}))
            .collect();
        let all: Vec<String> = together(&named, &[]).map(|(place, _)| place).collect();
        if let (Some(field), [_, _, ..]) = (takes.named(|slot| *slot == Slot::Place), all.as_slice()) {
            let ask = format!("One place at a time: {}?", words::listed(&all, "or"));
            timed.unclear.get_or_insert((field.to_owned(), ask));
        }
        if let Some(field) = takes.named(|slot| *slot == Slot::Stay("arrival"))
            && left::is_any(&words, &named, &time.mentions)
        {
            timed
                .unclear
                .get_or_insert((field.to_owned(), NOT_ALL_READ.to_owned()));
        }
        let unread = places::leftover(&words, &named, |lower| {
            takes.is_topic(lower) || lower.starts_with('°')
        });
        for field in &takes.fields {
            let is_unclear = timed
                .unclear
                .as_ref()
                .is_some_and(|(unclear, _)| *unclear == field.name);
            let value = match &field.slot {
                _ if is_unclear => continue,
                Slot::Answers if self.asks(&field.name) => {
                    let said: String = said.trim().chars().take(TEXT_MAX).collect();
                    json!([if all.is_empty() { said } else { all.join(", ") }])
                }
                // Whoever names other places is asked anew.
                Slot::Answers if !all.is_empty() => Value::Null,
                Slot::Places if self.answers.is_none() && !all.is_empty() => json!(all),
                Slot::Rest if !rest(&unread).is_empty() => json!(rest(&unread)),
                Slot::Place if let [one] = all.as_slice() => json!(one),
                Slot::Days if !time.days.is_empty() => json!(timed.days),
                // What is said anew leaves no day and no time of before.
                Slot::Parts if self.answers.is_none() && !(all.is_empty() && time.days.is_empty()) => {
                    if with_own.is_empty() {
                        Value::Null
                    } else {
                        json!(parts)
                    }
                }
                Slot::Time if !time.days.is_empty() || time.clock.is_some() => json!(of_day(time)),
                Slot::Hours if let Some(hours) = timed.hours => hours.to_data().into(),
                Slot::Length if let Some(minutes) = timed.minutes => minutes.into(),
                Slot::Zone if let Some(zone) = timed.zone => zone.into(),
                Slot::YesNo if wants => json!(match wants_yes_no {
                    _ if says(&words, "yes") && says(&words, "no") => "only",
                    true => "yes",
                    false => "no",
                }),
                _ => continue,
            };
            data.insert(field.name.clone(), value);
        }
        Extraction {
            data,
            unread,
            places: named,
            unclear: timed.unclear,
            ..Extraction::default()
        }
    }

    /// Takes out the phrases that are a choice's, of two the longer one.
    fn phrases(&self, words: &mut [Word]) -> Vec<(usize, &'a Field, &'a Value)> {
        let mut known: Vec<_> = self
            .takes
            .choices()
            .flat_map(|(field, one)| one.phrases.iter().map(move |phrase| (phrase, field, &one.value)))
            .collect();
        known.sort_by_key(|(phrase, ..)| std::cmp::Reverse(phrase.len()));
        let mut found = Vec::new();
        for at in 0..words.len() {
            let stands = |phrase: &[String]| {
                let here = words.get(at..at + phrase.len()).unwrap_or_default();
                let is = |(word, said): (&Word, &String)| word.kind != Kind::Gap && word.lower == *said;
                !here.is_empty() && here.iter().zip(phrase).all(is)
            };
            if let Some((phrase, field, value)) = known.iter().find(|(phrase, ..)| stands(phrase)) {
                text::take_out(words, at..at + phrase.len());
                found.push((at, *field, *value));
            }
        }
        found
    }
}

/// Of what is left the phrases that may name something.
fn rest(unread: &[String]) -> Vec<String> {
    let names =
        |phrase: &&String| phrase.chars().count() > 2 && !phrase.contains(|c: char| c.is_ascii_digit());
    let phrases = unread.iter().filter(names).take(REST_MAX);
    phrases
        .map(|phrase| phrase.chars().take(TEXT_MAX).collect())
        .collect()
}

fn is_price(part: &str) -> bool {
    part.starts_with("price-")
}

fn says(words: &[Word], lower: &str) -> bool {
    words.iter().any(|word| word.lower == lower)
}

/// The time of the day as it is written, or what else is said of it.
fn of_day(time: &Days) -> Option<String> {
    let part = time.part.as_ref().map(|part| format!("the {part}"));
    let near = [(time.now, "now"), (time.tonight, "tonight")].into_iter();
    let mut near = near.filter(|(is_so, _)| *is_so);
    let near = near.next().map(|(_, near)| near.to_owned());
    time.clock.clone().or(part).or(near)
}

/// The choice of each field that has one alone.
fn one_of_each(takes: &Takes, chosen: &[(usize, &Field, &Value)], phrases: usize) -> Map<String, Value> {
    let of_field = |field: &Field| {
        let Slot::Choice(choices) = &field.slot else {
            return None;
        };
        let told = chosen.iter().enumerate();
        let told = told.filter(|(_, (_, of, _))| of.name == field.name);
        let rank = |value: &Value| choices.iter().position(|one| one.value == *value);
        let (_, (.., value)) = told.min_by_key(|(nth, (.., value))| (*nth >= phrases, rank(value)))?;
        Some((field.name.clone(), (*value).clone()))
    };
    takes.fields.iter().filter_map(of_field).collect()
}

/// The places with what says where each is behind a comma, and the days of each.
fn together<'n>(named: &'n [Named], days: &'n [Vec<When>]) -> impl Iterator<Item = (String, &'n [When])> {
    let starts = named.chunk_by(|_, next| next.chained);
    let mut at = 0;
    starts.map(move |chain| {
        let own = days.get(at).map(Vec::as_slice).unwrap_or_default();
        at += chain.len();
        let parts: Vec<&str> = chain.iter().map(|place| place.text.as_str()).collect();
        (parts.join(", "), own)
    })
}

/// The days of each place, where places and days take turns: "Oslo tomorrow and Bergen on Sunday", "tomorrow in Oslo, on
/// Sunday in Bergen". None where the days are meant for all places.
fn own_days(places: &[Named], time: &Days) -> Vec<Vec<When>> {
    let mut order: Vec<(usize, Option<&When>)> = places.iter().map(|place| (place.at, None)).collect();
    order.extend(time.mentions.iter().map(|(at, when)| (*at, Some(when))));
    order.sort_by_key(|(at, _)| *at);
    let turns = order
        .chunk_by(|(_, one), (_, other)| one.is_some() == other.is_some())
        .collect::<Vec<_>>();
    if turns.len() < 4 || turns.len() % 2 == 1 {
        return Vec::new();
    }
    let pairs = turns.chunks(2).map(|pair| pair.concat());
    pairs
        .flat_map(|pair| {
            let days: Vec<When> = pair.iter().filter_map(|(_, when)| when.cloned()).collect();
            std::iter::repeat_n(days.clone(), pair.len() - days.len())
        })
        .collect()
}
