//! How well a model routes the half of the labelled prompts that is there to work with, by language and over all: the engine
//! that understands without one, or the language models that are named.
//!
//! ```sh
//! cargo run -p tools --bin evals
//! cargo run -p tools --bin evals -- --each
//! cargo run -p tools --release --bin evals -- --speed
//! cargo run -p tools --release --bin evals -- --model openai:http://localhost:11434/v1,llama3.2 --prompts 50
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use clap::Parser;
use domain::SystemEntropy;
use edge::config::Env;
use llm::{Model, ModelList, ModelParts, Unlimited};
use local::Models;
use outbound::{Outbound, Policy};
use tools::evals::{Figures, Row, Speed, agents, by_model, step, told, verdict, working};

/// How well a model routes labelled prompts
#[derive(Parser)]
struct Arguments {
    /// The language models that are asked, in this order, as `switchyard up` takes them; the engine without any
    #[arg(long)]
    model: Vec<String>,
    /// At most so many prompts of each file, spread over it
    #[arg(long)]
    prompts: Option<usize>,
    /// Where the model of sentences is kept, or will be
    #[arg(
        long,
        value_name = "FOLDER",
        env = "SWITCHYARD_CACHE",
        default_value = "tests/.tools/understanding"
    )]
    cache: std::path::PathBuf,
    /// Instead of figures, what becomes of each prompt with the rules
    #[arg(long)]
    each: bool,
    /// Instead of figures, how long the rules take for a prompt among many agents
    #[arg(long)]
    speed: bool,
}

#[tokio::main]
async fn main() {
    let arguments = Arguments::parse();
    if arguments.speed {
        for (count, skills) in [(100, 1), (625, 16)] {
            println!("{}", Speed::of(count, skills));
        }
        return;
    }
    let slot = nlu::Slot::default();
    let filled = local::understanding::fill(&slot, arguments.cache, |line| eprintln!("{line}")).await;
    filled.expect("the model of sentences");
    let model = match arguments.model.as_slice() {
        [] => llm::offline(slot),
        // Of many agents it is shown those that the engine finds near, as in a host.
        names => made(names, slot),
    };
    for (name, cards) in [
        ("prompts", &["own_cards"][..]),
        ("foreign", &["own_cards", "foreign_cards"]),
    ] {
        let agents = agents(cards);
        let rows = spread(working(name), arguments.prompts);
        if arguments.each {
            for row in &rows {
                let step = step(&agents, row);
                let verdict = format!("{:?}", verdict(row, &step));
                println!("{verdict:7} {:16} {} => {}", row.id, row.prompt, told(&step));
            }
            continue;
        }
        let mut of_language: BTreeMap<String, Vec<Row>> = BTreeMap::new();
        for row in rows {
            of_language.entry(row.lang.clone()).or_default().push(row);
        }
        println!("{name}, {} agents", agents.len());
        let mut all = Figures::default();
        for (language, rows) in of_language {
            let figures = by_model(&agents, &rows, model.as_ref()).await;
            println!("  {language}  {figures}");
            all.merge(&figures);
        }
        println!("  all {all}");
    }
}

/// So many of them, evenly.
fn spread(rows: Vec<Row>, most: Option<usize>) -> Vec<Row> {
    let step = most.map_or(1, |most| rows.len().div_ceil(most.max(1)));
    rows.into_iter().step_by(step.max(1)).collect()
}

/// The chain of these models.
fn made(names: &[String], engine: nlu::Slot) -> Arc<dyn Model> {
    let models = Models::named(names, &mut Env::process()).expect("models that can be read");
    let list: ModelList = models.list.parse().expect("a list of models");
    let entropy = Arc::new(SystemEntropy);
    let policy = Policy {
        allow_loopback: true,
        ..Policy::default()
    };
    let bedrock = models.bedrock;
    let parts = ModelParts {
        engine,
        outbound: &Outbound::new(policy, entropy.clone()),
        entropy,
        budget: Arc::new(Unlimited),
        aws: Arc::new(move |region| edge::aws::sdk_config(bedrock.as_ref(), region)),
        keys: models.keys,
    };
    list.build(&parts).expect("models")
}
