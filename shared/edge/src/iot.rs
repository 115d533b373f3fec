//! Publishing on AWS IoT Core by its data API: each publication is one HTTP request, so that a function publishes without keeping a
//! connection. IoT Core says whether it took a publication, and not whether anybody subscribes to its topic.

use a2a::mqtt::Publication;
use aws_sdk_iotdataplane::Client;
use aws_sdk_iotdataplane::error::SdkError;
use aws_sdk_iotdataplane::operation::publish::PublishError;
use aws_sdk_iotdataplane::primitives::Blob;
use aws_sdk_iotdataplane::types::PayloadFormatIndicator;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use url::Url;

use crate::aws;

/// Largest payload that IoT Core takes.
pub const IOT_PAYLOAD_MAX: usize = 128 * 1024;
/// At least once.
const QOS: i32 = 1;

/// Publishes on IoT Core. No connection is opened before the first publication.
pub struct IotData {
    endpoint: Url,
    region: Option<String>,
    client: OnceCell<Client>,
}

/// Why IoT Core did not take a publication.
#[derive(Debug, thiserror::Error)]
pub enum IotError {
    /// The function's role may not publish to this topic.
    #[error("IoT Core does not allow this function to publish there")]
    NotAuthorized,
    /// The publication is too large.
    #[error("the publication is larger than IoT Core takes")]
    TooLarge,
    /// The account has reached a limit for now.
    #[error("IoT Core has reached a limit of this account")]
    Throttled,
    /// IoT Core refuses the publication, and would refuse it again.
    #[error("IoT Core refuses the publication ({status})")]
    Refused {
        /// Its answer's status.
        status: u16,
    },
    /// IoT Core did not answer, or has a failure of its own.
    #[error("IoT Core cannot be reached")]
    Unavailable(#[source] Box<SdkError<PublishError>>),
}

impl IotData {
    /// Publishes at this endpoint, such as `https://data-ats.iot.eu-north-1.amazonaws.com`.
    #[must_use]
    pub fn new(endpoint: Url, region: Option<String>) -> Self {
        Self {
            endpoint,
            region,
            client: OnceCell::new(),
        }
    }

    /// Publishes at QoS 1. When this returns, IoT Core has it.
    ///
    /// # Errors
    /// [`IotError`] says whether the same may go well later.
    pub async fn publish(&self, publication: Publication) -> Result<(), IotError> {
        if publication.payload.len() > IOT_PAYLOAD_MAX {
            return Err(IotError::TooLarge);
        }
        let client = self
            .client
            .get_or_init(|| async {
                Client::new(&aws::sdk_config(Some(&self.endpoint), self.region.as_deref()))
            })
            .await;
        let Publication {
            topic,
            payload,
            retain,
            properties,
        } = publication;
        let correlation = properties.correlation.map(|data| STANDARD.encode(data));
        // The SDK itself encodes what is JSON in a header; a correlation is text to it.
        let user: Vec<Value> = properties
            .user
            .into_iter()
            .map(|(name, value)| json!({ name: value }))
            .collect();
        let user = (!user.is_empty()).then(|| Value::from(user).to_string());
        client
            .publish()
            .topic(topic)
            .qos(QOS)
            .set_retain(retain.then_some(true))
            .payload(Blob::new(payload))
            .set_payload_format_indicator(properties.is_text.then_some(PayloadFormatIndicator::Utf8Data))
            .set_content_type(properties.content_type)
            .set_response_topic(properties.response_topic)
            .set_correlation_data(correlation)
            .set_message_expiry(properties.expiry.map(i64::from))
            .set_user_properties(user)
            .send()
            .await
            .map_err(failed)?;
        Ok(())
    }
}

fn failed(error: SdkError<PublishError>) -> IotError {
    match error.raw_response().map(|answer| answer.status().as_u16()) {
        Some(401 | 403) => IotError::NotAuthorized,
        Some(413) => IotError::TooLarge,
        Some(429) => IotError::Throttled,
        Some(status @ 400..=499) => IotError::Refused { status },
        _ => IotError::Unavailable(Box::new(error)),
    }
}
