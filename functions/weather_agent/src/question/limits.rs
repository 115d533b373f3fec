//! What a question asks for that no daily forecast has, so that the answer can say it.

use words::text::Word;
use words::{Days, Named, places};

use super::{units, wants};

/// What a question asks for that no daily forecast has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BeyondForecast {
    /// A time of the day, or a part of it, as it is written.
    pub time: Option<String>,
    /// It is about the hours, or about when something begins or ends.
    pub hours: bool,
    /// It is about this moment.
    pub now: bool,
    /// It is to be answered again and again.
    pub again: bool,
    /// Something is to be sent, or watched.
    pub watch: bool,
    /// Weather that daily forecasts do not tell of, as it is called.
    pub untold: Vec<String>,
    /// What could not be read at all.
    pub unread: Vec<String>,
}

/// Most pieces of a question that are repeated as not understood.
const REPEATED: usize = 3;

/// Looks for it. Only where nothing says which weather is meant are unknown words of interest: the question may be
/// about them. A number that nothing explains always is.
pub(super) fn find(words: &[Word], named: &[Named], time: &Days, any_weather: bool) -> BeyondForecast {
    let said = |any: &[&str]| words.iter().any(|word| any.contains(&word.lower.as_str()));
    let pair = |first: &str, seconds: &[&str]| {
        words.windows(2).any(|pair| match pair {
            [a, b] => a.lower == first && seconds.contains(&b.lower.as_str()),
            _ => false,
        })
    };
    let periods = [
        "day",
        "days",
        "morning",
        "evening",
        "night",
        "week",
        "weekend",
        "month",
        "hour",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
    ];
    // When the sun rises is a matter of the day.
    let suns = wants::find(words)
        .iter()
        .any(|want| matches!(want, wants::Want::Sunrise | wants::Want::Sunset));
    let when = !suns
        && (words.first().is_some_and(|word| word.lower == "when")
            || pair("when", &["will", "does", "is", "it"])
            || pair("what", &["time"]));
    let mut untold: Vec<String> = Vec::new();
    for word in words.iter().filter_map(|word| wants::untold(&word.lower)) {
        if !untold.iter().any(|known| known == word) {
            untold.push(word.to_owned());
        }
    }
    let general = said(&[
        "weather",
        "wheather",
        "forecast",
        "forecasts",
        "outlook",
        "conditions",
        "climate",
    ]);
    let unread = places::leftover(words, named, |lower| {
        wants::is_weather(lower) || wants::untold(lower).is_some() || units::is_unit(lower)
    });
    let about = any_weather && untold.is_empty() && !general;
    let part = time.part.as_ref().map(|part| format!("the {part}"));
    BeyondForecast {
        time: time.clock.clone().or(part),
        hours: said(&["hourly"]) || pair("by", &["hour"]) || when,
        now: time.now,
        again: pair("every", &periods) || pair("each", &periods),
        watch: said(&[
            "email",
            "e-mail",
            "mail",
            "sms",
            "text",
            "notify",
            "notification",
            "alert",
            "remind",
            "reminder",
        ]),
        untold,
        unread: unread
            .into_iter()
            .filter(|phrase| about || phrase.contains(|letter: char| letter.is_ascii_digit()))
            .take(REPEATED)
            .collect(),
    }
}
