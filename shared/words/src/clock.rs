//! Times of the day, as far as to know that one is named.

use crate::text::{Kind, Word};

/// Takes the times of the day out of the words; the first of them as it is written.
pub(crate) fn take(words: &mut [Word]) -> Option<String> {
    let mut found = None;
    let mut index = 0;
    while index < words.len() {
        let Some(taken) = at(words, index) else {
            index += 1;
            continue;
        };
        let named = words.get(index..index + taken).unwrap_or_default();
        let mut text = String::new();
        for word in named {
            let apart = word.kind == Kind::Word && !text.is_empty() && !text.ends_with(':');
            text = format!("{text}{}{}", if apart { " " } else { "" }, word.text);
        }
        found = found.or(Some(text));
        for word in words.iter_mut().skip(index).take(taken) {
            word.kind = Kind::Gap;
        }
        index += taken;
    }
    found
}

/// A time that begins at `index`: `5pm`, `3 pm`, `14:30`, `at 8`, `at noon`, `8 o'clock`, `in 2 hours`. The number of words it takes.
fn at(words: &[Word], index: usize) -> Option<usize> {
    let word = words.get(index).filter(|word| word.kind == Kind::Word)?;
    let lower = |index: usize| words.get(index).map_or("", |word| word.lower.as_str());
    let behind_at = index.checked_sub(1).is_some_and(|before| lower(before) == "at");
    if behind_at && matches!(word.lower.as_str(), "noon" | "midday" | "midnight") {
        return Some(1);
    }
    let is_half = |text: &str| matches!(text, "am" | "pm" | "a.m." | "p.m." | "a.m" | "p.m");
    let written = ["am", "pm", "h"]
        .iter()
        .find_map(|end| word.lower.strip_suffix(end));
    if written.is_some_and(|number| number.replace('.', "").parse::<u16>().is_ok()) {
        return Some(1);
    }
    let hour = word.number().filter(|hour| *hour <= 24);
    let colon = words.get(index + 1).is_some_and(|mark| mark.text == ":");
    let minute = words
        .get(index + 2)
        .filter(|minute| colon && hour.is_some() && minute.text.len() == 2)
        .and_then(Word::number)
        .is_some_and(|minute| minute < 60);
    if minute {
        return Some(3 + usize::from(is_half(lower(index + 3))));
    }
    if hour.is_some() && (is_half(lower(index + 1)) || lower(index + 1) == "o'clock") {
        return Some(2);
    }
    if word.number().is_some() && matches!(lower(index + 1), "hours" | "hour" | "hrs" | "minutes" | "mins") {
        return Some(2);
    }
    let dotted = word.lower.split_once('.').is_some_and(|(hour, minute)| {
        minute.len() == 2 && hour.parse::<u8>().is_ok() && minute.parse::<u8>().is_ok()
    });
    (behind_at && (hour.is_some() || dotted)).then_some(1)
}
