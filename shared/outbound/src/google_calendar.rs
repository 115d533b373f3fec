//! Google Calendar, version 3: what stands in a user's primary calendar, and when it is busy. Read only.
//!
//! The wire types are tolerant: fields that are absent, null or new are no fault. Nothing is asked for that is not shown:
//! neither descriptions nor other people's addresses. Which day "tomorrow" is, is not decided here.

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDate, Utc};
use domain::SecretString;
use http::Method;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::Url;

use crate::{CallError, Outbound, below};

/// Lets its holder see when a calendar is busy.
pub const FREE_BUSY: &str = "https://www.googleapis.com/auth/calendar.freebusy";
/// Lets its holder see events.
pub const EVENTS: &str = "https://www.googleapis.com/auth/calendar.events.readonly";

/// Most pages of a list that are read.
const PAGES_MAX: usize = 5;
/// Most events of a page.
const PAGE: u32 = 250;
/// What is asked of each event.
const FIELDS: &str =
    "nextPageToken,timeZone,items(status,summary,start,end,transparency,attendees(self,responseStatus))";

/// The client of the API.
#[derive(Clone)]
pub struct GoogleCalendar {
    outbound: Outbound,
    base: Url,
}

/// When a calendar is busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
pub struct Busy {
    /// From then.
    pub start: DateTime<Utc>,
    /// Until then.
    pub end: DateTime<Utc>,
}

/// When a calendar is busy, in order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FreeBusy {
    /// When.
    pub busy: Vec<Busy>,
    /// The answer is made up by a sandbox.
    pub sandbox: bool,
}

/// What stands in a calendar.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Events {
    /// The calendar's own time zone, an IANA name.
    pub time_zone: String,
    /// By the time of their start; recurring ones once for each time.
    pub items: Vec<Event>,
    /// The answer is made up by a sandbox.
    pub sandbox: bool,
    /// There are more than these.
    #[serde(skip)]
    pub cut: bool,
    next_page_token: Option<String>,
}

/// An event.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Event {
    /// Its title, of whoever wrote it.
    pub summary: Option<String>,
    start: Told,
    end: Told,
    status: Option<String>,
    transparency: Option<String>,
    attendees: Vec<Attendee>,
}

/// A moment, or a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// A moment.
    DateTime(DateTime<Utc>),
    /// A day of the calendar; as an end it is the first that is free again.
    Date(NaiveDate),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Told {
    date_time: Option<DateTime<Utc>>,
    date: Option<NaiveDate>,
}

impl Told {
    fn moment(self) -> Option<Moment> {
        let day = self.date.map(Moment::Date);
        self.date_time.map(Moment::DateTime).or(day)
    }
}

#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Attendee {
    #[serde(rename = "self")]
    own: bool,
    response_status: Option<String>,
}

impl Event {
    /// When it begins.
    #[must_use]
    pub fn start(&self) -> Option<Moment> {
        self.start.moment()
    }

    /// When it is over.
    #[must_use]
    pub fn end(&self) -> Option<Moment> {
        self.end.moment()
    }

    /// Whether it takes place with the calendar's owner: it is not cancelled, and the owner has not declined.
    #[must_use]
    pub fn is_on(&self) -> bool {
        let declined =
            |attendee: &Attendee| attendee.own && attendee.response_status.as_deref() == Some("declined");
        self.status.as_deref() != Some("cancelled") && !self.attendees.iter().any(declined)
    }

    /// Whether its owner is busy meanwhile.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.is_on() && self.transparency.as_deref() != Some("transparent")
    }
}

#[derive(Deserialize)]
struct Calendars {
    calendars: BTreeMap<String, CalendarBusy>,
    #[serde(default)]
    sandbox: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CalendarBusy {
    busy: Vec<Busy>,
    errors: Vec<Value>,
}

impl GoogleCalendar {
    /// Google itself.
    ///
    /// # Errors
    /// Never, as long as the constant text is a URL.
    pub fn live() -> Result<Url, url::ParseError> {
        Url::parse("https://www.googleapis.com/calendar/v3")
    }

    /// A client over the guarded way out; `base` is in front of `/freeBusy`.
    #[must_use]
    pub fn new(outbound: Outbound, base: Url) -> Self {
        Self { outbound, base }
    }

    /// What its tokens are for.
    #[must_use]
    pub fn resource(&self) -> &str {
        self.base.as_str()
    }

    /// When the token's owner is busy, in order.
    ///
    /// # Errors
    /// [`CallError`]; one that is retryable where Google wants fewer calls.
    pub async fn free_busy(
        &self,
        token: &SecretString,
        (from, to): (DateTime<Utc>, DateTime<Utc>),
    ) -> Result<FreeBusy, CallError> {
        let url = below(&self.base, "freeBusy");
        let body = json!({"timeMin": from, "timeMax": to, "items": [{"id": "primary"}]});
        let answered: Calendars = self.call(Method::POST, (&url, Some(&body)), token).await?;
        let calendar = answered.calendars.into_values().next().unwrap_or_default();
        if !calendar.errors.is_empty() {
            return Err(CallError::BadAnswer(
                "the calendar cannot be looked at".to_owned(),
            ));
        }
        let mut busy = calendar.busy;
        busy.sort_by_key(|busy| (busy.start, busy.end));
        Ok(FreeBusy {
            busy,
            sandbox: answered.sandbox,
        })
    }

    /// What stands in the calendar of the token's owner; at most five pages of it.
    ///
    /// # Errors
    /// As [`GoogleCalendar::free_busy`].
    pub async fn events(
        &self,
        token: &SecretString,
        (from, to): (DateTime<Utc>, DateTime<Utc>),
    ) -> Result<Events, CallError> {
        let mut all = Events::default();
        let mut next = None;
        for page in 1..=PAGES_MAX {
            let mut url = below(&self.base, "calendars/primary/events");
            url.query_pairs_mut()
                .append_pair("timeMin", &from.to_rfc3339())
                .append_pair("timeMax", &to.to_rfc3339())
                .append_pair("singleEvents", "true")
                .append_pair("orderBy", "startTime")
                .append_pair("maxResults", &PAGE.to_string())
                // The owner alone, where there are more.
                .append_pair("maxAttendees", "1")
                .append_pair("fields", FIELDS)
                .extend_pairs(next.as_ref().map(|token: &String| ("pageToken", token)));
            let mut found: Events = self.call(Method::GET, (&url, None), token).await?;
            all.items.append(&mut found.items);
            all.time_zone = found.time_zone;
            all.sandbox = found.sandbox;
            next = found.next_page_token;
            all.cut = next.is_some() && page == PAGES_MAX;
            if next.is_none() {
                break;
            }
        }
        Ok(all)
    }

    async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        (url, body): (&Url, Option<&Value>),
        token: &SecretString,
    ) -> Result<T, CallError> {
        let (status, answer) = self.outbound.request_json(method, url, body, Some(token)).await?;
        match status {
            200 => T::deserialize(answer)
                .map_err(|_| CallError::BadAnswer("it is not what the calendar API answers".to_owned())),
            // Google says the same of a token that has expired and of one that was revoked: its renewal tells.
            401 => Err(CallError::Unauthorized {
                expired: true,
                challenge: None,
            }),
            403 if wants_fewer_calls(&answer) => Err(CallError::Status(429)),
            403 => Err(CallError::Forbidden { challenge: None }),
            status => Err(CallError::Status(status)),
        }
    }
}

/// Whether a refusal is for the number of calls.
fn wants_fewer_calls(answer: &Value) -> bool {
    let errors = answer.pointer("/error/errors").and_then(Value::as_array);
    let mut reasons = errors
        .into_iter()
        .flatten()
        .filter_map(|error| error.get("reason")?.as_str());
    reasons.any(|reason| {
        matches!(
            reason,
            "rateLimitExceeded" | "userRateLimitExceeded" | "quotaExceeded"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_as_far_as_they_say_something() {
        let told = json!({"timeZone": "Europe/Oslo", "more": 1, "items": [
            {"summary": "Lunch", "start": {"dateTime": "2026-11-24T12:00:00+01:00", "timeZone": "Europe/Oslo"},
             "end": {"dateTime": "2026-11-24T13:00:00+01:00"}, "attendees": [{"self": true, "responseStatus": "declined"}]},
            {"status": "cancelled"},
            {"start": {"date": "2026-11-24"}, "end": {"date": "2026-11-25"}, "transparency": "transparent"},
        ]});
        let events = Events::deserialize(told).unwrap();
        let [declined, cancelled, transparent] = events.items.as_slice() else {
            panic!("{events:?}")
        };
        assert!(!declined.is_on() && !cancelled.is_on());
        assert!(transparent.is_on() && !transparent.is_busy());
        let day = NaiveDate::from_ymd_opt(2026, 11, 24).unwrap();
        assert_eq!(transparent.start(), Some(Moment::Date(day)));
    }
}
