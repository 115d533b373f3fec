//! Cards of others, and their signatures.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::card(data));
