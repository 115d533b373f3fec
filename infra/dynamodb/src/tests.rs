//! What a write costs does not grow with what is stored.
//!
//! SQLite's own `:memory:` fails this (3.49). When it balances neighbouring pages, it gives them the number of the page at
//! 1 GiB for a moment (`balance_nonroot`). Its page cache takes that for the largest page it holds, and so the next commit
//! looks through every page in memory for those behind the end of the database (`pcache1TruncateUnsafe`).

use std::time::{Duration, Instant};

use rusqlite::{Connection, params};

use super::MEMORY;

/// A table and its index, as the engine makes them.
const TABLES: &str = "
    CREATE TABLE items (pk TEXT NOT NULL, sk TEXT NOT NULL, item_json TEXT NOT NULL, PRIMARY KEY (pk, sk));
    CREATE TABLE by_owner (gsi_pk TEXT NOT NULL, gsi_sk TEXT NOT NULL, table_pk TEXT NOT NULL, table_sk TEXT NOT NULL,
        item_json TEXT NOT NULL, PRIMARY KEY (gsi_pk, gsi_sk, table_pk, table_sk));
    CREATE INDEX base_key ON by_owner (table_pk, table_sk);";

/// Writes of one measurement.
const BATCH: u64 = 50;

struct Filled {
    database: Connection,
    written: u64,
}

impl Filled {
    fn with(address: &str, items: u64) -> Self {
        let database = Connection::open(address).unwrap();
        database.execute_batch(TABLES).unwrap();
        let mut filled = Self { database, written: 0 };
        filled.in_one(|filled| (0..items).for_each(|_| filled.write()));
        filled
    }

    fn in_one(&mut self, write: impl FnOnce(&mut Self)) {
        self.database.execute_batch("BEGIN IMMEDIATE").unwrap();
        write(self);
        self.database.execute_batch("COMMIT").unwrap();
    }

    /// One item under a key that looks random, and its entry in the index.
    fn write(&mut self) {
        self.written += 1;
        let key = self.written.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let (key, at) = (format!("acme#task#{key:016x}"), format!("{:020}", self.written));
        let item = "x".repeat(900);
        let insert = |sql: &str, values: &[&str]| {
            let mut statement = self.database.prepare_cached(sql).unwrap();
            statement.execute(rusqlite::params_from_iter(values)).unwrap();
        };
        insert(
            "INSERT OR REPLACE INTO items VALUES (?1, ?2, ?3)",
            &[&key, "TASK", &item],
        );
        let entry = ["acme#alice", &at, &key, "TASK", &item[..400]];
        insert(
            "INSERT OR REPLACE INTO by_owner VALUES (?1, ?2, ?3, ?4, ?5)",
            &entry,
        );
    }

    fn batch(&mut self) -> Duration {
        let began = Instant::now();
        for _ in 0..BATCH {
            self.in_one(Self::write);
        }
        began.elapsed()
    }
}

/// How much longer a write takes over ten times as many items: the quickest batches of both, which take turns.
fn growth(address: &str) -> f64 {
    let mut small = Filled::with(address, 10_000);
    let mut large = Filled::with(address, 100_000);
    let (mut few, mut many) = (Duration::MAX, Duration::MAX);
    for _ in 0..40 {
        few = few.min(small.batch());
        many = many.min(large.batch());
    }
    let count = |filled: &Filled| -> u64 {
        let count = filled
            .database
            .query_row("SELECT count(*) FROM items", params![], |row| row.get(0));
        count.unwrap()
    };
    assert_eq!(count(&small), small.written, "each has a database of its own");
    assert_eq!(count(&large), large.written);
    many.as_secs_f64() / few.as_secs_f64()
}

#[test]
fn a_write_costs_the_same_however_much_is_stored() {
    let ours = growth(MEMORY);
    assert!(
        ours < 2.0,
        "over ten times the items a write takes {ours:.2} times as long"
    );
    // Batches take milliseconds, and what else runs on this machine is measured with them: both are measured again if
    // that hid the difference.
    let mut measured = vec![(ours, growth(":memory:"))];
    while measured.len() < 4 && measured.iter().all(|(ours, usual)| ours >= usual) {
        measured.push((growth(MEMORY), growth(":memory:")));
    }
    assert!(
        measured.iter().any(|(ours, usual)| ours < usual),
        "SQLite's own memory never grows more (ours and its: {measured:.2?}): `MEMORY` can be `:memory:` again"
    );
}
