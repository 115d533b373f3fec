//! What a user's client knows beside the words: language and region, and the clock. It travels as A2A metadata of a
//! message, so that an agent can tell 3/12 from 12/3, and whose tomorrow is meant.

use serde_json::Value;

use crate::message::{Message, Metadata};

const LOCALE: &str = "switchyard/locale";
const TIME_ZONE: &str = "switchyard/timeZone";

/// Most letters of a language tag (RFC 5646 4.4.1 advises 35), and of a zone's name.
const LOCALE_MAX: usize = 35;
const TIME_ZONE_MAX: usize = 64;

/// A user's language, region and clock, as far as they are known. Well-formed; whether there is such a region or zone
/// only who knows them can tell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UserContext {
    /// BCP 47: `en-GB`.
    pub locale: Option<String>,
    /// IANA: `Europe/Oslo`.
    pub time_zone: Option<String>,
}

/// The text is no language tag, or no name of a time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidContext {
    /// `locale`
    #[error("locale must be a BCP 47 tag such as en-GB")]
    Locale,
    /// `timeZone`
    #[error("timeZone must be an IANA name such as Europe/Oslo")]
    TimeZone,
}

impl UserContext {
    /// Checks what a client says of its user.
    ///
    /// # Errors
    /// [`InvalidContext`] where it is not well-formed.
    pub fn parse(locale: Option<String>, time_zone: Option<String>) -> Result<Self, InvalidContext> {
        if locale.as_deref().is_some_and(|locale| !is_locale(locale)) {
            return Err(InvalidContext::Locale);
        }
        if time_zone.as_deref().is_some_and(|zone| !is_time_zone(zone)) {
            return Err(InvalidContext::TimeZone);
        }
        Ok(Self { locale, time_zone })
    }

    /// What a message's metadata says; what is not well-formed there counts as not said.
    #[must_use]
    pub fn of(metadata: &Metadata) -> Self {
        let said = |key: &str| metadata.get(key).and_then(Value::as_str).map(str::to_owned);
        Self {
            locale: said(LOCALE).filter(|locale| is_locale(locale)),
            time_zone: said(TIME_ZONE).filter(|zone| is_time_zone(zone)),
        }
    }

    /// What the newest messages say, those of the user alone; `history` begins with the oldest.
    #[must_use]
    pub fn newest<'a>(history: impl DoubleEndedIterator<Item = &'a Message>) -> Self {
        let mut newest = Self::default();
        for message in history.rev().filter(|message| message.role == crate::Role::User) {
            let said = Self::of(&message.metadata);
            newest.locale = newest.locale.or(said.locale);
            newest.time_zone = newest.time_zone.or(said.time_zone);
        }
        newest
    }

    /// Says it in a message's metadata.
    pub fn write(&self, metadata: &mut Metadata) {
        for (key, said) in [(LOCALE, &self.locale), (TIME_ZONE, &self.time_zone)] {
            if let Some(said) = said {
                metadata.insert(key.to_owned(), Value::String(said.clone()));
            }
        }
    }
}

fn is_locale(text: &str) -> bool {
    let mut subtags = text.split('-');
    let language = subtags.next().is_some_and(|language| {
        (2..=8).contains(&language.len()) && language.bytes().all(|byte| byte.is_ascii_alphabetic())
    });
    language
        && text.len() <= LOCALE_MAX
        && subtags.all(|subtag| {
            (1..=8).contains(&subtag.len()) && subtag.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
}

fn is_time_zone(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_+-".contains(&byte);
    text.len() <= TIME_ZONE_MAX
        && text
            .split('/')
            .all(|name| !name.is_empty() && name.bytes().all(allowed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MessageId, Part};

    #[test]
    fn only_what_is_well_formed_is_taken() {
        for locale in ["en", "en-GB", "zh-Hant-TW", "de-DE-u-co-phonebk"] {
            assert!(UserContext::parse(Some(locale.into()), None).is_ok(), "{locale}");
        }
        for locale in ["", "e", "en_GB", "en-", "12", "*", &"en-".repeat(20)] {
            assert_eq!(
                UserContext::parse(Some(locale.into()), None),
                Err(InvalidContext::Locale)
            );
        }
        for zone in [
            "UTC",
            "Europe/Oslo",
            "America/Argentina/Buenos_Aires",
            "Etc/GMT+5",
        ] {
            assert!(UserContext::parse(None, Some(zone.into())).is_ok(), "{zone}");
        }
        for zone in ["", "/", "Europe/", "Europe Oslo", "../etc", &"a".repeat(65)] {
            assert_eq!(
                UserContext::parse(None, Some(zone.into())),
                Err(InvalidContext::TimeZone)
            );
        }
    }

    #[test]
    fn the_newest_word_counts_each_for_itself() {
        let message = |locale: Option<&str>, zone: Option<&str>| {
            let mut message = Message::user(MessageId::derived("m"), vec![Part::text("hi")]);
            let said = UserContext::parse(locale.map(Into::into), zone.map(Into::into)).unwrap();
            said.write(&mut message.metadata);
            message
        };
        let mut agents = message(Some("fr"), Some("UTC"));
        agents.role = crate::Role::Agent;
        let history = [
            message(Some("de-DE"), Some("Europe/Berlin")),
            message(Some("en-GB"), None),
            agents,
        ];
        let newest = UserContext::newest(history.iter());
        assert_eq!(newest.locale.as_deref(), Some("en-GB"));
        assert_eq!(newest.time_zone.as_deref(), Some("Europe/Berlin"));
    }
}
