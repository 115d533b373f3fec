//! What comes in over MQTT: topics, properties and payloads of requests; and replies cut to the size of a packet.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::mqtt(data));
