//! Tokens and what is sealed: nothing that this key did not make is taken.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::rooms::token(data));
