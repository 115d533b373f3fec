//! Which model answers.

use std::sync::Arc;

use async_trait::async_trait;

use crate::{Answer, Draft, Model, ModelError, Prompt, Rules, rules};

/// Answers where no language model is configured: by sentence embeddings once their engine is there, by words until then.
struct Offline(nlu::Slot);

/// The model that needs no network. The engine may come later, or never.
#[must_use]
pub fn offline(engine: nlu::Slot) -> Arc<dyn Model> {
    Arc::new(Offline(engine))
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
