//! What was done to the system and what it did about it, counted.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;

use store_testing::Injected;

/// Every kind of fault that a run without `--calm` must have had; a kind that never came was not survived.
pub(crate) mod kinds {
    pub(crate) const KILLED: &str = "workers killed (SIGKILL)";
    pub(crate) const FROZEN: &str = "workers frozen past their leases (SIGSTOP)";
    pub(crate) const SKEWED: &str = "lives of workers with a clock off by more than a second";
    pub(crate) const LOST_BEFORE: &str = "HTTP calls lost before their effect";
    pub(crate) const LOST_AFTER: &str = "HTTP calls whose answer was lost";
    pub(crate) const NOTICES_LOST: &str = "notifications lost, of these";
    pub(crate) const DOUBLED: &str = "notifications doubled";
    pub(crate) const HELD: &str = "notifications held back, so that others overtake them";
    pub(crate) const MET_DEAD: &str = "HTTP calls that met a dead or frozen worker";
    pub(crate) const STILLBORN: &str = "workers that did not come up";

    /// Those that must not be missing.
    pub(crate) const NEEDED: [&str; 8] = [
        KILLED,
        FROZEN,
        SKEWED,
        LOST_BEFORE,
        LOST_AFTER,
        NOTICES_LOST,
        DOUBLED,
        HELD,
    ];
}

/// What a worker's life came to so far.
#[derive(Debug, Clone, Default)]
struct Life {
    injected: Injected,
    /// What the agents in it measured, by the metric's name.
    measured: BTreeMap<String, u64>,
}

/// Counts of every kind of fault.
#[derive(Default)]
pub(crate) struct Tally {
    counts: Mutex<BTreeMap<&'static str, u64>>,
    /// The latest of each life of a worker, by its number.
    lives: Mutex<BTreeMap<u64, Life>>,
}

impl Tally {
    /// One more of these.
    pub(crate) fn note(&self, what: &'static str) {
        *self
            .counts
            .lock()
            .expect("no panic under the lock")
            .entry(what)
            .or_default() += 1;
    }

    /// How many of these.
    pub(crate) fn count(&self, what: &str) -> u64 {
        let counts = self.counts.lock().expect("no panic under the lock");
        counts.get(what).copied().unwrap_or_default()
    }

    /// What a worker met, and what it measured, so far in its life.
    pub(crate) fn life(&self, number: u64, injected: Injected, measured: BTreeMap<String, u64>) {
        self.lives
            .lock()
            .expect("no panic under the lock")
            .insert(number, Life { injected, measured });
    }

    fn database(&self) -> [(&'static str, u64); 6] {
        let lives = self.lives.lock().expect("no panic under the lock");
        let sum = |of: fn(&Injected) -> u64| lives.values().map(|life| of(&life.injected)).sum::<u64>();
        [
            ("database requests", sum(|one| one.requests)),
            ("  of these throttled", sum(|one| one.throttled)),
            ("  refused for a rival transaction", sum(|one| one.conflicts)),
            ("  lost before their effect", sum(|one| one.unsent)),
            ("  done, and the answer lost", sum(|one| one.lost)),
            ("  index reads that lagged", sum(|one| one.lagging)),
        ]
    }

    /// All that was injected into database clients.
    pub(crate) fn database_faults(&self) -> u64 {
        self.database().iter().skip(1).map(|(_, count)| count).sum()
    }

    /// The kinds of faults that this run did without.
    pub(crate) fn missing(&self) -> Vec<&'static str> {
        let missing = kinds::NEEDED.into_iter().filter(|kind| self.count(kind) == 0);
        let database = self.database().into_iter().filter(|(_, count)| *count == 0);
        missing.chain(database.map(|(what, _)| what.trim())).collect()
    }

    /// A line for each kind.
    pub(crate) fn table(&self) -> String {
        let mut lines = String::from("what went wrong:\n");
        {
            let counts = self.counts.lock().expect("no panic under the lock");
            for (what, count) in counts.iter() {
                let _ = writeln!(lines, "  {count:>8}  {what}");
            }
        }
        for (what, count) in self.database() {
            let _ = writeln!(lines, "  {count:>8}  {what}");
        }
        lines.push_str("what the workers did about it (as far as they lived to say so):\n");
        let lives = self.lives.lock().expect("no panic under the lock");
        let mut measured: BTreeMap<&str, u64> = BTreeMap::new();
        for (metric, count) in lives.values().flat_map(|life| &life.measured) {
            *measured.entry(metric).or_default() += count;
        }
        for (metric, count) in measured {
            let _ = writeln!(lines, "  {count:>8}  {metric}");
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_that_never_came_is_missing() {
        let tally = Tally::default();
        assert_eq!(tally.missing().len(), kinds::NEEDED.len() + 6);
        for kind in kinds::NEEDED.into_iter().skip(1) {
            tally.note(kind);
        }
        let injected = Injected {
            requests: 9,
            throttled: 1,
            conflicts: 1,
            unsent: 1,
            lost: 1,
            lagging: 0,
        };
        tally.life(1, injected, BTreeMap::new());
        assert_eq!(tally.missing(), [kinds::KILLED, "index reads that lagged"]);
        assert_eq!(tally.database_faults(), 4);
    }

    #[test]
    fn lives_add_up_and_a_later_word_of_one_replaces_the_earlier() {
        let tally = Tally::default();
        let of = |requests| Injected {
            requests,
            ..Injected::default()
        };
        let resumed = |count| BTreeMap::from([("TasksResumed".to_owned(), count)]);
        tally.life(1, of(5), resumed(1));
        tally.life(1, of(8), resumed(2));
        tally.life(2, of(1), resumed(3));
        let table = tally.table();
        assert!(table.contains("9  database requests"), "{table}");
        assert!(table.contains("5  TasksResumed"), "{table}");
    }
}
