//! Paging with cursors that are opaque and bound to the listing they came from.

use aws_sdk_dynamodb::types::AttributeValue;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use crate::change::text;
use crate::codec::{Item, Key, key_of, keyed, text_of};
use crate::dynamo::Query;
use crate::schema::Index;
use crate::{Store, StoreError};

/// Which page is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageRequest {
    /// At most so many; held within 1 to 100.
    pub limit: u32,
    /// Where the page before ended.
    pub cursor: Option<String>,
}

/// One page of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// What is on it; it may be short, also where more follows.
    pub items: Vec<T>,
    /// Where the next one starts, if there is more.
    pub next: Option<String>,
}

/// A listing: one partition of an index, newest first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listing<'a> {
    pub(crate) table: &'a str,
    pub(crate) index: Index,
    pub(crate) partition: &'a str,
}

impl Listing<'_> {
    /// The keys on one page, and the cursor of the next.
    pub(crate) async fn page(
        &self,
        store: &Store,
        page: &PageRequest,
    ) -> Result<(Vec<Key>, Option<String>), StoreError> {
        let start = page
            .cursor
            .as_deref()
            .map(|cursor| self.start(cursor))
            .transpose()?;
        let (items, last) = self.query(store, page.limit, start).await?;
        let keys = items
            .iter()
            .map(|item| key_of(self.table, item))
            .collect::<Result<_, _>>()?;
        Ok((keys, last.as_ref().and_then(|last| self.cursor(last))))
    }

    /// The newest entries, as the index has them: what one query gives, at most 100.
    pub(crate) async fn first(&self, store: &Store, most: usize) -> Result<Vec<Item>, StoreError> {
        let limit = u32::try_from(most).unwrap_or(u32::MAX);
        Ok(self.query(store, limit, None).await?.0)
    }

    async fn query(
        &self,
        store: &Store,
        limit: u32,
        start: Option<Item>,
    ) -> Result<(Vec<Item>, Option<Item>), StoreError> {
        let condition = format!("#{} = :partition", self.index.partition);
        let query = Query {
            table: self.table,
            index: Some(self.index.name),
            condition: &condition,
            values: vec![(":partition", text(self.partition))],
            limit: Some(limit.clamp(1, 100)),
            backwards: true,
            start,
            ..Query::default()
        };
        store.query(query).await
    }

    /// The newest keys, over as many pages as that takes.
    pub(crate) async fn newest(&self, store: &Store, most: usize) -> Result<Vec<Key>, StoreError> {
        let mut page = PageRequest {
            limit: u32::try_from(most).unwrap_or(u32::MAX),
            cursor: None,
        };
        let mut keys = Vec::new();
        loop {
            let (more, next) = self.page(store, &page).await?;
            keys.extend(more);
            page.cursor = next;
            if page.cursor.is_none() || keys.len() >= most {
                keys.truncate(most);
                return Ok(keys);
            }
        }
    }

    /// The cursor that goes on behind this index entry.
    pub(crate) fn cursor(&self, last: &Item) -> Option<String> {
        let [pk, sk, at] = ["pk", "sk", self.index.sort].map(|name| text_of(last, name));
        let (pk, sk, at) = (pk?, sk?, at?);
        let mut cursor = serde_json::to_vec(&[self.check(pk, sk, at).as_str(), pk, sk, at]).ok()?;
        self.mask(&mut cursor);
        Some(URL_SAFE_NO_PAD.encode(cursor))
    }

    /// Where the cursor says that the page before ended.
    pub(crate) fn start(&self, cursor: &str) -> Result<Item, StoreError> {
        let bad = || StoreError::BadCursor;
        if cursor.len() > 8192 {
            return Err(bad());
        }
        let mut cursor = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| bad())?;
        // Those of releases before are not masked.
        if !cursor.starts_with(b"[") {
            self.mask(&mut cursor);
        }
        let [check, pk, sk, at]: [String; 4] = serde_json::from_slice(&cursor).map_err(|_| bad())?;
        if check != self.check(&pk, &sk, &at) {
            return Err(bad());
        }
        let mut start = keyed(&(pk, sk));
        start.insert(
            self.index.partition.to_owned(),
            AttributeValue::S(self.partition.to_owned()),
        );
        start.insert(self.index.sort.to_owned(), AttributeValue::S(at));
        Ok(start)
    }

    /// Masks a cursor, or unmasks it, so that nobody reads from it how things are kept and builds on that. It hides nothing
    /// from who knows the partition's key: there is nothing in it that its reader may not know.
    fn mask(&self, cursor: &mut [u8]) {
        for (number, block) in cursor.chunks_mut(32).enumerate() {
            let mut stream = Sha256::new();
            for part in [self.table, self.index.name, self.partition] {
                stream.update(part.len().to_be_bytes());
                stream.update(part);
            }
            stream.update(number.to_be_bytes());
            for (byte, mask) in block.iter_mut().zip(stream.finalize()) {
                *byte ^= mask;
            }
        }
    }

    /// Ties a cursor to its listing. No secret is needed: whoever forges a cursor only moves within the partition that
    /// the query names anyway.
    fn check(&self, pk: &str, sk: &str, at: &str) -> String {
        let mut hash = Sha256::new();
        for part in [self.table, self.index.name, self.partition, pk, sk, at] {
            hash.update(part.len().to_be_bytes());
            hash.update(part);
        }
        let hash = hash.finalize();
        URL_SAFE_NO_PAD.encode(hash.get(..12).unwrap_or(&hash))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::BY_OWNER;

    fn listing(partition: &str) -> Listing<'_> {
        Listing {
            table: "switchyard-sessions",
            index: BY_OWNER,
            partition,
        }
    }

    #[test]
    fn a_cursor_shows_no_key_and_leads_back_to_its_own_listing_alone() {
        let mut last = keyed(&("acme#chat#trip".to_owned(), "CHAT".to_owned()));
        let at = "2026-11-24T14:05:00.000Z#trip";
        last.insert(BY_OWNER.sort.to_owned(), text(at));
        let own = listing("acme#owner#guest-1");
        let cursor = own.cursor(&last).unwrap();
        let bytes = URL_SAFE_NO_PAD.decode(&cursor).unwrap();
        let shown = String::from_utf8_lossy(&bytes);
        for key in ["acme", "chat", "CHAT", "trip", "2026"] {
            assert!(!shown.contains(key), "{shown}");
        }
        let start = own.start(&cursor).unwrap();
        assert_eq!(text_of(&start, "pk"), Some("acme#chat#trip"));
        assert!(listing("acme#owner#guest-2").start(&cursor).is_err());
        let changed = format!("{}A", &cursor[..cursor.len() - 1]);
        assert!(own.start(&changed).is_err());
        // What a release before has given out.
        let before = [
            own.check("acme#chat#trip", "CHAT", at).as_str(),
            "acme#chat#trip",
            "CHAT",
            at,
        ]
        .map(str::to_owned);
        let before = URL_SAFE_NO_PAD.encode(serde_json::to_vec(&before).unwrap());
        assert!(own.start(&before).is_ok());
    }
}
