//! Language models that answer, and that fail in every way: scripted servers of both dialects, asked as the host asks.

mod budget;
mod counted;
mod data;
mod drafts;
mod faults;
mod foreign;
mod healed;
mod hostile;
mod kills;
mod phoenix;
mod plans;
mod published;
mod real;
mod twenty;
pub(crate) mod walk;

use std::sync::Arc;
use std::time::Duration;

use domain::{AgentType, SecretString, SystemEntropy};
use llm::{
    AgentBrief, Answer, Bedrock, CardText, Chain, ChainLimits, Draft, Link, Model, ModelError, OpenAi,
    Prompt, Provider, Step, Tool, Turn,
};
use outbound::{EventLimits, Outbound, Policy};
use system_testing::models::{Dialect, ModelServer, Reply};

/// What must never be in a log or an error.
const KEY: &str = "sk-hunter2-hunter2";

/// One hosted model, asked through a chain of it alone, with limits that let a test be quick.
struct Asker {
    server: ModelServer,
    chain: Chain,
}

/// A draft as text: attempts between bars.
#[derive(Default)]
struct Shown(String);

impl Draft for Shown {
    fn begins(&mut self, attempt: u32) {
        self.0.push_str(&format!("|{attempt}:"));
    }
    fn grows(&mut self, text: &str) {
        self.0.push_str(text);
    }
}

fn provider(dialect: Dialect, server: &ModelServer, limits: EventLimits) -> Box<dyn Provider> {
    match dialect {
        Dialect::OpenAi => {
            let policy = Policy {
                allow_loopback: true,
                ..Policy::default()
            };
            let outbound = Outbound::new(policy, Arc::new(SystemEntropy));
            let key = Some(SecretString::from(KEY));
            let base = outbound::below(server.url(), "v1");
            Box::new(OpenAi::new(&outbound, (&base, "scripted"), key, (1_000, limits)))
        }
        Dialect::Bedrock => {
            let url = server.url().clone();
            let aws = Arc::new(move |region: Option<&str>| edge::aws::sdk_config(Some(&url), region));
            Box::new(Bedrock::new(aws, ("scripted", None), (1_000, limits)))
        }
    }
}

impl Asker {
    async fn of(dialect: Dialect, script: Vec<Reply>) -> Self {
        let limits = EventLimits {
            first_byte: Duration::from_millis(400),
            idle: Duration::from_millis(400),
            ..EventLimits::default()
        };
        let server = ModelServer::start(script).await;
        let link = Link::Hosted {
            provider: provider(dialect, &server, limits),
            tokens: 32_000,
        };
        let limits = ChainLimits {
            pause: Duration::from_millis(5),
            ..ChainLimits::default()
        };
        let chain = Chain::new(vec![link], limits, Arc::new(SystemEntropy));
        Self { server, chain }
    }

    async fn step(&self) -> (Result<Answer, ModelError>, String) {
        let mut shown = Shown::default();
        let answer = self.chain.step(&prompt(), &mut shown).await;
        (answer, shown.0)
    }
}

/// What every model is asked here.
fn prompt() -> Prompt {
    let card = CardText {
        name: "Weather",
        description: "Forecasts.",
    };
    Prompt {
        agents: vec![AgentBrief::new(AgentType::parse("weather").unwrap(), card, [])].into(),
        turns: vec![Turn::User("Rain in Oslo?".into())],
        ..Prompt::default()
    }
}

/// An outcome as a line.
fn line(outcome: &Result<Answer, ModelError>) -> String {
    match outcome {
        Ok(Answer {
            step: Step::Say(text),
            is_cut,
            ..
        }) => format!("says{} {text}", if *is_cut { " (cut)" } else { "" }),
        Ok(Answer {
            step: Step::Call(calls),
            ..
        }) => {
            let invalid = calls
                .iter()
                .filter(|call| matches!(call.tool, Tool::Invalid { .. }))
                .count();
            format!("calls {}, of which {invalid} cannot be run", calls.len())
        }
        Ok(Answer {
            step: Step::Choose { of, .. },
            ..
        }) => format!("lets choose of {}", of.len()),
        Err(ModelError::Unavailable(_)) => "unavailable".to_owned(),
        Err(ModelError::Starting) => "starting".to_owned(),
        Err(ModelError::Denied(_)) => "denied".to_owned(),
        Err(ModelError::Refused(words)) => format!("refused {words}"),
        Err(ModelError::Spent { .. }) => "spent".to_owned(),
        Err(ModelError::Unusable(_)) => "unusable".to_owned(),
    }
}
