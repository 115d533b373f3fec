//! Language models that others host: how a prompt is put to them, how their streams are read, and which is asked when one
//! does not answer.

mod answer;
mod bedrock;
mod chain;
mod chunk;
mod dialogue;
mod fault;
mod openai;
mod sentences;
mod settings;
mod tools;

pub use bedrock::{AwsSettings, Bedrock};
pub use chain::{Chain, ChainLimits, Link};
pub use fault::Fault;
pub use openai::OpenAi;
pub use sentences::{SentenceModel, SentenceSetting};
pub use settings::{ModelList, ModelListError, ModelParts};

use async_trait::async_trait;

use crate::{Answer, Draft};
pub use dialogue::Dialogue;

/// A model at a provider, which answers or does not.
#[async_trait]
pub trait Provider: Send + Sync {
    /// Which model it is: its kind, a colon, and its provider's name for it.
    fn name(&self) -> &str;

    /// Most tokens of an answer.
    fn max_tokens(&self) -> u32;

    /// Asks once.
    ///
    /// # Errors
    /// [`Fault`] where no whole answer came.
    async fn attempt(&self, dialogue: &Dialogue, draft: &mut dyn Draft) -> Result<Answer, Fault>;
}
