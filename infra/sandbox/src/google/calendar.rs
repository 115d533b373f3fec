//! The calendar's API: made-up days that are the same whenever they are asked for.

use axum::Json;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use chrono::{DateTime, Datelike as _, Days, NaiveDate, NaiveTime, TimeZone as _, Utc, Weekday};
use chrono_tz::Tz;
use serde_json::{Value, json};

use super::token::Claims;
use super::{Failure, Google, Parameters, USERS, with};

/// Most days of a question.
const DAYS_MAX: usize = 400;
const PAGE_MAX: usize = 2500;

fn refusal(code: u16, reason: &str, message: &str) -> Response {
    let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let error = json!({"domain": "global", "reason": reason, "message": message});
    let body = json!({"error": {"code": code, "message": message, "errors": [error]}});
    (status, Json(body)).into_response()
}

/// Whose call it is, where its token allows this.
fn admitted(google: &Google, headers: &HeaderMap, scope: &str) -> Result<Claims, Box<Response>> {
    let failure = google.state().failures.pop_front();
    match failure {
        Some(Failure::RateLimit) => {
            return Err(refusal(403, "rateLimitExceeded", "Rate Limit Exceeded").into());
        }
        Some(Failure::TooMany) => return Err(refusal(429, "rateLimitExceeded", "Too many requests").into()),
        Some(Failure::Away) => return Err(refusal(503, "backendError", "Backend Error").into()),
        None => {}
    }
    let Some(claims) = google.caller(headers) else {
        return Err(refusal(401, "authError", "Invalid Credentials").into());
    };
    if claims
        .scopes
        .iter()
        .any(|known| known.rsplit('/').next() == Some(scope))
    {
        return Ok(claims);
    }
    let mut refused = refusal(
        403,
        "insufficientPermissions",
        "Request had insufficient authentication scopes.",
    );
    let challenge = HeaderValue::from_static("Bearer error=\"insufficient_scope\"");
    refused.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    Err(refused.into())
}

pub(super) async fn free_busy(
    State(google): State<Google>,
    headers: HeaderMap,
    Json(asked): Json<Value>,
) -> Response {
    let claims = match admitted(&google, &headers, "calendar.freebusy") {
        Ok(claims) => claims,
        Err(refused) => return *refused,
    };
    let at = |name: &str| asked.get(name).and_then(Value::as_str).and_then(moment);
    let (Some(from), Some(to)) = (at("timeMin"), at("timeMax")) else {
        return refusal(400, "badRequest", "Bad Request");
    };
    let busy: Vec<Value> = google
        .calendar_of(&claims.user, (from, to))
        .into_iter()
        .filter(is_busy)
        .filter_map(|event| span(&event, zone_of(&claims.user)))
        .map(|(start, end)| json!({"start": start.max(from), "end": end.min(to)}))
        .collect();
    let answer = json!({
        "kind": "calendar#freeBusy", "timeMin": from, "timeMax": to,
        "calendars": {"primary": {"busy": busy}}, "sandbox": true,
    });
    Json(answer).into_response()
}

pub(super) async fn events(
    State(google): State<Google>,
    headers: HeaderMap,
    Query(asked): Query<Parameters>,
) -> Response {
    let claims = match admitted(&google, &headers, "calendar.events.readonly") {
        Ok(claims) => claims,
        Err(refused) => return *refused,
    };
    let told = |name: &str| asked.get(name).map(String::as_str);
    let (Some(from), Some(to)) = (told("timeMin").and_then(moment), told("timeMax").and_then(moment)) else {
        return refusal(400, "badRequest", "Bad Request");
    };
    let number = |name: &str, default: usize| match told(name) {
        Some(text) => text.parse().ok(),
        None => Some(default),
    };
    let (Some(first), Some(most)) = (number("pageToken", 0), number("maxResults", 250)) else {
        return refusal(400, "invalidParameter", "Invalid page token value.");
    };
    let all = google.calendar_of(&claims.user, (from, to));
    let next = first.saturating_add(most.min(PAGE_MAX));
    let more = (next < all.len()).then(|| next.to_string());
    let items: Vec<Value> = all.into_iter().skip(first).take(most.min(PAGE_MAX)).collect();
    let answer = json!({
        "kind": "calendar#events", "timeZone": zone_of(&claims.user).name(), "items": items, "sandbox": true,
    });
    let answer = match more {
        Some(more) => with(answer, "nextPageToken", more.into()),
        None => answer,
    };
    Json(answer).into_response()
}

fn zone_of(user: &str) -> Tz {
    let known = USERS.iter().find(|(name, _)| *name == user);
    known.and_then(|(_, zone)| zone.parse().ok()).unwrap_or(Tz::UTC)
}

fn moment(text: &str) -> Option<DateTime<Utc>> {
    Some(DateTime::parse_from_rfc3339(text).ok()?.with_timezone(&Utc))
}

fn is_busy(event: &Value) -> bool {
    let is = |pointer: &str, value: &str| event.pointer(pointer).and_then(Value::as_str) == Some(value);
    !is("/status", "cancelled")
        && !is("/transparency", "transparent")
        && !is("/attendees/0/responseStatus", "declined")
}

/// From when to when; whole days by the calendar's own clock.
fn span(event: &Value, zone: Tz) -> Option<(DateTime<Utc>, DateTime<Utc>)> {
    let at = |edge: &Value| match (edge["dateTime"].as_str(), edge["date"].as_str()) {
        (Some(text), _) => moment(text),
        (_, Some(day)) => local(day.parse().ok()?, NaiveTime::MIN, zone),
        _ => None,
    };
    Some((at(&event["start"])?, at(&event["end"])?))
}

fn local(day: NaiveDate, time: NaiveTime, zone: Tz) -> Option<DateTime<Utc>> {
    let shown = zone.from_local_datetime(&day.and_time(time)).earliest()?;
    Some(shown.with_timezone(&Utc))
}

impl Google {
    /// The events that touch this time, by their start.
    fn calendar_of(&self, user: &str, (from, to): (DateTime<Utc>, DateTime<Utc>)) -> Vec<Value> {
        let zone = zone_of(user);
        let first = from.with_timezone(&zone).date_naive();
        let last = to.with_timezone(&zone).date_naive();
        let days = first.iter_days().take_while(|day| *day <= last).take(DAYS_MAX);
        let planted = self.state().planted.clone();
        let mut all: Vec<(DateTime<Utc>, Value)> = days
            .flat_map(|day| on(user, day, zone))
            .chain(planted)
            .filter_map(|event| {
                let (start, end) = span(&event, zone)?;
                (start < to && end > from).then_some((start, event))
            })
            .collect();
        all.sort_by_key(|(start, _)| *start);
        all.into_iter().map(|(_, event)| event).collect()
    }
}

/// What stands in a calendar on a day.
fn on(user: &str, day: NaiveDate, zone: Tz) -> Vec<Value> {
    let at = |hour: u32, minute: u32| {
        let time = NaiveTime::from_hms_opt(hour, minute, 0).unwrap_or_default();
        let moment = local(day, time, zone).unwrap_or_default();
        json!({"dateTime": moment.with_timezone(&zone).to_rfc3339(), "timeZone": zone.name()})
    };
    let timed = |title: &str, from: (u32, u32), to: (u32, u32)| {
        let id = format!("{}-{day}", title.to_lowercase().replace(' ', "-"));
        json!({"id": id, "status": "confirmed", "summary": title, "start": at(from.0, from.1), "end": at(to.0, to.1)})
    };
    let next = day.checked_add_days(Days::new(1)).unwrap_or(day);
    let whole = |title: &str| {
        let id = format!("{}-{day}", title.to_lowercase().replace(' ', "-"));
        json!({"id": id, "status": "confirmed", "summary": title, "start": {"date": day}, "end": {"date": next}})
    };
    let mut events = Vec::new();
    let works = !matches!(day.weekday(), Weekday::Sat | Weekday::Sun);
    if works {
        let stand_up = timed("Stand-up", (9, 0), (9, 15));
        events.push(with(stand_up, "recurringEventId", "stand-up".into()));
    }
    match day.weekday() {
        Weekday::Mon => events.push(timed("Planning", (10, 0), (11, 30))),
        Weekday::Tue => {
            let declined = json!([{"self": true, "email": user, "responseStatus": "declined"}]);
            events.push(with(timed("Sales call", (13, 0), (14, 0)), "attendees", declined));
            events.push(timed("Lunch with Ola", (12, 0), (12, 45)));
        }
        Weekday::Wed => {
            events.push(with(whole("Home office"), "transparency", "transparent".into()));
        }
        Weekday::Thu => {
            events.push(with(
                timed("Board", (14, 0), (16, 0)),
                "status",
                "cancelled".into(),
            ));
            events.push(timed("Interview", (11, 0), (12, 0)));
        }
        Weekday::Fri => events.push(timed("Dentist", (15, 0), (16, 0))),
        Weekday::Sat => {}
        Weekday::Sun => events.push(whole("Family day")),
    }
    events
}
