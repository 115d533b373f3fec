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
        let cursor = serde_json::to_vec(&[self.check(pk, sk, at).as_str(), pk, sk, at]).ok()?;
        Some(URL_SAFE_NO_PAD.encode(cursor))
    }

    /// Where the cursor says that the page before ended.
    pub(crate) fn start(&self, cursor: &str) -> Result<Item, StoreError> {
        let bad = || StoreError::BadCursor;
        if cursor.len() > 8192 {
            return Err(bad());
        }
        let cursor = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| bad())?;
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
