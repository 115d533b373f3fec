//! What may be spent on hosted models, asked before each of their calls. Where it is written down is somebody else's.

use async_trait::async_trait;
use domain::{Timestamp, TokenUsage};

/// Whom the tokens of a call are reserved with.
#[async_trait]
pub trait Budget: Send + Sync {
    /// Reserves so many tokens. Whoever drops the reservation leaves them counted: a call that ended nobody knows how may
    /// have taken all of them.
    ///
    /// # Errors
    /// [`BudgetError`] where they are not to be had: the model must not be asked.
    async fn reserve(&self, tokens: u64) -> Result<Box<dyn Reservation>, BudgetError>;
}

/// Tokens that are reserved for one call.
#[async_trait]
pub trait Reservation: Send + Sync {
    /// The model answered, and took this.
    async fn settle(self: Box<Self>, model: &str, taken: TokenUsage);

    /// The model took nothing: it was not reached, or turned the call away.
    async fn release(self: Box<Self>);
}

/// Why tokens are not to be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BudgetError {
    /// Too few are left.
    #[error("too few tokens are left until {until}")]
    Spent {
        /// When there will be more.
        until: Timestamp,
    },
    /// Other calls hold what is left, and give back what they do not take.
    #[error("calls under way hold the tokens that are left")]
    InUse,
    /// Nobody can say at the moment.
    #[error("the count of tokens cannot be reached")]
    Unavailable,
}

/// As many tokens as one likes, counted by nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unlimited;

#[async_trait]
impl Budget for Unlimited {
    async fn reserve(&self, _: u64) -> Result<Box<dyn Reservation>, BudgetError> {
        Ok(Box::new(Self))
    }
}

#[async_trait]
impl Reservation for Unlimited {
    async fn settle(self: Box<Self>, _: &str, _: TokenUsage) {}

    async fn release(self: Box<Self>) {}
}
