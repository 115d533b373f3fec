//! Of many agents those that fit what was said best: by the engine where it is there, by words alone until then.

use nlu::{Engine, Slot};

use super::understood::cards;
use crate::{AgentBrief, Agents};

/// At most so many agents, the best first.
pub(crate) async fn nearest(slot: &Slot, agents: &Agents, (said, most): (&str, usize)) -> Vec<AgentBrief> {
    let by_words = agents.lexicon().scores(said);
    let by_meaning = match slot.ready().await {
        Some(engine) => fits(engine, agents, said).await,
        None => None,
    };
    let fits = match by_meaning {
        Some(fits) => fits
            .iter()
            .zip(&by_words)
            .map(|(fit, words)| fit + words)
            .collect(),
        None => by_words,
    };
    let mut ranked: Vec<(&AgentBrief, f32)> = agents.iter().zip(fits).collect();
    ranked.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    ranked
        .into_iter()
        .take(most)
        .map(|(agent, _)| agent.clone())
        .collect()
}

async fn fits(engine: &Engine, agents: &Agents, said: &str) -> Option<Vec<f32>> {
    let cards = cards(engine, agents).await.ok()?;
    let reading = engine.read(&[said], &cards).await.ok()?.into_iter().next()?;
    Some(reading.fits)
}
