//! Sentences of the platform's own, in the language of whoever reads them: the page's files of languages have them, under `host`.

use std::sync::LazyLock;

use serde_json::Value;

/// The page's files, which lie with what it is made of; English comes first and stands for every other language.
static LANGUAGES: LazyLock<Vec<(&str, Value)>> = LazyLock::new(|| {
    let files = [
        ("en", include_str!("languages/en.json")),
        ("de", include_str!("languages/de.json")),
        ("es", include_str!("languages/es.json")),
        ("fr", include_str!("languages/fr.json")),
        ("ja", include_str!("languages/ja.json")),
    ];
    let read = |(name, text)| {
        let mut whole: Value = serde_json::from_str(text).unwrap_or_default();
        (name, whole.get_mut("host").map(Value::take).unwrap_or_default())
    };
    files.into_iter().map(read).collect()
});

/// The sentence of this key in the language of a locale such as `de-AT`, about somebody of this name.
#[must_use]
pub fn told(locale: Option<&str>, key: &str, name: &str) -> String {
    told_of(locale, key, &[("name", name)])
}

/// The same, with a value for each place that is written `{so}` in it; by its `count` where the sentence is another for one.
#[must_use]
pub fn told_of(locale: Option<&str>, key: &str, values: &[(&str, &str)]) -> String {
    let language = locale
        .and_then(|locale| locale.split('-').next())
        .unwrap_or_default();
    let spoken = LANGUAGES
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(language));
    let form = match values.contains(&("count", "1")) {
        true => "one",
        false => "other",
    };
    let text = spoken
        .or(LANGUAGES.first())
        .and_then(|(_, texts)| texts.get(key))
        .and_then(|text| text.as_str().or_else(|| text.get(form)?.as_str()));
    // Nobody is to read a key: any test that says such a sentence fails.
    debug_assert!(text.is_some(), "no language has the sentence {key}");
    let (mut out, mut rest) = (String::new(), text.unwrap_or(key));
    // A value may have such a place in it, which is the value's own.
    while let Some((before, behind)) = rest.split_once('{') {
        let (name, after) = behind.split_once('}').unwrap_or((behind, ""));
        let value = values.iter().find(|(known, _)| *known == name);
        out.push_str(before);
        out.push_str(value.map_or("", |(_, value)| value));
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_in_the_language_of_the_locale_or_in_english() {
        let asks = |locale| told(locale, "atWork", "Weather");
        assert_eq!(asks(None), "Weather is working on it.");
        assert_eq!(asks(Some("nb-NO")), "Weather is working on it.");
        assert_eq!(asks(Some("de-AT")), "Weather arbeitet daran.");
        assert_eq!(asks(Some("FR")), "Weather y travaille.");
        let said = [("said", "{name} {"), ("beside", "x")];
        assert!(told_of(None, "nothingFits", &said).ends_with("fits “{name} {”; x."));
        let unanswered = |locale, count| told_of(locale, "unanswered", &[("count", count)]);
        assert_eq!(
            unanswered(None, "1"),
            "Nobody answered in 1 day, so I have called it off."
        );
        assert!(unanswered(None, "21").contains("in 21 days"));
        assert!(unanswered(Some("es"), "1").contains("1 día,"));
        for (name, texts) in LANGUAGES.iter() {
            let keys = |texts: &Value| texts.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
            assert_eq!(keys(texts), keys(&LANGUAGES[0].1), "{name}");
        }
    }
}
