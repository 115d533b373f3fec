//! Requests over JSON-RPC: anything is read or refused, and what was read is written back as the same call.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::jsonrpc(data));
