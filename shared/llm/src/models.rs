//! Which model answers.

use std::sync::Arc;

use async_trait::async_trait;
use nlu::Slot;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tracing::Instrument as _;

use crate::{Answer, Draft, Model, ModelError, Prompt, Rules, rules};

/// Messages that are with a hosted model of sentences at once; words decide about more.
const AT_ONCE: usize = 8;

/// Answers where no language model is configured: by sentence embeddings once their engine is there, by words until then.
struct Offline {
    engine: Slot,
    seats: Arc<Semaphore>,
}

/// The model that needs no language model. The engine may come later, or never.
#[must_use]
pub fn offline(engine: Slot) -> Arc<dyn Model> {
    Arc::new(Offline {
        engine,
        seats: Arc::new(Semaphore::new(AT_ONCE)),
    })
}

/// What the engine makes of it; none where words are to say it.
async fn understood(slot: &Slot, prompt: &Prompt) -> Option<Answer> {
    let engine = slot.ready().await?;
    let understood = rules::understood(engine, prompt).await;
    understood.inspect_err(|error| slot.failed(error)).ok()?
}

impl Offline {
    async fn understood(&self, prompt: &Prompt) -> Option<Answer> {
        let Some(patience) = self.engine.patience() else {
            return understood(&self.engine, prompt).await;
        };
        let seat = Arc::clone(&self.seats).try_acquire_owned().ok()?;
        let (engine, own) = (self.engine.clone(), prompt.clone());
        // It goes on when nobody waits any more: cards that it reads are kept for the messages to come. Losing it loses nothing else.
        let work = async move {
            let _seat = seat;
            understood(&engine, &own).await
        };
        let work = tokio::spawn(work.in_current_span());
        timeout(patience, work).await.ok()?.ok()?
    }
}

#[async_trait]
impl Model for Offline {
    async fn step(&self, prompt: &Prompt, draft: &mut dyn Draft) -> Result<Answer, ModelError> {
        match self.understood(prompt).await {
            Some(answer) => Ok(answer),
            None => Rules.step(prompt, draft).await,
        }
    }

    fn goes_on(&self) -> bool {
        false
    }
}
