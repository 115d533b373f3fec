//! Cards of others, and their signatures.
#![no_main]

use a2a::card::{self, Verdict};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(document) = serde_json::from_slice(data) {
        let _ = card::parse(&document);
        let _ = card::etag(&document);
        let _ = card::verify(&document, |_, _| Verdict::Bad(String::new()));
    }
});
