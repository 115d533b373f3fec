//! Hashes of short keys.

use std::hash::{BuildHasherDefault, Hasher};

/// FNV-1a: the same in every process, and short for short keys.
pub(super) struct Fnv(u64);

/// For maps whose keys are such hashes.
pub(super) type ByHash = BuildHasherDefault<Fnv>;

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn write_u32(&mut self, sign: u32) {
        self.0 = (self.0 ^ u64::from(sign)).wrapping_mul(0x0100_0000_01b3);
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
