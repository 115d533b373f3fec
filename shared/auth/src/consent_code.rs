//! The short code of a consent that was given in another browser than the starter's: eight letters without vowels,
//! so that they spell nothing and are not mistaken for figures. About 34 bits, good for ten minutes, once, and only
//! in the starter's own chat.

use domain::{Entropy, ExposeSecret as _, SecretString};

use crate::token;

const LETTERS: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";
const LENGTH: usize = 8;

/// A new code, as it is shown: `BCDF-GHJK`.
#[must_use]
pub fn random(entropy: &dyn Entropy) -> SecretString {
    let mut code = String::with_capacity(LENGTH + 1);
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

fn salted(consent: &str, code: &SecretString) -> String {
    format!("{consent}/{}", code.expose_secret())
}

#[cfg(test)]
mod tests {
    use domain::SystemEntropy;

    use super::*;

    #[test]
    fn codes_are_read_as_people_type_them() {
        let code = random(&SystemEntropy);
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
        assert!(!matches(&stored, "c1", &random(&SystemEntropy)));
        assert!(!matches("", "c1", &code));
        for other in [
            "",
            "done",
            "BCDFGHJ",
            "BCDFGHJKL",
            "ABCDEFGH",
            "the code is BCDF-GHJK",
            &"B".repeat(65),
        ] {
            assert!(read(other).is_none(), "{other}");
        }
    }
}
