//! A forecaster whose Open-Meteo is the sandbox, or anything else that answers HTTP.

use std::sync::Arc;

use agent::ExecuteError;
use async_trait::async_trait;
use axum::Router;
use domain::{Clock, ManualClock, SystemEntropy, Timestamp, UserContext};
use outbound::open_meteo::{Bases, OpenMeteo};
use outbound::{Outbound, Policy};
use serde_json::Value;
use url::Url;
use weather_agent::{Forecaster, Progress, Reply, Said, Trouble};

/// A Saturday morning in Oslo.
pub(crate) const NOW: &str = "2026-11-21T09:00:00Z";

pub(crate) struct Bench {
    pub(crate) forecaster: Forecaster,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) base: Url,
    pub(crate) user: UserContext,
}

/// Everything that was said on the way.
#[derive(Default)]
pub(crate) struct Heard(pub(crate) Vec<String>);

#[async_trait]
impl Progress for Heard {
    async fn working(&mut self, text: &str) -> Result<(), ExecuteError> {
        self.0.push(text.to_owned());
        Ok(())
    }
}

pub(crate) fn outbound() -> Outbound {
    let policy = Policy {
        allow_loopback: true,
        ..Policy::default()
    };
    Outbound::new(policy, Arc::new(SystemEntropy))
}

/// Serves a router on a loopback port until the test ends.
pub(crate) async fn serve(router: Router) -> Url {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}/sandbox/open-meteo").parse().unwrap()
}

impl Bench {
    pub(crate) async fn at(now: &str) -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::parse(now).unwrap()));
        let router = Router::new().nest(
            "/sandbox/open-meteo",
            sandbox::open_meteo::open_meteo(clock.clone()),
        );
        Self::over(serve(router).await, clock)
    }

    pub(crate) async fn new() -> Self {
        Self::at(NOW).await
    }

    pub(crate) fn over(base: Url, clock: Arc<ManualClock>) -> Self {
        let forecaster = Forecaster::new(OpenMeteo::new(outbound(), Bases::both(base.clone())));
        Self {
            forecaster,
            clock,
            base,
            user: UserContext::default(),
        }
    }

    /// The same, for a user of whom this is known.
    pub(crate) fn with(mut self, locale: Option<String>, time_zone: Option<String>) -> Self {
        self.user = UserContext::parse(locale, time_zone).unwrap();
        self
    }

    pub(crate) async fn reply(&self, said: &[&str]) -> (Result<Reply, Trouble>, Vec<String>) {
        let said: Vec<Said> = said.iter().map(|text| Said::from(*text)).collect();
        let mut heard = Heard::default();
        let reply = self
            .forecaster
            .reply((&said, &[]), &self.user, self.clock.now(), &mut heard)
            .await;
        (reply, heard.0)
    }

    /// The answer to a conversation.
    pub(crate) async fn answer(&self, said: &[&str]) -> (String, Value) {
        match self.reply(said).await.0 {
            Ok(Reply::Answer { text, data }) => (text, data),
            other => panic!("{said:?}: {other:?}"),
        }
    }

    /// The question back.
    pub(crate) async fn question(&self, said: &[&str]) -> String {
        match self.reply(said).await.0 {
            Ok(Reply::Ask(question)) => question,
            other => panic!("{said:?}: {other:?}"),
        }
    }
}

/// The places of an answer: `Oslo NO 2026-11-22 2026-11-23`.
pub(crate) fn places(data: &Value) -> Vec<String> {
    let days = |place: &Value| {
        place["days"]
            .as_array()
            .unwrap()
            .iter()
            .map(|day| format!(" {}", day["date"].as_str().unwrap()))
            .collect::<String>()
    };
    let places = data["places"].as_array().unwrap().iter();
    places
        .map(|place| {
            format!(
                "{} {}{}",
                place["name"].as_str().unwrap(),
                place["countryCode"].as_str().unwrap(),
                days(place)
            )
        })
        .collect()
}
