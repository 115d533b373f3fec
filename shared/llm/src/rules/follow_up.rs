//! Follow-ups: "and in Bergen?" after "Will it rain in Oslo tomorrow?" is for the same agent, and means the same
//! question about another place.

use words::phrases::{is_time, places, times, words};

/// Longest follow-up; a longer text stands for itself.
const WORDS_MAX: usize = 12;

/// Longest that begins with a joining word of another language; what is longer says what it wants.
const SHORT: usize = 4;

/// What to ask the agent that was asked `earlier`; `None` where the text is no follow-up.
pub(super) fn message(text: &str, earlier: &str) -> Option<String> {
    let text = text.trim();
    if ::words::is_day_after(text)
        && let Some(question) = ::words::a_day_later(earlier)
    {
        return Some(question);
    }
    let words = words(text);
    let lower: Vec<String> = words.iter().map(|word| word.lower()).collect();
    let opens = match lower.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["what" | "how", "about", ..] => 2,
        [
            "and" | "or" | "then" | "also" | "now" | "same",
            "what" | "how",
            "about",
            ..,
        ] => 3,
        ["same", "for", ..] => 1,
        [
            "and" | "or" | "also" | "then" | "but" | "same" | "rather" | "instead",
            _,
            ..,
        ] => 1,
        // The same, in German, Spanish, French, Italian, Dutch, Norwegian, Swedish and Russian.
        ["und" | "y" | "et" | "e" | "en" | "og" | "och" | "и" | "а", _, ..] if words.len() <= SHORT => 1,
        ["in" | "on" | "for" | "at" | "from", _, ..] => 0,
        [first, ..] if is_time(first) => 0,
        _ => return None,
    };
    if words.len() > WORDS_MAX {
        return None;
    }
    let rest: Vec<_> = words.iter().skip(opens).collect();
    let new_times = times(text);
    let swapped = match (new_times.as_slice(), rest.as_slice()) {
        ([time], rest)
            if rest
                .iter()
                .all(|word| is_time(&word.lower()) || is_link(&word.lower())) =>
        {
            swap(earlier, &times(earlier), time)
                .filter(|question| !is_repeated(question))
                .or_else(|| Some(format!("{} {time}", only(&places(earlier))?)))
        }
        ([], rest) => {
            let place: Vec<&str> = rest
                .iter()
                .map(|word| word.text)
                .skip_while(|word| is_link(&word.to_lowercase()))
                .collect();
            let named = (1..=3).contains(&place.len())
                && (place.len() == 1 || rest.iter().any(|word| word.is_name()));
            if named {
                swap(earlier, &places(earlier), &place.join(" "))
            } else {
                None
            }
        }
        _ => None,
    };
    Some(swapped.unwrap_or_else(|| text.to_owned()))
}

fn is_link(word: &str) -> bool {
    matches!(
        word,
        "in" | "at" | "for" | "to" | "near" | "around" | "from" | "on" | "this" | "the" | "only" | "just"
    )
}

fn only(all: &[String]) -> Option<&String> {
    all.first().filter(|_| all.len() == 1)
}

/// True where something is wanted again and again, which another time does not say of itself.
fn is_repeated(question: &str) -> bool {
    let again = |word: &words::phrases::Word<'_>| {
        matches!(word.lower().as_str(), "every" | "each" | "daily" | "always")
    };
    words(question).iter().any(again)
}

/// The earlier question with its one place, or time, exchanged.
fn swap(earlier: &str, known: &[String], new: &str) -> Option<String> {
    let [only] = known else { return None };
    (earlier.matches(only.as_str()).count() == 1).then(|| earlier.replacen(only.as_str(), new, 1))
}
