//! Words that tell places from the rest of a question.

use crate::text::Word;

/// Words that are never a place, nor part of one: the grammar of questions.
pub(crate) fn is_grammar(lower: &str) -> bool {
    GRAMMAR.contains(&lower)
}

/// Words of talk about the topic. One of them is part of a place's name only right behind "in" and with a capital.
pub(crate) fn is_talk(word: &Word) -> bool {
    word.topic || TALK.contains(&word.lower.as_str())
}

/// Whether a word, in small letters, is common talk or grammar, whatever the question is about.
#[must_use]
pub fn is_common(lower: &str) -> bool {
    is_grammar(lower) || TALK.contains(&lower)
}

/// How surely a place follows a preposition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tier {
    /// Nothing speaks for it but that nothing else explains the word.
    Guess,
    /// Behind a preposition that has other uses too.
    Perhaps,
    /// A name, or behind a preposition of place.
    Sure,
}

/// What kind of place word follows a preposition.
pub(crate) fn preposition(lower: &str) -> Option<Tier> {
    match lower {
        "in" | "at" | "near" | "around" | "visiting" | "visit" => Some(Tier::Sure),
        "for" | "to" | "of" | "from" | "about" | "towards" | "over" | "into" | "is" | "does" | "will"
        | "between" | "across" => Some(Tier::Perhaps),
        _ => None,
    }
}

/// Small words inside names: `Rio de Janeiro`, `Newcastle upon Tyne`.
pub(crate) fn is_connector(lower: &str) -> bool {
    const CONNECTORS: [&str; 31] = [
        "de", "del", "della", "di", "do", "da", "dos", "das", "du", "des", "la", "le", "les", "el", "al",
        "los", "las", "of", "upon", "am", "an", "der", "den", "sur", "en", "on", "y", "op", "aan", "sous",
        "the",
    ];
    CONNECTORS.contains(&lower)
}

/// Common words that are the second word of names: `Cape Town`, `Long Beach`.
pub(crate) fn is_second(lower: &str) -> bool {
    matches!(lower, "city" | "town" | "beach" | "worth" | "village")
}

/// Names that are weather talk in small letters, and still towns right behind "in".
pub(crate) fn is_town_too(lower: &str) -> bool {
    matches!(
        lower,
        "nice" | "bath" | "reading" | "split" | "cork" | "mobile" | "orange" | "male" | "hull"
    )
}

/// Names with an "and" in them, by the words on its sides.
pub(crate) fn has_and(before: &str, after: &str) -> bool {
    matches!(
        (before, after),
        ("trinidad", "tobago")
            | ("bosnia", "herzegovina")
            | ("antigua", "barbuda")
            | ("tome" | "tomé", "principe" | "príncipe")
            | ("kitts", "nevis")
            | ("turks", "caicos")
            | ("wallis", "futuna")
            | ("tyne", "wear")
            | ("dumfries", "galloway")
            | ("brighton", "hove")
    )
}

#[rustfmt::skip]
const GRAMMAR: &[&str] = &[
    "a", "an", "the", "my", "our", "your", "their", "its", "it", "it's", "i", "i'm", "i'll", "i'd", "i've", "me", "we", "we're", "we'll",
    "us", "you", "he", "she", "they", "them", "this", "that", "these", "those", "there", "there's", "here", "who", "what", "what's",
    "whats", "what're", "when", "when's", "where", "where's", "which", "why", "how", "how's", "hows", "whether", "if", "is", "isn't",
    "are", "aren't", "am", "be", "been", "being", "was", "were", "will", "won't", "would", "wouldn't", "shall", "should", "shouldn't",
    "can", "can't", "could", "couldn't", "may", "might", "must", "do", "don't", "does", "doesn't", "did", "have", "has", "had", "get",
    "gets", "getting", "got", "go", "going", "gonna", "need", "needs", "want", "wants", "wanna", "like", "look", "looks", "looking",
    "expect", "expected", "say", "says", "tell", "show", "give", "check", "find", "know", "see", "let", "let's", "make", "take", "bring",
    "wear", "carry", "pack", "plan", "planning", "planned", "travel", "travelling", "traveling", "fly", "flying", "head", "heading",
    "stay", "staying", "come", "coming", "leave", "leaving", "arrive", "use", "using", "please", "pls", "thanks", "thank", "hi", "hello",
    "hey", "ok", "okay", "yes", "no", "not", "yeah", "yep", "sure", "with", "without", "by", "on", "as", "than", "then", "so", "but",
    "too", "also", "only", "just", "even", "both", "either", "each", "all", "any", "some", "more", "most", "much", "many", "very",
    "really", "quite", "bit", "lot", "during", "until", "till", "since", "while", "after", "before", "again", "still", "already", "soon",
    "later", "maybe", "perhaps", "actually", "instead", "rather", "because", "up", "down", "out", "off", "through", "against", "one",
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "first", "second", "third", "other", "same", "next", "last",
    "every", "per", "vs", "compare", "compared", "comparing", "else", "anything", "something", "everything", "anyone", "someone",
    "everyone", "people", "kids", "family", "friends", "wife", "husband", "e.g", "i.e", "etc", "day", "days", "week", "weeks", "month",
    "months", "year", "years", "hour", "hours", "time", "date", "dates", "morning", "afternoon", "evening", "night", "noon", "midnight",
    "early", "late", "ever", "never", "always", "usually", "sometimes", "today", "tomorrow", "following", "upcoming", "few", "couple",
    "several", "and", "or", "city", "town", "village", "place", "places", "area", "region", "country", "trip", "journey", "vacation",
    "holiday", "holidays", "flight", "meeting", "conference", "event", "wedding", "party", "picnic", "walk", "run", "hike", "hiking",
    "bike", "cycling", "running", "walking", "swim", "swimming", "skiing", "ski", "sail", "sailing", "fishing", "barbecue", "bbq",
    "beach", "outside", "outdoors", "indoors", "home", "work", "general", "detail", "details", "advance", "short", "brief", "briefly",
    "full", "current", "latest", "local", "daily", "hourly", "question", "answer", "information", "info", "data", "report", "update",
    "updates", "summary", "overview", "chance", "chances", "probability", "likely", "likelihood", "possible", "possibly", "amount",
    "level", "levels", "unit", "units", "average", "maximum", "minimum", "max", "min", "and/or", "degree", "percent", "worth", "safe",
    "able", "someplace", "anywhere", "somewhere", "everywhere", "feel", "feels", "think", "guess", "wonder", "wondering", "curious",
    "happen", "happening", "happens", "fall", "falling", "change", "changes", "start", "end", "rest", "whole",
];

#[rustfmt::skip]
const TALK: &[&str] = &[
    "weather", "wheather", "forecast", "forecasts", "outlook", "conditions", "condition", "climate", "meteo", "sky", "skies", "nice",
    "good", "bad", "fine", "great", "lovely", "beautiful", "pleasant", "awful", "terrible", "humid", "humidity", "fog", "foggy", "mist",
    "misty", "haze", "hazy", "mild", "high", "low", "hail", "pressure", "uv", "sunrise", "sunset", "ice", "muggy", "heatwave", "wave",
    "tornado", "hurricane", "cyclone", "flood", "flooding", "bath", "reading", "split", "mobile", "orange", "male", "cooler", "wetter",
    "drier", "windier", "sunnier", "boots", "gloves", "hat", "scarf", "clothes", "clothing", "sunglasses", "sunscreen",
];
