//! Bodies that are too large for one item: cut into pieces, and put together again.

use std::borrow::Cow;

use domain::{BLOB_RECORDS, Task, Timestamp};
use serde::{Deserialize, Serialize};

use super::item::{TASK, TaskItem, is_piece, task_item};
use super::{StoredTask, TaskKey, Tasks};
use crate::StoreError;
use crate::blobs::{self, Spilled};
use crate::change::{Change, text};
use crate::codec::{DOCUMENT_LIMIT, Item, decode, encode, fits, inconsistent, text_of};
use crate::dynamo::{Query, ROUNDS, pause};
use crate::error::unavailable;
use crate::packed::Packed;
use crate::transact::Writes;

/// Longest body, in bytes, that lies in the task's own item. DynamoDB charges every lease and heartbeat for the whole
/// item, so that this is far below what an item may hold.
pub(crate) const INLINE: usize = 128 * 1024;

/// Longest body of a task, in bytes.
pub(crate) const MOST: usize = 3_000_000;

/// Longest body that a mere change of status may bring a task to: a task that is full can still be ended.
pub(crate) const MOST_FOR_STATUS: usize = 3_300_000;

/// A piece of a task's body or of an entry of its log.
#[derive(Serialize, Deserialize)]
struct PieceItem {
    pk: String,
    sk: String,
    body: Packed,
    /// The write it is of, for pieces that are written anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    written_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<i64>,
}

/// A task's body as it is to be written.
pub(super) struct Cut {
    /// What goes into the task's own item.
    pub(super) inline: String,
    /// What goes beside it.
    beside: Vec<String>,
    /// The write, where there are pieces.
    pub(super) written_by: Option<String>,
}

impl Cut {
    /// Cuts a body. A task that once lay in pieces always will, so that its log, in which there may be pieces too, is
    /// known to be large.
    pub(super) fn body(body: &Spilled, most: usize, before: u32, write: &str) -> Result<Self, StoreError> {
        fits("the task", body.whole, most)?;
        let body = body.text.as_str();
        if body.len() <= INLINE && before == 0 {
            return Ok(Self {
                inline: body.to_owned(),
                beside: Vec::new(),
                written_by: None,
            });
        }
        Ok(Self {
            inline: String::new(),
            beside: cut(body),
            written_by: Some(write.to_owned()),
        })
    }

    /// How many pieces lie beside.
    pub(super) fn pieces(&self) -> u32 {
        u32::try_from(self.beside.len()).unwrap_or(u32::MAX)
    }

    /// Writes the pieces, and removes those of before that are too many.
    pub(super) fn write(
        &self,
        writes: &mut Writes,
        table: &str,
        key: &TaskKey,
        before: u32,
        expires_at: Option<i64>,
    ) -> Result<(), StoreError> {
        for (number, body) in (1..).zip(&self.beside) {
            let (pk, sk) = key.piece(number);
            let item = PieceItem {
                pk,
                sk,
                body: Packed(body.clone()),
                written_by: self.written_by.clone(),
                expires_at,
            };
            writes.put(table, encode(&item)?, Change::new())?;
        }
        for number in self.pieces().saturating_add(1)..=before {
            writes.delete(table, &key.piece(number), Change::new())?;
        }
        Ok(())
    }
}

/// Pieces that fit into an item each.
pub(super) fn cut(body: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest = body;
    while !rest.is_empty() {
        let (piece, more) = rest.split_at(rest.floor_char_boundary(DOCUMENT_LIMIT));
        pieces.push(piece.to_owned());
        rest = more;
    }
    pieces
}

/// The pieces of an entry of the log, which are written once.
pub(super) fn write_entry_pieces(
    writes: &mut Writes,
    table: &str,
    key: &TaskKey,
    last: u64,
    pieces: &[String],
    expires_at: Option<i64>,
) -> Result<(), StoreError> {
    for (number, body) in (1..).zip(pieces) {
        let (pk, sk) = key.entry_piece(last, number);
        let item = PieceItem {
            pk,
            sk,
            body: Packed(body.clone()),
            written_by: None,
            expires_at,
        };
        writes.put(table, encode(&item)?, Change::new())?;
    }
    Ok(())
}

impl Tasks<'_> {
    /// The task of an item that was read, with its pieces where there are any; an expired one is absent.
    pub(super) async fn whole(&self, item: Item, now: Timestamp) -> Result<Option<StoredTask>, StoreError> {
        let Some(mut item) = task_item(self.table(), item, now)? else {
            return Ok(None);
        };
        let mut round = 0;
        while item.pieces > 0 {
            let Some((newer, body)) = self.with_pieces(&item.pk, now).await? else {
                return Ok(None);
            };
            if let Some(body) = body {
                return self.task_of(newer, body).await.map(Some);
            }
            // A writer was at work while this was read, one item after the other.
            item = newer;
            round += 1;
            if round >= ROUNDS {
                return Err(StoreError::Throttled { operation: "Query" });
            }
            pause(round).await;
        }
        let body = std::mem::take(&mut item.body).0;
        self.task_of(item, body).await.map(Some)
    }

    /// The task of this item and its body, with what of it lies in the blob store.
    async fn task_of(&self, item: TaskItem, body: String) -> Result<StoredTask, StoreError> {
        let place = item.key();
        let restored = self.store.restored((self.table(), &place), body, self.left);
        let (body, beside) = Box::pin(restored).await?;
        let mut stored = item.with_body(self.table(), &body)?;
        stored.task.kept.beside = beside;
        Ok(stored)
    }

    /// What a part of this task holds, where a task that was read without its files has a reference.
    ///
    /// # Errors
    /// What the blob store says.
    pub async fn file<'c>(&self, task: &Task, content: &'c str) -> Result<Cow<'c, str>, StoreError> {
        let beside = blobs::reference(content).filter(|(hash, _)| task.kept.beside.contains_key(*hash));
        let Some(reference) = beside else {
            return Ok(content.into());
        };
        let place = TaskKey::from(task).task();
        let bytes = self.store.blob(self.table(), &place, reference).await?;
        let text = String::from_utf8(bytes);
        text.map(Cow::Owned)
            .map_err(|_| inconsistent(self.table(), &place, "a blob of it is no text"))
    }

    /// A task's body as it is to be written, and what of it goes into the blob store.
    pub(super) fn stored(&self, task: &Task) -> Result<Spilled, StoreError> {
        let body = task.to_stored().map_err(unavailable("encode"))?;
        let spilled = self.store.spilled(&body, &task.kept.beside);
        if !spilled.refers() || task.needs >= BLOB_RECORDS {
            return Ok(spilled);
        }
        let needy = Task {
            needs: BLOB_RECORDS,
            ..task.clone()
        };
        let body = needy.to_stored().map_err(unavailable("encode"))?;
        Ok(self.store.spilled(&body, &task.kept.beside))
    }

    /// The task's item and the body beside it, in one query; no body where what was read is not of one write.
    async fn with_pieces(
        &self,
        partition: &str,
        now: Timestamp,
    ) -> Result<Option<(TaskItem, Option<String>)>, StoreError> {
        let query = Query {
            table: self.table(),
            condition: "#pk = :pk AND begins_with(#sk, :task)",
            values: vec![(":pk", text(partition)), (":task", text(TASK))],
            ..Query::default()
        };
        let mut items = self.store.query_all(query).await?.into_iter();
        let Some(first) = items.next().filter(|item| text_of(item, "sk") == Some(TASK)) else {
            return Ok(None);
        };
        let Some(item) = task_item(self.table(), first, now)? else {
            return Ok(None);
        };
        let (mut body, mut pieces) = (String::new(), 0);
        let is_piece = |item: &Item| text_of(item, "sk").is_some_and(is_piece);
        for piece in items.filter(is_piece) {
            let piece: PieceItem = decode(self.table(), piece)?;
            if piece.written_by != item.written_by {
                return Ok(Some((item, None)));
            }
            body.push_str(&piece.body);
            pieces += 1;
        }
        let body = (pieces == item.pieces).then_some(body);
        Ok(Some((item, body)))
    }
}
