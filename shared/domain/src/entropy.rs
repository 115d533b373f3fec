//! The RNG as a parameter: production asks the system, tests give a seeded source.

use uuid::Uuid;

/// A source of unpredictable bytes.
pub trait Entropy: Send + Sync {
    /// Fills the buffer with random bytes.
    fn fill(&self, bytes: &mut [u8]);

    /// A random UUID (version 4).
    fn uuid(&self) -> Uuid {
        let mut bytes = [0; 16];
        self.fill(&mut bytes);
        uuid::Builder::from_random_bytes(bytes).into_uuid()
    }
}

/// The operating system's entropy.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that asks the system for entropy"
    )]
    #[expect(
        clippy::expect_used,
        reason = "without entropy nothing here is safe; the process must not go on"
    )]
    fn fill(&self, bytes: &mut [u8]) {
        getrandom::fill(bytes).expect("the operating system has entropy");
    }
}
