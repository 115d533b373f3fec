//! Refresh tokens: `swr_{family}_{43 characters}`. The family in it finds the record; the hash of the whole proves it.

use domain::{Entropy, ExposeSecret as _, SecretString};

const PREFIX: &str = "swr_";
/// A UUID's text.
const FAMILY_LEN: usize = 36;
/// Prefix, family, underscore, 43 characters.
const LEN: usize = PREFIX.len() + FAMILY_LEN + 1 + 43;

/// A refresh token.
pub(crate) struct RefreshToken {
    family: String,
    text: SecretString,
}

impl RefreshToken {
    /// A new token of a family.
    pub(crate) fn of(family: &str, entropy: &dyn Entropy) -> Self {
        Self {
            family: family.to_owned(),
            text: auth::token::random(&format!("{PREFIX}{family}"), entropy),
        }
    }

    /// What has the form of one.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let fits = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        if text.len() != LEN || !text.bytes().all(fits) {
            return None;
        }
        let family = text.strip_prefix(PREFIX)?.get(..FAMILY_LEN)?;
        Some(Self {
            family: family.to_owned(),
            text: text.into(),
        })
    }

    /// The id of its family.
    pub(crate) fn family(&self) -> &str {
        &self.family
    }

    /// What is stored of it.
    pub(crate) fn hash(&self) -> String {
        auth::token::hash(self.text.expose_secret())
    }

    /// The token as it travels.
    pub(crate) fn into_text(self) -> SecretString {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use domain::SystemEntropy;

    use super::*;

    #[test]
    fn a_token_names_its_family_and_rubbish_names_none() {
        let family = SystemEntropy.uuid().to_string();
        let token = RefreshToken::of(&family, &SystemEntropy);
        let hash = token.hash();
        let text = token.into_text();
        let again = RefreshToken::parse(text.expose_secret()).unwrap();
        assert_eq!((again.family(), again.hash()), (family.as_str(), hash));
        let long = format!("{}x", text.expose_secret());
        let other = text.expose_secret().replacen("swr", "swc", 1);
        let hashed = text.expose_secret().replacen('-', "#", 1);
        for bad in ["", "swr_", long.as_str(), &other, &hashed, &"ä".repeat(42)] {
            assert!(RefreshToken::parse(bad).is_none(), "{bad}");
        }
    }
}
