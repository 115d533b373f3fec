//! What goes wrong when: pure rules over the seed and a number, so that the same seed is the same plan.
//!
//! Each component counts for itself: the n-th call of a kind, the n-th life of a worker, the n-th trouble. So the plan
//! does not depend on what else happened meanwhile. Which task a call belongs to, and what a worker is doing when it
//! is killed, depends on the machine's time, and is another in every run.

use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use store_testing::Faults;

/// How far a worker's clock may be off, in milliseconds.
const SKEW: u64 = 2_000;
/// How long a held-back notification waits at most, in milliseconds.
const HELD: u64 = 2_500;
/// One of so many troubles freezes a worker; the others kill one.
const FREEZES: u64 = 3;

/// The calls that are counted by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    /// A specialist's notification for a host.
    Webhook,
    /// A host's notification for a customer.
    Customer,
    /// Everything else: sends, looks, cancels, searches in the registry.
    Other,
}

/// Of a hundred calls, how many meet what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Losses {
    before: u64,
    after: u64,
    /// Of notifications alone.
    doubled: u64,
    /// Of notifications for hosts alone.
    held: u64,
}

impl Losses {
    /// So many of a hundred calls are lost, half of them before their effect.
    pub(crate) fn of(lost: u32) -> Self {
        let lost = u64::from(lost.min(100));
        Self {
            before: lost / 2,
            after: lost - lost / 2,
            doubled: 10,
            held: 20,
        }
    }

    fn none() -> Self {
        Self {
            before: 0,
            after: 0,
            doubled: 0,
            held: 0,
        }
    }
}

/// What one call meets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Fate {
    /// It waits for so long, so that later ones overtake it.
    pub(crate) held: Option<Duration>,
    /// It never arrives.
    pub(crate) lost_before: bool,
    /// It arrives twice.
    pub(crate) doubled: bool,
    /// It arrives, and its answer does not.
    pub(crate) lost_after: bool,
}

/// What one life of a worker is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Life {
    /// How far its clock is off, in milliseconds.
    pub(crate) skew: i64,
    /// What its database client meets.
    pub(crate) faults: Faults,
}

/// What is done to the workers next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Trouble {
    /// How long nothing happens before it; longer where the workers take their time to come up.
    pub(crate) pause: Duration,
    /// True for a freeze past the lease, false for a kill.
    pub(crate) freezes: bool,
    /// Who: the number of a worker, to be taken modulo how many there are.
    pub(crate) victim: usize,
    /// For how long the network still sends to a dead one.
    pub(crate) unnoticed: Duration,
}

/// Everything that goes wrong in a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    seed: u64,
    losses: Losses,
    calm: bool,
}

/// The dice of one component for one number.
struct Dice(ChaCha8Rng);

impl Dice {
    fn below(&mut self, of: u64) -> u64 {
        self.0.next_u64() % of.max(1)
    }

    fn hits(&mut self, share: u64) -> bool {
        self.below(100) < share
    }

    fn millis(&mut self, below: u64) -> Duration {
        Duration::from_millis(self.below(below))
    }
}

impl Plan {
    pub(crate) fn new(seed: u64, lost: u32, calm: bool) -> Self {
        let losses = match calm {
            true => Losses::none(),
            false => Losses::of(lost),
        };
        Self { seed, losses, calm }
    }

    /// True where nothing goes wrong.
    pub(crate) fn is_calm(&self) -> bool {
        self.calm
    }

    fn dice(&self, component: u64, number: u64) -> Dice {
        let mut dice = ChaCha8Rng::seed_from_u64(self.seed);
        dice.set_stream((component << 56) | number);
        Dice(dice)
    }

    /// What the n-th call of its kind meets.
    pub(crate) fn call(&self, call: Call, number: u64) -> Fate {
        let mut dice = self.dice(call as u64, number);
        let (notification, to_host) = (call != Call::Other, call == Call::Webhook);
        // The same number of rolls whatever they show.
        let (held, wait) = (dice.hits(self.losses.held), dice.millis(HELD));
        let lost_before = dice.hits(self.losses.before);
        let doubled = dice.hits(self.losses.doubled);
        let lost_after = dice.hits(self.losses.after);
        Fate {
            held: (held && to_host).then_some(wait),
            lost_before,
            doubled: doubled && notification,
            lost_after,
        }
    }

    /// What the n-th life of a worker is like.
    pub(crate) fn life(&self, number: u64) -> Life {
        if self.calm {
            return Life {
                skew: 0,
                faults: Faults::default(),
            };
        }
        let mut dice = self.dice(8, number);
        let skew = i64::try_from(dice.below(2 * SKEW + 1)).unwrap_or(0) - i64::try_from(SKEW).unwrap_or(0);
        Life {
            skew,
            faults: Faults::rough(dice.below(u64::MAX)),
        }
    }

    /// The n-th trouble.
    pub(crate) fn trouble(&self, number: u64) -> Trouble {
        let mut dice = self.dice(9, number);
        Trouble {
            pause: Duration::from_millis(700) + dice.millis(1_300),
            freezes: number.is_multiple_of(FREEZES),
            victim: usize::try_from(dice.below(1 << 16)).unwrap_or(0),
            unnoticed: dice.millis(300),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALLS: u64 = 4_000;

    fn fates(seed: u64, call: Call) -> Vec<Fate> {
        let plan = Plan::new(seed, 30, false);
        (0..CALLS).map(|number| plan.call(call, number)).collect()
    }

    #[test]
    fn the_same_seed_is_the_same_plan_and_another_seed_another() {
        for call in [Call::Webhook, Call::Customer, Call::Other] {
            assert_eq!(fates(7, call), fates(7, call));
            assert_ne!(fates(7, call), fates(8, call));
        }
        assert_ne!(fates(7, Call::Webhook), fates(7, Call::Customer));
        let (seven, eight) = (Plan::new(7, 30, false), Plan::new(8, 30, false));
        for number in 0..50 {
            assert_eq!(seven.life(number), seven.life(number));
            assert_eq!(seven.trouble(number), seven.trouble(number));
            assert_ne!(seven.life(number), eight.life(number));
        }
    }

    #[test]
    fn the_shares_are_what_was_asked_for() {
        let share = |fates: &[Fate], hit: fn(&Fate) -> bool| {
            fates.iter().filter(|fate| hit(fate)).count() * 100 / fates.len()
        };
        let webhook = fates(3, Call::Webhook);
        assert!((14..=16).contains(&share(&webhook, |fate| fate.lost_before)));
        assert!((14..=16).contains(&share(&webhook, |fate| fate.lost_after)));
        assert!((8..=12).contains(&share(&webhook, |fate| fate.doubled)));
        assert!((17..=23).contains(&share(&webhook, |fate| fate.held.is_some())));
        let other = fates(3, Call::Other);
        assert_eq!(share(&other, |fate| fate.doubled || fate.held.is_some()), 0);
        assert!(
            webhook
                .iter()
                .filter_map(|fate| fate.held)
                .all(|held| held < Duration::from_millis(HELD))
        );
    }

    #[test]
    fn every_third_trouble_freezes_and_clocks_are_off_both_ways() {
        let plan = Plan::new(1, 30, false);
        let freezes = (0..30).filter(|number| plan.trouble(*number).freezes).count();
        assert_eq!(freezes, 10);
        let skews: Vec<i64> = (0..50).map(|number| plan.life(number).skew).collect();
        assert!(skews.iter().any(|skew| *skew > 500) && skews.iter().any(|skew| *skew < -500));
        assert!(skews.iter().all(|skew| skew.abs() <= 2_000));
    }

    #[test]
    fn calm_is_calm() {
        let plan = Plan::new(1, 30, true);
        assert!((0..CALLS).all(|number| plan.call(Call::Webhook, number) == Fate::default()));
        assert_eq!(
            plan.life(3),
            Life {
                skew: 0,
                faults: Faults::default()
            }
        );
    }
}
