//! What a request's headers say to A2A: version, media types, the last event that was seen.

use a2a::{A2aError, MEDIA_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::Response;
use domain::Generation;

const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The version that the client names, in the header or the query (A2A 1.0, 3.6).
pub(crate) fn version(headers: &HeaderMap, query: Option<&str>) -> Option<String> {
    a2a::asked_version(text(headers, a2a::VERSION_HEADER), query)
}

/// The last event of a broken stream that the client has seen.
pub(crate) fn last_event(headers: &HeaderMap) -> Result<Option<u64>, A2aError> {
    match headers.get(LAST_EVENT).map(|value| value.to_str().map(str::trim)) {
        None | Some(Ok("")) => Ok(None),
        Some(told) => {
            let number = told.ok().and_then(|text| text.parse().ok());
            number.map(Some).ok_or_else(|| {
                A2aError::InvalidParams("Last-Event-ID must be the id of an event of this stream".to_owned())
            })
        }
    }
}

/// Whether the body is JSON of some kind. One without a type is taken for it; a page elsewhere can send `text/plain`
/// without being asked for its right to.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    text(headers, header::CONTENT_TYPE.as_str()).is_none_or(|told| {
        let essence = essence(told);
        essence == "application/json" || essence.ends_with("+json")
    })
}

/// The media type of an answer over REST: A2A's own for clients that use it, plain JSON for others.
pub(crate) fn answer_type(headers: &HeaderMap) -> HeaderValue {
    let sends = text(headers, header::CONTENT_TYPE.as_str()).map(essence);
    let mut accepts = headers
        .get_all(header::ACCEPT)
        .into_iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|told| told.split(','))
        .map(essence);
    if sends.as_deref() == Some(MEDIA_TYPE) || accepts.any(|told| told == MEDIA_TYPE) {
        HeaderValue::from_static(MEDIA_TYPE)
    } else {
        JSON
    }
}

/// Says which extensions the answer was made with, where there are any.
pub(crate) fn tell_extensions(answer: &mut HeaderMap, extensions: &[String], generation: Generation) {
    let name = match generation {
        Generation::V1_0 => a2a::EXTENSIONS_HEADER,
        Generation::V0_3 => a2a::EXTENSIONS_HEADER_0_3,
    };
    if !extensions.is_empty()
        && let Ok(name) = HeaderName::try_from(name)
        && let Ok(value) = HeaderValue::try_from(extensions.join(", "))
    {
        answer.insert(name, value);
    }
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn essence(told: &str) -> String {
    let essence = told.split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs.iter().copied();
        pairs
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn an_answer_has_the_clients_media_type() {
        for (told, expect) in [
            (&[][..], "application/json"),
            (&[("content-type", "application/json")], "application/json"),
            (
                &[("content-type", "Application/A2A+JSON; charset=utf-8")],
                MEDIA_TYPE,
            ),
            (&[("accept", "text/html, application/a2a+json;q=0.9")], MEDIA_TYPE),
            (&[("accept", "*/*")], "application/json"),
        ] {
            assert_eq!(answer_type(&headers(told)), expect, "{told:?}");
        }
    }

    #[test]
    fn only_json_is_read() {
        for (told, is) in [
            ("application/json", true),
            ("application/a2a+json;charset=utf-8", true),
            ("text/plain", false),
            ("application/x-www-form-urlencoded", false),
        ] {
            assert_eq!(is_json(&headers(&[("content-type", told)])), is, "{told}");
        }
        assert!(is_json(&HeaderMap::new()));
    }

    #[test]
    fn the_last_event_is_a_number() {
        let read = |told| last_event(&headers(&[("last-event-id", told)]));
        assert_eq!(read("17"), Ok(Some(17)));
        assert_eq!(read(" "), Ok(None));
        for bad in ["x", "-1", "1.5", "99999999999999999999999"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}

/// The refusal, with when asking again makes sense, where it is known.
pub(crate) fn retry_after(mut refused: Response, error: &A2aError) -> Response {
    if let A2aError::OverQuota { retry_after, .. } = error {
        refused
            .headers_mut()
            .insert(header::RETRY_AFTER, (*retry_after).into());
    }
    refused
}
