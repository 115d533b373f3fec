//! What agents on a broker answer our hosts, and the calls that hosts make there.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::reply(data));
