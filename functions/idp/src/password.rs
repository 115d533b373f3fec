//! Passwords: argon2id with the parameters that OWASP recommends, off the async threads and only a few at once.

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use domain::{Entropy, ExposeSecret as _, SecretString};
use tokio::sync::Semaphore;

/// Longest password that is looked at, in bytes.
pub(crate) const MAX_PASSWORD: usize = 256;

/// How many are worked on at once; each takes 19 MB.
const AT_ONCE: usize = 4;

/// A password could not be hashed.
#[derive(Debug, thiserror::Error)]
#[error("the password could not be hashed")]
pub struct HashError;

/// What is stored of a password: its argon2id hash with its parameters, as a PHC string.
///
/// # Errors
/// [`HashError`] where it is longer than any password, or empty.
pub(crate) fn hash(password: &SecretString, entropy: &dyn Entropy) -> Result<String, HashError> {
    salted(bounded(password)?, &salt(entropy))
}

fn bounded(password: &SecretString) -> Result<&[u8], HashError> {
    let password = password.expose_secret().as_bytes();
    let fits = !password.is_empty() && password.len() <= MAX_PASSWORD;
    fits.then_some(password).ok_or(HashError)
}

fn salt(entropy: &dyn Entropy) -> [u8; 16] {
    let mut salt = [0; 16];
    entropy.fill(&mut salt);
    salt
}

fn salted(password: &[u8], salt: &[u8]) -> Result<String, HashError> {
    let hashed: Result<PasswordHash, _> = Argon2::default().hash_password_with_salt(password, salt);
    hashed.map(|hash| hash.to_string()).map_err(|_| HashError)
}

/// The same off the async threads.
pub(crate) async fn hashed(password: &SecretString, entropy: &dyn Entropy) -> Result<String, HashError> {
    let (password, salt) = (password.clone(), salt(entropy));
    let hashed = tokio::task::spawn_blocking(move || salted(bounded(&password)?, &salt)).await;
    hashed.map_err(|_| HashError)?
}

/// True where the hash is of that password. Takes its time.
#[must_use]
pub fn matches(hash: &str, password: &SecretString) -> bool {
    let password = password.expose_secret().as_bytes();
    PasswordHash::new(hash).is_ok_and(|hash| Argon2::default().verify_password(password, &hash).is_ok())
}

/// The hash of a password that nobody has: what an unknown name's password is compared with, so that it takes as long
/// as a known one's.
const NOBODYS: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$AAECAwQFBgcICQoLDA0ODw$AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";

/// Compares passwords.
pub(crate) struct Doorkeeper(Semaphore);

impl Doorkeeper {
    pub(crate) fn new() -> Self {
        Self(Semaphore::new(AT_ONCE))
    }

    /// True where there is a user's hash and it is of that password; it takes equally long where there is none.
    pub(crate) async fn admits(&self, hash: Option<String>, password: SecretString) -> bool {
        // The semaphore is never closed, so that a turn always comes.
        let _turn = self.0.acquire().await.ok();
        let known = hash.is_some();
        let hash = hash.unwrap_or_else(|| NOBODYS.to_owned());
        let fits = password.expose_secret().len() <= MAX_PASSWORD;
        let compared = tokio::task::spawn_blocking(move || matches(&hash, &password)).await;
        compared.unwrap_or(false) && known && fits
    }
}

#[cfg(test)]
mod tests {
    use domain::SystemEntropy;

    use super::*;

    fn cost(hash: &str) -> String {
        hash.split('$').take(4).collect::<Vec<_>>().join("$")
    }

    #[test]
    fn only_the_password_itself_matches_its_hash() {
        let password = SecretString::from("correct horse");
        let stored = hash(&password, &SystemEntropy).unwrap();
        assert!(stored.starts_with("$argon2id$v=19$"));
        assert!(matches(&stored, &password));
        assert!(!matches(&stored, &"Correct horse".into()));
        assert!(!matches("rubbish", &password));
        assert_ne!(stored, hash(&password, &SystemEntropy).unwrap(), "salted");
    }

    #[test]
    fn nobodys_hash_costs_what_a_users_does() {
        let stored = hash(&"x".into(), &SystemEntropy).unwrap();
        assert_eq!(cost(NOBODYS), cost(&stored));
        assert_eq!(NOBODYS.len(), stored.len());
        assert!(PasswordHash::new(NOBODYS).is_ok());
    }

    #[tokio::test]
    async fn nobody_is_never_admitted() {
        let keeper = Doorkeeper::new();
        assert!(!keeper.admits(None, "x".into()).await);
        let long: SecretString = "x".repeat(MAX_PASSWORD + 1).into();
        assert!(hash(&long, &SystemEntropy).is_err());
        let hash = hash(&"x".into(), &SystemEntropy).ok();
        assert!(keeper.admits(hash, "x".into()).await);
    }
}
