//! The bound of request bodies. The body is read before the router sees the request, so that a body which is too
//! long, whatever its `content-length` says, is refused in the same words at every endpoint, and nothing is done.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use http::StatusCode;
use http::header::{CONTENT_LENGTH, EXPECT};
use http_body_util::BodyExt as _;

/// Most bytes of a request body where a function does not take more: 1 MB.
pub const BODY_LIMIT: usize = 1_048_576;

/// Most bytes of a request body of a function that takes a user's files: base64 of as many as a message may have, and its words.
pub const FILES_BODY_LIMIT: usize = 1_310_720;

/// A body that is too long is read on and thrown away up to here, because a client that is still sending would see
/// a broken connection instead of the answer.
const DRAIN_LIMIT: usize = 32 * BODY_LIMIT;

/// How long a client may take to send a body.
const PATIENCE: Duration = Duration::from_secs(20);

/// The request with its body in memory; the refusal's status where that cannot be.
pub(super) async fn bounded(request: Request, most: usize) -> Result<Request, StatusCode> {
    bounded_within(request, most, PATIENCE).await
}

async fn bounded_within(request: Request, most: usize, patience: Duration) -> Result<Request, StatusCode> {
    let (head, body) = request.into_parts();
    let announced = head
        .headers
        .get(CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    let too_long =
        announced.is_some_and(|length| usize::try_from(length).map_or(true, |length| length > most));
    if too_long && head.headers.contains_key(EXPECT) {
        // The client waits to be told; it has not sent anything yet.
        return Err(StatusCode::PAYLOAD_TOO_LARGE);
    }
    match tokio::time::timeout(patience, read(body, most)).await {
        Ok(read) => Ok(Request::from_parts(head, Body::from(read?))),
        Err(_elapsed) => Err(StatusCode::REQUEST_TIMEOUT),
    }
}

async fn read(mut body: Body, most: usize) -> Result<Bytes, StatusCode> {
    let mut kept = Vec::new();
    let mut length = 0_usize;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_broken_off| StatusCode::BAD_REQUEST)?.into_data() else {
            continue; // trailers
        };
        length = length.saturating_add(data.len());
        if length <= most {
            kept.extend_from_slice(&data);
        } else if length > DRAIN_LIMIT {
            break;
        }
    }
    if length > most {
        Err(StatusCode::PAYLOAD_TOO_LARGE)
    } else {
        Ok(Bytes::from(kept))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_body_that_never_ends_times_out() {
        let never = futures_util::stream::pending::<Result<Bytes, std::io::Error>>();
        let request = Request::new(Body::from_stream(never));
        let refused = bounded_within(request, BODY_LIMIT, Duration::from_millis(1))
            .await
            .err();
        assert_eq!(refused, Some(StatusCode::REQUEST_TIMEOUT));
    }
}
