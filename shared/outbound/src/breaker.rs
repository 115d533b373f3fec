//! The circuit breaker of push delivery: keeps a receiver that does not answer from taking the workers that others wait for.
//!
//! Only what costs time counts: a receiver that refuses at once harms nobody but itself, and its schedule is enough.
//! Each tenant has its own view of a receiver, so that nobody can make another's rest. The state is the process's own;
//! on AWS, where invocations do not share it, the time limit of a delivery bounds what one receiver costs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::{Tenant, Timestamp};
use url::{Origin, Url};

/// Deliveries to one receiver at once, while it answers.
const AT_ONCE: u32 = 16;
/// The same once one of them had no answer.
const AT_ONCE_DOUBTFUL: u32 = 2;
/// Deliveries in a row without an answer, after which the circuit is open.
const PATIENCE: u32 = 5;
/// The longest rest, in first ones; each is twice as long as the one before.
const LONGEST_REST: u32 = 20;
/// Most receivers that are remembered.
const MAX_RECEIVERS: usize = 10_000;

/// Who rests.
#[derive(Debug)]
pub(crate) struct Breaker {
    /// The first rest.
    rest: Duration,
    receivers: Mutex<HashMap<Receiver, Health>>,
}

type Receiver = (Tenant, Origin);

#[derive(Debug, Clone, Copy, Default)]
struct Health {
    on_the_way: u32,
    unanswered: u32,
    rests_until: Option<Timestamp>,
}

impl Breaker {
    pub(crate) fn new(rest: Duration) -> Self {
        Self {
            rest,
            receivers: Mutex::default(),
        }
    }

    /// Whether a delivery may be tried now.
    ///
    /// # Errors
    /// When to come again: now, that is as soon as one of them is back, where too many are on their way already.
    pub(crate) fn admit(
        self: &Arc<Self>,
        tenant: &Tenant,
        url: &Url,
        now: Timestamp,
    ) -> Result<Trial, Timestamp> {
        let receiver = (tenant.clone(), url.origin());
        let mut receivers = self.lock();
        if receivers.len() >= MAX_RECEIVERS {
            // Who is forgotten merely has all places again.
            receivers.retain(|_, health| health.on_the_way > 0);
        }
        let health = receivers.entry(receiver.clone()).or_default();
        if let Some(until) = health.rests_until.filter(|until| *until > now) {
            return Err(until);
        }
        let room = match health.unanswered {
            0 => AT_ONCE,
            1..PATIENCE => AT_ONCE_DOUBTFUL,
            // After a rest one goes first.
            PATIENCE.. => 1,
        };
        if health.on_the_way >= room {
            return Err(now);
        }
        health.on_the_way += 1;
        Ok(Trial {
            breaker: Arc::clone(self),
            receiver,
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Receiver, Health>> {
        self.receivers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A delivery on its way; dropped when it is not any more.
#[derive(Debug)]
pub(crate) struct Trial {
    breaker: Arc<Breaker>,
    receiver: Receiver,
}

impl Trial {
    /// How it ended: whether there was any answer at all, and when.
    pub(crate) fn ended(self, answered: bool, now: Timestamp) {
        let mut receivers = self.breaker.lock();
        let Some(health) = receivers.get_mut(&self.receiver) else {
            return;
        };
        if answered {
            (health.unanswered, health.rests_until) = (0, None);
            return;
        }
        // Those that were on their way when the rest began have met the same silence: it is no longer for them.
        if health.rests_until.is_some_and(|until| until > now) {
            return;
        }
        health.unanswered = health.unanswered.saturating_add(1);
        if let Some(rests) = health.unanswered.checked_sub(PATIENCE) {
            let times = 2_u32.saturating_pow(rests).min(LONGEST_REST);
            health.rests_until = Some(now.after(self.breaker.rest.saturating_mul(times)));
        }
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        let mut receivers = self.breaker.lock();
        if let Some(health) = receivers.get_mut(&self.receiver) {
            health.on_the_way = health.on_the_way.saturating_sub(1);
            if health.on_the_way == 0 && health.unanswered == 0 {
                receivers.remove(&self.receiver);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1000)
    }

    fn acme() -> Tenant {
        Tenant::parse("acme").unwrap()
    }

    #[test]
    fn a_receiver_that_never_answers_rests_longer_and_longer() {
        let breaker = Arc::new(Breaker::new(Duration::from_secs(30)));
        let url = Url::parse("https://dead.example/hook").unwrap();
        let (mut now, mut rests) = (at(0), Vec::new());
        for _ in 0..12 {
            let trial = breaker.admit(&acme(), &url, now).unwrap();
            trial.ended(false, now);
            if let Err(until) = breaker.admit(&acme(), &url, now) {
                rests.push(until.since(now).as_secs());
                assert_eq!(
                    breaker
                        .admit(&acme(), &url, until.before(Duration::from_millis(1)))
                        .unwrap_err(),
                    until
                );
                now = until;
            }
        }
        assert_eq!(rests, [30, 60, 120, 240, 480, 600, 600, 600]);
        // One goes first; the others wait for how it ends.
        let first = breaker.admit(&acme(), &url, now).unwrap();
        assert_eq!(breaker.admit(&acme(), &url, now).unwrap_err(), now);
        first.ended(true, now);
        let all: Vec<_> = (0..AT_ONCE)
            .map(|_| breaker.admit(&acme(), &url, now).unwrap())
            .collect();
        assert!(breaker.admit(&acme(), &url, now).is_err());
        drop(all);
        assert!(breaker.lock().is_empty(), "what is well is not remembered");
    }

    #[test]
    fn many_that_meet_one_silence_make_one_rest() {
        let breaker = Arc::new(Breaker::new(Duration::from_secs(30)));
        let url = Url::parse("https://restarts.example/hook").unwrap();
        let crowd: Vec<_> = (0..AT_ONCE)
            .map(|_| breaker.admit(&acme(), &url, at(0)).unwrap())
            .collect();
        for (late, trial) in (0..).zip(crowd) {
            trial.ended(false, at(10 + late / 8));
        }
        assert_eq!(breaker.admit(&acme(), &url, at(11)).unwrap_err(), at(40));
        // It is back: one answer, and everybody is let in again.
        breaker.admit(&acme(), &url, at(40)).unwrap().ended(true, at(40));
        let all = (0..AT_ONCE).map(|_| breaker.admit(&acme(), &url, at(40)));
        assert!(all.collect::<Vec<_>>().iter().all(Result::is_ok));
    }

    #[test]
    fn a_doubtful_receiver_gets_few_workers_and_no_other_is_touched() {
        let breaker = Arc::new(Breaker::new(Duration::from_secs(30)));
        let url = |text: &str| Url::parse(text).unwrap();
        let slow = url("https://slow.example/a");
        breaker.admit(&acme(), &slow, at(0)).unwrap().ended(false, at(0));
        let two = [(); 2].map(|()| breaker.admit(&acme(), &slow, at(0)).unwrap());
        assert!(
            breaker
                .admit(&acme(), &url("https://slow.example/b"), at(0))
                .is_err(),
            "one host, whatever the path"
        );
        assert!(
            breaker
                .admit(&acme(), &url("https://slow.example:8443/a"), at(0))
                .is_ok()
        );
        assert!(
            breaker
                .admit(&Tenant::parse("globex").unwrap(), &slow, at(0))
                .is_ok()
        );
        drop(two);
        // Given up without a word, such as by a worker that is stopped: counted as nothing.
        assert!(breaker.admit(&acme(), &slow, at(0)).is_ok());
    }
}
