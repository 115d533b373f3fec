//! What agents on a broker answer our hosts, and the calls that hosts make there.
#![no_main]

use a2a::mqtt::{
    AnswerKind, OutgoingCall, ReplyItem, TopicPrefix, first_answer, is_result_alone, is_stream_end,
    read_reply, refuses_streams,
};
use a2a::{Generation, decode};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    match read_reply(data) {
        None => {}
        Some(ReplyItem::Error(error)) => {
            let _ = refuses_streams(&error);
        }
        Some(ReplyItem::Result(result)) => {
            let _ = (
                is_result_alone(&result),
                is_stream_end(&result),
                a2a::event_number(&result),
            );
            for kind in [AnswerKind::Sent, AnswerKind::Task, AnswerKind::Other] {
                let answer = first_answer(kind, &result);
                assert!(answer.is_object(), "an object is answered by one");
                let _ = decode::send_result(&answer, Generation::V1_0);
            }
            // What goes to the webhook.
            let _ = decode::notification(result.to_string().as_bytes());
        }
    }
    if let Ok(call) = OutgoingCall::read(data) {
        if let Some(webhook) = &call.webhook {
            let sent: serde_json::Value = serde_json::from_str(&call.payload()).expect("JSON");
            let configuration = sent.pointer("/params/configuration");
            let named = configuration.and_then(|it| it.get("taskPushNotificationConfig"));
            assert!(named.is_none(), "{} goes on the wire", webhook.url);
        }
        let _ = call.without_stream().map(|call| call.payload());
    }
    if let Ok(topic) = std::str::from_utf8(data) {
        let _ = TopicPrefix::standard().read(topic);
    }
});
