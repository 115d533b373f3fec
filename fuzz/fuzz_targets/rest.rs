//! Bodies and queries over REST: anything is read or refused as the client's fault.
#![no_main]

use a2a::{A2aError, Generation, rest};
use libfuzzer_sys::fuzz_target;

fn refused<T>(read: Result<T, A2aError>, generation: Generation) {
    if let Err(error) = read {
        let (status, _) = rest::failure(&error, generation);
        assert!(
            (400..500).contains(&status),
            "{error:?} is answered with {status}"
        );
    }
}

fuzz_target!(|data: &[u8]| {
    let query = String::from_utf8_lossy(data);
    for generation in [Generation::V1_0, Generation::V0_3] {
        refused(rest::parse_send(data, generation), generation);
        refused(rest::parse_push("t".into(), data, generation), generation);
        refused(rest::parse_cancel("t".into(), data), generation);
        refused(rest::parse_list(Some(&query), generation), generation);
        refused(rest::parse_get("t".into(), Some(&query), generation), generation);
        refused(rest::parse_list_push("t".into(), Some(&query)), generation);
    }
});
