//! Events of Lambda: each is answered, or refused as one that is unknown.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::rooms::event(data));
