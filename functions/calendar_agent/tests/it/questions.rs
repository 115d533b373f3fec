//! The labelled questions (`tests/data/questions/calendar.jsonl`, written by somebody who knows no code): how many are read
//! right, and that what is not is asked about.

use calendar_agent::question::{Kind, Wanted, takes};
use chrono::{DateTime, Days, NaiveDateTime, NaiveTime, TimeZone as _, Utc};
use chrono_tz::Tz;
use domain::{Timestamp, UserContext};
use serde::Deserialize;
use serde_json::Value;

const FIRST: &str = include_str!("../../../../tests/data/questions/calendar.jsonl");
/// Thirty more by somebody who had not read the reading either.
const SECOND: &str = include_str!("../../../../tests/data/questions/calendar_second.jsonl");
/// And thirty of a third hand, read for the first time when they judged.
const THIRD: &str = include_str!("../../../../tests/data/questions/calendar_third.jsonl");
/// And thirty of a fourth.
const FOURTH: &str = include_str!("../../../../tests/data/questions/calendar_fourth.jsonl");
/// And forty of a fifth.
const FIFTH: &str = include_str!("../../../../tests/data/questions/calendar_fifth.jsonl");

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    id: String,
    now: String,
    time_zone: String,
    question: String,
    values: Option<Values>,
    asks: Option<String>,
}

#[derive(Deserialize)]
struct Values {
    kind: Option<String>,
    from: Option<DateTime<Utc>>,
    to: Option<DateTime<Utc>>,
    duration: Option<u32>,
    zone: Option<String>,
}

impl Row {
    fn read(&self) -> Result<Wanted, String> {
        let locale = self.time_zone.starts_with("America").then(|| "en-US".to_owned());
        let user = UserContext::parse(locale, Some(self.time_zone.clone())).unwrap();
        let now = Timestamp::parse(&self.now).unwrap();
        let taken = agent_testing::taken((&Value::Null, &self.question), &takes(), (&user, now))?;
        Wanted::of(&taken, &user, now).map_err(|(_, question)| question)
    }

    fn is_right(&self, read: &Result<Wanted, String>) -> bool {
        match (read, &self.values) {
            (Err(_), _) => self.asks.is_some(),
            (Ok(wanted), Some(values)) => self.asks.is_none() && values.are(wanted, &self.time_zone),
            (Ok(_), None) => false,
        }
    }
}

impl Values {
    fn are(&self, wanted: &Wanted, users: &str) -> bool {
        let zone = wanted.zone.unwrap_or(users.parse().unwrap());
        let kind = match wanted.kind {
            Kind::Free => "freebusy",
            Kind::Events => "events",
            Kind::Slot => "slots",
            Kind::Change => "change",
            Kind::Disconnect => "disconnect",
        };
        let (from, to) = range(wanted, zone).unzip();
        self.kind.as_ref().is_none_or(|told| told == kind)
            && self.from.is_none_or(|told| from == Some(told))
            && self.to.is_none_or(|told| to == Some(told))
            && self.duration.is_none_or(|told| told == wanted.minutes)
            && self.zone.as_ref().is_none_or(|told| told == zone.name())
    }
}

/// From the first moment that is looked at to the last, where any day is wanted.
fn range(wanted: &Wanted, zone: Tz) -> Option<(DateTime<Utc>, DateTime<Utc>)> {
    let (first, last) = (*wanted.days.first()?, *wanted.days.last()?);
    let (from, to) = wanted
        .hours
        .map_or((NaiveTime::MIN, NaiveTime::MIN), |hours| (hours.from, hours.to));
    let over = u64::from(to <= from);
    let moment = |at: NaiveDateTime| zone.from_local_datetime(&at).earliest().unwrap().to_utc();
    Some((
        moment(first.and_time(from)),
        moment((last + Days::new(over)).and_time(to)),
    ))
}

#[test]
fn no_fewer_questions_are_read_right_than_before_and_no_more_are_guessed_wrong() {
    judge(FIRST, 139, 1);
}

#[test]
fn so_it_is_with_thirty_more_questions() {
    judge(SECOND, 23, 0);
}

#[test]
fn so_it_is_with_a_third_table() {
    judge(THIRD, 29, 1);
}

#[test]
fn so_it_is_with_a_fourth_table() {
    judge(FOURTH, 27, 0);
}

#[test]
fn so_it_is_with_a_fifth_table() {
    judge(FIFTH, 34, 0);
}

/// At least `right` of the rows are read right, and at most `guessed` wrong without a question: fewer than one in five of those that
/// are not right.
fn judge(rows: &str, right: usize, guessed: usize) {
    let rows: Vec<Row> = rows
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let (mut wrong, mut asked) = (Vec::new(), 0);
    for row in &rows {
        let read = row.read();
        if row.is_right(&read) {
            continue;
        }
        asked += usize::from(read.is_err());
        wrong.push(format!("{}: {}\n  {read:?}", row.id, row.question));
    }
    let told = wrong.join("\n");
    let right_now = rows.len() - wrong.len();
    println!(
        "{right_now} right, {asked} of {} asked about\n{told}",
        wrong.len()
    );
    assert!(right_now >= right, "{} are wrong:\n{told}", wrong.len());
    let guessed_now = wrong.len() - asked;
    assert!(guessed_now <= guessed, "{guessed_now} are guessed wrong:\n{told}");
}
