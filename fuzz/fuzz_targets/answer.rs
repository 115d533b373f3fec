//! What servers of others answer, head and body.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::rooms::answer(data));
