//! The tables of wanted behaviour (`tests/data/conversations`), played through the chat route as a page would, each
//! conversation as a guest of its own.
//!
//! A row is never edited to make this pass. What is known to miss its row stands in `KNOWN`, with the reason; anything else
//! that misses fails the test, and so does a known one that passes. On a busy machine an agent may take longer than a turn waits for
//! it: what missed is played once more, alone.

mod agents;
mod judge;
mod misbehaving;
mod parts;
mod play;
mod table;

use std::collections::BTreeMap;

use futures_util::{StreamExt as _, stream};

use self::play::{Evening, Played, Stage};
use self::table::Conversation;

/// Conversations that are under way at once in one system.
const AT_ONCE: usize = 12;
/// Systems that are up at once.
const SYSTEMS: usize = 3;

/// What is known to miss its row, and why.
const KNOWN: &[(&str, &str)] = &[(
    "dates-weekend-short",
    "beside agents for stays and for calendars, a place and a day alone do not say what is wanted",
)];

/// Plays all of them; some by `CONVERSATION=part-of-a-name`, some tables by `TABLES=seen`. `TRANSCRIPT=1`
/// prints what was said.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_newcomers_typed_and_what_people_say_every_day() {
    #[expect(clippy::disallowed_methods, reason = "whoever works at a table names it")]
    let tables = std::env::var("TABLES").ok();
    let tables = tables.as_deref().unwrap_or("findings,everyday,seen");
    judged(&tables.split(',').collect::<Vec<_>>(), KNOWN).await;
}

/// Plays the tables, prints what missed, and fails for what is not known to.
async fn judged(files: &[&str], known: &[(&str, &str)]) {
    #[expect(
        clippy::disallowed_methods,
        reason = "whoever looks for one conversation's fault plays that alone"
    )]
    let only = std::env::var("CONVERSATION").ok();
    let all = files.iter().flat_map(|file| table::read(file));
    let wanted = |conversation: &Conversation| {
        only.as_ref()
            .is_none_or(|only| conversation.name.contains(only.as_str()))
    };
    let evenings = Stage::evenings(all.filter(wanted).collect());
    let played: Vec<Vec<Played>> = stream::iter(evenings)
        .map(|evening| Stage::play(evening, AT_ONCE))
        .buffer_unordered(SYSTEMS)
        .collect()
        .await;
    let mut played: Vec<Played> = played.into_iter().flatten().collect();
    let is_known = |one: &Played| known.iter().any(|(name, _)| *name == one.conversation.name);
    for one in played
        .iter_mut()
        .filter(|one| !one.faults.is_empty() && !is_known(one))
    {
        let again = Stage::play(Evening::of(one.conversation.clone()), 1).await;
        println!(
            "AGAIN {} {:?}\n{}",
            one.conversation.name,
            one.faults,
            one.transcript.join("\n")
        );
        one.faults = again.into_iter().flat_map(|again| again.faults).collect();
    }
    #[expect(
        clippy::disallowed_methods,
        reason = "who works at a table reads what was said"
    )]
    if std::env::var("TRANSCRIPT").is_ok() {
        for one in &played {
            println!("== {}\n{}", one.conversation.name, one.transcript.join("\n"));
        }
    }
    let mut rules: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut surprises = Vec::new();
    for one in &played {
        let (right, all) = rules.entry(one.conversation.rule.as_str()).or_default();
        *all += 1;
        if one.faults.is_empty() {
            *right += 1;
            if is_known(one) {
                surprises.push(format!(
                    "{} is known to miss, and does not",
                    one.conversation.name
                ));
            }
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
    assert!(
        surprises.is_empty(),
        "these are not as their rows or KNOWN say: {surprises:#?}"
    );
    assert!(
        right * 100 >= played.len() * 95 || only.is_some(),
        "{right} of {}",
        played.len()
    );
}
