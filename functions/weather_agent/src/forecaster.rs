//! From what a user said to an answer or a question back, with two rounds of look-ups in between.

use std::cmp::Ordering;

use agent::ExecuteError;
use async_trait::async_trait;
use chrono::{DateTime, Days, NaiveDate};
use chrono_tz::Tz;
use domain::{Timestamp, UserContext};
use futures_util::future::try_join_all;
use outbound::open_meteo::{Forecast, ForecastQuery, OpenMeteo, OpenMeteoError};
use serde_json::Value;
use words::{DateOrder, When, listed};

use crate::answer::{self, Answered};
use crate::conversation::Conversation;
use crate::question::Question;
use crate::said::Said;
use crate::wanted::{HORIZON, Slot, Wanted};

mod lookup;

/// Answers questions with Open-Meteo.
pub struct Forecaster {
    open_meteo: OpenMeteo,
}

/// Hears what is being done.
#[async_trait]
pub trait Progress: Send {
    /// Says what is being done.
    ///
    /// # Errors
    /// [`ExecuteError`] when it cannot be said; the work ends there.
    async fn working(&mut self, text: &str) -> Result<(), ExecuteError>;
}

/// What comes of a question.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The answer, in words and as data.
    Answer {
        /// In words.
        text: String,
        /// As data, per place and day.
        data: Value,
    },
    /// Something has to be known first.
    Ask(String),
}

/// Why nothing comes of it.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// It may work later; the reason can be shown.
    #[error("{0}")]
    Later(String),
    /// It will not work; the reason can be shown.
    #[error("{0}")]
    Never(String),
    /// The task went another way.
    #[error(transparent)]
    Stopped(#[from] ExecuteError),
}

impl From<OpenMeteoError> for Trouble {
    fn from(error: OpenMeteoError) -> Self {
        let retryable = error.is_retryable();
        tracing::warn!(
            error = &error as &dyn std::error::Error,
            retryable,
            "Open-Meteo gave no answer"
        );
        match error {
            OpenMeteoError::Refused { reason } => {
                Self::Never(format!("The weather service refused the question: {reason}"))
            }
            OpenMeteoError::Call(_) if retryable => {
                Self::Later("The weather service cannot be reached at the moment.".into())
            }
            OpenMeteoError::Call(_) => {
                Self::Never("The weather service gave an answer that cannot be used.".into())
            }
        }
    }
}

impl Forecaster {
    /// A forecaster over this client.
    #[must_use]
    pub fn new(open_meteo: OpenMeteo) -> Self {
        Self { open_meteo }
    }

    /// Whether what was said leaves out its place, or all but its place, so that what was asked before in the same context is
    /// of interest.
    #[must_use]
    pub fn goes_on(said: &[Said]) -> bool {
        let said = Conversation::read(said, None);
        said.lacks_place() || said.is_place_alone()
    }

    /// Whether what was said names no place.
    #[must_use]
    pub fn lacks_place(said: &[Said]) -> bool {
        Conversation::read(said, None).lacks_place()
    }

    /// Replies to what a user said, oldest message first; `before` is what was said of earlier questions that this one may
    /// go on from, oldest first.
    ///
    /// # Errors
    /// [`Trouble`] says whether trying again helps.
    pub async fn reply(
        &self,
        (said, before): (&[Said], &[Vec<Said>]),
        user: &UserContext,
        now: Timestamp,
        progress: &mut dyn Progress,
    ) -> Result<Reply, Trouble> {
        let order = user.locale.as_deref().and_then(DateOrder::of);
        let read = |said: &[Said]| Conversation::read(said, order);
        let on_from = |earlier: Option<Conversation>, said: Conversation| match earlier {
            Some(earlier) if said.lacks_place() => said.after(earlier),
            Some(earlier) if said.is_place_alone() => said.instead_of(earlier),
            _ => said,
        };
        let before = before.iter().map(|said| read(said));
        let before = before.fold(None, |earlier, said| Some(on_from(earlier, said)));
        let conversation = on_from(before, read(said));
        if let Some(ask) = &conversation.wrong {
            return Ok(Reply::Ask(ask.clone()));
        }
        let question = &conversation.question;
        let clock = Clock::of(user, now);
        if let Some(ask) = answer::ask_day(question, clock.today_in(0)) {
            return Ok(Reply::Ask(ask));
        }
        if question.places.is_empty() {
            return Ok(Reply::Ask(answer::ask_place()));
        }
        let slots = self.look_up(&conversation).await?;
        let ask = answer::ask_back(&slots);
        let (wanted, unknown) = lookup::sorted(slots);
        let ask = match ask {
            // What is clear does not wait for what is not.
            Some(ask) if !wanted.is_empty() => ask,
            Some(ask) => return Ok(Reply::Ask(ask)),
            None => String::new(),
        };
        let names: Vec<&str> = wanted.iter().map(|wanted| wanted.place.name.as_str()).collect();
        // Said once: each news of a task is written, pushed, and written down again by whoever asked.
        progress
            .working(&format!("Looking up the weather in {} …", listed(&names, "and")))
            .await?;
        let reads = wanted.into_iter().map(|wanted| async {
            let days = days(question, &wanted);
            let forecast = self.read(&wanted, question, &days, now).await?;
            Ok::<_, Trouble>(answered(wanted, forecast, &days, &clock))
        });
        let places = try_join_all(reads).await?;
        // Which place has more of something is said once all are known.
        let question = &Question {
            compare: question.compare.filter(|_| ask.is_empty()),
            ..question.clone()
        };
        let (text, data) = answer::compose(question, &places, &unknown);
        Ok(match ask.is_empty() {
            true => Reply::Answer { text, data },
            false => Reply::Ask(format!("{text}\n\n{ask}")),
        })
    }

    /// The forecast for every day that may be meant; `None` where all of them lie outside of what there is.
    async fn read(
        &self,
        wanted: &Wanted,
        question: &Question,
        days: &[When],
        now: Timestamp,
    ) -> Result<Option<Forecast>, Trouble> {
        let utc = date_at(now, 0);
        // The place's own date is not known before the forecast tells its clock: it is one of these three, as is the
        // user's.
        let (earliest, latest) = (utc - Days::new(1), utc + Days::new(HORIZON));
        let dates = [earliest, utc, utc + Days::new(1)]
            .into_iter()
            .flat_map(|today| dates(days, today));
        let possible: Vec<NaiveDate> = dates.filter(|date| (earliest..=latest).contains(date)).collect();
        let (Some(first), Some(last)) = (possible.iter().min(), possible.iter().max()) else {
            return Ok(None);
        };
        let query = ForecastQuery {
            latitude: wanted.place.latitude,
            longitude: wanted.place.longitude,
            first: *first,
            last: *last,
            units: question.units.units(),
        };
        Ok(Some(self.open_meteo.forecast(&query).await?))
    }

    async fn look_up(&self, conversation: &Conversation) -> Result<Vec<Slot>, OpenMeteoError> {
        let mut slots = lookup::resolve(
            &self.open_meteo,
            &conversation.question.places,
            &conversation.question.own_days,
        )
        .await?;
        for reply in &conversation.replies {
            lookup::apply(&self.open_meteo, &mut slots, reply).await?;
        }
        Ok(slots)
    }
}

/// What is meant: where no day is named today, or a short outlook; a week for who asks when something begins or ends.
fn days(question: &Question, wanted: &Wanted) -> Vec<When> {
    match (wanted.days.as_slice(), question.days.as_slice()) {
        ([], []) if question.limits.hours && !question.wants.is_empty() => {
            vec![When::Run { from: 0, count: 7 }]
        }
        ([], []) if question.outlook && !question.limits.hours => vec![When::Run { from: 0, count: 3 }],
        ([], []) => vec![When::In(0)],
        ([], days) | (days, _) => days.to_vec(),
    }
}

/// The dates of all days, in order, each once.
fn dates(days: &[When], today: NaiveDate) -> Vec<NaiveDate> {
    let mut dates: Vec<NaiveDate> = days.iter().flat_map(|when| when.resolve(today)).collect();
    dates.sort_unstable();
    dates.dedup();
    dates
}

/// The date where clocks are this far ahead of UTC.
fn date_at(now: Timestamp, utc_offset_seconds: i32) -> NaiveDate {
    let local = now.millis().saturating_add(i64::from(utc_offset_seconds) * 1000);
    DateTime::from_timestamp_millis(local)
        .unwrap_or_default()
        .date_naive()
}

/// The moment, and whose days are meant.
struct Clock {
    now: Timestamp,
    /// The user's date, where the user's time zone is known.
    users: Option<NaiveDate>,
}

impl Clock {
    fn of(user: &UserContext, now: Timestamp) -> Self {
        let zone: Option<Tz> = user.time_zone.as_deref().and_then(|zone| zone.parse().ok());
        let utc = DateTime::from_timestamp_millis(now.millis()).unwrap_or_default();
        Self {
            now,
            users: zone.map(|zone| utc.with_timezone(&zone).date_naive()),
        }
    }

    /// The user's date; where nobody knows it, the date where clocks are this far ahead of UTC.
    fn today_in(&self, utc_offset_seconds: i32) -> NaiveDate {
        self.users
            .unwrap_or_else(|| date_at(self.now, utc_offset_seconds))
    }
}

fn answered(wanted: Wanted, forecast: Option<Forecast>, days: &[When], clock: &Clock) -> Answered {
    let offset = forecast
        .as_ref()
        .map_or(0, |forecast| forecast.utc_offset_seconds);
    let users = clock.today_in(offset);
    // Without a forecast its clock is unknown, and of no interest.
    let there = forecast.as_ref().map_or(users, |_| date_at(clock.now, offset));
    // Today is what it is over there; any other day is counted from the user's.
    let at_once = days == [When::In(0)];
    let today = if at_once { there } else { users };
    let horizon = there + Days::new(HORIZON - 1);
    let known = forecast.as_ref().map(Forecast::days).unwrap_or_default();
    let (inside, outside): (Vec<NaiveDate>, Vec<NaiveDate>) = dates(days, today)
        .into_iter()
        .partition(|date| (there..=horizon).contains(date));
    let found: Vec<_> = inside
        .iter()
        .filter_map(|date| known.iter().find(|day| day.date == *date))
        .copied()
        .collect();
    let unknown = inside
        .into_iter()
        .filter(|date| !found.iter().any(|day| day.date == *date))
        .collect();
    Answered {
        wanted,
        forecast,
        today,
        horizon,
        days: found,
        unknown,
        outside,
        date_there: if at_once {
            there.cmp(&users)
        } else {
            Ordering::Equal
        },
    }
}
