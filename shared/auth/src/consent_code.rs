//! The short code of a consent that was given in another browser than the starter's: eight letters without vowels,
//! so that they spell nothing and are not mistaken for figures. The first follows from the consent, so that a code is
//! tried, and counted where it is wrong, against the consents alone that it can be of; the other seven are random: about 30
//! bits, good for ten minutes, once, and only in the starter's own chat.
//!
//! A code that an earlier release has shown, whose first letter was random too, is void with the update: it is answered as a
//! wrong one, counts nowhere, and the link that the answer shows again leads to a new one.
//!
//! Who stores what users say need not store codes: a message can go on with [`MASK`] in a code's place, and the code's
//! hashes beside it ([`taken_out`]).

use std::cell::LazyCell;

use domain::{Entropy, ExposeSecret as _, Message, Metadata, Part, PartContent, SecretString};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::token;

const LETTERS: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";
const LENGTH: usize = 8;

/// What stands in a code's place where a message is stored.
pub const MASK: &str = "••••-••••";
/// Where a masked message holds the code's hashes, by the consents that it can be of.
const HASHES: &str = "consentCodeHashes";

/// The letter that each code of this consent begins with.
fn letter(consent: &str) -> char {
    let digest = Sha256::digest(format!("consent code/{consent}"));
    let sum = digest
        .iter()
        .fold(0, |rest, byte| (rest * 256 + usize::from(*byte)) % LETTERS.len());
    LETTERS.get(sum).copied().map_or('B', char::from)
}

/// A new code of a consent, as it is shown: `BCDF-GHJK`.
#[must_use]
pub fn random(consent: &str, entropy: &dyn Entropy) -> SecretString {
    let mut code = String::with_capacity(LENGTH + 1);
    code.push(letter(consent));
    while code.len() <= LENGTH {
        let mut byte = [0];
        entropy.fill(&mut byte);
        let [byte] = byte;
        // 240 is the largest multiple of 20 that fits: every letter is as likely as every other.
        if byte >= 240 {
            continue;
        }
        if code.len() == LENGTH / 2 {
            code.push('-');
        }
        if let Some(letter) = LETTERS.get(usize::from(byte) % LETTERS.len()) {
            code.push(char::from(*letter));
        }
    }
    code.into()
}

/// The code in what somebody typed, where the text is one: any case, with or without dashes and blanks.
#[must_use]
pub fn read(text: &str) -> Option<SecretString> {
    if text.len() > 64 {
        return None;
    }
    let typed = text.chars().filter(|c| !c.is_whitespace() && *c != '-');
    let code: String = typed.map(|c| c.to_ascii_uppercase()).collect();
    let fits = code.len() == LENGTH && code.bytes().all(|b| LETTERS.contains(&b));
    fits.then(|| {
        let (first, second) = code.split_at(LENGTH / 2);
        format!("{first}-{second}").into()
    })
}

/// So many signs too many are a slip of the finger.
const SLIP: usize = 2;

/// The code in a text that has more to say: "my code is bcdf-ghjk". What is written like a code and cannot be one is found
/// too, so that it is not taken for anything else.
fn find(text: &str) -> Option<(std::ops::Range<usize>, Option<SecretString>)> {
    if let Some(code) = read(text) {
        return Some((0..text.len(), Some(code)));
    }
    let within = |c: char| c.is_alphanumeric() || c == '-';
    // A text may be a megabyte: nothing goes through all of it for each word.
    let of_codes = LazyCell::new(|| speaks_of_codes(text));
    let mut at = 0;
    for word in text.split(|c: char| !within(c)) {
        let start = at;
        at = start
            + word.len()
            + text
                .get(start + word.len()..)?
                .chars()
                .next()
                .map_or(0, char::len_utf8);
        let dashed = word.len() == LENGTH + 1 && word.as_bytes().get(LENGTH / 2) == Some(&b'-');
        let is_loud = word
            .bytes()
            .all(|c| c == b'-' || c.is_ascii_uppercase() || c.is_ascii_digit());
        // "BCDF-GHJK7": a sign too many or too few.
        let slipped = (LENGTH..=LENGTH + SLIP + 1).contains(&word.len())
            && word.split_once('-').is_some_and(|(first, second)| {
                let letters = |half: &str| half.bytes().filter(|b| LETTERS.contains(b)).count();
                first.len() == LENGTH / 2 && letters(first) == LENGTH / 2 && letters(second) + 1 >= LENGTH / 2
            });
        let loud = (dashed || slipped) && is_loud;
        // A name is written with a capital, which nobody gives a code within a sentence, unless a telephone does so at its
        // beginning. Where codes are spoken of, it is one.
        let is_within = || {
            let before = text.get(..start).unwrap_or_default().trim_end();
            !before.is_empty() && !before.ends_with(['.', '!', '?', ':'])
        };
        let is_name = || {
            !dashed
                && word.starts_with(|c: char| c.is_ascii_uppercase())
                && word.chars().skip(1).all(|c| c.is_ascii_lowercase())
                && is_within()
                && !*of_codes
        };
        match read(word) {
            Some(code) if !is_name() => return Some((start..start + word.len(), Some(code))),
            _ if loud => return Some((start..start + word.len(), None)),
            _ => {}
        }
    }
    None
}

/// Whether a text has a word for a code, in one of the languages that share it.
fn speaks_of_codes(text: &str) -> bool {
    let lower = text.to_lowercase();
    ["code", "código", "codice", "kode", "kod", "コード"]
        .iter()
        .any(|word| lower.contains(word))
}

/// The text with [`MASK`] in place of the code in it; `None` where there is none.
#[must_use]
pub fn mask(text: &str) -> Option<String> {
    let (range, _) = find(text)?;
    let mut masked = text.to_owned();
    masked.replace_range(range, MASK);
    Some(masked)
}

/// What is stored of the code of a consent. It is another for each consent.
#[must_use]
pub fn hash(consent: &str, code: &SecretString) -> String {
    token::hash(&salted(consent, code))
}

/// True where the hash is of that consent's code.
#[must_use]
pub fn matches(hash: &str, consent: &str, code: &SecretString) -> bool {
    token::matches(hash, &salted(consent, code))
}

/// What somebody typed back.
#[derive(Debug, Clone)]
pub enum Typed {
    /// The code itself.
    Code(SecretString),
    /// Its [`hash`] for each consent that it can be of: no more than one try for each.
    Hashes(Metadata),
}

impl Typed {
    /// The code that a message has in it, plain or masked; `None` where there is none.
    #[must_use]
    pub fn of(message: &Message) -> Option<Self> {
        let text = message.text();
        match message.metadata.get(HASHES) {
            Some(Value::Object(hashes)) if text.contains(MASK) => Some(Self::Hashes(hashes.clone())),
            _ => find(&text).map(|(_, code)| code.map_or_else(|| Self::Hashes(Metadata::new()), Self::Code)),
        }
    }

    /// True where it can be the code of that consent: it begins with its letter.
    #[must_use]
    pub fn can_be_of(&self, consent: &str) -> bool {
        match self {
            Self::Code(code) => begins_for(consent, code),
            Self::Hashes(hashes) => hashes.contains_key(consent),
        }
    }

    /// True where it is the code of that consent, by the hash that is stored of it.
    #[must_use]
    pub fn matches(&self, stored: &str, consent: &str) -> bool {
        match self {
            Self::Code(code) => matches(stored, consent, code),
            // Hashed once more, so that the comparison takes the same time whatever they have in common.
            Self::Hashes(hashes) => {
                let told = hashes.get(consent).and_then(Value::as_str);
                !stored.is_empty() && told.is_some_and(|told| token::matches(&token::hash(stored), told))
            }
        }
    }
}

/// The message without the code in it, for whoever waits for one of these consents; as it is where there is none. What
/// follows from a message is the same with every repeat.
#[must_use]
pub fn taken_out<'c>(message: Message, consents: impl Iterator<Item = &'c str>) -> Message {
    let found = message
        .parts
        .iter()
        .enumerate()
        .find_map(|(at, part)| match &part.content {
            PartContent::Text(text) => find(text).map(|(_, code)| (at, code)),
            _ => None,
        });
    let Some((at, code)) = found else {
        return message;
    };
    let mut message = message;
    if let Some(part) = message.parts.get_mut(at)
        && let PartContent::Text(text) = &part.content
        && let Some(masked) = mask(text)
    {
        *part = Part::text(masked);
    }
    let hashes = consents.filter_map(|consent| {
        let code = code.as_ref().filter(|code| begins_for(consent, code))?;
        Some((consent.to_owned(), Value::String(hash(consent, code))))
    });
    message
        .metadata
        .insert(HASHES.to_owned(), Value::Object(hashes.collect()));
    message
}

fn begins_for(consent: &str, code: &SecretString) -> bool {
    code.expose_secret().starts_with(letter(consent))
}

fn salted(consent: &str, code: &SecretString) -> String {
    format!("{consent}/{}", code.expose_secret())
}

#[cfg(test)]
mod tests {
    use domain::{MessageId, SystemEntropy};

    use super::*;

    #[test]
    fn a_masked_code_is_as_good_as_the_code_and_says_nothing() {
        let code = random("c1", &SystemEntropy);
        let stored = hash("c1", &code);
        let plain = Message::user(
            MessageId::derived("m"),
            vec![Part::text(code.expose_secret().to_lowercase())],
        );
        let typed = Typed::of(&plain).unwrap();
        assert!(typed.matches(&stored, "c1") && !typed.matches(&stored, "c2"));
        let masked = |code: &SecretString| {
            let said = format!("sorry: {}!", code.expose_secret());
            taken_out(
                Message::user(plain.message_id.clone(), vec![Part::text(said)]),
                ["c0", "c1"].into_iter(),
            )
        };
        let told = masked(&code);
        assert_eq!(told.text(), format!("sorry: {MASK}!"));
        assert!(!format!("{told:?}").contains(code.expose_secret()));
        assert_eq!(told, masked(&code), "a repeat is the same");
        let typed = Typed::of(&told).unwrap();
        assert!(typed.matches(&stored, "c1"));
        assert!(!typed.matches(&stored, "c0") && !typed.matches(&stored, "c2"));
        assert!(!typed.matches("", "c1"));
        assert!(typed.can_be_of("c1") && !typed.can_be_of("c0"));
        assert!(
            !Typed::of(&masked(&random("c1", &SystemEntropy)))
                .unwrap()
                .matches(&stored, "c1")
        );
        // The hash of the hash is none, nor is the mask alone.
        let mut forged = told.clone();
        forged
            .metadata
            .insert(HASHES.to_owned(), serde_json::json!({"c1": token::hash(&stored)}));
        assert!(!Typed::of(&forged).unwrap().matches(&stored, "c1"));
        forged.metadata.clear();
        assert!(Typed::of(&forged).is_none());
    }

    #[test]
    fn a_code_begins_with_the_letter_of_its_consent_and_goes_to_no_other() {
        let consents: Vec<String> = (0..2_000).map(|n| format!("consent-{n}")).collect();
        let mut letters = [0; 20];
        for consent in &consents {
            let (one, other) = (random(consent, &SystemEntropy), random(consent, &SystemEntropy));
            assert_ne!(one.expose_secret(), other.expose_secret());
            for code in [one, other] {
                assert_eq!(
                    read(code.expose_secret()).unwrap().expose_secret(),
                    code.expose_secret()
                );
                assert!(code.expose_secret().starts_with(letter(consent)));
            }
            let at = LETTERS
                .iter()
                .position(|known| char::from(*known) == letter(consent))
                .unwrap();
            letters[at] += 1;
        }
        assert!(
            letters.iter().all(|count| (50..200).contains(count)),
            "{letters:?}"
        );
        let code = random(&consents[0], &SystemEntropy);
        let message = Message::user(MessageId::derived("m"), vec![Part::text(code.expose_secret())]);
        let plain = Typed::of(&message).unwrap();
        let masked = Typed::of(&taken_out(message, consents.iter().map(String::as_str))).unwrap();
        let mut fitting = 0;
        for consent in &consents {
            let fits = letter(consent) == letter(&consents[0]);
            assert_eq!(
                (plain.can_be_of(consent), masked.can_be_of(consent)),
                (fits, fits)
            );
            fitting += usize::from(fits);
        }
        assert!(fitting < 200, "{fitting}");
    }

    #[test]
    fn a_giant_text_is_gone_through_once() {
        let begun = std::time::Instant::now();
        for word in ["it is ", "It Is ", " ", "Bcdfghjk ", "é", "-", "\n\t"] {
            let text = format!("so {}", word.repeat(1_000_000 / word.len()));
            assert_eq!(mask(&text), None, "{word:?}");
        }
        // Hours where each word has the text gone through once more.
        assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
    }

    #[test]
    fn codes_are_read_as_people_type_them() {
        let code = random("c1", &SystemEntropy);
        let shown = code.expose_secret();
        assert_eq!((shown.len(), shown.find('-')), (9, Some(4)));
        let stored = hash("c1", &code);
        for typed in [
            shown.to_owned(),
            shown.to_lowercase(),
            shown.replace('-', ""),
            shown.replace('-', " - "),
            format!("  {shown}\n"),
        ] {
            assert!(matches(&stored, "c1", &read(&typed).unwrap()), "{typed}");
        }
        assert!(!matches(&stored, "c2", &code));
        assert!(!matches(&stored, "c1", &random("c1", &SystemEntropy)));
        assert!(!matches("", "c1", &code));
        for other in ["", "done", "BCDFGHJ", "BCDFGHJKL", "ABCDEFGH", &"B".repeat(65)] {
            assert!(read(other).is_none(), "{other}");
            assert!(mask(other).is_none(), "{other}");
        }
        for (said, masked) in [
            ("my code is bcdf-ghjk", "my code is ••••-••••"),
            ("ABCD-EFGH", "••••-••••"),
            ("so: BCDFGHJK.", "so: ••••-••••."),
            ("so: bcdfghjk.", "so: ••••-••••."),
            ("Bcdfghjk", "••••-••••"),
            ("Bcdfghjk is it", "••••-•••• is it"),
            ("sorry. Bcdfghjk", "sorry. ••••-••••"),
            ("my code is Bcdfghjk", "my code is ••••-••••"),
            ("BCDF-GHJK7", "••••-••••"),
            ("it says BCDF-GHJ", "it says ••••-••••"),
        ] {
            assert_eq!(mask(said).as_deref(), Some(masked));
        }
        for other in [
            "a long-term forecast",
            "part-time",
            "the part PNTR-12345",
            "the weather in Brno",
            "the weather in Qwxztplk",
        ] {
            assert_eq!(mask(other), None, "{other}");
        }
    }
}
