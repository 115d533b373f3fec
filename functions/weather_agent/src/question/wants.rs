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
    /// Whether a jacket is needed.
    Jacket,
    /// Whether it is warm.
    Warm,
    /// Whether it freezes.
    Frost,
    /// How warm it is.
    Temperature,
    /// How strong the sun's UV is, and whether sunscreen is needed.
    Uv,
    /// When the sun rises.
    Sunrise,
    /// When it sets.
    Sunset,
}

/// Most kinds of weather of one question; who names more wants to know everything.
const MAX_WANTS: usize = 3;

/// What the words ask for, in their order; nothing for the weather in general.
pub(super) fn find(words: &[Word]) -> Vec<Want> {
    let mut wants: Vec<Want> = Vec::new();
    let next = words.iter().skip(1).map(|word| word.lower.as_str()).chain([""]);
    // A warm coat is for the cold.
    let garment = |lower: &str| matches!(want(lower), Some(Want::Cold | Want::Jacket)) || lower == "clothes";
    let asked = words.iter().zip(next).enumerate();
    let asked = asked.filter_map(|(at, (word, next))| match want(&word.lower)? {
        Want::Warm if garment(next) => None,
        Want::Sun => of_the_sun(words, at).or(Some(Want::Sun)),
        want => Some(want),
    });
    for want in asked {
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
        "cold" | "chilly" | "cool" => Want::Cold,
        "coat" | "coats" | "jacket" | "jackets" | "sweater" => Want::Jacket,
        "warm" | "hot" | "heat" | "shorts" => Want::Warm,
        "freeze" | "freezing" | "frost" | "frosty" | "ice" | "icy" => Want::Frost,
        "temperature" | "temperatures" | "temp" | "temps" | "degrees" | "highs" | "lows" | "warmer"
        | "colder" => Want::Temperature,
        "uv" | "sunscreen" | "sunburn" => Want::Uv,
        "sunrise" | "dawn" => Want::Sunrise,
        "sunset" | "dusk" => Want::Sunset,
        _ => return None,
    })
}

/// "When does the sun rise": what the sun does, behind it.
fn of_the_sun(words: &[Word], at: usize) -> Option<Want> {
    let behind = words.get(at + 1..)?.iter().take(2);
    behind
        .map(|word| word.lower.as_str())
        .find_map(|word| match word {
            "rise" | "rises" | "up" => Some(Want::Sunrise),
            "set" | "sets" | "down" => Some(Want::Sunset),
            _ => None,
        })
}

/// What places are compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compare {
    /// The highest temperature.
    Warmer,
    /// The same, the other way round.
    Colder,
    /// How much falls.
    Wetter,
    /// The same, the other way round.
    Drier,
    /// The wind.
    Windier,
    /// The hours of sunshine.
    Sunnier,
}

/// What the words compare by.
pub(super) fn compare(words: &[Word]) -> Option<Compare> {
    words.iter().find_map(|word| {
        Some(match word.lower.as_str() {
            "warmer" | "hotter" | "milder" => Compare::Warmer,
            "colder" | "cooler" | "chillier" => Compare::Colder,
            "wetter" | "rainier" => Compare::Wetter,
            "drier" | "dryer" => Compare::Drier,
            "windier" => Compare::Windier,
            "sunnier" => Compare::Sunnier,
            _ => return None,
        })
    })
}

/// Weather that daily forecasts do not tell of, by what it is called.
pub(super) fn untold(lower: &str) -> Option<&'static str> {
    Some(match lower {
        "humidity" | "humid" | "muggy" => "humidity",
        "pressure" => "air pressure",
        "fog" | "foggy" | "mist" | "misty" | "haze" | "hazy" => "fog",
        "hail" => "hail",
        "flood" | "flooding" => "floods",
        "tornado" | "hurricane" | "cyclone" => "warnings",
        _ => return None,
    })
}

/// Whether the words want a yes or a no: "Will it …", "An umbrella?", but neither "Will you tell me …" nor "How cold
/// will it …".
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
    first.unwrap_or_else(|| lower.contains(&"?"))
}

/// Whether a word asks for some kind of weather.
pub(super) fn is_weather(lower: &str) -> bool {
    want(lower).is_some()
}
