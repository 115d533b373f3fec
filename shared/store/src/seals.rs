//! Seals of the audit: each closed minute of a tenant's entries goes into a chain of hashes, each link signed. What was sealed and is changed
//! or taken away after that is found, and what was put beside it too.
//!
//! Seals are numbered: number `n` names its entries by their keys and digests, and holds the hash of number `n - 1`. Whoever seals puts the
//! next number if it is not there, so that of two at once one makes it and the other looks again. A minute is closed [`GRACE`] after its end;
//! an entry of a clock behind that comes up to [`LATE`] after that is in the next seal.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use domain::{Tenant, Timestamp};
use serde::{Deserialize, Serialize};

use crate::StoreError;
use crate::audit::{Audit, ENTRY, partition};
use crate::blobs::BlobKey;
use crate::change::{Change, text};
use crate::codec::{Item, decode, encode, key_of, text_of};
use crate::dynamo::{Query, Written};
use crate::record::digest;
use crate::schema::{BY_TIME, EXPIRES_AT};

/// How long after its end a minute is closed.
pub const GRACE: Duration = Duration::from_secs(60);

/// So long after that an entry may still come, and is sealed with the next ones.
pub const LATE: Duration = Duration::from_secs(600);

/// Where the first look begins.
const FIRST: Duration = Duration::from_secs(3600);

const MINUTE: i64 = 60_000;

/// Most entries of one seal, which is one item.
const AT_ONCE: usize = 1000;

/// How often somebody else may make the seal first.
const ROUNDS: u32 = 8;

const SEAL: &str = "SEAL#";
const CURSOR: &str = "CURSOR";

/// Signs bytes; its protected header and its signature.
pub type Sign<'s> = &'s (dyn Fn(&[u8]) -> Option<[String; 2]> + Send + Sync);

/// Whether this is the signature of bytes.
pub type IsSigned<'s> = &'s (dyn Fn(&[String; 2], &[u8]) -> bool + Send + Sync);

/// An entry as a seal has it: its key, when it ends, and its digest.
type Sealed = (String, i64, String);

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Seal {
    pk: String,
    sk: String,
    number: u64,
    /// What was written before is in this seal or in one before it.
    until: Timestamp,
    /// The hash of the seal before, and when that ends.
    before: Option<(String, i64)>,
    entries: Vec<Sealed>,
    hash: String,
    signature: [String; 2],
    expires_at: i64,
}

impl Seal {
    fn hash_of(&self) -> String {
        let said = (&self.pk, self.number, self.until, &self.before, &self.entries);
        digest(&serde_json::to_string(&said).unwrap_or_default())
    }
}

/// Where the seals of the entries of a partition lie. Who writes entries has no right there.
fn seals_of(partition: &str) -> String {
    partition.replace("#audit", "#seals")
}

fn number_of(item: &Item, name: &str) -> i64 {
    let number = item.get(name).and_then(|value| value.as_n().ok());
    number.and_then(|number| number.parse().ok()).unwrap_or_default()
}

/// The entry as a seal has it: a digest over all that it says, by the names of its attributes.
fn sealed(table: &str, item: &Item) -> Result<Sealed, StoreError> {
    let (_, sk) = key_of(table, item)?;
    let ends = number_of(item, EXPIRES_AT);
    let said: BTreeMap<&str, &str> = item
        .iter()
        .filter_map(|(name, value)| Some((name.as_str(), value.as_s().ok()?.as_str())))
        .collect();
    let said = serde_json::to_string(&(ends, said)).unwrap_or_default();
    Ok((sk, ends, digest(&said)))
}

/// When an entry was written, by its key.
fn written_at(sk: &str) -> Option<Timestamp> {
    Timestamp::parse(sk.strip_prefix(ENTRY)?.split('#').next()?)
}

/// What is wrong with an audit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "fault")]
pub enum Fault {
    /// An entry says something else than what was sealed.
    Changed {
        /// Its key.
        entry: String,
    },
    /// An entry that was sealed is not there, and has not ended.
    Removed {
        /// Its key.
        entry: String,
    },
    /// An entry is in no seal, though its minute was closed long ago: it was put there afterwards, or nobody seals.
    Inserted {
        /// Its key.
        entry: String,
    },
    /// A seal is not what was signed, or not the next of the one before.
    Seal {
        /// Its number.
        number: u64,
    },
}

/// What a look at the whole audit of a tenant found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Verified {
    /// How many entries there are.
    pub entries: usize,
    /// How many seals.
    pub seals: usize,
    /// What is wrong.
    pub faults: Vec<Fault>,
    /// The newest entries, which no seal has yet: for so long nobody could tell.
    pub unsealed: Vec<String>,
    /// Entries that came after their minute was closed, and are in a later seal.
    pub late: Vec<String>,
}

impl Audit<'_> {
    /// Seals what every tenant's closed minutes have that no seal has; how many entries that were. A repeat seals nothing twice.
    ///
    /// # Errors
    /// What the database says; [`StoreError::Throttled`] where nothing could be signed, or others seal all the time.
    pub async fn seal(&self, sign: Sign<'_>) -> Result<usize, StoreError> {
        let until = Timestamp::from_millis(self.now.before(GRACE).millis().div_euclid(MINUTE) * MINUTE);
        let cursor = (seals_of(&partition(None)), CURSOR.to_owned());
        let table = &self.store.tables().audit;
        let known = self.store.item(table, &cursor).await?;
        let known = known.and_then(|item| text_of(&item, "until").and_then(Timestamp::parse));
        let from = known.map_or(until.before(FIRST), |known| known.min(until).before(LATE));
        let (mut count, mut failed) = (0, None);
        for partition in self.written_in(from, until).await? {
            match self.seal_one(&partition, (from, until), sign).await {
                Ok(sealed) => count += sealed,
                // Others are sealed all the same, and this one is looked at again.
                Err(error) => failed = Some(error),
            }
        }
        if let Some(error) = failed {
            return Err(error);
        }
        let mut item = crate::codec::keyed(&cursor);
        item.insert("until".to_owned(), text(until));
        self.store.put(table, item, Change::new()).await?;
        Ok(count)
    }

    /// The partitions with entries of this time.
    async fn written_in(&self, from: Timestamp, until: Timestamp) -> Result<BTreeSet<String>, StoreError> {
        let mut found = BTreeSet::new();
        let (mut hour, last) = (from, until.to_string());
        loop {
            let begins = hour.to_string().get(..13).unwrap_or_default().to_owned();
            if begins.as_str() > last.get(..13).unwrap_or_default() {
                return Ok(found);
            }
            for part in crate::audit::PARTS {
                let query = Query {
                    table: &self.store.tables().audit,
                    index: Some(BY_TIME.name),
                    condition: "#hour = :hour AND #at BETWEEN :from AND :until",
                    values: vec![
                        (":hour", text(format!("{begins}#{part}"))),
                        (":from", text(from)),
                        (":until", text(until)),
                    ],
                    ..Query::default()
                };
                let items = self.store.query_all(query).await?;
                found.extend(
                    items
                        .iter()
                        .filter_map(|item| text_of(item, "pk"))
                        .map(str::to_owned),
                );
            }
            hour = hour.after(FIRST);
        }
    }

    async fn entries(
        &self,
        partition: &str,
        (from, until): (Timestamp, Timestamp),
    ) -> Result<Vec<Item>, StoreError> {
        let query = Query {
            table: &self.store.tables().audit,
            condition: "#pk = :pk AND #sk BETWEEN :from AND :until",
            values: vec![
                (":pk", text(partition)),
                (":from", text(format!("{ENTRY}{from}"))),
                (":until", text(format!("{ENTRY}{until}"))),
            ],
            ..Query::default()
        };
        self.store.query_all(query).await
    }

    /// The seals of a partition that may have entries of this time or later, the newest first, and the one before them.
    async fn seals(&self, partition: &str, from: Timestamp) -> Result<Vec<Seal>, StoreError> {
        let table = &self.store.tables().audit;
        let mut seals: Vec<Seal> = Vec::new();
        let seals_at = seals_of(partition);
        let mut start = None;
        loop {
            let query = Query {
                table,
                condition: "#pk = :pk AND begins_with(#sk, :seal)",
                values: vec![(":pk", text(&seals_at)), (":seal", text(SEAL))],
                limit: Some(20),
                backwards: true,
                start,
                ..Query::default()
            };
            let (items, next) = self.store.query(query).await?;
            for item in items {
                let seal: Seal = decode(table, item)?;
                let is_before = seal.until < from;
                seals.push(seal);
                if is_before {
                    return Ok(seals);
                }
            }
            if next.is_none() {
                return Ok(seals);
            }
            start = next;
        }
    }

    async fn seal_one(
        &self,
        partition: &str,
        (from, until): (Timestamp, Timestamp),
        sign: Sign<'_>,
    ) -> Result<usize, StoreError> {
        let table = &self.store.tables().audit;
        let throttled = || StoreError::Throttled { operation: "PutItem" };
        let (mut count, mut lost) = (0, 0);
        loop {
            // Read before the seals: what another one seals meanwhile is in those.
            let written = self.entries(partition, (from, until)).await?;
            let seals = self.seals(partition, from).await?;
            let known: BTreeSet<&str> = seals.iter().flat_map(Seal::keys).collect();
            let open = written
                .iter()
                .filter(|item| text_of(item, "sk").is_some_and(|sk| !known.contains(sk)));
            let open: Vec<&Item> = open.take(AT_ONCE).collect();
            let entries = open.iter().map(|item| sealed(table, item));
            let entries: Vec<Sealed> = entries.collect::<Result<_, _>>()?;
            if entries.is_empty() {
                return Ok(count);
            }
            let sealing = entries.len();
            let head = seals.first();
            let number = head.map_or(1, |head| head.number + 1);
            let ends = entries.iter().map(|(_, ends, _)| *ends).max().unwrap_or_default();
            let mut seal = Seal {
                pk: seals_of(partition),
                sk: format!("{SEAL}{number:012}"),
                number,
                until: head.map_or(until, |head| head.until.max(until)),
                before: head.map(|head| (head.hash.clone(), head.expires_at)),
                entries,
                hash: String::new(),
                signature: Default::default(),
                expires_at: head.map_or(ends, |head| head.expires_at.max(ends)),
            };
            seal.hash = seal.hash_of();
            let Some(signature) = sign(seal.hash.as_bytes()) else {
                return Err(throttled());
            };
            seal.signature = signature;
            let absent = Change::new().when("attribute_not_exists(#pk)");
            self.ship(&seal, &open).await?;
            match self.store.put(table, encode(&seal)?, absent).await? {
                Written::Done(_) => {
                    tracing::info!(partition, number, seal.hash, entries = sealing, "audit sealed");
                    count += sealing;
                }
                Written::Refused(_) if lost < ROUNDS => lost += 1,
                Written::Refused(_) => return Err(throttled()),
            }
        }
    }

    /// Puts a seal and its entries, a line of JSON each, where nobody changes anything. What lies there of a number that somebody else's
    /// seal has in the table is one that did not come to be.
    async fn ship(&self, seal: &Seal, entries: &[&Item]) -> Result<(), StoreError> {
        let Some(place) = self.ships_to else {
            return Ok(());
        };
        let table = &self.store.tables().audit;
        let mut lines = vec![serde_json::json!(seal).to_string()];
        for entry in entries {
            let entry: serde_json::Value = decode(table, (*entry).clone())?;
            lines.push(entry.to_string());
        }
        let bytes = lines.join("\n").into_bytes();
        let key = BlobKey::new(&format!("{}#{:012}", seal.pk, seal.number), &bytes);
        place.put(&key, &bytes).await
    }

    /// Holds a tenant's entries (or the platform's own) since a time against their seals.
    ///
    /// # Errors
    /// What the database says.
    pub async fn verify(
        &self,
        tenant: Option<&Tenant>,
        since: Timestamp,
        is_signed: IsSigned<'_>,
    ) -> Result<Verified, StoreError> {
        let partition = partition(tenant);
        let table = &self.store.tables().audit;
        let mut seals = self.seals(&partition, since).await?;
        seals.reverse();
        let mut written = BTreeMap::new();
        // A clock may be ahead.
        for item in self.entries(&partition, (since, self.now.after(LATE))).await? {
            let (sk, _, digest) = sealed(table, &item)?;
            written.insert(sk, digest);
        }
        let mut told = Verified {
            entries: written.len(),
            seals: seals.len(),
            ..Verified::default()
        };
        let now = self.now.seconds();
        let mut known = BTreeSet::new();
        let mut before: Option<&Seal> = None;
        for seal in &seals {
            let follows = match (before, &seal.before) {
                (Some(before), Some((hash, _))) => {
                    before.number + 1 == seal.number && before.hash == *hash && before.until <= seal.until
                }
                (Some(_), None) => false,
                // The first that was asked for: those before it have ended, or are older than what was asked.
                (None, Some((_, ends))) => seal.number > 1 && (*ends <= now || seal.until <= since),
                (None, None) => seal.number == 1,
            };
            if !follows || seal.hash != seal.hash_of() || !is_signed(&seal.signature, seal.hash.as_bytes()) {
                told.faults.push(Fault::Seal { number: seal.number });
            }
            for (sk, ends, digest) in &seal.entries {
                known.insert(sk.as_str());
                let at = written_at(sk);
                if at.is_none_or(|at| at < since) {
                    continue;
                }
                let entry = sk.clone();
                match written.get(sk) {
                    None if *ends > now => told.faults.push(Fault::Removed { entry }),
                    Some(found) if found != digest => told.faults.push(Fault::Changed { entry }),
                    _ => {}
                }
                if before.is_some_and(|before| at.is_some_and(|at| at < before.until)) {
                    told.late.push(sk.clone());
                }
            }
            before = Some(seal);
        }
        let long_ago = self.now.before(GRACE + LATE);
        for sk in written.into_keys().filter(|sk| !known.contains(sk.as_str())) {
            let is_new = written_at(&sk).is_some_and(|at| at > long_ago);
            match is_new {
                true => told.unsealed.push(sk),
                false => told.faults.push(Fault::Inserted { entry: sk }),
            }
        }
        Ok(told)
    }
}

impl Seal {
    fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|(sk, ..)| sk.as_str())
    }
}
