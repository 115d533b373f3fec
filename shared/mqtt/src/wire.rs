//! Between the client crate's packets and ours.

use a2a::mqtt::{Properties, Publication};
use rumqttc::mqttbytes::QoS;
use rumqttc::mqttbytes::v5::{LastWill, LastWillProperties, PubAckReason, Publish, PublishProperties};
use rumqttc::{PublishOptions, PublishResult};

use crate::{PublishError, Published};

/// What came in.
pub(crate) fn read(packet: &Publish) -> Publication {
    let properties = packet.properties.clone().unwrap_or_default();
    Publication {
        topic: String::from_utf8_lossy(&packet.topic).into_owned(),
        payload: packet.payload.clone(),
        retain: packet.retain,
        properties: Properties {
            response_topic: properties.response_topic,
            correlation: properties.correlation_data,
            content_type: properties.content_type,
            is_text: properties.payload_format_indicator == Some(1),
            expiry: properties.message_expiry_interval,
            user: properties.user_properties,
        },
    }
}

/// How something goes out.
pub(crate) fn options(publication: &Publication) -> PublishOptions {
    let told = &publication.properties;
    let properties = PublishProperties {
        payload_format_indicator: told.is_text.then_some(1),
        message_expiry_interval: told.expiry,
        response_topic: told.response_topic.clone(),
        correlation_data: told.correlation.clone(),
        user_properties: told.user.clone(),
        content_type: told.content_type.clone(),
        ..PublishProperties::default()
    };
    PublishOptions::new(QoS::AtLeastOnce)
        .retain(publication.retain)
        .properties(properties)
}

/// What the broker publishes when this client is gone without a word.
pub(crate) fn will(publication: &Publication) -> LastWill {
    let told = &publication.properties;
    let properties = LastWillProperties {
        delay_interval: None,
        payload_format_indicator: told.is_text.then_some(1),
        message_expiry_interval: told.expiry,
        content_type: told.content_type.clone(),
        response_topic: None,
        correlation_data: None,
        user_properties: told.user.clone(),
    };
    LastWill::new(
        publication.topic.clone(),
        publication.payload.to_vec(),
        QoS::AtLeastOnce,
        publication.retain,
        Some(properties),
    )
}

/// About how many bytes a publication takes as a packet, never less than it does.
pub(crate) fn packet_size(publication: &Publication) -> usize {
    let told = &publication.properties;
    let text = |text: &Option<String>| text.as_ref().map_or(0, |text| text.len() + 3);
    let user: usize = told
        .user
        .iter()
        .map(|(name, value)| name.len() + value.len() + 5)
        .sum();
    let correlation = told.correlation.as_ref().map_or(0, |data| data.len() + 3);
    publication.topic.len()
        + publication.payload.len()
        + text(&told.response_topic)
        + text(&told.content_type)
        + user
        + correlation
        + 32
}

/// What became of it.
pub(crate) fn result(told: PublishResult) -> Result<Published, PublishError> {
    let PublishResult::Qos1(answer) = told else {
        return Err(PublishError::Refused(0x80));
    };
    match answer.reason {
        PubAckReason::Success => Ok(Published::Taken),
        PubAckReason::NoMatchingSubscribers => Ok(Published::NoMatchingSubscribers),
        PubAckReason::NotAuthorized => Err(PublishError::NotAuthorized),
        PubAckReason::QuotaExceeded => Err(PublishError::QuotaExceeded),
        PubAckReason::UnspecifiedError => Err(PublishError::Refused(0x80)),
        PubAckReason::ImplementationSpecificError => Err(PublishError::Refused(0x83)),
        PubAckReason::TopicNameInvalid => Err(PublishError::Refused(0x90)),
        PubAckReason::PacketIdentifierInUse => Err(PublishError::Refused(0x91)),
        PubAckReason::PayloadFormatInvalid => Err(PublishError::Refused(0x99)),
    }
}
