//! A schema of somebody's card, and words that are read by it.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::rooms::schema(data));
