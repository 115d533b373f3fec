//! What people write: it is read in time, and every address in it lies where it was found.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::rooms::said(data));
