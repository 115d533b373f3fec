//! How well prompts are understood where no language model is named: those of `tests/data/understanding`, and the half of
//! `tests/data/routing` that is there to work with.
//!
//! ```sh
//! cargo run -p tools --bin understanding               # with the model of sentences, which is fetched once
//! cargo run -p tools --bin understanding -- --words    # by words alone
//! cargo run -p tools --bin understanding -- --each     # what becomes of each prompt that is not right
//! ```
//!
//! It fails where a set is understood worse than its row of [`SETS`] says. The prompts of `tests/data/understanding` were written by
//! somebody who had read no code; their first play stands in `tests/data/README.md`.

mod cards;
mod conversations;

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use domain::AgentType;
use llm::{AgentBrief, Agents, CardText, Model, NoDraft, Prompt, SkillText, Step, Turn};
use nlu::Slot;
use serde::Deserialize;
use tools::evals;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use conversations::{Conversations, Host, Meaning, Verdict};

/// A set of prompts, or of conversations turn by turn: its name, the least that must be right and the most that may reach an agent that it
/// is not for, in hundredths, and how often something may be done unasked: as often as is known.
type Floor = (&'static str, usize, usize, usize);

const SETS: [Floor; 9] = [
    ("fifth", 74, 5, 1),
    ("seventh_own", 67, 4, 0),
    ("seventh_foreign", 71, 8, 0),
    ("eighth_own", 72, 1, 0),
    ("eighth_foreign", 64, 8, 0),
    ("blind", 69, 10, 0),
    ("sixth", 72, 8, 0),
    ("prompts", 67, 2, 0),
    ("foreign", 69, 7, 0),
];

const CONVERSATIONS: [Floor; 4] = [
    ("conversations_fourth", 74, 7, 2),
    ("conversations", 76, 4, 0),
    ("conversations_third", 66, 8, 1),
    ("conversations_fifth", 66, 6, 1),
];

/// How well prompts are understood where no language model is named
#[derive(Parser)]
struct Arguments {
    /// By words alone, without the model of sentences
    #[arg(long)]
    words: bool,
    /// Also what becomes of each prompt that is not right
    #[arg(long)]
    each: bool,
    /// Where the model of sentences is kept, or will be
    #[arg(
        long,
        value_name = "FOLDER",
        env = "SWITCHYARD_CACHE",
        default_value = "tests/.tools/understanding"
    )]
    cache: PathBuf,
}

/// A prompt, and whom it is for.
#[derive(Debug, Clone, Deserialize)]
struct Row {
    id: String,
    said: String,
    agents: BTreeSet<AgentType>,
    #[serde(default)]
    also_fine: BTreeSet<AgentType>,
    /// Nothing may be done before its user was asked.
    #[serde(default)]
    ask_first: bool,
}

#[derive(Deserialize)]
struct Prompts {
    prompt: Vec<Row>,
}

/// A card as another company might publish it.
#[derive(Deserialize)]
struct Foreign {
    r#type: AgentType,
    name: String,
    description: String,
    skill: Vec<ForeignSkill>,
    #[serde(default)]
    effects: bool,
}

#[derive(Deserialize)]
struct ForeignSkill {
    name: String,
    description: String,
    examples: Vec<String>,
    #[serde(default)]
    effects: bool,
}

#[derive(Default, Deserialize)]
struct ForeignAgents {
    agent: Vec<Foreign>,
}

#[derive(Default)]
struct Figures([usize; 6]);

impl Figures {
    fn add(&mut self, verdict: Verdict) {
        self.0[verdict as usize] += 1;
    }

    fn share(&self, verdict: Verdict) -> usize {
        let all: usize = self.0.iter().sum();
        (100 * self.0[verdict as usize] + all / 2) / all.max(1)
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [right, asked, part, missed, wrong, unasked] = self.0;
        let all: usize = self.0.iter().sum();
        write!(
            f,
            "{right} of {all} right ({} %), {asked} asked, {part} in part, {missed} missed, {wrong} wrong, {unasked} unasked",
            self.share(Verdict::Right)
        )
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let meaning = Meaning::default();
    tracing_subscriber::registry().with(meaning.clone()).init();
    let slot = Slot::default();
    if !arguments.words {
        let filled = local::understanding::fill(&slot, arguments.cache, |line| println!("{line}")).await;
        if let Err(error) = filled {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    }
    let (understanding, cards_by) = (slot.clone(), slot.clone());
    let model: Arc<dyn Model> = llm::offline(slot);
    let reader = Arc::clone(&model);
    let mut is_good = true;
    for (name, least, most, unasked) in SETS {
        let (agents, effects, rows) = set(name);
        let mut figures = Figures::default();
        for row in &rows {
            let step = step(model.as_ref(), &agents, row).await;
            let verdict = verdict(row, &step, &effects);
            figures.add(verdict);
            if arguments.each && verdict != Verdict::Right {
                println!(
                    "  {verdict:?} {} {:?} => {}",
                    row.id,
                    row.said,
                    evals::told(&step.0)
                );
            }
        }
        println!("{name:16} {figures}");
        is_good &= figures.share(Verdict::Right) >= least && figures.share(Verdict::Wrong) <= most;
        is_good &= figures.0[Verdict::Unasked as usize] <= unasked;
    }
    let (agents, effects, _) = blind("prompts", Some("agents"));
    let host = Host::start(
        agents.iter().cloned().collect(),
        &effects,
        (model, understanding),
        meaning,
    )
    .await;
    for (name, least, most, unasked) in CONVERSATIONS {
        let file = system_testing::folder().join(format!("data/understanding/{name}.toml"));
        let read = std::fs::read_to_string(file).expect("a file");
        let all: Conversations = toml::from_str(&read).expect("conversations");
        let mut figures = Figures::default();
        for conversation in &all.conversation {
            for verdict in host.play(conversation, arguments.each).await {
                figures.add(verdict);
            }
        }
        println!("{name:20} {figures}");
        is_good &= figures.share(Verdict::Right) >= least && figures.share(Verdict::Wrong) <= most;
        is_good &= figures.0[Verdict::Unasked as usize] <= unasked;
    }
    if let Some(engine) = cards_by.ready().await {
        let figures = cards::play(reader.as_ref(), engine, &agents).await;
        for figure in &figures {
            let cards::Figure(name, count, all, least) = figure;
            println!(
                "{name:48} {count} of {all} ({} %, at least {least})",
                figure.share()
            );
            is_good &= figure.share() >= *least;
        }
        is_good &= cards::beside_others(reader.as_ref()).await;
    }
    match is_good || arguments.words {
        true => ExitCode::SUCCESS,
        false => {
            eprintln!("error: a set is understood worse than it was: {SETS:?}, {CONVERSATIONS:?}");
            ExitCode::FAILURE
        }
    }
}

/// Its agents, those of them that change things, and its prompts.
fn set(name: &str) -> (Agents, BTreeSet<AgentType>, Vec<Row>) {
    let routing = |name: &str, cards: &[&str]| {
        let rows = evals::working(name).into_iter().map(|row| Row {
            id: row.id,
            said: row.prompt,
            agents: row.right.into_iter().collect(),
            also_fine: row.also_fine.into_iter().collect(),
            ask_first: false,
        });
        (evals::agents(cards), BTreeSet::new(), rows.collect())
    };
    match name {
        "prompts" => routing(name, &["own_cards"]),
        "foreign" => routing(name, &["own_cards", "foreign_cards"]),
        "fifth" => blind("prompts_fifth", Some("agents")),
        "sixth" => blind("prompts_sixth", Some("agents")),
        "seventh_own" => blind("prompts_seventh_own", None),
        "eighth_own" => blind("prompts_eighth_own", None),
        "eighth_foreign" => blind("prompts_eighth_foreign", Some("agents_seventh")),
        "seventh_foreign" => blind("prompts_seventh_foreign", Some("agents_seventh")),
        _ => blind("prompts", Some("agents")),
    }
}

/// With the agents of a file beside our own, where one is named.
fn blind(name: &str, others: Option<&str>) -> (Agents, BTreeSet<AgentType>, Vec<Row>) {
    let folder = system_testing::folder().join("data/understanding");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a file");
    let others = others.map(|file| toml::from_str(&read(&format!("{file}.toml"))).expect("agents"));
    let foreign: ForeignAgents = others.unwrap_or_default();
    let prompts: Prompts = toml::from_str(&read(&format!("{name}.toml"))).expect("prompts");
    let changes = |agent: &&Foreign| agent.effects || agent.skill.iter().any(|skill| skill.effects);
    let effects = foreign.agent.iter().filter(changes);
    let effects = effects.map(|agent| agent.r#type.clone()).collect();
    let brief = |agent: &Foreign| {
        let card = CardText {
            name: &agent.name,
            description: &agent.description,
        };
        let skills = agent.skill.iter().map(|skill| SkillText {
            name: &skill.name,
            description: &skill.description,
            examples: &skill.examples,
            ..SkillText::default()
        });
        AgentBrief::new(agent.r#type.clone(), card, skills)
    };
    let own = evals::agents(&["own_cards"]);
    let all: Vec<AgentBrief> = own
        .iter()
        .cloned()
        .chain(foreign.agent.iter().map(brief))
        .collect();
    (all.into(), effects, prompts.prompt)
}

/// The first step, and whether something of the prompt is said not to be done.
async fn step(model: &dyn Model, agents: &Agents, row: &Row) -> (Step, bool) {
    let prompt = Prompt {
        agents: agents.clone(),
        turns: vec![Turn::User(row.said.clone())],
        ..Prompt::default()
    };
    let answer = model.step(&prompt, &mut NoDraft).await.expect("an answer");
    (answer.step, !answer.beside.is_empty())
}

fn verdict(row: &Row, (step, tells): &(Step, bool), effects: &BTreeSet<AgentType>) -> Verdict {
    let sent: BTreeSet<&AgentType> = step.sends().map(|(to, ..)| to).collect();
    let offered: &[AgentType] = match step {
        Step::Choose { of, .. } => of,
        Step::Say(_) | Step::Call(_) => &[],
    };
    let is_offered = offered.iter().any(|agent| row.agents.contains(agent));
    if sent
        .iter()
        .any(|agent| !row.agents.contains(*agent) && !row.also_fine.contains(*agent))
    {
        return Verdict::Wrong;
    }
    let has_all = row.agents.iter().all(|agent| sent.contains(agent));
    let instead = sent.iter().any(|agent| row.also_fine.contains(*agent));
    // A host asks before anything goes to an agent that changes things.
    let is_guarded = sent.iter().any(|agent| effects.contains(*agent));
    match (row.ask_first, sent.is_empty()) {
        (true, false) if !tells && !is_guarded => Verdict::Unasked,
        (true, _) if row.agents.is_empty() || is_offered || *tells || is_guarded => Verdict::Right,
        (false, true) if row.agents.is_empty() && offered.is_empty() => Verdict::Right,
        (false, true) if row.agents.is_empty() || is_offered => Verdict::Asked,
        (_, true) => Verdict::Missed,
        (_, false) if has_all || instead => Verdict::Right,
        (_, false) => Verdict::InPart,
    }
}
