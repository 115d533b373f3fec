//! Language models that others host: how a prompt is put to them, how their streams are read, and which is asked when one
//! does not answer.

mod answer;
mod bedrock;
mod chain;
mod chunk;
mod decision;
mod dialogue;
mod fault;
mod lenient;
mod openai;
mod sentences;
mod settings;
mod spans;

pub use answer::Gathered;
pub use bedrock::{AwsSettings, Bedrock};
pub use chain::{Chain, ChainLimits, Link};
pub use fault::Fault;
pub use openai::OpenAi;
pub use sentences::{SentenceModel, SentenceSetting};
pub use settings::{ModelList, ModelListError, ModelParts};

use async_trait::async_trait;

use crate::Draft;
pub use dialogue::{Dialogue, Form, PROMPTS};

/// A model at a provider, which answers or does not.
#[async_trait]
pub trait Provider: Send + Sync {
    /// Which model it is: its kind, a colon, and its provider's name for it.
    fn name(&self) -> &str;

    /// Most tokens of an answer.
    fn max_tokens(&self) -> u32;

    /// Asks once. What comes is gathered as it comes, so that it is known also where the rest does not come.
    ///
    /// # Errors
    /// [`Fault`] where no whole answer came.
    async fn attempt(
        &self,
        dialogue: &Dialogue,
        draft: &mut dyn Draft,
        gathered: &mut Gathered,
    ) -> Result<(), Fault>;
}
