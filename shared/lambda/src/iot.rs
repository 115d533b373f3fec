//! A publication that a rule of AWS IoT Core hands over. Rules write their events themselves, so that this is the form that the rule
//! of `infra/mqtt-iot.yaml` gives them: the payload and the correlation in base64, the user properties as a list of pairs.

use a2a::mqtt::{Properties, Publication};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::Timestamp;
use edge::IotMessage;
use serde::Deserialize;
use serde_json::{Map, Value};

/// What such an event says of itself.
pub(crate) const SOURCE: &str = "aws.iot";
/// Most text of a payload: what IoT Core takes at most, in base64.
const PAYLOAD_MAX: usize = 256 * 1024;

/// What a rule leaves out, the publication does not have.
#[derive(Deserialize)]
struct Told {
    topic: String,
    payload: String,
    #[serde(default)]
    response_topic: Option<String>,
    #[serde(default)]
    correlation_data: Option<String>,
    #[serde(default)]
    content_type: Option<String>,
    #[serde(default)]
    format_indicator: Option<String>,
    #[serde(default)]
    user_properties: Vec<Map<String, Value>>,
    #[serde(default)]
    received_at: Option<i64>,
}

/// What is wrong with such an event.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NotAPublication(String);

/// Reads the event.
pub(crate) fn read(payload: Value) -> Result<IotMessage, NotAPublication> {
    let told: Told = serde_json::from_value(payload).map_err(|error| malformed(&error.to_string()))?;
    if told.payload.len() > PAYLOAD_MAX {
        return Err(malformed("the payload is too long"));
    }
    let bytes = |text: &str, what: &str| {
        let bytes = STANDARD.decode(text);
        bytes.map_err(|_| malformed(&format!("{what} is not base64")))
    };
    let correlation = told.correlation_data.as_deref();
    let correlation = correlation.map(|text| bytes(text, "the correlation"));
    let user = told.user_properties.into_iter().flatten();
    let user = user.map(|(name, value)| match value {
        Value::String(text) => Ok((name, text)),
        _ => Err(malformed("a user property is not text")),
    });
    Ok(IotMessage {
        publication: Publication {
            topic: told.topic,
            payload: bytes(&told.payload, "the payload")?.into(),
            retain: false,
            properties: Properties {
                response_topic: told.response_topic,
                correlation: correlation.transpose()?.map(Into::into),
                content_type: told.content_type,
                is_text: told.format_indicator.as_deref() == Some("UTF8_DATA"),
                expiry: None,
                user: user.collect::<Result<_, _>>()?,
            },
        },
        received_at: told.received_at.map(Timestamp::from_millis),
    })
}

fn malformed(reason: &str) -> NotAPublication {
    NotAPublication(reason.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_publication_is_read_with_everything_beside_it() {
        let event = json!({ "source": SOURCE, "topic": "a2a/v1/request/o/u/a", "payload": "e30=",
            "response_topic": "a2a/v1/reply/o/u/b/s", "correlation_data": "AP8=", "content_type": "application/json",
            "format_indicator": "UTF8_DATA", "user_properties": [{ "k": "1" }, { "k": "2" }], "received_at": 1_767_225_600_000_i64 });
        let read = read(event).unwrap();
        let told = &read.publication.properties;
        assert_eq!(read.publication.payload, "{}");
        assert_eq!(told.correlation.as_deref(), Some(&[0, 0xff][..]));
        let pair = |value: &str| ("k".to_owned(), value.to_owned());
        assert_eq!(told.user, [pair("1"), pair("2")]);
        assert!(told.is_text && read.received_at.is_some());
    }

    #[test]
    fn what_a_rule_leaves_out_is_missing_and_rubbish_is_a_typed_error() {
        let bare = read(json!({ "topic": "t", "payload": "" })).unwrap();
        assert_eq!(bare.publication.properties, Properties::default());
        let long = "A".repeat(PAYLOAD_MAX + 4);
        for bad in [
            json!({ "topic": "t" }),
            json!({ "payload": "e30=" }),
            json!({ "topic": 1, "payload": "" }),
            json!({ "topic": "t", "payload": "{}" }),
            json!({ "topic": "t", "payload": long }),
            json!({ "topic": "t", "payload": "", "correlation_data": "?" }),
            json!({ "topic": "t", "payload": "", "user_properties": { "k": "1" } }),
            json!({ "topic": "t", "payload": "", "user_properties": [{ "k": 1 }] }),
        ] {
            assert!(read(bad.clone()).is_err(), "{bad}");
        }
    }
}
