//! `switchyard agent lint` and `agent try`: an agent as hosts see it, before anybody's prompt depends on it. Nothing is registered.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use a2a::SendCall;
use a2a::card::ForeignCard;
use clap::Args;
use domain::{AgentType, Artifact, Message, MessageId, Part, RemoteUpdate, SystemEntropy, TaskState};
use llm::{AgentBrief, Agents, Model, NoDraft, Prompt, Step, Turn};
use outbound::registry_client::Found;
use outbound::{Outbound, Policy};
use serde_json::{Value, json};

use super::Failure;
use super::agents::{self, printable, text};
use super::register::Register;
use super::{out, up};
use crate::client::Client;

/// How often an agent is asked how far it is.
const PACE: Duration = Duration::from_millis(300);
/// How long its answer is waited for.
const PATIENCE: Duration = Duration::from_secs(120);
/// The mark of a prompt that another agent gets, or nobody.
const LOST: &str = "✗";

#[derive(Args)]
#[command(after_help = "Exit code 1: it would be refused, or an example of its own does not find it.")]
pub(super) struct Lint {
    #[command(flatten)]
    registration: Register,
}

#[derive(Args)]
#[command(
    after_help = "Example:\n  switchyard agent try http://127.0.0.1:9100 \"Count the words: the quick brown fox\""
)]
pub(super) struct Try {
    #[command(flatten)]
    registration: Register,
    /// What a user would say
    prompt: String,
}

/// An agent beside those of the system, as the host of a tenant sees them.
struct Seen {
    card: ForeignCard,
    /// As the registry would list it.
    listed: Value,
    /// The types it would be found by.
    own: BTreeSet<AgentType>,
    agents: Agents,
    model: Arc<dyn Model>,
}

/// Whom a host would give a prompt to.
enum Fate {
    Sent(BTreeSet<AgentType>),
    Asked(Vec<AgentType>),
    Nobody,
}

impl Lint {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let seen = Seen::of(&self.registration).await?;
        seen.tell();
        let (mut lost, mut examples) = (0, 0);
        for skill in &seen.card.skills {
            told!(
                json!({ "skill": skill.name, "takesData": skill.input.is_some(), "examples": skill.examples.len() }),
                "  {}: {}",
                printable(&skill.name),
                match (&skill.input, skill.examples.len()) {
                    (_, 0) => "no examples: hosts find it by its description alone",
                    (None, _) =>
                        "no input schema: it is sent words alone, and no form is offered for what is missing",
                    (Some(_), _) => "takes data by its input schema",
                }
            );
            for example in &skill.examples {
                let fate = seen.fate(example).await?;
                examples += 1;
                lost += usize::from(seen.told_of(example, &fate, "    ") == LOST);
            }
        }
        match lost {
            0 => Ok(()),
            lost => Err(Failure::other(format!(
                "{lost} of its {examples} examples would not find it: say in its description what it does, in words that the others do not use"
            ))),
        }
    }
}

impl Try {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let seen = Seen::of(&self.registration).await?;
        seen.tell();
        seen.told_of(&self.prompt, &seen.fate(&self.prompt).await?, "  ");
        if seen.card.secured {
            told!(
                json!({ "called": false }),
                "  it asks for a sign-in: a host calls it in a user's name, once that user agreed; it is not called here"
            );
            return Ok(());
        }
        seen.call(self.prompt).await
    }
}

impl Seen {
    async fn of(registration: &Register) -> Result<Self, Failure> {
        let (endpoints, tenant, listed) = registration.rehearse().await?;
        let client = Client::new().map_err(Failure::other)?;
        let id = text(&listed, "/id").map(str::to_owned);
        let mut all = agents::list(&client, &endpoints, Some(&tenant)).await?;
        all.retain(|other| {
            let is_on = other.get("enabled").and_then(Value::as_bool) != Some(false);
            is_on && text(other, "/id") != id.as_deref()
        });
        all.push(listed.clone());
        let mut types = BTreeMap::new();
        for agent in &all {
            let scope = if text(agent, "/tenant").is_some() {
                "tenant"
            } else {
                "global"
            };
            types.extend(agents::types_of(agent).map(|name| (name.to_owned(), scope)));
        }
        let own: BTreeSet<AgentType> = agents::types_of(&listed)
            .filter_map(|name| AgentType::parse(name).ok())
            .collect();
        let found: Found =
            serde_json::from_value(json!({ "agents": all, "types": types })).map_err(Failure::other)?;
        let agents = host_agent::briefs(found, &endpoints.registry, &tenant);
        let card = listed.get("card").unwrap_or(&Value::Null);
        Ok(Self {
            card: a2a::card::parse(card).map_err(Failure::other)?,
            own,
            agents,
            model: model().await,
            listed,
        })
    }

    /// What the card says of the agent, in lines, and what of it will not work.
    fn tell(&self) {
        let card = &self.card;
        let own: Vec<&str> = self.own.iter().map(AgentType::as_str).collect();
        let beside = self.agents.len().saturating_sub(1);
        if out::is_json() {
            return out::event(&json!({
                "name": card.name, "version": card.version, "streams": card.streaming, "pushes": card.push_notifications,
                "takesData": card.takes_data, "secured": card.secured, "types": own, "beside": beside,
                "warnings": self.listed.get("warnings"),
            }));
        }
        let says = |yes: bool, what: &str| format!("{} {what}", if yes { "✓" } else { "✗" });
        outln!(
            "{} {}: {} {} {} {}",
            printable(&card.name),
            printable(&card.version),
            says(card.streaming, "streams "),
            says(card.push_notifications, "pushes "),
            says(card.takes_data, "takes JSON "),
            if card.secured {
                "asks for a sign-in"
            } else {
                "open to everybody"
            }
        );
        outln!("  found as {}, beside {beside} other agents", own.join(", "));
        agents::warn(&self.listed);
    }

    /// Tells whom a prompt would be given to; with what mark.
    fn told_of(&self, prompt: &str, fate: &Fate, indent: &str) -> &'static str {
        let (mark, note) = self.judge(fate);
        let agents: Vec<&str> = match fate {
            Fate::Sent(to) => to.iter().map(AgentType::as_str).collect(),
            Fate::Asked(of) => of.iter().map(AgentType::as_str).collect(),
            Fate::Nobody => Vec::new(),
        };
        let asked = matches!(fate, Fate::Asked(_));
        told!(
            json!({ "prompt": prompt, "found": mark != LOST, "asked": asked, "agents": agents }),
            "{indent}{mark} {}{note}",
            printable(prompt)
        );
        mark
    }

    async fn fate(&self, prompt: &str) -> Result<Fate, Failure> {
        let prompt = Prompt {
            agents: self.agents.clone(),
            turns: vec![Turn::User(prompt.to_owned())],
            ..Prompt::default()
        };
        let answer = self
            .model
            .step(&prompt, &mut NoDraft)
            .await
            .map_err(Failure::other)?;
        Ok(match answer.step {
            Step::Choose { of, .. } => Fate::Asked(of),
            Step::Say(_) => Fate::Nobody,
            step @ Step::Call(_) => Fate::Sent(step.sends().map(|(to, ..)| to.clone()).collect()),
        })
    }

    fn judge(&self, fate: &Fate) -> (&'static str, String) {
        let names = |types: &mut dyn Iterator<Item = &AgentType>| {
            let name = |of: &AgentType| {
                let agent = self
                    .agents
                    .iter()
                    .find(|agent: &&AgentBrief| agent.agent_type() == of);
                printable(agent.map_or(of.as_str(), AgentBrief::name))
            };
            types.map(name).collect::<Vec<_>>().join(", ")
        };
        match fate {
            Fate::Sent(to) if to.is_subset(&self.own) && !to.is_empty() => ("✓", String::new()),
            Fate::Sent(to) => (
                LOST,
                format!("  → {} gets it", names(&mut to.difference(&self.own))),
            ),
            Fate::Asked(of) if of.iter().any(|of| self.own.contains(of)) => {
                ("?", format!("  → its user is asked: {}", names(&mut of.iter())))
            }
            Fate::Asked(of) => (LOST, format!("  → its user is asked: {}", names(&mut of.iter()))),
            Fate::Nobody => (LOST, "  → nobody gets it".to_owned()),
        }
    }

    /// Asks the agent as hosts do: it is to answer at once, and is looked at until it is done.
    async fn call(&self, prompt: String) -> Result<(), Failure> {
        let policy = Policy {
            allow_loopback: true,
            ..Policy::default()
        };
        let outbound = Outbound::new(policy, Arc::new(SystemEntropy)).patient(PATIENCE);
        let to = self
            .card
            .endpoints
            .first()
            .ok_or_else(|| Failure::other("its card names no address"))?;
        let message = Message::user(MessageId::random(&SystemEntropy), vec![Part::text(prompt)]);
        let begun = Instant::now();
        let mut told: Option<(TaskState, Option<String>)> = None;
        let mut tell = |status: &RemoteUpdate| {
            let now = (status.state, status.text.clone());
            if told.as_ref() != Some(&now) {
                let took = begun.elapsed().as_secs_f32();
                told!(
                    json!({ "state": status.state.as_str(), "text": status.text, "seconds": took }),
                    "  {took:6.2} s  {}  {}",
                    status.state.as_str(),
                    printable(status.text.as_deref().unwrap_or_default())
                );
                told = Some(now);
            }
        };
        let mut news = outbound
            .send(to, &SendCall::new(message), None)
            .await
            .map_err(Failure::other)?
            .into_notification();
        while let Some(status) = &news.update {
            tell(status);
            let ends = status.state.is_terminal() || status.state.is_interrupted();
            let Some(id) = news.remote_task_id.clone().filter(|_| !ends) else {
                break;
            };
            if begun.elapsed() > PATIENCE {
                return Err(Failure::NotYet(format!(
                    "it is not done after {} s",
                    PATIENCE.as_secs()
                )));
            }
            tokio::time::sleep(PACE).await;
            news = outbound
                .task(to, &id, None)
                .await
                .map_err(Failure::other)?
                .into_notification();
        }
        for (artifact, _) in &news.artifacts {
            told!(
                json!({ "name": artifact.name, "text": artifact.text(), "parts": artifact.parts.len() }),
                "{}",
                shown(artifact)
            );
        }
        Ok(())
    }
}

/// A result's text, and how much of it is something else.
fn shown(artifact: &Artifact) -> String {
    let words = domain::clean_lines(&artifact.text(), 2_000);
    let others = artifact.parts.len()
        - artifact
            .parts
            .iter()
            .filter(|part| matches!(part.content, domain::PartContent::Text(_)))
            .count();
    match others {
        0 => words,
        1 => format!("{words}[and a part that is no text]"),
        others => format!("{words}[and {others} parts that are no text]"),
    }
}

/// What decides where no language model does, as in the running system.
async fn model() -> Arc<dyn Model> {
    let slot = nlu::Slot::default();
    if let Some(folder) = up::cache() {
        let say = |line: &str| out::complain(format_args!("{line}"));
        if let Err(fault) = local::understanding::fill(&slot, folder, say).await {
            say(&format!("Words are matched only: {fault}."));
        }
    }
    llm::offline(slot)
}
