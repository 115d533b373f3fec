//! How well the rules router routes the half of the labelled prompts that is there to work with, by language and over all;
//! the other half is judged by the test of `tools::evals` alone.
//!
//! ```sh
//! cargo run -p tools --bin evals
//! ```

use std::collections::BTreeMap;

use tools::evals::{Row, agents, by_rules, working};

fn main() {
    for (name, cards) in [
        ("prompts", &["own_cards"][..]),
        ("foreign", &["own_cards", "foreign_cards"]),
    ] {
        let agents = agents(cards);
        let rows = working(name);
        println!(
            "{name}, {} agents\n  all {}",
            agents.len(),
            by_rules(&agents, &rows)
        );
        let mut of_language: BTreeMap<String, Vec<Row>> = BTreeMap::new();
        for row in rows {
            of_language.entry(row.lang.clone()).or_default().push(row);
        }
        for (language, rows) in of_language {
            println!("  {language}  {}", by_rules(&agents, &rows));
        }
    }
}
