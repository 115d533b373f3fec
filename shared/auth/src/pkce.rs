//! Proof Key for Code Exchange (RFC 7636), method `S256` alone.
//!
//! ```
//! use domain::{ExposeSecret, SystemEntropy};
//! let verifier = auth::pkce::verifier(&SystemEntropy);
//! let challenge = auth::pkce::challenge(verifier.expose_secret());
//! assert!(auth::pkce::is_challenge(&challenge));
//! assert!(auth::pkce::verify(&challenge, verifier.expose_secret()));
//! assert!(!auth::pkce::verify(&challenge, "guessed"));
//! ```

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::{Entropy, SecretString};

use crate::token;

/// The one method we speak.
pub const METHOD: &str = "S256";

/// A fresh verifier: 256 random bits in 43 characters.
#[must_use]
pub fn verifier(entropy: &dyn Entropy) -> SecretString {
    let mut bytes = [0; 32];
    entropy.fill(&mut bytes);
    URL_SAFE_NO_PAD.encode(bytes).into()
}

/// The challenge of a verifier.
#[must_use]
pub fn challenge(verifier: &str) -> String {
    token::hash(verifier)
}

/// Whether a text can be an `S256` challenge: a SHA-256 in base64url.
#[must_use]
pub fn is_challenge(text: &str) -> bool {
    URL_SAFE_NO_PAD.decode(text).is_ok_and(|bytes| bytes.len() == 32)
}

/// Whether a text has the form of a verifier: 43 to 128 unreserved characters.
#[must_use]
pub fn is_verifier(text: &str) -> bool {
    let unreserved = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    (43..=128).contains(&text.len()) && text.bytes().all(unreserved)
}

/// Whether the verifier is the challenge's, compared in constant time. A verifier of another form never is.
#[must_use]
pub fn verify(challenge: &str, verifier: &str) -> bool {
    is_verifier(verifier) && token::matches(challenge, verifier)
}

#[cfg(test)]
mod tests {
    use domain::{ExposeSecret as _, SystemEntropy};

    use super::*;

    #[test]
    fn the_example_of_rfc_7636() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        let known = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
        assert_eq!(challenge(verifier), known);
        assert!(verify(known, verifier));
        assert!(!verify(known, &verifier.to_lowercase()));
        // The method `plain` is not spoken: a challenge is never its own verifier.
        assert!(!verify(verifier, verifier));
    }

    #[test]
    fn a_verifier_has_43_to_128_unreserved_characters() {
        for (text, fits) in [
            ("a".repeat(42), false),
            ("a".repeat(43), true),
            ("~._-".repeat(32), true),
            ("a".repeat(129), false),
            (format!("{}+", "a".repeat(43)), false),
            (format!("{} ", "a".repeat(43)), false),
            ("ä".repeat(43), false),
            (String::new(), false),
        ] {
            assert_eq!(is_verifier(&text), fits, "{text}");
            assert_eq!(verify(&challenge(&text), &text), fits, "{text}");
        }
        let (one, two) = (verifier(&SystemEntropy), verifier(&SystemEntropy));
        assert!(is_verifier(one.expose_secret()));
        assert_ne!(one.expose_secret(), two.expose_secret());
    }

    #[test]
    fn rubbish_is_no_challenge() {
        assert!(is_challenge(&challenge("x")));
        for rubbish in ["", "a", &"a".repeat(44), &"=".repeat(43), &"a".repeat(1000)] {
            assert!(!is_challenge(rubbish), "{rubbish}");
        }
    }
}
