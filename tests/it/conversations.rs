//! Wanted behaviour (`tests/data/conversations.toml`), played through the chat route as a page would, each conversation as a
//! guest of its own.
//!
//! A row is never edited to make this pass. On a busy machine an agent may take longer than a turn waits for it: what misses is
//! played once more, alone.

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

/// Plays all of them; some by `CONVERSATION=part-of-a-name`. `TRANSCRIPT=1` prints what was said.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_newcomers_typed_and_what_people_say_every_day() {
    judged(table::read()).await;
}

/// Plays them, prints what missed, and fails for each that does.
async fn judged(all: Vec<Conversation>) {
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
    for one in played.iter_mut().filter(|one| !one.faults.is_empty()) {
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
    assert_eq!(right, played.len(), "each is as wanted");
}
