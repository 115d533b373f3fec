//! The tenant's budget of tokens, counted by day in its tables.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use domain::{Clock, Entropy, Tenant, TokenUsage};
use llm::{Budget, BudgetError, Reservation};
use store::{OwnSettings, Store, TokenHold, TooFewTokens, next_day};

/// How long tokens are waited for that other calls hold, from one look to the next: most calls end within seconds, and take little of
/// what they hold. Then it is for later.
const WAITS_MS: [u64; 10] = [200, 300, 500, 1_000, 1_000, 2_000, 3_000, 4_000, 4_000, 4_000];

/// What a tenant may spend in a day.
pub(crate) struct DailyBudget {
    store: Store,
    tenant: Tenant,
    settings: OwnSettings,
    /// Where the tenant has neither a plan nor a setting of its own.
    usual: u64,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
}

impl DailyBudget {
    pub(crate) fn new(
        (store, tenant): (Store, Tenant),
        usual: u64,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        Self {
            settings: OwnSettings::new(store.clone(), tenant.clone(), Arc::clone(&clock)),
            store,
            tenant,
            usual,
            clock,
            entropy,
        }
    }
}

#[async_trait]
impl Budget for DailyBudget {
    async fn reserve(&self, tokens: u64) -> Result<Box<dyn Reservation>, BudgetError> {
        let limit = self.settings.tokens_per_day().await.unwrap_or(self.usual);
        let usage = self.store.usage();
        let mut waits = WAITS_MS.into_iter().map(Duration::from_millis);
        loop {
            let now = self.clock.now();
            let reserved = usage.reserve(&self.tenant, tokens, Some(limit), (now, &*self.entropy));
            match (reserved.await, waits.next()) {
                (Ok(Ok(hold)), _) => {
                    return Ok(Box::new(Reserved {
                        store: self.store.clone(),
                        tenant: self.tenant.clone(),
                        hold,
                    }));
                }
                (Ok(Err(TooFewTokens::Spent)), _) => {
                    return Err(BudgetError::Spent { until: next_day(now) });
                }
                (Ok(Err(TooFewTokens::InUse)), Some(wait)) => tokio::time::sleep(wait).await,
                (Ok(Err(TooFewTokens::InUse)), None) => return Err(BudgetError::InUse),
                (Err(error), _) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(tenant.id = self.tenant.name(), error, "no tokens can be reserved");
                    return Err(BudgetError::Unavailable);
                }
            }
        }
    }
}

struct Reserved {
    store: Store,
    tenant: Tenant,
    hold: TokenHold,
}

#[async_trait]
impl Reservation for Reserved {
    async fn settle(self: Box<Self>, model: &str, taken: TokenUsage) {
        let usage = self.store.usage();
        let settled = usage.settle(&self.tenant, &self.hold, model, taken).await;
        self.told(settled);
    }

    async fn release(self: Box<Self>) {
        let usage = self.store.usage();
        let released = usage.release(&self.tenant, &self.hold).await;
        self.told(released);
    }
}

impl Reserved {
    /// The answer stands: what is not written down stays reserved.
    fn told(&self, written: Result<(), store::StoreError>) {
        if let Err(error) = written {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(
                tenant.id = self.tenant.name(),
                error,
                "what a model took stays reserved"
            );
        }
    }
}
