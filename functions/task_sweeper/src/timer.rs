//! What the timer does: it sweeps, and beside that seals the audit's closed minutes, once in each.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use auth::card_signature::CardKeys;
use edge::sweep::Sweeper;
use edge::{Ground, ScheduleError, ScheduleHandler};
use serde_json::Value;

/// What the keys that seals are signed with are for: they follow from the sweeper's sealing keys.
pub const SEALS: &str = "audit";

/// How long sealing goes on: what is left is sealed with the next minute.
const LONGEST: Duration = Duration::from_secs(45);

pub(crate) struct Timer {
    sweeper: Sweeper,
    ground: Ground,
    /// The secret with the sealing keys.
    keys: Option<String>,
    /// The minute that was sealed last.
    minute: AtomicI64,
}

/// The seals of the audit could not be made.
#[derive(Debug, thiserror::Error)]
#[error("the audit was not sealed")]
struct NotSealed(#[source] Box<dyn std::error::Error + Send + Sync>);

impl Timer {
    pub(crate) fn new(sweeper: Sweeper, ground: Ground, keys: Option<String>) -> Self {
        Self {
            sweeper,
            ground,
            keys,
            minute: AtomicI64::new(i64::MIN),
        }
    }

    async fn seal(&self) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let now = self.ground.clock.now();
        let minute = now.seconds().div_euclid(60);
        let Some(secret) = &self.keys else {
            return Ok(());
        };
        if self.minute.load(Ordering::Relaxed) == minute {
            return Ok(());
        }
        let keys = CardKeys::of(&*self.ground.sealer(secret).await?, SEALS)?;
        let sign = |bytes: &[u8]| {
            let signed = keys.sign(bytes, None).ok()?;
            Some([signed.protected, signed.signature])
        };
        let audit = self.ground.store.audit(now);
        tokio::time::timeout(LONGEST, audit.seal(&sign)).await??;
        self.minute.store(minute, Ordering::Relaxed);
        Ok(())
    }
}

#[async_trait::async_trait]
impl ScheduleHandler for Timer {
    async fn run(&self) -> Result<Value, ScheduleError> {
        let (swept, sealed) = tokio::join!(self.sweeper.run(), self.seal());
        let swept = swept?;
        match sealed {
            Ok(()) => Ok(swept),
            Err(error) => Err(ScheduleError(Box::new(NotSealed(error)))),
        }
    }
}
