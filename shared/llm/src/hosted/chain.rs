//! Several models as one: the next is asked when one does not answer, within one limit of time.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use domain::Entropy;
use tokio::time::{Instant, sleep, timeout_at};

use super::{Dialogue, Fault, Provider};
use crate::{Answer, Budget, BudgetError, Draft, Model, ModelError, Prompt, Reservation, Rules, Unlimited};

/// What bounds the asking, whatever its models do.
#[derive(Debug, Clone, Copy)]
pub struct ChainLimits {
    /// Most attempts at one model.
    pub attempts: u32,
    /// How long all of it may take.
    pub whole: Duration,
    /// A model that wants to be left alone for longer is not waited for: the next is asked at once.
    pub patience: Duration,
    /// How long is waited after the first attempt that failed, at most; twice as long after each further one.
    pub pause: Duration,
}

impl Default for ChainLimits {
    fn default() -> Self {
        Self {
            attempts: 3,
            whole: Duration::from_secs(75),
            patience: Duration::from_secs(5),
            pause: Duration::from_secs(1),
        }
    }
}

/// One model of a chain.
pub enum Link {
    /// A hosted one, which sees so many tokens of a prompt.
    Hosted {
        /// Where it is.
        provider: Box<dyn Provider>,
        /// The budget of [`Dialogue::of`].
        tokens: usize,
    },
    /// The rules router, which always answers.
    Rules,
}

/// Models that are asked in their order.
pub struct Chain {
    links: Vec<Link>,
    limits: ChainLimits,
    entropy: Arc<dyn Entropy>,
    budget: Arc<dyn Budget>,
}

/// Why one model gave no answer.
enum Miss {
    /// It was asked.
    Fault(Fault),
    /// It may not be asked.
    Budget(BudgetError),
}

impl Chain {
    /// These models, the first of them first. Chance spreads the attempts of many tasks at once.
    #[must_use]
    pub fn new(links: Vec<Link>, limits: ChainLimits, entropy: Arc<dyn Entropy>) -> Self {
        Self {
            links,
            limits,
            entropy,
            budget: Arc::new(Unlimited),
        }
    }

    /// The same within this budget.
    #[must_use]
    pub fn within(mut self, budget: Arc<dyn Budget>) -> Self {
        self.budget = budget;
        self
    }

    /// Asks one model as often as that may help; the error is its last.
    async fn asked(
        &self,
        provider: &dyn Provider,
        dialogue: &Dialogue,
        (draft, attempts): (&mut dyn Draft, &mut u32),
    ) -> Result<Answer, Miss> {
        let tokens = dialogue.tokens() + u64::from(provider.max_tokens());
        let mut pause = self.limits.pause;
        let mut left = self.limits.attempts;
        loop {
            *attempts += 1;
            left = left.saturating_sub(1);
            let reserved = self.budget.reserve(tokens).await.map_err(Miss::Budget)?;
            draft.begins(*attempts);
            let answered = provider.attempt(dialogue, draft).await;
            let model = provider.name();
            let fault = match counted(answered, reserved, model).await {
                Ok(answer) => return Ok(answer),
                Err(fault) => fault,
            };
            // The words of a refusal are no cause, and a user's own business.
            tracing::warn!(model, attempt = *attempts, cause = %fault, "a model did not answer");
            let wait = match &fault {
                Fault::Busy { wait: Some(wait), .. } => *wait,
                Fault::Busy { wait: None, .. } | Fault::Broken(_) => self.jittered(pause),
                Fault::Denied(_) | Fault::Refused(_) | Fault::Unusable(_) => return Err(Miss::Fault(fault)),
            };
            if left == 0 || wait > self.limits.patience {
                return Err(Miss::Fault(fault));
            }
            sleep(wait).await;
            pause = pause.saturating_mul(2);
        }
    }

    /// Between half of it and all of it.
    fn jittered(&self, pause: Duration) -> Duration {
        let mut chance = [0; 2];
        self.entropy.fill(&mut chance);
        let half = pause / 2;
        half + half.mul_f64(f64::from(u16::from_le_bytes(chance)) / f64::from(u16::MAX))
    }
}

/// The same, with what it took counted. Of a broken or unusable answer nobody says what it took: all that was reserved
/// for it stays counted.
async fn counted(
    answered: Result<Answer, Fault>,
    reserved: Box<dyn Reservation>,
    model: &str,
) -> Result<Answer, Fault> {
    match &answered {
        Ok(answer) => reserved.settle(model, answer.usage).await,
        Err(Fault::Busy { .. } | Fault::Denied(_)) => reserved.release().await,
        Err(Fault::Broken(_) | Fault::Refused(_) | Fault::Unusable(_)) => {}
    }
    answered
}

#[async_trait]
impl Model for Chain {
    async fn step(&self, prompt: &Prompt, draft: &mut dyn Draft) -> Result<Answer, ModelError> {
        let deadline = Instant::now() + self.limits.whole;
        let mut attempts = 0;
        let mut error = ModelError::Unavailable("there is no model".to_owned());
        for link in &self.links {
            let Link::Hosted { provider, tokens } = link else {
                return Ok(Rules.decide(prompt).into());
            };
            if Instant::now() >= deadline {
                continue;
            }
            let dialogue = Dialogue::of(prompt, *tokens);
            let asked = self.asked(provider.as_ref(), &dialogue, (&mut *draft, &mut attempts));
            error = match timeout_at(deadline, asked).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(Miss::Fault(Fault::Denied(cause)))) => return Err(ModelError::Denied(cause)),
                Ok(Err(Miss::Fault(Fault::Refused(words)))) => return Err(ModelError::Refused(words)),
                Ok(Err(Miss::Fault(Fault::Unusable(cause)))) => ModelError::Unusable(cause),
                Ok(Err(Miss::Fault(fault @ (Fault::Busy { .. } | Fault::Broken(_))))) => {
                    ModelError::Unavailable(fault.to_string())
                }
                // What is too much for this model may be little enough for one of shorter answers.
                Ok(Err(Miss::Budget(BudgetError::Spent { until }))) => ModelError::Spent { until },
                Ok(Err(Miss::Budget(fault @ (BudgetError::InUse | BudgetError::Unavailable)))) => {
                    ModelError::Unavailable(fault.to_string())
                }
                Err(_) => ModelError::Unavailable("no answer came in time".to_owned()),
            };
        }
        Err(error)
    }

    fn is_hosted(&self) -> bool {
        self.links.iter().any(|link| matches!(link, Link::Hosted { .. }))
    }

    fn goes_on(&self) -> bool {
        self.is_hosted()
    }
}

#[cfg(test)]
mod tests;
