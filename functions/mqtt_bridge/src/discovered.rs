//! What is known of agents on the broker by their cards there. It is gone with the process: the broker keeps the cards.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use a2a::mqtt::{
    AgentAddress, BINDING, CARD_MAX, Presence, Publication, Recipient, Topic, TopicPrefix, presence,
};
use serde_json::{Value, json};
use url::Url;

/// Most agents that are known at once; those beyond are not found.
const AGENTS_MAX: usize = 20_000;

/// The agents that were found.
#[derive(Debug, Default)]
pub struct Discovered {
    agents: RwLock<BTreeMap<AgentAddress, FoundCard>>,
}

/// An agent's card, as it is on the broker.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundCard {
    /// The card.
    pub card: Value,
    /// Whether the agent is there.
    pub presence: Presence,
}

/// What a publication on a card's topic changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// There is a new agent, or its card is another one.
    Card,
    /// It came, or it left.
    Presence,
    /// It was taken away.
    Gone,
    /// Nothing.
    Same,
}

impl Discovered {
    /// Takes what was published on a card's topic.
    ///
    /// # Errors
    /// Why it is dropped.
    pub fn take(
        &self,
        prefix: &TopicPrefix,
        told: &Publication,
    ) -> Result<(AgentAddress, Found), &'static str> {
        let Some(Topic::Discovery(agent)) = prefix.read(&told.topic) else {
            return Err("not_a_cards_topic");
        };
        let mut agents = self.agents.write().unwrap_or_else(PoisonError::into_inner);
        if told.payload.is_empty() {
            let found = agents.remove(&agent).map_or(Found::Same, |_| Found::Gone);
            return Ok((agent, found));
        }
        let card = read(&told.payload, &agent)?;
        if agents.len() >= AGENTS_MAX && !agents.contains_key(&agent) {
            return Err("too_many_cards");
        }
        let now = FoundCard {
            card,
            presence: presence(&told.properties),
        };
        let before = agents.insert(agent.clone(), now.clone());
        let found = match before {
            Some(before) if before.card != now.card => Found::Card,
            Some(before) if before.presence != now.presence => Found::Presence,
            Some(_) => Found::Same,
            None => Found::Card,
        };
        Ok((agent, found))
    }

    /// The agent's card.
    #[must_use]
    pub fn card(&self, agent: &AgentAddress) -> Option<FoundCard> {
        let agents = self.agents.read().unwrap_or_else(PoisonError::into_inner);
        agents.get(agent).cloned()
    }

    /// Every agent that is known.
    #[must_use]
    pub fn all(&self) -> Vec<(AgentAddress, FoundCard)> {
        let agents = self.agents.read().unwrap_or_else(PoisonError::into_inner);
        agents
            .iter()
            .map(|(agent, card)| (agent.clone(), card.clone()))
            .collect()
    }
}

/// Reads a card. One that names another agent's topic as its own is not taken.
fn read(payload: &[u8], agent: &AgentAddress) -> Result<Value, &'static str> {
    if payload.len() > CARD_MAX {
        return Err("card_too_large");
    }
    let card: Value = serde_json::from_slice(payload).map_err(|_| "card_is_not_json")?;
    let skills = card.get("skills").and_then(Value::as_array);
    if skills.is_none_or(Vec::is_empty) {
        return Err("card_without_skills");
    }
    let names_another = recipients(&card).any(|to| match &to {
        Recipient::Agent(named) => named != agent,
        Recipient::Pool(_) => to.responder(&agent.to_string()).is_none(),
    });
    match names_another {
        true => Err("card_of_another"),
        false => Ok(card),
    }
}

fn interfaces(card: &Value) -> impl Iterator<Item = &Value> {
    card.get("supportedInterfaces")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

/// Whom its interfaces on a broker are for, as far as they say.
fn recipients(card: &Value) -> impl Iterator<Item = Recipient> {
    let urls = interfaces(card).filter_map(mqtt_url);
    urls.filter_map(|url| TopicPrefix::read_interface(&url).ok().map(|(_, _, to)| to))
}

fn mqtt_url(interface: &Value) -> Option<Url> {
    let url = Url::parse(interface.get("url")?.as_str()?).ok()?;
    matches!(url.scheme(), "mqtt" | "mqtts").then_some(url)
}

/// The card as the registry gets it: with the agent's interface on the broker of the configuration, whatever the card says of
/// brokers; that of a pool of its unit, where the card names one first. Types are left out of its skills' tags: an import rule
/// registers an agent in the platform's name, and says as what. That is not what was signed, so it has no signature.
#[must_use]
pub fn normalised(mut card: Value, (broker, prefix): (&Url, &TopicPrefix), agent: &AgentAddress) -> Value {
    let others: Vec<Value> = interfaces(&card)
        .filter(|it| mqtt_url(it).is_none())
        .cloned()
        .collect();
    let to = recipients(&card).next();
    let to = to.unwrap_or_else(|| Recipient::Agent(agent.clone()));
    let own = json!({
        "url": prefix.interface(broker, &to).as_str(),
        "protocolBinding": BINDING,
        "protocolVersion": "1.0",
    });
    if let Some(fields) = card.as_object_mut() {
        fields.insert(
            "supportedInterfaces".to_owned(),
            others.into_iter().chain([own]).collect(),
        );
        fields.remove("signatures");
    }
    let skills = card.get_mut("skills").and_then(Value::as_array_mut);
    for tags in skills
        .into_iter()
        .flatten()
        .filter_map(|skill| skill.get_mut("tags")?.as_array_mut())
    {
        tags.retain(|tag| !tag.as_str().is_some_and(|tag| tag.starts_with("type:")));
    }
    card
}

#[cfg(test)]
mod tests {
    use a2a::mqtt::Properties;

    use super::*;

    fn told(topic: &str, card: &str, status: &[(&str, &str)]) -> Publication {
        Publication {
            topic: topic.to_owned(),
            payload: card.to_owned().into(),
            properties: Properties {
                user: status
                    .iter()
                    .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                    .collect(),
                ..Properties::default()
            },
            ..Publication::default()
        }
    }

    const CARD: &str = r#"{"name": "Echo", "skills": [{"id": "echo"}],
        "supportedInterfaces": [{"url": "mqtt://elsewhere:1883", "protocolBinding": "MQTT5"}], "signatures": []}"#;
    const ECHO: &str = "$a2a/v1/discovery/acme/lab/echo";

    #[test]
    fn an_agent_comes_leaves_and_is_taken_away() {
        let discovered = Discovered::default();
        let take = |card: &str, status: &[(&str, &str)]| {
            discovered
                .take(&TopicPrefix::standard(), &told(ECHO, card, status))
                .map(|(_, found)| found)
        };
        assert_eq!(take(CARD, &[("a2a-status", "online")]), Ok(Found::Card));
        assert_eq!(take(CARD, &[("a2a-status", "online")]), Ok(Found::Same));
        assert_eq!(take(CARD, &[("a2a-status", "offline")]), Ok(Found::Presence));
        assert_eq!(
            take(&CARD.replace("Echo", "E"), &[("a2a-status", "offline")]),
            Ok(Found::Card)
        );
        assert_eq!(take("", &[]), Ok(Found::Gone));
        assert_eq!(take("", &[]), Ok(Found::Same));
        assert!(discovered.all().is_empty());
    }

    #[test]
    fn what_is_no_card_of_that_agent_is_dropped() {
        let discovered = Discovered::default();
        let large = format!(r#"{{"skills": [{{}}], "x": "{}"}}"#, "x".repeat(CARD_MAX));
        let another = CARD.replace(
            "mqtt://elsewhere:1883",
            "mqtt://elsewhere/$a2a/v1/request/acme/lab/other",
        );
        for (topic, card, why) in [
            (ECHO, large.as_str(), "card_too_large"),
            (ECHO, "{", "card_is_not_json"),
            (ECHO, r#"{"skills": []}"#, "card_without_skills"),
            (ECHO, "1", "card_without_skills"),
            (ECHO, another.as_str(), "card_of_another"),
            ("$a2a/v1/request/acme/lab/echo", CARD, "not_a_cards_topic"),
        ] {
            let taken = discovered.take(&TopicPrefix::standard(), &told(topic, card, &[]));
            assert_eq!(taken, Err(why));
        }
        assert!(discovered.all().is_empty());
    }

    #[test]
    fn the_broker_is_the_configurations_and_never_the_cards() {
        let card = serde_json::from_str(CARD).unwrap();
        let broker = Url::parse("mqtts://broker.example:8883").unwrap();
        let agent = "acme/lab/echo".parse().unwrap();
        let card = normalised(card, (&broker, &TopicPrefix::standard()), &agent);
        assert_eq!(
            card["supportedInterfaces"],
            json!([{ "url": "mqtts://broker.example:8883/$a2a/v1/request/acme/lab/echo",
                "protocolBinding": "MQTTv5+JSONRPCv2", "protocolVersion": "1.0" }])
        );
        assert!(card.get("signatures").is_none());
    }

    #[test]
    fn what_an_agent_is_registered_as_its_card_does_not_say() {
        let skill = |tags: Value| json!({ "id": "s", "tags": tags });
        let card = json!({ "skills": [
            skill(json!(["type:weather", "lang:en", "demo", "type:", 7])), skill(json!("type:weather")), { "id": "bare" }, 7,
        ] });
        let broker = Url::parse("mqtts://broker.example:8883").unwrap();
        let agent = "acme/lab/echo".parse().unwrap();
        let card = normalised(card, (&broker, &TopicPrefix::standard()), &agent);
        assert_eq!(card["skills"][0]["tags"], json!(["lang:en", "demo", 7]));
        assert_eq!(card["skills"][2], json!({ "id": "bare" }));
    }

    #[test]
    fn a_card_may_name_a_pool_of_its_own_unit() {
        let pool = |unit: &str| {
            CARD.replace(
                "mqtt://elsewhere:1883",
                &format!("mqtt://elsewhere/a2a/v1/request/acme/{unit}/pool/echoes"),
            )
        };
        let discovered = Discovered::default();
        let take = |card: &str| discovered.take(&TopicPrefix::standard(), &told(ECHO, card, &[]));
        assert_eq!(take(&pool("press")), Err("card_of_another"));
        let (agent, _) = take(&pool("lab")).unwrap();
        let broker = Url::parse("mqtts://broker.example:8883").unwrap();
        let card = discovered.card(&agent).unwrap().card;
        let card = normalised(card, (&broker, &TopicPrefix::standard()), &agent);
        assert_eq!(
            card["supportedInterfaces"][0]["url"],
            "mqtts://broker.example:8883/$a2a/v1/request/acme/lab/pool/echoes"
        );
    }
}
