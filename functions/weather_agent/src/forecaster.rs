//! From what is asked to an answer or a question back, with two rounds of look-ups in between.

use std::cmp::Ordering;

use agent::{ExecuteError, Outcome, Run};
use chrono::{DateTime, Days, NaiveDate};
use chrono_tz::Tz;
use domain::{Artifact, Part, Timestamp, UserContext};
use futures_util::future::try_join_all;
use nlu::Takes;
use outbound::open_meteo::{Forecast, ForecastQuery, OpenMeteo, OpenMeteoError};
use words::{When, listed};

use crate::answer::{self, Answered};
use crate::question::{self, Question};
use crate::wanted::{HORIZON, Wanted};

mod lookup;

/// Answers questions with Open-Meteo.
pub(crate) struct Forecaster {
    pub(crate) open_meteo: OpenMeteo,
    pub(crate) takes: Takes,
}

/// Why nothing comes of a question.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    /// The service gives no answer.
    #[error(transparent)]
    Service(#[from] OpenMeteoError),
    /// The task went another way.
    #[error(transparent)]
    Stopped(#[from] ExecuteError),
}

impl Forecaster {
    /// Replies to what is asked as data.
    pub(crate) async fn reply(&self, run: &mut Run) -> Result<Outcome, Trouble> {
        let question = &Question::of(run.taken());
        let now = run.now();
        let clock = Clock::of(&UserContext::newest(run.task().history.iter()), now);
        let mut slots = lookup::resolve(&self.open_meteo, &question.places, &question.own_days).await?;
        for reply in question::replies(run.taken()) {
            lookup::apply(&self.open_meteo, &mut slots, reply).await?;
        }
        let missing = |question: String| Outcome::Missing {
            question,
            schema: self.takes.schema().of_fields(&["which"]),
        };
        let ask = answer::ask_back(&slots);
        let (wanted, unknown) = lookup::sorted(slots);
        let ask = match ask {
            // What is clear does not wait for what is not.
            Some(ask) if !wanted.is_empty() => ask,
            Some(ask) => return Ok(missing(ask)),
            None => String::new(),
        };
        let names: Vec<&str> = wanted.iter().map(|wanted| wanted.place.name.as_str()).collect();
        // Said once: each news of a task is written, pushed, and written down again by whoever asked.
        run.working(&format!("Looking up the weather in {} …", listed(&names, "and")))
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
        if !ask.is_empty() {
            return Ok(missing(format!("{text}\n\n{ask}")));
        }
        let artifact = Artifact::new("forecast", vec![Part::text(text), Part::data(data)]);
        Ok(Outcome::Completed {
            artifacts: vec![artifact.named("Weather forecast")],
            say: None,
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
            units: question.units,
        };
        Ok(Some(self.open_meteo.forecast(&query).await?))
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
