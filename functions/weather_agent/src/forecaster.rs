//! From what a user said to an answer or a question back, with two rounds of look-ups in between.

use agent::ExecuteError;
use async_trait::async_trait;
use chrono::{DateTime, Days, NaiveDate};
use domain::Timestamp;
use futures_util::future::try_join_all;
use outbound::open_meteo::{Forecast, ForecastQuery, OpenMeteo, OpenMeteoError};
use serde_json::Value;
use words::{When, listed};

use crate::answer::{self, Answered};
use crate::conversation::Conversation;
use crate::question::Question;
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

    /// Replies to what a user said, oldest message first.
    ///
    /// # Errors
    /// [`Trouble`] says whether trying again helps.
    pub async fn reply(
        &self,
        said: &[String],
        now: Timestamp,
        progress: &mut dyn Progress,
    ) -> Result<Reply, Trouble> {
        let conversation = Conversation::read(said.iter().map(String::as_str));
        let question = &conversation.question;
        if question.places.is_empty() {
            return Ok(Reply::Ask(answer::ask_place()));
        }
        let names: Vec<&str> = question.places.iter().map(|place| place.text.as_str()).collect();
        // Said once: each news of a task is written, pushed, and written down again by whoever asked.
        progress
            .working(&format!("Looking up the weather in {} …", listed(&names, "and")))
            .await?;
        let slots = self.look_up(&conversation).await?;
        if let Some(ask) = answer::ask_back(&slots) {
            return Ok(Reply::Ask(ask));
        }

        let (wanted, unknown) = lookup::sorted(slots);
        let days = days(question);
        let utc = today(now, 0);
        let reads = wanted.into_iter().map(|wanted| async {
            let forecast = self.read(&wanted, question, &days, utc).await?;
            Ok::<_, Trouble>(answered(wanted, forecast, &days, now))
        });
        let places = try_join_all(reads).await?;
        let (text, data) = answer::compose(question, &places, &unknown);
        Ok(Reply::Answer { text, data })
    }

    /// The forecast for every day that may be meant; `None` where all of them lie outside of what there is.
    async fn read(
        &self,
        wanted: &Wanted,
        question: &Question,
        days: &[When],
        utc: NaiveDate,
    ) -> Result<Option<Forecast>, Trouble> {
        // The place's own date is not known before the forecast tells its clock: it is one of these three.
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
        let mut slots = lookup::resolve(&self.open_meteo, &conversation.question.places).await?;
        for reply in &conversation.replies {
            lookup::apply(&self.open_meteo, &mut slots, reply).await?;
        }
        Ok(slots)
    }
}

/// What is meant where no day is named: today, or a short outlook.
fn days(question: &Question) -> Vec<When> {
    match question.days.as_slice() {
        [] if question.outlook => vec![When::Run { from: 0, count: 3 }],
        [] => vec![When::In(0)],
        days => days.to_vec(),
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
fn today(now: Timestamp, utc_offset_seconds: i32) -> NaiveDate {
    let local = now.millis().saturating_add(i64::from(utc_offset_seconds) * 1000);
    DateTime::from_timestamp_millis(local)
        .unwrap_or_default()
        .date_naive()
}

fn answered(wanted: Wanted, forecast: Option<Forecast>, days: &[When], now: Timestamp) -> Answered {
    let today = today(
        now,
        forecast
            .as_ref()
            .map_or(0, |forecast| forecast.utc_offset_seconds),
    );
    let horizon = today + Days::new(HORIZON - 1);
    let known = forecast.as_ref().map(Forecast::days).unwrap_or_default();
    let dates = dates(days, today);
    let nonsense = dates.is_empty();
    let (inside, outside): (Vec<NaiveDate>, Vec<NaiveDate>) = dates
        .into_iter()
        .partition(|date| (today..=horizon).contains(date));
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
        nonsense,
    }
}
