//! A file of weights that is another.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::rooms::weights(data));
