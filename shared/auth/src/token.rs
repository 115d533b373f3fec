//! Random tokens: only their hash is stored, and compared in constant time.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::{Entropy, SecretString, TaskId};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// 256 bits, base64url without padding.
const RANDOM_CHARS: usize = 43;

/// A token of 256 random bits behind a prefix by which logs and scanners know it: `{prefix}_{43 characters}`.
#[must_use]
pub fn random(prefix: &str, entropy: &dyn Entropy) -> SecretString {
    format!("{prefix}_{}", bits(entropy)).into()
}

/// The token of a link that people hand on: 128 random bits behind a prefix, `{prefix}_{22 characters}`.
#[must_use]
pub fn link(prefix: &str, entropy: &dyn Entropy) -> SecretString {
    let mut bytes = [0; 16];
    entropy.fill(&mut bytes);
    format!("{prefix}_{}", URL_SAFE_NO_PAD.encode(bytes)).into()
}

/// What is stored of a token: its SHA-256, base64url.
#[must_use]
pub fn hash(token: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(token))
}

/// True where the hash is of that token.
#[must_use]
pub fn matches(hash: &str, token: &str) -> bool {
    hash.as_bytes().ct_eq(self::hash(token).as_bytes()).into()
}

/// A webhook's token: `{task_id}.{43 characters}`, so that its receiver finds the task with one read.
#[must_use]
pub fn webhook(task: TaskId, entropy: &dyn Entropy) -> SecretString {
    format!("{task}.{}", bits(entropy)).into()
}

/// The task that a webhook's token names. This proves nothing: the stored hash does.
#[must_use]
pub fn webhook_task(token: &str) -> Option<TaskId> {
    let (task, random) = token.split_once('.')?;
    let fits = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    (random.len() == RANDOM_CHARS && random.bytes().all(fits)).then_some(())?;
    TaskId::parse(task).ok()
}

fn bits(entropy: &dyn Entropy) -> String {
    let mut bytes = [0; 32];
    entropy.fill(&mut bytes);
    URL_SAFE_NO_PAD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use domain::{ExposeSecret as _, SystemEntropy};

    use super::*;

    #[test]
    fn a_webhook_token_names_its_task_and_matches_only_its_own_hash() {
        let task = TaskId::random(&SystemEntropy);
        let (token, other) = (webhook(task, &SystemEntropy), webhook(task, &SystemEntropy));
        let (token, other) = (token.expose_secret(), other.expose_secret());
        assert_eq!(webhook_task(token), Some(task));
        let stored = hash(token);
        assert!(matches(&stored, token));
        assert!(!matches(&stored, other));
        assert!(!matches("", token));
        assert!(!matches(&stored, ""));
    }

    #[test]
    fn rubbish_names_no_task() {
        let task = TaskId::from_bytes([1; 16]);
        let giant = format!("{task}.{}", "a".repeat(1_000_000));
        let tail = "a".repeat(43);
        for rubbish in [
            "",
            ".",
            "a.b",
            giant.as_str(),
            &format!("{task}"),
            &format!("{task}.short"),
            &format!("{task}.{tail}."),
            &format!("{task}x.{tail}"),
            &format!("{task}.{}\0", "a".repeat(42)),
        ] {
            assert_eq!(webhook_task(rubbish), None);
        }
        assert_eq!(webhook_task(&format!("{task}.{tail}")), Some(task));
    }

    #[test]
    fn random_tokens_carry_their_prefix_and_differ() {
        let (one, two) = (random("sws", &SystemEntropy), random("sws", &SystemEntropy));
        assert!(one.expose_secret().starts_with("sws_"));
        assert_eq!(one.expose_secret().len(), 4 + RANDOM_CHARS);
        assert_ne!(one.expose_secret(), two.expose_secret());
        let (one, two) = (link("swl", &SystemEntropy), link("swl", &SystemEntropy));
        assert!(one.expose_secret().starts_with("swl_"));
        assert_eq!(one.expose_secret().len(), 4 + 22);
        assert_ne!(one.expose_secret(), two.expose_secret());
    }
}
