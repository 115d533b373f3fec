//! The tables of wanted behaviour (`tests/data/conversations`), played through the chat route as a page would, each
//! conversation as a guest of its own.
//!
//! A row is never edited to make this pass. What is known to miss its row stands in `KNOWN`, with the reason; anything else
//! that misses fails the test.

mod agents;
mod judge;
mod play;
mod table;

use std::collections::BTreeMap;

use futures_util::{StreamExt as _, stream};

use self::play::{Played, Stage};
use self::table::Conversation;

/// Conversations that are under way at once in one system.
const AT_ONCE: usize = 12;
/// Systems that are up at once.
const SYSTEMS: usize = 3;

/// What is known to miss its row, and why.
const KNOWN: &[(&str, &str)] = &[];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "its list of known misses is not drawn up yet, and it takes minutes; play some by CONVERSATION=part-of-a-name"]
async fn what_newcomers_typed_and_what_people_say_every_day() {
    judged(&["findings", "everyday"], KNOWN).await;
}

/// Plays the tables, prints what missed, and fails for what is not known to.
async fn judged(files: &[&str], known: &[(&str, &str)]) {
    #[expect(
        clippy::disallowed_methods,
        reason = "whoever looks for one conversation's fault plays that alone"
    )]
    let only = std::env::var("CONVERSATION").ok();
    let mut stages: BTreeMap<String, Vec<Conversation>> = BTreeMap::new();
    for conversation in files.iter().flat_map(|file| table::read(file)) {
        if only
            .as_ref()
            .is_none_or(|only| conversation.name.contains(only.as_str()))
        {
            stages
                .entry(Stage::of(&conversation))
                .or_default()
                .push(conversation);
        }
    }
    let played: Vec<Vec<Played>> = stream::iter(stages.into_values())
        .map(|conversations| Stage::play(conversations, AT_ONCE))
        .buffer_unordered(SYSTEMS)
        .collect()
        .await;
    let played: Vec<Played> = played.into_iter().flatten().collect();
    let mut rules: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut surprises = Vec::new();
    for one in &played {
        let (right, all) = rules.entry(one.conversation.rule.as_str()).or_default();
        *all += 1;
        if one.faults.is_empty() {
            *right += 1;
            continue;
        }
        let why = known.iter().find(|(name, _)| *name == one.conversation.name);
        println!(
            "MISS {} {}",
            one.conversation.name,
            why.map_or("", |(_, why)| why)
        );
        one.faults.iter().for_each(|fault| println!("    {fault}"));
        if why.is_none() {
            surprises.push(one.conversation.name.clone());
        }
    }
    let right: usize = rules.values().map(|(right, _)| right).sum();
    for (rule, (right, all)) in &rules {
        println!("{rule}: {right} of {all}");
    }
    println!("{right} of {} conversations are as wanted", played.len());
    assert!(surprises.is_empty(), "these miss their rows: {surprises:#?}");
    assert!(
        right * 100 >= played.len() * 95 || only.is_some(),
        "{right} of {}",
        played.len()
    );
}
