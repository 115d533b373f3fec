//! What the timer does: it sweeps, and beside that seals the audit's closed minutes, once in each, and each night removes large things
//! that no record leads to any more.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use auth::card_signature::CardKeys;
use edge::audit::SEALS;
use edge::blobs::S3Blobs;
use edge::sweep::Sweeper;
use edge::{Ground, ScheduleError, ScheduleHandler};
use serde_json::Value;
use store::{BlobKey, Blobs, StoreError};
use tokio::sync::Mutex;

/// How long sealing goes on: what is left is sealed with the next minute.
const LONGEST: Duration = Duration::from_secs(45);

/// How long of a minute it looks for large things of nobody: what is left comes with the next minute.
const LOOKS_FOR: Duration = Duration::from_secs(30);

/// In which hour of the day (UTC) it does. What is not looked at by its end comes the night after, from the beginning.
const NIGHT: i64 = 3;

pub(crate) struct Timer {
    sweeper: Sweeper,
    ground: Ground,
    /// The secret with the sealing keys.
    keys: Option<String>,
    /// The minute that was sealed last.
    minute: AtomicI64,
    /// Whether it looks for large things of nobody.
    tidies: bool,
    tidied: Mutex<Tidied>,
    /// Where sealed entries of the audit go beside the table.
    archive: Option<S3Blobs>,
}

/// How far a night's look at large things is.
#[derive(Debug, Default)]
struct Tidied {
    /// Which day's it is.
    day: i64,
    /// Where it goes on; nowhere once it is through.
    after: Option<BlobKey>,
    is_over: bool,
}

/// The seals of the audit could not be made.
#[derive(Debug, thiserror::Error)]
#[error("the audit was not sealed")]
struct NotSealed(#[source] Box<dyn std::error::Error + Send + Sync>);

/// Large things of nobody could not be removed.
#[derive(Debug, thiserror::Error)]
#[error("large things that no record leads to were not removed")]
struct NotTidied(#[source] StoreError);

impl Timer {
    pub(crate) fn new(sweeper: Sweeper, ground: Ground, keys: Option<String>, tidies: bool) -> Self {
        Self {
            tidies,
            tidied: Mutex::default(),
            sweeper,
            ground,
            keys,
            minute: AtomicI64::new(i64::MIN),
            archive: None,
        }
    }

    /// The same, which has sealed entries of the audit go there.
    pub(crate) fn shipping_to(self, archive: Option<S3Blobs>) -> Self {
        Self { archive, ..self }
    }

    async fn tidy(&self) -> Result<(), StoreError> {
        let (began, now) = (Instant::now(), self.ground.clock.now());
        let hour = now.seconds().div_euclid(3600);
        if !self.tidies || hour.rem_euclid(24) != NIGHT {
            return Ok(());
        }
        let mut tidied = self.tidied.lock().await;
        let day = hour.div_euclid(24);
        if tidied.day != day {
            *tidied = Tidied {
                day,
                ..Tidied::default()
            };
        }
        while !tidied.is_over && began.elapsed() < LOOKS_FOR {
            let orphans = self.ground.store.orphans();
            let (gone, next) = orphans.remove_some(tidied.after.as_ref(), now).await?;
            if gone > 0 {
                tracing::info!(gone, "large things that no record leads to are removed");
            }
            (tidied.is_over, tidied.after) = (next.is_none(), next);
        }
        Ok(())
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
        let place = self.archive.as_ref().map(|archive| archive as &dyn Blobs);
        let audit = self.ground.store.audit(now).shipping_to(place);
        tokio::time::timeout(LONGEST, audit.seal(&sign)).await??;
        self.minute.store(minute, Ordering::Relaxed);
        Ok(())
    }
}

#[async_trait::async_trait]
impl ScheduleHandler for Timer {
    async fn run(&self) -> Result<Value, ScheduleError> {
        let (swept, sealed, tidied) = tokio::join!(self.sweeper.run(), self.seal(), self.tidy());
        let swept = swept?;
        if let Err(error) = tidied {
            return Err(ScheduleError(Box::new(NotTidied(error))));
        }
        match sealed {
            Ok(()) => Ok(swept),
            Err(error) => Err(ScheduleError(Box::new(NotSealed(error)))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use domain::{Entropy as _, ManualClock, SystemEntropy, Timestamp};
    use edge::config::Platform;
    use edge::sweep::{Looks, State};
    use store::{BlobScope, Blobs as _, Folder};

    use super::*;

    #[tokio::test]
    async fn what_nobody_reaches_goes_at_night_where_that_is_wanted() {
        let (store, _database) = store_testing::start().await;
        let place = std::env::temp_dir().join(format!("switchyard-{}", SystemEntropy.uuid()));
        let folder = Arc::new(Folder::new(&place));
        let key = BlobKey::parse(&format!("acme#host#task#gone/{}", "0".repeat(64))).unwrap();
        folder.put(&key, b"x").await.unwrap();
        let put_at = folder.list(&BlobScope::All, None).await.unwrap()[0].put_at;
        let days = |days: i64, hours: i64| {
            let day = (put_at.seconds().div_euclid(86_400) + days) * 24 + hours;
            Timestamp::from_millis(day * 3_600_000)
        };
        let timer = |at: Timestamp, tidies: bool| {
            let ground = Ground {
                store: store.clone().with_blobs(folder.clone()),
                clock: Arc::new(ManualClock::new(at)),
                ..Ground::aws(Platform::default())
            };
            let sweeper = Sweeper::new(State {
                store: ground.store.clone(),
                wake: ground.wake.clone(),
                clock: ground.clock.clone(),
                looks: Looks {
                    number: 1,
                    every: Duration::ZERO,
                },
            });
            Timer::new(sweeper, ground, None, tidies)
        };
        for (at, tidies, left) in [
            (days(0, NIGHT), true, 1),
            (days(3, NIGHT), false, 1),
            (days(3, NIGHT + 1), true, 1),
            (days(3, NIGHT), true, 0),
        ] {
            timer(at, tidies).run().await.unwrap();
            let listed = folder.list(&BlobScope::All, None).await.unwrap();
            assert_eq!(listed.len(), left, "{at} {tidies}");
        }
        std::fs::remove_dir_all(place).unwrap();
    }
}
