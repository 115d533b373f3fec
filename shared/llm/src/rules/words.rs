//! Words: how a text becomes terms that can be compared.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use words::phrases::{TIME, words};

/// The terms of a text: stemmed, without words that say nothing; whether each is a name goes with it.
pub(super) fn terms(text: &str) -> Vec<(String, bool)> {
    let words = words(text);
    let content = words.iter().filter_map(|word| {
        let lower = word.lower();
        let counts =
            lower.chars().count() > 1 && !is_stop(&lower) && !lower.chars().all(|c| c.is_ascii_digit());
        counts.then(|| (stem(&lower), word.is_name()))
    });
    content.collect()
}

/// A light stem: plurals, `-ing`, `-ed`, `-ly`, `-y` and a silent `e` go. Not linguistics; both sides get the same.
pub(super) fn stem(word: &str) -> String {
    let mut stem = word.to_owned();
    if stem.len() > 4 && stem.ends_with("ies") {
        stem.truncate(stem.len() - 3);
        stem.push('y');
    } else if stem.len() > 4
        && ["sses", "xes", "zes", "ches", "shes"]
            .iter()
            .any(|end| stem.ends_with(end))
    {
        stem.truncate(stem.len() - 2);
    } else if stem.len() > 3
        && stem.ends_with('s')
        && !["ss", "us", "is"].iter().any(|end| stem.ends_with(end))
    {
        stem.pop();
    }
    for (suffix, least) in [("ing", 6), ("ed", 5), ("ly", 5), ("y", 5)] {
        if stem.len() >= least
            && let Some(rest) = stem.strip_suffix(suffix)
            && rest.len() > 2
            && rest.contains(|c| "aeiouy".contains(c))
        {
            stem = undoubled(rest).to_owned();
            break;
        }
    }
    if stem.len() > 4 && stem.ends_with('e') {
        stem.pop();
    }
    stem
}

fn undoubled(stem: &str) -> &str {
    let mut ends = stem.chars().rev();
    match (ends.next(), ends.next()) {
        (Some(last), Some(before))
            if last == before && last.is_ascii_lowercase() && !"aeiouls".contains(last) =>
        {
            stem.get(..stem.len() - 1).unwrap_or(stem)
        }
        _ => stem,
    }
}

/// Words that say nothing of what is wanted.
pub(super) fn is_stop(word: &str) -> bool {
    STOP.contains(&word)
}

/// As [`words::phrases::is_time`], of a stem.
pub(super) fn is_time_term(term: &str) -> bool {
    static STEMS: LazyLock<BTreeSet<String>> = LazyLock::new(|| TIME.iter().map(|word| stem(word)).collect());
    STEMS.contains(term)
}

/// Ideas that a term belongs to: everyday words for the same thing. Language, not a list of agents: an agent takes part
/// by using one of the words itself.
pub(super) fn ideas(term: &str) -> impl Iterator<Item = &'static str> {
    static OF_TERM: LazyLock<BTreeMap<String, Vec<&'static str>>> = LazyLock::new(|| {
        let mut ideas: BTreeMap<String, Vec<&'static str>> = BTreeMap::new();
        for (idea, words) in IDEAS {
            for word in words.split_whitespace() {
                ideas.entry(stem(word)).or_default().push(idea);
            }
        }
        ideas
    });
    OF_TERM.get(term).into_iter().flatten().copied()
}

#[rustfmt::skip]
const STOP: &[&str] = &[
    "a", "an", "the", "this", "that", "these", "those", "here", "there", "i", "me", "my", "mine", "we", "us", "our", "you",
    "your", "he", "she", "it", "its", "they", "them", "their", "who", "whom", "what", "which", "when", "where", "why", "how",
    "is", "am", "are", "was", "were", "be", "been", "being", "do", "does", "did", "done", "have", "has", "had", "having", "can",
    "could", "will", "would", "shall", "should", "may", "might", "must", "let", "ll", "ve", "re", "don", "doesn", "isn", "won",
    "and", "or", "but", "not", "no", "nor", "so", "if", "then", "than", "too", "also", "as", "at", "by", "for", "from", "in",
    "into", "of", "off", "on", "onto", "out", "over", "to", "up", "with", "within", "without", "about", "after", "before",
    "between", "during", "under", "near", "around", "per", "via", "any", "all", "some", "each", "every", "both", "more", "most",
    "much", "many", "other", "such", "only", "own", "same", "just", "now", "very", "please", "thanks", "thank", "hello", "hi",
    "hey", "ok", "okay", "yes", "want", "need", "like", "give", "get", "got", "tell", "show", "find", "look", "looking", "see",
    "search", "know", "say", "ask", "make", "go", "going", "come", "take", "use", "using", "used", "help", "think", "one", "ones",
    "two", "three", "four", "five", "six", "people", "person", "thing", "things", "something", "anything", "lot", "bit", "good",
    "best", "new", "nice", "great", "well", "really", "agent", "agents", "answer", "answers", "question", "questions",
    "information", "info", "service", "services", "data", "skill", "skills", "user", "users", "task", "tasks", "provide",
    "provides", "return", "returns", "given", "based", "simple", "sample", "example", "demo", "always", "instructions",
    "instruction", "ignore", "previous", "system", "prompt", "prompts", "everything", "tool", "call", "send", "place", "places",
    "city", "cities",
];

#[rustfmt::skip]
const IDEAS: &[(&str, &str)] = &[
    ("~weather", "weather forecast rain rainy snow snowy sun sunny wind windy storm temperature temperatures degrees celsius fahrenheit \
        humidity cloud cloudy umbrella climate warm cold hot freezing sunshine precipitation drizzle thunderstorm frost"),
    ("~stay", "accommodation flat apartment room hotel hostel lodging stay airbnb bnb cabin house rental listing guest night \
        bedroom overnight villa"),
    ("~calendar", "calendar meeting appointment event schedule busy free availability available agenda slot"),
    ("~order", "order shipment parcel delivery package tracking shipped purchase invoice refund"),
    ("~money", "currency currencies exchange convert conversion rate euro eur dollar usd pound gbp yen jpy krone kroner nok sek \
        dkk chf franc forex inr rupee"),
    ("~report", "report analysis summary document statistics"),
    ("~language", "translate translation translator language"),
    ("~travel", "flight train airline airport bus route directions"),
    ("~food", "restaurant recipe cook cooking dinner lunch breakfast meal"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_meet() {
        for (one, other) in [
            ("rain", "raining"),
            ("rain", "rainy"),
            ("sun", "sunny"),
            ("forecast", "forecasts"),
            ("currency", "currencies"),
            ("exchange", "exchanging"),
            ("book", "booked"),
            ("flat", "flats"),
            ("box", "boxes"),
            ("plan", "planning"),
        ] {
            assert_eq!(stem(one), stem(other), "{one} {other}");
        }
        assert_ne!(stem("address"), stem("addres"));
    }

    #[test]
    fn names_are_seen_only_within_a_sentence() {
        let names = |text| {
            terms(text)
                .into_iter()
                .filter(|term| term.1)
                .map(|term| term.0)
                .collect::<Vec<_>>()
        };
        assert_eq!(names("Rain in Oslo on Monday? Bergen is wet"), ["oslo"]);
    }
}
