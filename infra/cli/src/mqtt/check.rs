//! `switchyard mqtt check`: what a broker can. Nothing is taken from what it says of itself, as brokers leave that out.

use std::time::Duration;

use a2a::mqtt::{AgentAddress, PoolAddress, Properties, Publication, Recipient};
use clap::Args;
use mqtt::{PublishError, Published, Publisher as _, Received};
use serde_json::json;
use tokio::sync::mpsc;

use super::connect::{AtBroker, Connected, Way, suffix};
use crate::Failure;
use local::mqtt::ORG;
use local::mqtt::access::{CHECK, OPERATOR};

/// How long something that should come may take.
const COMES: Duration = Duration::from_secs(3);
/// How long nothing must come for it not to come at all.
const NOTHING: Duration = Duration::from_millis(700);

#[derive(Args)]
#[command(
    after_help = "It publishes below PREFIX/*/switchyard/check alone, and clears away what it published. Verdicts: `Core` \
                  (discovery by wildcard, requests, replies), `Core + pools`, `IoT` (no discovery by wildcard: agents answer \
                  there, and are not found by it), or what is missing."
)]
pub(crate) struct Check {
    #[command(flatten)]
    at: AtBroker,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Found {
    Yes,
    No,
    Says(String),
}

/// Tells a finding; whether it is a yes.
fn tell(what: &str, found: &Found) -> bool {
    let told = match found {
        Found::Yes => "yes",
        Found::No => "no",
        Found::Says(told) => told,
    };
    told!(json!({"check": what, "found": told}), "{what:44} {told}");
    *found == Found::Yes
}

impl Check {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let way = self.at.way(OPERATOR)?;
        let (broker, prefix) = (way.broker.to_string(), way.prefix.to_string());
        told!(
            json!({"broker": broker, "topics": prefix}),
            "broker {broker}, topics below {prefix}"
        );
        let agent =
            AgentAddress::new(ORG, CHECK, &format!("probe-{}", &suffix()[..8])).map_err(Failure::other)?;
        // A broker without it lets nobody stay.
        way.connect(Vec::new()).await?.session.close().await;
        tell("QoS 1", &Found::Yes);
        let carries = self.carries(&way, &agent).await?;
        let finds = self.retains(&way, &agent).await?;
        let shares = self.shares(&way).await?;
        let verdict = verdict(carries, finds, shares, way.prefix.as_str());
        told!(json!({"verdict": verdict}), "{verdict}");
        match carries && finds != Cards::Lost {
            true => Ok(()),
            false => Err(Failure::other(format!(
                "agents cannot be on this broker, or it does not let {} try that",
                way.me
            ))),
        }
    }

    /// Requests and what stands beside them; reason codes; limits.
    async fn carries(&self, way: &Way, agent: &AgentAddress) -> Result<bool, Failure> {
        let topic = way.prefix.request(&Recipient::Agent(agent.clone()));
        let Connected { session, mut heard } = way.connect(vec![topic.clone()]).await?;
        let sent = Publication {
            topic,
            payload: "{}".into(),
            retain: false,
            properties: Properties {
                response_topic: Some(format!("{}/reply/{agent}/x", way.prefix)),
                correlation: Some(vec![0, 0xff, 0xfe, 1].into()),
                content_type: Some("application/json".to_owned()),
                is_text: true,
                expiry: Some(60),
                user: [("a2a-x", "1"), ("a2a-x", "2")]
                    .map(|(name, value)| (name.to_owned(), value.to_owned()))
                    .to_vec(),
            },
        };
        let told = session.publish(sent.clone()).await;
        let came = next(&mut heard, COMES).await.map(|received| received.publication);
        let is_whole = |came: &Publication| {
            let expiry = came.properties.expiry.is_some_and(|left| left <= 60);
            let plain = |publication: &Publication| Publication {
                properties: Properties {
                    expiry: None,
                    ..publication.properties.clone()
                },
                ..publication.clone()
            };
            expiry && plain(came) == plain(&sent)
        };
        let delivered = match (&told, &came) {
            (Err(error), _) => Found::Says(format!("no: {error}")),
            (Ok(_), Some(_)) => Found::Yes,
            (Ok(_), None) => Found::No,
        };
        let what = match way.prefix.as_str().starts_with('$') {
            true => "topics that begin with `$`",
            false => "topics below this prefix",
        };
        let delivered = tell(what, &delivered);
        let whole = yes(came.as_ref().is_some_and(is_whole));
        let whole = tell("response topic, correlation, user properties", &whole);
        let nobody = Publication {
            topic: format!("{}/reply/{agent}/nobody", way.prefix),
            ..Publication::default()
        };
        let told = match session.publish(nobody).await {
            Ok(Published::NoMatchingSubscribers) => Found::Yes,
            Ok(Published::Taken) => Found::Says("no: 0x00, so a requester waits for its timeout".to_owned()),
            Err(error) => Found::Says(format!("no: {error}")),
        };
        tell("0x10 where nobody subscribes", &told);
        let largest = Found::Says(format!("{} KiB", session.max_packet() / 1024));
        tell("packets up to (at most 256 KiB are used)", &largest);
        session.close().await;
        Ok(delivered && whole)
    }

    /// Cards: kept, found by their topic and by a wildcard, cleared away.
    async fn retains(&self, way: &Way, agent: &AgentAddress) -> Result<Cards, Failure> {
        let topic = way.prefix.discovery(agent);
        let Connected { session, .. } = way.connect(Vec::new()).await?;
        let card = Publication {
            topic: topic.clone(),
            payload: vec![b' '; 60 * 1024].into(),
            retain: true,
            ..Publication::default()
        };
        let told: Result<Published, PublishError> = session.publish(card).await;
        session.close().await;
        if let Err(error) = told {
            tell("retained cards", &Found::Says(format!("no: {error}")));
            return Ok(Cards::Lost);
        }
        let exact = self.looks(way, topic.clone()).await?;
        tell("retained cards, by their topic", &yes(exact));
        let wildcard = self
            .looks(way, format!("{}/discovery/{ORG}/{CHECK}/+", way.prefix))
            .await?;
        tell("retained cards, by a wildcard", &yes(wildcard));
        let Connected { session, .. } = way.connect(Vec::new()).await?;
        let gone = Publication {
            topic: topic.clone(),
            retain: true,
            ..Publication::default()
        };
        let _ = session.publish(gone).await;
        session.close().await;
        let cleared = !self.looks(way, topic).await?;
        tell("a card can be cleared away", &yes(cleared));
        Ok(match (exact, wildcard) {
            (_, true) => Cards::Found,
            (true, false) => Cards::Exact,
            (false, false) => Cards::Lost,
        })
    }

    /// Whether a card comes by that filter.
    async fn looks(&self, way: &Way, filter: String) -> Result<bool, Failure> {
        let Connected { session, mut heard } = way.connect(vec![filter]).await?;
        let came = next(&mut heard, NOTHING).await;
        session.close().await;
        Ok(came.is_some_and(|came| !came.publication.payload.is_empty()))
    }

    async fn shares(&self, way: &Way) -> Result<bool, Failure> {
        let pool = PoolAddress::new(ORG, CHECK, "pool").map_err(Failure::other)?;
        let topic = way.prefix.request(&Recipient::Pool(pool.clone()));
        let connected = way.connect(vec![way.prefix.shared(&pool)]).await;
        let Ok(Connected { session, mut heard }) = connected else {
            return Ok(tell("pools (shared subscriptions)", &Found::No));
        };
        let request = Publication {
            topic,
            payload: "{}".into(),
            ..Publication::default()
        };
        let _ = session.publish(request).await;
        let came = next(&mut heard, NOTHING).await.is_some();
        session.close().await;
        Ok(tell("pools (shared subscriptions)", &yes(came)))
    }
}

/// How cards are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cards {
    Found,
    Exact,
    Lost,
}

fn verdict(carries: bool, cards: Cards, shares: bool, prefix: &str) -> String {
    match (carries, cards) {
        (false, _) => "verdict: not usable: requests do not come through whole".to_owned(),
        (_, Cards::Lost) => "verdict: not usable: cards are not kept".to_owned(),
        (true, Cards::Exact) => {
            let pools = if shares { " + pools" } else { "" };
            format!("verdict: IoT{pools}: agents answer here, and are not found by a wildcard")
        }
        (true, Cards::Found) if shares => "verdict: Core + pools".to_owned(),
        (true, Cards::Found) if prefix.starts_with('$') => {
            "verdict: Core (for pools try --prefix a2a/v1: some brokers share nothing below `$`)".to_owned()
        }
        (true, Cards::Found) => "verdict: Core".to_owned(),
    }
}

fn yes(is_so: bool) -> Found {
    if is_so { Found::Yes } else { Found::No }
}

async fn next(heard: &mut mpsc::UnboundedReceiver<Received>, within: Duration) -> Option<Received> {
    tokio::time::timeout(within, heard.recv()).await.ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_names_what_works() {
        for (carries, cards, shares, wanted) in [
            (true, Cards::Found, true, "Core + pools"),
            (true, Cards::Found, false, "Core"),
            (true, Cards::Exact, true, "IoT + pools"),
            (true, Cards::Lost, true, "not usable: cards"),
            (false, Cards::Found, true, "not usable: requests"),
        ] {
            let told = verdict(carries, cards, shares, "$a2a/v1");
            assert!(told.starts_with(&format!("verdict: {wanted}")), "{told}");
        }
    }
}
