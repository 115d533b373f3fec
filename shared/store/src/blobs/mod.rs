//! Large things: what is too dear for a table lies in a blob store, and its record names it.
//!
//! DynamoDB charges a write unit for each begun kilobyte at each write of a record, a blob store once for a file of any size. So each
//! string of a record's JSON that has [`LARGE`] bytes or more (a file in base64, a long text) is replaced by a reference, when the
//! record is encoded, and put back when it is read: whoever has a task from the store sees no difference. Files of a chat's
//! messages go the same way (`sessions/files.rs`).
//!
//! **Keys.** A blob belongs to the partition of the record that names it: a task, or a chat. Its key is that partition, which begins
//! with the tenant, and the SHA-256 of its bytes. A record holds the hash alone: what a reference says, it leads to nothing of
//! another task, chat or tenant, because the partition is that of the record itself. So all blobs of an owner have one prefix, and go by
//! it when the owner is removed; those of a tenant likewise. Nothing is shared between owners: a copy costs less than knowing who else needs it.
//!
//! **Files that nobody holds.** A result of tens of megabytes is never whole in memory: it comes in part by part (`incoming.rs`), before anybody
//! knows its hash, so that its key ends with the hash of a seed. The record has its address, size and hash as any other text, and whoever
//! reads the task does not read the file.
//!
//! **Order.** The blobs come first, then the record: a death in between leaves blobs without a record, never a record without its
//! blobs. Removal goes the other way round, and begins with the blobs: a record that is left leads to them again.
//! What no record leads to any more (a death, an item that DynamoDB expired) is found by [`Orphans`].
//!
//! **Trust.** Length and hash are checked when a blob is read. How many there are in a record and how long they are together is
//! bounded before one is fetched. A string of somebody else's that looks like a reference is escaped when it is written.
//!
//! **Releases.** A task with references says that it needs a release that knows them ([`domain::BLOB_RECORDS`]); any other is
//! as it was.

mod folder;
mod incoming;
mod orphans;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use domain::{Tenant, Timestamp};
use sha2::{Digest as _, Sha256};

use crate::codec::{Key, inconsistent};
use crate::packed::UNPACKED_LIMIT;
use crate::{Store, StoreError};

pub use folder::Folder;
pub use incoming::{Incoming, PART, Received, Receiving};
pub use orphans::Orphans;

/// From so many bytes on, a string of a record lies in the blob store. Below it the writes that it saves cost less than the
/// requests.
pub const LARGE: usize = 16 * 1024;

/// Most bytes of one blob.
pub const BLOB_MAX: usize = UNPACKED_LIMIT;

/// Most keys that one listing returns.
pub const LISTED_MAX: usize = 1000;

/// Most references in one record: of one that is as large as it may be, each of the least size.
const REFERENCES_MAX: usize = UNPACKED_LIMIT / LARGE;

const NEVER_WRITTEN: &str = "it names no blob that was ever written";
const OTHERS_BYTES: &str = "a part of it in the blob store is not what was put there";

/// What a reference begins with, in the place of a string. Behind it stand hash and length, or [`ESCAPE`] and a string that begins so itself.
const MARK: &str = "switchyard-blob:";
const ESCAPE: char = '=';

/// The key in a record's JSON whose value is a file: [`domain::PartContent::Raw`].
const FILE: &str = "raw";

/// Where a blob lies: whose it is, and the hash of its bytes. It is made from the key of a record alone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlobKey {
    owner: String,
    hash: String,
}

impl BlobKey {
    pub(crate) fn new(owner: &str, bytes: &[u8]) -> Self {
        Self {
            owner: owner.to_owned(),
            hash: hash_of(bytes),
        }
    }

    /// The key of that path; none of a path that is no blob's.
    #[must_use]
    pub fn parse(path: &str) -> Option<Self> {
        let (owner, hash) = path.split_once('/')?;
        let owner = owner.replace("%2F", "/").replace("%25", "%");
        let key = is_hash(hash).then(|| Self {
            owner,
            hash: hash.to_owned(),
        })?;
        (key.path() == path).then_some(key)
    }

    /// Its path in the store: the partition, in which a slash is escaped, a slash, and the hash.
    #[must_use]
    pub fn path(&self) -> String {
        format!("{}/{}", escaped(&self.owner), self.hash)
    }

    /// The partition that it belongs to.
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// The SHA-256 of its bytes, in hex.
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.hash
    }
}

fn escaped(owner: &str) -> String {
    owner.replace('%', "%25").replace('/', "%2F")
}

pub(crate) fn hash_of(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Which blobs are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlobScope {
    /// Those of one partition.
    Owner(String),
    /// Those of a tenant.
    Tenant(Tenant),
    /// Each.
    All,
}

impl BlobScope {
    /// What their paths begin with.
    #[must_use]
    pub fn prefix(&self) -> String {
        match self {
            Self::Owner(owner) => format!("{}/", escaped(owner)),
            Self::Tenant(tenant) => format!("{}#", tenant.prefix()),
            Self::All => String::new(),
        }
    }
}

/// A blob of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedBlob {
    /// Where it lies.
    pub key: BlobKey,
    /// When it was last put.
    pub put_at: Timestamp,
}

/// A place for large things. What is put under a key is always the same.
#[async_trait]
pub trait Blobs: Send + Sync {
    /// Keeps these bytes, all of them or none.
    ///
    /// # Errors
    /// What the place says.
    async fn put(&self, key: &BlobKey, bytes: &[u8]) -> Result<(), StoreError>;

    /// The bytes, at most `most` of them; `None` where there are none. Whoever asks checks the hash.
    ///
    /// # Errors
    /// What the place says, and where they are more.
    async fn get(&self, key: &BlobKey, most: usize) -> Result<Option<Vec<u8>>, StoreError>;

    /// Begins a blob that comes in parts.
    ///
    /// # Errors
    /// What the place says.
    async fn begin(&self, key: &BlobKey) -> Result<Box<dyn Incoming>, StoreError>;

    /// So many of its bytes, from the one of that number on, fewer where it ends before; `None` where there is no such blob.
    ///
    /// # Errors
    /// What the place says.
    async fn piece(&self, key: &BlobKey, from: u64, most: usize) -> Result<Option<Vec<u8>>, StoreError>;

    /// Removes it, where it is there.
    ///
    /// # Errors
    /// What the place says.
    async fn delete(&self, key: &BlobKey) -> Result<(), StoreError>;

    /// What is there, in the order of the paths, from behind `after` on: at most [`LISTED_MAX`]. None means that there is no more.
    ///
    /// # Errors
    /// What the place says.
    async fn list(&self, scope: &BlobScope, after: Option<&BlobKey>) -> Result<Vec<ListedBlob>, StoreError>;
}

/// What of a record stays in the blob store when it is read, with references in the places of the strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    Nothing,
    /// The bytes of files.
    Files,
    Everything,
}

/// The hashes and lengths of what of a record lies in the blob store.
pub(crate) type Beside = BTreeMap<String, usize>;

/// A record's JSON as it is to be written, and what goes into the blob store before it.
#[derive(Debug, Default)]
pub(crate) struct Spilled {
    pub(crate) text: String,
    large: BTreeMap<String, String>,
    refers: bool,
    /// How many bytes it has with the large ones in it.
    pub(crate) whole: usize,
}

impl Spilled {
    /// Takes the large strings out. What is `known` to be there needs no writing, and may stand in the JSON as a reference: so
    /// does a task that was read without its large things.
    fn of(json: &str, has_blobs: bool, known: &Beside) -> Self {
        let mut spilled = Self::default();
        if (json.len() < LARGE || !has_blobs) && !json.contains(MARK) {
            json.clone_into(&mut spilled.text);
            spilled.whole = json.len();
            return spilled;
        }
        let Self {
            large, refers, whole, ..
        } = &mut spilled;
        *whole = json.len();
        let text = rewritten(json, |_, content| {
            if let Some(rest) = content.strip_prefix(MARK) {
                let Some(length) = reference(content).and_then(|(hash, _)| known.get(hash)) else {
                    return Some(format!("{MARK}{ESCAPE}{rest}"));
                };
                (*refers, *whole) = (true, whole.saturating_add(*length));
                return None;
            }
            if content.len() < LARGE || !has_blobs {
                return None;
            }
            *refers = true;
            let hash = hash_of(content.as_bytes());
            let refers_to = format!("{MARK}{hash}:{}", content.len());
            if !known.contains_key(&hash) {
                large.insert(hash, content.to_owned());
            }
            Some(refers_to)
        });
        Self { text, ..spilled }
    }

    /// True where it names something of the blob store.
    pub(crate) fn refers(&self) -> bool {
        self.refers
    }
}

/// The same JSON text with other contents of its strings: as they stand there, escapes and all. `each` is told too whether one is
/// the value of [`FILE`].
fn rewritten(json: &str, mut each: impl FnMut(bool, &str) -> Option<String>) -> String {
    let (mut text, mut rest) = (String::new(), json);
    let mut last = "";
    while let Some((before, after)) = rest.split_once('"') {
        text.push_str(before);
        text.push('"');
        let Some((content, more)) = ended(after) else {
            rest = after;
            break;
        };
        match each(before == ":" && last == FILE, content) {
            Some(other) => text.push_str(&other),
            None => text.push_str(content),
        }
        text.push('"');
        (rest, last) = (more, content);
    }
    text.push_str(rest);
    text
}

/// The content of a string, and what comes behind its end.
fn ended(text: &str) -> Option<(&str, &str)> {
    text.match_indices('"').find_map(|(at, _)| {
        let (content, more) = text.split_at_checked(at)?;
        let slashes = content.bytes().rev().take_while(|byte| *byte == b'\\').count();
        (slashes % 2 == 0).then_some((content, more.get(1..)?))
    })
}

/// The hash and length that a reference names.
pub(crate) fn reference(content: &str) -> Option<(&str, usize)> {
    let (hash, length) = content.strip_prefix(MARK)?.split_once(':')?;
    let length = length.parse().ok()?;
    is_hash(hash).then_some((hash, length))
}

/// How many bytes a file has by what its part holds: base64, or a reference in its place, by which it is up to two bytes more.
#[must_use]
pub fn file_size(content: &str) -> usize {
    let length = reference(content).map_or_else(|| content.trim_end_matches('=').len(), |(_, length)| length);
    length.saturating_mul(3) / 4
}

/// The references of a JSON text.
fn references(json: &str) -> Beside {
    let mut found = Beside::new();
    if json.contains(MARK) {
        rewritten(json, |_, content| {
            let (hash, length) = reference(content)?;
            found.insert(hash.to_owned(), length);
            None
        });
    }
    found
}

impl Store {
    /// The same store, whose large things lie there.
    #[must_use]
    pub fn with_blobs(self, blobs: Arc<dyn Blobs>) -> Self {
        Self {
            blobs: Some(blobs),
            ..self
        }
    }

    /// What of this JSON goes where.
    pub(crate) fn spilled(&self, json: &str, known: &Beside) -> Spilled {
        Spilled::of(json, self.blobs.is_some(), known)
    }

    /// Puts what was taken out of a record of this partition where the record says that it is: to be called before the record
    /// is written.
    pub(crate) async fn put_large(&self, owner: &str, spilled: &[&Spilled]) -> Result<(), StoreError> {
        let large: BTreeMap<&str, &str> = spilled
            .iter()
            .flat_map(|one| &one.large)
            .map(|(hash, content)| (hash.as_str(), content.as_str()))
            .collect();
        for content in large.values() {
            self.put_blob(owner, content.as_bytes()).await?;
        }
        Ok(())
    }

    /// Puts bytes beside a partition; their hash. None where there is no blob store, or they are not worth it.
    pub(crate) async fn put_blob(&self, owner: &str, bytes: &[u8]) -> Result<Option<String>, StoreError> {
        match &self.blobs {
            Some(blobs) if bytes.len() >= LARGE => {
                let key = BlobKey::new(owner, bytes);
                blobs.put(&key, bytes).await?;
                Ok(Some(key.hash))
            }
            _ => Ok(None),
        }
    }

    /// The bytes that an item names.
    pub(crate) async fn blob(
        &self,
        table: &str,
        key: &Key,
        (hash, length): (&str, usize),
    ) -> Result<Vec<u8>, StoreError> {
        if length > BLOB_MAX {
            return Err(inconsistent(table, key, NEVER_WRITTEN));
        }
        let bytes = self.whole_blob(table, key, (hash, length)).await?;
        let bytes = bytes.ok_or_else(|| inconsistent(table, key, "a part of it is not in the blob store"))?;
        match bytes.len() == length {
            true => Ok(bytes),
            false => Err(inconsistent(table, key, OTHERS_BYTES)),
        }
    }

    /// The bytes that an item names by their hash alone, where they are there.
    pub(crate) async fn whole_blob(
        &self,
        table: &str,
        key: &Key,
        (hash, most): (&str, usize),
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(blobs) = &self.blobs else {
            return Err(inconsistent(
                table,
                key,
                "a part of it lies in a blob store, of which this program has none",
            ));
        };
        if !is_hash(hash) {
            return Err(inconsistent(table, key, NEVER_WRITTEN));
        }
        let place = BlobKey {
            owner: key.0.clone(),
            hash: hash.to_owned(),
        };
        let bytes = blobs.get(&place, most).await?;
        match bytes.as_deref().is_none_or(|bytes| hash_of(bytes) == hash) {
            true => Ok(bytes),
            false => Err(inconsistent(table, key, OTHERS_BYTES)),
        }
    }

    /// The JSON of an item with its large strings, but for those that are `left` where they are, and which of them lie in the blob store.
    pub(crate) async fn restored(
        &self,
        (table, key): (&str, &Key),
        json: String,
        left: Left,
    ) -> Result<(String, Beside), StoreError> {
        if !json.contains(MARK) {
            return Ok((json, Beside::new()));
        }
        let beside = references(&json);
        let together = beside.values().fold(0_usize, |all, one| all.saturating_add(*one));
        if beside.len() > REFERENCES_MAX || together > UNPACKED_LIMIT {
            return Err(inconsistent(
                table,
                key,
                "it names more of the blob store than was ever written",
            ));
        }
        let mut wanted = beside.clone();
        if left != Left::Nothing {
            wanted.clear();
            rewritten(&json, |is_file, content| {
                let (hash, length) = reference(content).filter(|_| left == Left::Files && !is_file)?;
                wanted.insert(hash.to_owned(), length);
                None
            });
        }
        let mut large = BTreeMap::new();
        for (hash, length) in wanted {
            let bytes = self.blob(table, key, (&hash, length)).await?;
            let content = String::from_utf8(bytes);
            let content = content.map_err(|_| inconsistent(table, key, "a blob of it is no text"))?;
            large.insert(hash, content);
        }
        let json = rewritten(&json, |_, content| match reference(content) {
            Some((hash, _)) => large.get(hash).cloned(),
            None => {
                let rest = content.strip_prefix(MARK)?.strip_prefix(ESCAPE)?;
                Some(format!("{MARK}{rest}"))
            }
        });
        // The same string may stand in several places.
        crate::codec::fits("the record", json.len(), UNPACKED_LIMIT)?;
        Ok((json, beside))
    }

    /// Removes what lies in the blob store of a scope; how many there were. A repeat goes on where one broke off.
    pub(crate) async fn remove_blobs(&self, scope: &BlobScope) -> Result<usize, StoreError> {
        let (Some(blobs), mut gone) = (&self.blobs, 0) else {
            return Ok(0);
        };
        loop {
            let found = blobs.list(scope, None).await?;
            if found.is_empty() {
                return Ok(gone);
            }
            for one in &found {
                blobs.delete(&one.key).await?;
            }
            gone += found.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_key_is_its_owners_whatever_the_owner_is_called() {
        for owner in [
            "acme#chat#a",
            "acme#chat#a/b",
            "acme#chat#a%2Fb",
            "acme#chat#%25/",
        ] {
            let key = BlobKey::new(owner, b"x");
            assert_eq!(BlobKey::parse(&key.path()), Some(key.clone()));
            assert!(
                key.path()
                    .starts_with(&BlobScope::Owner(owner.to_owned()).prefix())
            );
        }
        let nested = BlobKey::new("acme#chat#a/b", b"x").path();
        assert!(!nested.starts_with(&BlobScope::Owner("acme#chat#a".to_owned()).prefix()));
        let hash = "0".repeat(64);
        for rubbish in [
            "",
            "/",
            "a/b",
            &format!("a/b/{hash}"),
            &format!("a%/{hash}"),
            &format!("a/{}", "G".repeat(64)),
        ] {
            assert_eq!(BlobKey::parse(rubbish), None, "{rubbish}");
        }
    }

    #[test]
    fn strings_end_where_json_says() {
        let json = json!({"a\"": "b\\", "\\": ["\"", "c"]}).to_string();
        let mut seen = Vec::new();
        let same = rewritten(&json, |_, content| {
            seen.push(content.to_owned());
            None
        });
        assert_eq!(same, json);
        assert_eq!(seen, ["\\\\", "\\\"", "c", "a\\\"", "b\\\\"]);
        assert_eq!(rewritten("[\"a", |_, _| Some("never".to_owned())), "[\"a");
    }

    fn any_string() -> impl Strategy<Value = String> {
        prop_oneof![
            ".{0,20}",
            Just("x".repeat(LARGE)),
            Just("\"\\\u{1}é".repeat(LARGE / 4)),
            ".{0,8}".prop_map(|rest| format!("{MARK}{rest}")),
            ".{0,8}".prop_map(|rest| format!("{MARK}{ESCAPE}{rest}")),
            Just(format!("{MARK}{}:7", "a".repeat(64))),
        ]
    }

    proptest! {
        /// Nothing that anybody writes is taken for a reference, and each large string is one.
        #[test]
        fn what_goes_out_comes_back(strings in prop::collection::vec(any_string(), 0..6)) {
            let json = Value::from(strings.clone()).to_string();
            let spilled = Spilled::of(&json, true, &Beside::new());
            prop_assert!(spilled.text.len() < LARGE);
            let beside = references(&spilled.text);
            prop_assert_eq!(beside.keys().collect::<Vec<_>>(), spilled.large.keys().collect::<Vec<_>>());
            prop_assert_eq!(spilled.refers(), strings.iter().any(|one| one.len() >= LARGE));
            // One that is known stays a reference, and is written no more.
            let again = Spilled::of(&json, true, &beside);
            prop_assert_eq!(&again.text, &spilled.text);
            prop_assert!(again.large.is_empty());
            // Without a blob store nothing leaves, and nothing is taken for a reference either.
            let none = Spilled::of(&json, false, &Beside::new());
            prop_assert!(!none.refers() && references(&none.text).is_empty());
        }
    }
}
