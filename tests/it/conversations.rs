//! The tables of wanted behaviour (`tests/data/conversations`), played through the chat route as a page would, each
//! conversation as a guest of its own. Those that `end_to_end.txt` names are as wanted, each of them. All of them are a set that
//! people are understood by: `TABLES=findings,everyday,seen` plays it, and at least [`LEAST`] of a hundred are as wanted.
//!
//! A row is never edited to make this pass. On a busy machine an agent may take longer than a turn waits for it: what misses of
//! those that are named is played once more, alone.

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

/// How many of a hundred conversations of whole tables are as wanted at least.
const LEAST: usize = 72;

/// Plays those that are named; whole tables by `TABLES=seen`, some of either by `CONVERSATION=part-of-a-name`. `TRANSCRIPT=1`
/// prints what was said.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_newcomers_typed_and_what_people_say_every_day() {
    #[expect(clippy::disallowed_methods, reason = "whoever works at a table names it")]
    let tables = std::env::var("TABLES").ok();
    let kept = table::end_to_end();
    let all: Vec<Conversation> = tables
        .as_deref()
        .unwrap_or("findings,everyday,seen")
        .split(',')
        .flat_map(table::read)
        .filter(|conversation| tables.is_some() || kept.contains(&conversation.name))
        .collect();
    assert!(
        tables.is_some() || all.len() == kept.len(),
        "each name is a row's"
    );
    judged(all, tables.is_none()).await;
}

/// Plays them, prints what missed, and fails for each that does, or for too many.
async fn judged(all: Vec<Conversation>, each: bool) {
    #[expect(
        clippy::disallowed_methods,
        reason = "whoever looks for one conversation's fault plays that alone"
    )]
    let only = std::env::var("CONVERSATION").ok();
    let wanted = |conversation: &Conversation| {
        only.as_ref()
            .is_none_or(|only| conversation.name.contains(only.as_str()))
    };
    let evenings = Stage::evenings(all.into_iter().filter(wanted).collect());
    let played: Vec<Vec<Played>> = stream::iter(evenings)
        .map(|evening| Stage::play(evening, AT_ONCE))
        .buffer_unordered(SYSTEMS)
        .collect()
        .await;
    let mut played: Vec<Played> = played.into_iter().flatten().collect();
    for one in played.iter_mut().filter(|one| each && !one.faults.is_empty()) {
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
    for one in &played {
        let (right, all) = rules.entry(one.conversation.rule.as_str()).or_default();
        *all += 1;
        if one.faults.is_empty() {
            *right += 1;
            continue;
        }
        println!("MISS {}", one.conversation.name);
        one.faults.iter().for_each(|fault| println!("    {fault}"));
    }
    let right: usize = rules.values().map(|(right, _)| right).sum();
    for (rule, (right, all)) in &rules {
        println!("{rule}: {right} of {all}");
    }
    println!("{right} of {} conversations are as wanted", played.len());
    let least = if each { 100 } else { LEAST };
    assert!(
        right * 100 >= played.len() * least || only.is_some(),
        "{right} of {}",
        played.len()
    );
}
