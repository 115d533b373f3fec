//! Requests over JSON-RPC: anything is read or refused, and what was read is written back as the same call.
#![no_main]

use a2a::jsonrpc;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for version in [None, Some("1.0"), Some("0.3")] {
        match jsonrpc::parse(data, version) {
            Ok(request) => {
                let again = jsonrpc::call_request("1", &request.call, request.generation).to_string();
                assert!(jsonrpc::parse(again.as_bytes(), version).is_ok(), "{again}");
            }
            Err(failure) => assert!(jsonrpc::failure(&failure)["error"]["code"].is_i64()),
        }
    }
});
