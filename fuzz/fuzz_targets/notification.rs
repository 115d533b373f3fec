//! What other agents push, stream and answer.
#![no_main]

use a2a::{Generation, Transport, decode};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = decode::notification(data);
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    for generation in [Generation::V1_0, Generation::V0_3] {
        for transport in [Transport::JsonRpc, Transport::Rest] {
            let _ = decode::stream_item(text, generation, transport);
        }
        if let Ok(value) = serde_json::from_str(text) {
            let _ = decode::send_result(&value, generation);
            let _ = decode::list(&value, generation);
        }
    }
});
