//! What other agents push, stream and answer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::notification(data));
