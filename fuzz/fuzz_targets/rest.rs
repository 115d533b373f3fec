//! Bodies and queries over REST: anything is read or refused as the client's fault.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::rest(data));
