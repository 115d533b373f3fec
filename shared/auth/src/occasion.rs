//! What a consent was asked for: which agent, when, in which words, from where. A client tells its authorization server
//! beside the authorization request, so that the person who is to agree sees it.
//!
//! It is sealed with a key that both derive from the client's secret, for this one request (its `state`): addresses are
//! logged and remembered by browsers, and nobody else may write what the consent page says.

use domain::{Entropy, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{SealError, Sealer, token};

/// The parameter of an authorization request that holds it.
pub const PARAMETER: &str = "switchyard_occasion";
/// The name in an authorization server's metadata under which it says that it reads the parameter.
pub const SUPPORTED: &str = "switchyard_occasion_parameter_supported";

/// Most characters of the user's words that are shown.
const WORDS_MAX: usize = 200;
/// Most characters of anything else.
const NAME_MAX: usize = 80;
/// Longest sealed text that is opened.
const SEALED_MAX: usize = 4096;

/// What a consent was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Occasion {
    /// The agent that needs it, by the name on its card.
    pub agent: String,
    /// When its user asked.
    pub at: Timestamp,
    /// The beginning of what the user wrote.
    pub words: String,
    /// The browser and the address that it came from, where that is known.
    pub place: Option<String>,
    /// The browser that is sent to agree is the one that asked.
    pub same_browser: bool,
}

impl Occasion {
    /// The same with everything in one line, without invisible characters, and not too long.
    #[must_use]
    pub fn cleaned(self) -> Self {
        Self {
            agent: cleaned(&self.agent, NAME_MAX),
            words: cleaned(&self.words, WORDS_MAX),
            place: self.place.map(|place| cleaned(&place, NAME_MAX)),
            ..self
        }
    }

    /// Seals it for the authorization request with this `state`, of a client whose secret has this hash ([`token::hash`]).
    ///
    /// # Errors
    /// [`SealError`] where that is no hash.
    pub fn seal(&self, secret_hash: &str, state: &str, entropy: &dyn Entropy) -> Result<String, SealError> {
        let text = serde_json::to_vec(self).map_err(|_| SealError)?;
        Ok(sealer(secret_hash)?.seal(&text, &binding(state), entropy))
    }

    /// Opens it.
    ///
    /// # Errors
    /// [`SealError`] for what another client, or the same for another request, has sealed.
    pub fn open(sealed: &str, secret_hash: &str, state: &str) -> Result<Self, SealError> {
        if sealed.len() > SEALED_MAX {
            return Err(SealError);
        }
        let text = sealer(secret_hash)?.open(sealed, &binding(state))?;
        let occasion: Self = serde_json::from_slice(&text).map_err(|_| SealError)?;
        Ok(occasion.cleaned())
    }

    /// When it was asked for, as people read it.
    #[must_use]
    pub fn ago(&self, now: Timestamp) -> String {
        let minutes = now.since(self.at).as_secs() / 60;
        let told = |count: u64, unit: &str| match count {
            1 => format!("1 {unit} ago"),
            count => format!("{count} {unit}s ago"),
        };
        let ago = match minutes {
            0 => "less than a minute ago".to_owned(),
            1..60 => told(minutes, "minute"),
            60..1440 => told(minutes / 60, "hour"),
            _ => told(minutes / 1440, "day"),
        };
        let at = self.at.to_string();
        let (day, time) = at.split_once('T').unwrap_or((&at, ""));
        format!("{ago} ({day} {} UTC)", time.get(..5).unwrap_or_default())
    }
}

fn sealer(secret_hash: &str) -> Result<Sealer, SealError> {
    let key = token::hash(&format!("occasion/{secret_hash}"));
    let usable = Some(key).filter(|_| !secret_hash.is_empty()).ok_or(SealError)?;
    Sealer::new(vec![("client".to_owned(), usable.into())]).map_err(|_| SealError)
}

fn binding(state: &str) -> String {
    format!("occasion/{state}")
}

/// One line of at most so many characters. Marks that turn the direction of text would let words pass for others.
fn cleaned(text: &str, most: usize) -> String {
    let line = domain::clean(text, most.saturating_add(2));
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{} …", line.get(..end).unwrap_or_default().trim_end()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use domain::SystemEntropy;

    use super::*;

    fn occasion() -> Occasion {
        Occasion {
            agent: "Horizon".to_owned(),
            at: Timestamp::parse("2026-11-24T14:05:59Z").unwrap(),
            words: "Where is my order 1001?".to_owned(),
            place: Some("Firefox on Linux, 203.0.113.9".to_owned()),
            same_browser: false,
        }
    }

    #[test]
    fn only_the_client_itself_says_it_and_only_for_one_request() {
        let secret = token::hash("secret");
        let sealed = occasion().seal(&secret, "state", &SystemEntropy).unwrap();
        assert!(!sealed.contains("Horizon"));
        assert_eq!(Occasion::open(&sealed, &secret, "state"), Ok(occasion()));
        for (sealed, secret, state) in [
            (sealed.as_str(), secret.as_str(), "another"),
            (&sealed, &token::hash("other"), "state"),
            (&sealed, "", "state"),
            (&sealed[1..], &secret, "state"),
            (&"x".repeat(SEALED_MAX + 1), &secret, "state"),
            ("", &secret, "state"),
        ] {
            assert_eq!(Occasion::open(sealed, secret, state), Err(SealError));
        }
        assert!(occasion().seal("", "state", &SystemEntropy).is_err());
    }

    #[test]
    fn what_is_shown_is_one_short_line() {
        let written = Occasion {
            words: format!(" a\nb\t\u{202e}c\u{0} {}", "long ".repeat(400)),
            agent: "A\u{200f}gent".to_owned(),
            ..occasion()
        };
        let shown = written.cleaned();
        assert!(shown.words.starts_with("a b c long long"), "{}", shown.words);
        assert!(shown.words.ends_with('…') && shown.words.chars().count() <= WORDS_MAX + 2);
        assert_eq!(shown.agent, "Agent");
    }

    #[test]
    fn people_read_how_long_ago_it_was() {
        let at = occasion().at;
        let ago = |seconds| occasion().ago(at.after(std::time::Duration::from_secs(seconds)));
        assert_eq!(ago(0), "less than a minute ago (2026-11-24 14:05 UTC)");
        assert_eq!(ago(61), "1 minute ago (2026-11-24 14:05 UTC)");
        assert_eq!(ago(2 * 3600), "2 hours ago (2026-11-24 14:05 UTC)");
        assert_eq!(ago(30 * 3600), "1 day ago (2026-11-24 14:05 UTC)");
    }
}
