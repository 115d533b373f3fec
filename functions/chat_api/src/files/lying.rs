//! Files that lie beside a task, as they are too large for its record: they go out piece by piece, and are never whole in memory.

use std::sync::Arc;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use domain::{Part, PartContent, Task};
use futures_util::stream;
use http::header::{ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, RANGE};
use http::{HeaderMap, HeaderValue, StatusCode};
use store::StoreError;

use crate::error::RouteError;
use crate::files::kept::as_attachment;
use crate::files::sent::contradicts;
use crate::state::AppState;

/// Bytes that are read at once.
const PIECE: usize = 4 * 1024 * 1024;

/// The part of a task whose file lies under this name.
pub(crate) fn named<'t>(task: &'t Task, name: &str) -> Option<&'t Part> {
    let of_jobs = task.jobs.iter().flat_map(|job| &job.artifacts);
    let mut parts = task
        .artifacts
        .iter()
        .chain(of_jobs)
        .flat_map(|artifact| &artifact.parts);
    parts.find(|part| name_of(part) == Some(name))
}

/// What a file is called that lies beside its task: the end of its address.
pub(crate) fn name_of(part: &Part) -> Option<&str> {
    match &part.content {
        PartContent::Url(url) if part.lying().is_some() => url.rsplit_once('/').map(|(_, name)| name),
        _ => None,
    }
}

/// The file as an answer; a part of it where one range is asked for (RFC 9110 §14.2).
pub(crate) async fn answered(
    room: Arc<AppState>,
    task: Task,
    (name, part): (String, Part),
    headers: &HeaderMap,
) -> Result<Response, RouteError> {
    let size = part
        .lying()
        .filter(|size| *size > 0)
        .ok_or(RouteError::NotFound)?;
    let range = headers.get(RANGE).and_then(|range| range.to_str().ok());
    let range = range.and_then(|range| within(range, size));
    let (from, end) = match range {
        Some(Some(range)) => range,
        // What is no range of bytes is as if nobody had asked for one.
        None => (0, size),
        Some(None) => return Ok(unsatisfiable(size)),
    };
    let outgoing = Outgoing {
        room,
        task,
        name,
        next: from,
        end,
    };
    let (first, outgoing) = outgoing.read().await?.ok_or(RouteError::NotFound)?;
    let media = part.media_type.as_deref();
    let media = media.filter(|media| from > 0 || !contradicts(media, &first));
    let rest = stream::try_unfold(outgoing, Outgoing::read);
    let whole = futures_util::StreamExt::chain(stream::iter([Ok(first)]), rest);
    let mut response = Body::from_stream(whole).into_response();
    as_attachment(&mut response, (media, part.filename.as_deref()));
    let answered = response.headers_mut();
    answered.insert(CONTENT_LENGTH, (end - from).into());
    answered.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    if range.is_some() {
        answered.insert(CONTENT_RANGE, told(&format!("bytes {from}-{}/{size}", end - 1)));
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    }
    Ok(response)
}

fn told(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static("bytes"))
}

fn unsatisfiable(size: u64) -> Response {
    let range = (CONTENT_RANGE, told(&format!("bytes */{size}")));
    (StatusCode::RANGE_NOT_SATISFIABLE, [range]).into_response()
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
    room: Arc<AppState>,
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
        let tasks = self.room.store.tasks();
        let piece = tasks.piece(&self.task, &self.name, (self.next, most)).await?;
        let piece = piece.filter(|piece| !piece.is_empty());
        let piece = piece.ok_or_else(|| StoreError::Unavailable {
            operation: "GetBlob",
            source: "a file ends before its end".into(),
        })?;
        self.next = self
            .next
            .saturating_add(u64::try_from(piece.len()).unwrap_or(u64::MAX));
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
