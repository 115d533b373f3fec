//! The bridge on AWS IoT Core, without a process that stays: a rule hands each request to the function, replies go out by the data
//! API, and cards are published on a schedule. It answers for our agents; hosts do not call others by it.

use std::sync::Arc;
use std::time::Duration;

use a2a::mqtt::{AgentAddress, Publication, Recipient, Topic};
use async_trait::async_trait;
use edge::iot::{IOT_PAYLOAD_MAX, IotData, IotError};
use edge::{IotHandler, IotHandlerError, IotMessage, ScheduleError, ScheduleHandler};
use mqtt::{PublishError, Published, Publisher};
use serde_json::{Value, json};

use crate::bridge::Bridge;
use crate::drops::dropped;
use crate::handle::{Handled, handle};
use crate::presence::{card, told};

/// When a requester that waits for the settled task is shown that there is work: the invocation lasts as long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// Publishes by IoT Core's data API.
pub(crate) struct IotPublisher(pub(crate) Arc<IotData>);

#[async_trait]
impl Publisher for IotPublisher {
    /// Whether anybody subscribes, IoT Core does not say.
    async fn publish(&self, publication: Publication) -> Result<Published, PublishError> {
        match self.0.publish(publication).await {
            Ok(()) => Ok(Published::Taken),
            Err(IotError::NotAuthorized) => Err(PublishError::NotAuthorized),
            Err(IotError::TooLarge) => Err(PublishError::TooLarge),
            Err(IotError::Throttled) => Err(PublishError::QuotaExceeded),
            // There is no code of MQTT's to give: unspecified error.
            Err(IotError::Refused { .. }) => Err(PublishError::Refused(0x80)),
            Err(error @ IotError::Unavailable(_)) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "IoT Core did not answer"
                );
                Err(PublishError::Disconnected)
            }
        }
    }

    fn max_packet(&self) -> usize {
        IOT_PAYLOAD_MAX
    }
}

/// Takes the requests that a rule hands over.
pub(crate) struct Requests(pub(crate) Arc<Bridge>);

/// The answer to a request could not be published.
#[derive(Debug, thiserror::Error)]
#[error("the answer to a request of {0} could not be published")]
struct Unanswered(AgentAddress);

#[async_trait]
impl IotHandler for Requests {
    async fn handle(&self, handed: IotMessage) -> Result<(), IotHandlerError> {
        let bridge = &self.0;
        let Some(agent) = self.recipient(&handed.publication.topic) else {
            dropped("nobody", "no_agent");
            return Ok(());
        };
        let now = bridge.clock.now();
        let age = handed.received_at.map_or(Duration::ZERO, |at| now.since(at));
        match handle(bridge, &agent, &handed.publication, age).await {
            Handled::Answered | Handled::Refused => Ok(()),
            Handled::Dropped(reason) => {
                dropped(&agent, reason);
                Ok(())
            }
            // IoT Core's invocations are repeated, and a repeated request changes nothing.
            Handled::Unanswered => Err(IotHandlerError(Box::new(Unanswered(agent)))),
        }
    }
}

impl Requests {
    /// Whom a request is for. Of a pool any member will do: the rule hands each request over once.
    fn recipient(&self, topic: &str) -> Option<AgentAddress> {
        let place = match self.0.prefix.read(topic)? {
            Topic::Request(Recipient::Agent(agent)) => self.0.agent(&agent)?,
            Topic::Request(Recipient::Pool(pool)) => {
                self.0.agents.iter().find(|place| place.pools.contains(&pool))?
            }
            _ => return None,
        };
        Some(place.address.clone())
    }
}

/// Publishes the agents' cards, retained.
pub(crate) struct Cards(pub(crate) Arc<Bridge>);

/// Some cards were not published.
#[derive(Debug, thiserror::Error)]
#[error("{0} cards were not published")]
struct Missing(usize);

#[async_trait]
impl ScheduleHandler for Cards {
    async fn run(&self) -> Result<Value, ScheduleError> {
        let (mut published, mut missing) = (0, 0);
        for place in &self.0.agents {
            let done = match (card(&self.0, place).await, self.0.publisher(&place.address)) {
                (Ok(card), Some(publisher)) => {
                    let topic = self.0.prefix.discovery(&place.address);
                    let told = publisher.publish(told(&topic, &card, "online", "agent")).await;
                    told.map_err(|error| error.to_string())
                }
                (Err(reason), _) => Err(reason),
                (_, None) => Err("nobody publishes for it".to_owned()),
            };
            match done {
                Ok(_) => published += 1,
                Err(reason) => {
                    tracing::warn!(mqtt.agent = %place.address, reason, "the agent's card was not published");
                    missing += 1;
                }
            }
        }
        match missing {
            0 => Ok(json!({ "published": published })),
            missing => Err(ScheduleError(Box::new(Missing(missing)))),
        }
    }
}
