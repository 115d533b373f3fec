//! Which weather a question is about.

use words::text::Word;

/// Which weather a question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Want {
    /// Whether it rains.
    Rain,
    /// Whether it stays dry.
    Dry,
    /// Whether an umbrella is needed.
    Umbrella,
    /// Whether it snows.
    Snow,
    /// How windy it is.
    Wind,
    /// Whether there is a storm.
    Storm,
    /// Whether the sun shines.
    Sun,
    /// Whether it is cold.
    Cold,
    /// Whether it is warm.
    Warm,
    /// Whether it freezes.
    Frost,
    /// How warm it is.
    Temperature,
}

/// Most kinds of weather of one question; who names more wants to know everything.
const MAX_WANTS: usize = 3;

/// What the words ask for, in their order; nothing for the weather in general.
pub(super) fn find(words: &[Word]) -> Vec<Want> {
    let mut wants: Vec<Want> = Vec::new();
    for want in words.iter().filter_map(|word| want(&word.lower)) {
        if !wants.contains(&want) {
            wants.push(want);
        }
    }
    // "Do I need an umbrella, or will it stay dry" is one question.
    if wants.contains(&Want::Umbrella) {
        wants.retain(|want| !matches!(want, Want::Rain | Want::Dry));
    }
    if wants.len() > MAX_WANTS {
        wants.clear();
    }
    wants
}

fn want(lower: &str) -> Option<Want> {
    Some(match lower {
        "rain" | "rains" | "raining" | "rainy" | "rained" | "shower" | "showers" | "showery" | "drizzle"
        | "drizzling" | "wet" | "precipitation" | "pour" | "pouring" | "rainfall" => Want::Rain,
        "dry" => Want::Dry,
        "umbrella" | "umbrellas" | "brolly" | "raincoat" => Want::Umbrella,
        "snow" | "snows" | "snowing" | "snowy" | "snowfall" | "blizzard" | "sleet" => Want::Snow,
        "wind" | "winds" | "windy" | "breezy" | "breeze" | "gust" | "gusts" | "gusty" => Want::Wind,
        "storm" | "storms" | "stormy" | "thunder" | "thunderstorm" | "thunderstorms" | "lightning"
        | "gale" | "gales" => Want::Storm,
        "sun" | "sunny" | "sunshine" | "clear" | "cloud" | "clouds" | "cloudy" | "overcast" => Want::Sun,
        "cold" | "chilly" | "cool" | "coat" | "jacket" | "sweater" => Want::Cold,
        "warm" | "hot" | "heat" | "shorts" => Want::Warm,
        "freeze" | "freezing" | "frost" | "frosty" | "ice" | "icy" => Want::Frost,
        "temperature" | "temperatures" | "temp" | "temps" | "degrees" | "highs" | "lows" | "warmer"
        | "colder" => Want::Temperature,
        _ => return None,
    })
}

/// Whether the words want a yes or a no: "Will it …", but neither "Will you tell me …" nor "How cold will it …".
pub(super) fn is_yes_no(words: &[Word]) -> bool {
    let lower: Vec<&str> = words.iter().map(|word| word.lower.as_str()).collect();
    let mut pairs = lower.iter().zip(lower.iter().skip(1).chain([&""]));
    let first = pairs.find_map(|(word, next)| match *word {
        "what" | "what's" | "how" | "how's" | "when" | "which" | "show" | "give" => Some(false),
        "if" | "whether" => Some(true),
        "will" | "is" | "are" | "do" | "does" | "should" | "can" | "could" | "would" | "shall" | "any"
        | "isn't" | "won't" => (*next != "you").then_some(true),
        _ => None,
    });
    first.unwrap_or(false)
}

/// Whether a word asks for some kind of weather.
pub(super) fn is_weather(lower: &str) -> bool {
    want(lower).is_some()
}
