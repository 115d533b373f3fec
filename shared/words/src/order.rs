//! How people of a region write dates in numbers.

use pure_rust_locales::{Locale, locale_match};

/// Which number of a date comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateOrder {
    /// 3/12 is in December.
    DayFirst,
    /// 3/12 is in March.
    MonthFirst,
}

impl DateOrder {
    /// The order of a region, by its BCP 47 tag; `None` where the tag names no region and the language has several
    /// that disagree, or where nobody has heard of it.
    #[must_use]
    pub fn of(tag: &str) -> Option<Self> {
        let mut subtags = tag.split('-');
        let language = subtags.next()?.to_lowercase();
        // Norwegian as such is written as Bokmål is.
        let language = if language == "no" { "nb" } else { &language };
        // Behind a singleton there is no region any more.
        let region = subtags
            .take_while(|subtag| subtag.len() > 1)
            .find(|subtag| subtag.len() == 2);
        match region {
            Some(region) => Self::in_region(language, &region.to_uppercase()),
            // German is at home in DE, but English is in no EN.
            None => Self::in_region(language, &language.to_uppercase()).or_else(|| match language {
                "nb" | "nn" => Self::in_region(language, "NO"),
                "ja" => Self::in_region(language, "JP"),
                "sv" => Self::in_region(language, "SE"),
                "da" => Self::in_region(language, "DK"),
                _ => None,
            }),
        }
    }

    fn in_region(language: &str, region: &str) -> Option<Self> {
        let locale = Locale::try_from(format!("{language}_{region}").as_str()).ok()?;
        Self::of_format(locale_match!(locale => LC_TIME::D_FMT))
    }

    /// By the C library's format of a date: `%d/%m/%Y`.
    fn of_format(format: &str) -> Option<Self> {
        let fields = format.split('%').skip(1);
        let mut letters =
            fields.filter_map(|field| field.trim_start_matches(['-', '_', 'O', 'E']).chars().next());
        letters.find_map(|letter| match letter {
            'd' | 'e' => Some(Self::DayFirst),
            'm' | 'b' | 'B' | 'h' | 'D' | 'F' => Some(Self::MonthFirst),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_write_dates_their_own_way() {
        for (tag, expect) in [
            ("en-US", Some(DateOrder::MonthFirst)),
            ("en-GB", Some(DateOrder::DayFirst)),
            ("en-AU", Some(DateOrder::DayFirst)),
            ("de-DE", Some(DateOrder::DayFirst)),
            ("de", Some(DateOrder::DayFirst)),
            ("nb-NO", Some(DateOrder::DayFirst)),
            ("no", Some(DateOrder::DayFirst)),
            ("fr-CA-u-ca-gregory", Some(DateOrder::MonthFirst)),
            ("zh-Hant-TW", Some(DateOrder::MonthFirst)),
            ("ja", Some(DateOrder::MonthFirst)),
            ("EN-gb", Some(DateOrder::DayFirst)),
            ("en", None),
            ("en-001", None),
            ("tlh", None),
            ("", None),
        ] {
            assert_eq!(DateOrder::of(tag), expect, "{tag}");
        }
    }
}
