//! Which model answers.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

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

/// What comes of a prompt, later. In a box, and made in a function of its own: a host asks deep in its worker's stack.
type Later<'a> = Pin<Box<dyn Future<Output = Option<Answer>> + Send + 'a>>;

/// What the engine makes of it; none where words are to say it.
fn understood<'a>(slot: &'a Slot, prompt: &'a Prompt) -> Later<'a> {
    Box::pin(async move {
        let engine = slot.ready().await?;
        let understood = rules::understood(engine, prompt).await;
        understood.inspect_err(|error| slot.failed(error)).ok()?
    })
}

impl Offline {
    fn understood<'a>(&'a self, prompt: &'a Prompt) -> Later<'a> {
        match self.engine.patience() {
            None => understood(&self.engine, prompt),
            Some(patience) => self.understood_within(patience, prompt),
        }
    }

    fn understood_within<'a>(&'a self, patience: Duration, prompt: &'a Prompt) -> Later<'a> {
        Box::pin(async move {
            let seat = Arc::clone(&self.seats).try_acquire_owned().ok()?;
            let (engine, own) = (self.engine.clone(), prompt.clone());
            // It goes on when nobody waits any more: cards that it reads are kept for the messages to come. Losing it loses nothing
            // else.
            let work = async move {
                let _seat = seat;
                understood(&engine, &own).await
            };
            let work = tokio::spawn(work.in_current_span());
            timeout(patience, work).await.ok()?.ok()?
        })
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
