//! Which model answers.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use nlu::{Embed, EmbedError, Engine, VectorStore};
use tokio::sync::{OnceCell, Semaphore};
use tokio::time::{Instant, timeout};
use tracing::Instrument as _;

use crate::{Answer, Draft, Model, ModelError, Prompt, Rules, rules};

/// How long a message waits for a hosted model of sentences; then words decide.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// How long one that failed is left alone.
const REST: Duration = Duration::from_secs(30);
/// Messages that are with it at once; words decide about more.
const AT_ONCE: usize = 8;

/// Answers where no language model is configured: by sentence embeddings once their engine is there, by words until then.
struct Offline(nlu::Slot);

/// The model that needs no network. The engine may come later, or never.
#[must_use]
pub fn offline(engine: nlu::Slot) -> Arc<dyn Model> {
    Arc::new(Offline(engine))
}

/// The same, whose model of sentences is hosted. The first message has the engine made, beside what it waits for: a start waits for
/// nothing.
#[must_use]
pub fn with_sentences(embed: Arc<dyn Embed>, kept: Arc<dyn VectorStore>) -> Arc<dyn Model> {
    Arc::new(Hosted(Arc::new(Making {
        embed,
        kept,
        engine: OnceCell::new(),
        rests_until: Mutex::default(),
        seats: Semaphore::new(AT_ONCE),
    })))
}

#[async_trait]
impl Model for Offline {
    async fn step(&self, prompt: &Prompt, draft: &mut dyn Draft) -> Result<Answer, ModelError> {
        if let Some(engine) = self.0.get() {
            match rules::understood(engine, prompt).await {
                Ok(Some(answer)) => return Ok(answer),
                Ok(None) => {}
                Err(error) => tracing::warn!(%error, "a text is understood by its words alone"),
            }
        }
        Rules.step(prompt, draft).await
    }

    fn goes_on(&self) -> bool {
        false
    }
}

struct Hosted(Arc<Making>);

/// An engine whose model is asked over the network, or what it will be made of.
struct Making {
    embed: Arc<dyn Embed>,
    kept: Arc<dyn VectorStore>,
    engine: OnceCell<Engine>,
    rests_until: Mutex<Option<Instant>>,
    seats: Semaphore,
}

impl Making {
    fn rests(&self) -> bool {
        let until = self.rests_until.lock().unwrap_or_else(PoisonError::into_inner);
        until.is_some_and(|until| Instant::now() < until)
    }

    /// Leaves the model alone for a while, and says so once.
    fn rest(&self, error: &EmbedError) {
        if self.rests() {
            return;
        }
        let model = self.embed.model();
        tracing::warn!(model, %error, rest_s = REST.as_secs(), "words alone decide for a while");
        *self.rests_until.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + REST);
    }

    async fn made(&self) -> Result<Engine, EmbedError> {
        // Whoever waited for one that failed does not try at once.
        if self.rests() {
            return Err(EmbedError::Unavailable);
        }
        let made = Engine::new(Arc::clone(&self.embed), Arc::clone(&self.kept));
        made.await.inspect_err(|error| self.rest(error))
    }

    async fn understood(&self, prompt: &Prompt) -> Option<Answer> {
        let _seat = self.seats.try_acquire().ok()?;
        let engine = self.engine.get_or_try_init(|| self.made()).await.ok()?;
        let understood = rules::understood(engine, prompt).await;
        understood.inspect_err(|error| self.rest(error)).ok()?
    }
}

#[async_trait]
impl Model for Hosted {
    async fn step(&self, prompt: &Prompt, draft: &mut dyn Draft) -> Result<Answer, ModelError> {
        if !self.0.rests() {
            let (making, own) = (Arc::clone(&self.0), prompt.clone());
            // It goes on when nobody waits any more: what it makes is kept for the messages to come. Losing it loses nothing else.
            let work = async move { making.understood(&own).await };
            let work = tokio::spawn(work.in_current_span());
            if let Ok(Ok(Some(answer))) = timeout(PATIENCE, work).await {
                return Ok(answer);
            }
        }
        Rules.step(prompt, draft).await
    }

    fn goes_on(&self) -> bool {
        false
    }
}
