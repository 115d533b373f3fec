//! What was done to the system, counted.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;

use store::testing::Injected;

/// Counts of every kind of fault.
#[derive(Default)]
pub(crate) struct Tally {
    counts: Mutex<BTreeMap<&'static str, u64>>,
    /// The latest count of each life of a worker, by its process id.
    lives: Mutex<BTreeMap<u32, Injected>>,
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

    /// What a worker's database client met so far in its life.
    pub(crate) fn database(&self, process: u32, injected: Injected) {
        self.lives
            .lock()
            .expect("no panic under the lock")
            .insert(process, injected);
    }

    /// A line for each kind.
    pub(crate) fn table(&self) -> String {
        let mut lines = String::from("survived:\n");
        let counts = self.counts.lock().expect("no panic under the lock");
        for (what, count) in counts.iter() {
            let _ = writeln!(lines, "  {count:>7}  {what}");
        }
        let lives = self.lives.lock().expect("no panic under the lock");
        let sum = |of: fn(&Injected) -> u64| lives.values().map(of).sum::<u64>();
        for (what, count) in [
            ("database requests", sum(|one| one.requests)),
            ("  of these throttled", sum(|one| one.throttled)),
            ("  refused for a rival transaction", sum(|one| one.conflicts)),
            ("  lost before their effect", sum(|one| one.unsent)),
            ("  done, and the answer lost", sum(|one| one.lost)),
            ("  index reads that lagged", sum(|one| one.lagging)),
        ] {
            let _ = writeln!(lines, "  {count:>7}  {what}");
        }
        lines
    }
}
