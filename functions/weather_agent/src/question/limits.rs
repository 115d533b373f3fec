//! What a question asks for that no daily forecast has, so that the answer can say it.

use words::text::Word;
use words::{Days, Named, phrases, places};

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
    let said = |is: fn(&str) -> bool| words.iter().any(|word| is(&word.lower));
    let pair = |is: fn(&str, &str) -> bool| {
        words
            .windows(2)
            .any(|pair| matches!(pair, [one, other] if is(&one.lower, &other.lower)))
    };
    // When the sun rises is a matter of the day.
    let suns = wants::find(words)
        .iter()
        .any(|want| matches!(want, wants::Want::Sunrise | wants::Want::Sunset));
    let when = !suns
        && (words.first().is_some_and(|word| word.lower == "when")
            || pair(|one, other| match one {
                "when" => matches!(other, "will" | "does" | "is" | "it"),
                one => (one, other) == ("what", "time"),
            }));
    let mut untold: Vec<String> = Vec::new();
    for word in words.iter().filter_map(|word| wants::untold(&word.lower)) {
        if !untold.iter().any(|known| known == word) {
            untold.push(word.to_owned());
        }
    }
    let general = said(|word| {
        matches!(
            word,
            "weather" | "wheather" | "forecast" | "forecasts" | "outlook" | "conditions" | "climate"
        )
    });
    let unread = places::leftover(words, named, |lower| {
        wants::is_weather(lower) || wants::untold(lower).is_some() || units::is_unit(lower)
    });
    let about = any_weather && untold.is_empty() && !general;
    let part = time.part.as_ref().map(|part| format!("the {part}"));
    BeyondForecast {
        time: time.clock.clone().or(part),
        hours: said(|word| word == "hourly") || pair(|one, other| (one, other) == ("by", "hour")) || when,
        now: time.now,
        again: pair(|one, other| matches!(one, "every" | "each") && phrases::is_time(other)),
        watch: said(|word| {
            matches!(
                word,
                "email"
                    | "e-mail"
                    | "mail"
                    | "sms"
                    | "text"
                    | "notify"
                    | "notification"
                    | "alert"
                    | "remind"
                    | "reminder"
            )
        }),
        untold,
        unread: unread
            .into_iter()
            .filter(|phrase| about || phrase.contains(|letter: char| letter.is_ascii_digit()))
            .take(REPEATED)
            .collect(),
    }
}
