//! Files that lie beside a task, as they are too large for its record: they go out piece by piece, and are never whole in memory.

use axum::body::{Body, Bytes};
use axum::response::{IntoResponse, Response};
use domain::{Part, PartContent, Task};
use futures_util::{StreamExt as _, stream};
use http::header::{
    ACCEPT_RANGES, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    RANGE,
};
use http::{HeaderMap, HeaderValue, StatusCode};
use store::{Store, StoreError};

/// Bytes that are read at once.
const PIECE: usize = 4 * 1024 * 1024;

/// A file that is opened by itself runs and loads nothing, whatever it holds.
pub const ALONE: &str = "default-src 'none'; sandbox; frame-ancestors 'none'";

/// What a file is called that lies beside its task: the end of its address.
#[must_use]
pub fn detached_name(part: &Part) -> Option<&str> {
    match &part.content {
        PartContent::Url(url) if part.detached().is_some() => url.rsplit_once('/').map(|(_, name)| name),
        _ => None,
    }
}

/// A file on its way out, or the range of it that is asked for (RFC 9110 §14.2).
pub struct DetachedFile {
    size: u64,
    range: Option<Option<(u64, u64)>>,
    first: Bytes,
    rest: Outgoing,
}

impl DetachedFile {
    /// Opens the file of a part of this task; none where there is none.
    ///
    /// # Errors
    /// What the blob store says.
    pub async fn open(
        store: &Store,
        task: &Task,
        part: &Part,
        headers: &HeaderMap,
    ) -> Result<Option<Self>, StoreError> {
        let Some((name, size)) = detached_name(part).zip(part.detached().filter(|size| *size > 0)) else {
            return Ok(None);
        };
        let range = headers.get(RANGE).and_then(|range| range.to_str().ok());
        let range = range.and_then(|range| within(range, size));
        // What is no range of bytes is as if nobody had asked for one.
        let (next, end) = range.map_or((0, size), Option::unwrap_or_default);
        let outgoing = Outgoing {
            store: store.clone(),
            task: task.clone(),
            name: name.to_owned(),
            next,
            end,
        };
        Ok(match range {
            Some(None) => Some((Bytes::new(), outgoing)),
            _ => outgoing.read().await?,
        }
        .map(|(first, rest)| Self {
            size,
            range,
            first,
            rest,
        }))
    }

    /// How the file begins, where what goes out does.
    #[must_use]
    pub fn beginning(&self) -> Option<&[u8]> {
        let begins = self
            .range
            .is_none_or(|range| range.is_some_and(|(from, _)| from == 0));
        begins.then_some(&self.first)
    }
}

impl IntoResponse for DetachedFile {
    /// The file as an attachment, of which nobody says what it is.
    fn into_response(self) -> Response {
        let told = |text: String| HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("bytes"));
        let size = self.size;
        if self.range == Some(None) {
            let range = (CONTENT_RANGE, told(format!("bytes */{size}")));
            return (StatusCode::RANGE_NOT_SATISFIABLE, [range]).into_response();
        }
        let rest = stream::try_unfold(self.rest, Outgoing::read);
        let body = Body::from_stream(stream::iter([Ok(self.first)]).chain(rest));
        let about = [
            (CONTENT_TYPE, HeaderValue::from_static("application/octet-stream")),
            (CONTENT_DISPOSITION, HeaderValue::from_static("attachment")),
            (CONTENT_SECURITY_POLICY, HeaderValue::from_static(ALONE)),
            (ACCEPT_RANGES, HeaderValue::from_static("bytes")),
        ];
        let mut response = (about, body).into_response();
        let (from, end) = self.range.flatten().unwrap_or((0, size));
        let headers = response.headers_mut();
        headers.insert(CONTENT_LENGTH, (end - from).into());
        if self.range.is_some() {
            headers.insert(CONTENT_RANGE, told(format!("bytes {from}-{}/{size}", end - 1)));
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
        }
        response
    }
}

/// Where a range begins, and what is behind its end: `Some(None)` where there is nothing of it, `None` where it is no single range of bytes.
fn within(range: &str, size: u64) -> Option<Option<(u64, u64)>> {
    let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
    let number = |text: &str| match text {
        "" => Some(None),
        text if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse::<u64>().ok().map(Some),
        _ => None,
    };
    Some(match (number(first)?, number(last)?) {
        (None, None) => return None,
        (Some(first), Some(last)) if last < first => return None,
        (Some(first), last) => {
            let end = last.map_or(size, |last| size.min(last.saturating_add(1)));
            (first < size).then_some((first, end))
        }
        (None, Some(count)) => (count > 0).then_some((size.saturating_sub(count), size)),
    })
}

/// A file that goes out.
struct Outgoing {
    store: Store,
    task: Task,
    name: String,
    next: u64,
    end: u64,
}

impl Outgoing {
    /// The next piece; none at the end. A file that is shorter than its record says breaks off.
    async fn read(mut self) -> Result<Option<(Bytes, Self)>, StoreError> {
        let left = self.end.saturating_sub(self.next);
        if left == 0 {
            return Ok(None);
        }
        let most = usize::try_from(left).map_or(PIECE, |left| left.min(PIECE));
        let tasks = self.store.tasks();
        let piece = tasks.piece(&self.task, &self.name, (self.next, most)).await?;
        let piece = piece.filter(|piece| !piece.is_empty());
        let piece = piece.ok_or_else(|| StoreError::Unavailable {
            operation: "GetBlob",
            source: "a file ends before its end".into(),
        })?;
        let length = u64::try_from(piece.len()).unwrap_or(u64::MAX);
        self.next = self.next.saturating_add(length);
        Ok(Some((piece.into(), self)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_range_of_bytes_is_read_and_all_else_is_none() {
        for (range, wanted) in [
            ("bytes=0-", Some(Some((0, 10)))),
            ("bytes=2-4", Some(Some((2, 5)))),
            ("bytes=2-99", Some(Some((2, 10)))),
            ("bytes=-3", Some(Some((7, 10)))),
            ("bytes=-99", Some(Some((0, 10)))),
            ("bytes=10-", Some(None)),
            ("bytes=-0", Some(None)),
            ("bytes=4-2", None),
            ("bytes=-", None),
            ("bytes=+1-2", None),
            ("bytes=1-2,4-5", None),
            ("bytes=99999999999999999999-", None),
            ("lines=1-2", None),
            ("", None),
        ] {
            assert_eq!(within(range, 10), wanted, "{range}");
        }
    }
}
