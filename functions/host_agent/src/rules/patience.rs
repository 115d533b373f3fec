//! Timeouts and intervals: when a job is looked at next, and when nothing more is expected of it.

use std::time::Duration;

use agent::RetrySchedule;
use domain::{Job, JobState, Task, TaskState, Timestamp, Transport};

/// How long the host waits for agents, and how often it asks.
#[derive(Debug, Clone)]
pub struct Patience {
    /// Waits before a send is tried again; after the last one the task is `unknown`, and is tried again by hand.
    pub retries: Vec<Duration>,
    /// How long an agent may take to answer a message, with all that its delivery takes; some answer only when they are done.
    pub answer: Duration,
    /// After this long without news the agent is asked: its user learns soon that it is gone.
    pub first_look: Duration,
    /// Half of how long after that it is asked again; then after twice as long, and so on.
    pub next_looks: Duration,
    /// After this long without news the task is `unknown`.
    pub limit: Duration,
    /// How long after a job began an agent's notifications are taken at all.
    pub token_ttl: Duration,
}

/// The waits, in seconds, between looks at an agent that says nothing by itself; the last one again and again.
const POLLED: [u64; MOST_LOOKS as usize + 1] = [1, 1, 2, 8, 30, 120];
/// The longest time between two looks.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

impl Default for Patience {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            retries: RetrySchedule::default().waits().to_vec(),
            answer: seconds(90),
            first_look: seconds(4),
            next_looks: seconds(15),
            limit: seconds(30 * 60),
            token_ttl: seconds(7 * 24 * 3600),
        }
    }
}

/// The waits between looks at an agent that has nothing new to say grow so often.
pub(crate) const MOST_LOOKS: u32 = 5;

/// The attempts of a job whose message is not sent again by itself.
pub(crate) const NO_MORE: u32 = u32::MAX;

/// True where nothing more is to come of a job.
pub(crate) fn is_over(job: &Job) -> bool {
    matches!(job.state, JobState::Settled { .. })
}

impl Patience {
    /// When a result is asked for: at once, then a second after that failed, then after twice as long, and so on.
    fn next_fetch(job: &Job) -> Timestamp {
        let Some(failed) = job.fetches.checked_sub(1) else {
            return job.updated_at;
        };
        job.updated_at.after(growing(Duration::from_secs(1), failed))
    }

    /// When something is to be done about the job; `None` where only its agent or the user can move it.
    pub(crate) fn next(&self, job: &Job) -> Option<Timestamp> {
        match &job.state {
            JobState::AwaitingConsent { .. } => job.awaited_consent().map(|awaited| awaited.expires_at),
            JobState::Prepared => self.next_send(job),
            JobState::Settled { .. } | JobState::Unknown => None,
            // Only the user can move it; a look would find the same question.
            JobState::Linked { remote, .. } if remote.state == TaskState::InputRequired => None,
            JobState::Linked { .. } => Some(job.updated_at.after(self.look(job))),
            // A task is never completed without a result that its agent has.
            JobState::Fetching { .. } => Some(Self::next_fetch(job)),
        }
    }

    /// After this long the agent is asked how it goes: over MQTT, where a stream may be silent for 30 seconds, not before that. Twice at
    /// least before it is given up: one that answers is slow, and not silent.
    fn look(&self, job: &Job) -> Duration {
        let wait = match (job.endpoint.transport, job.attempts) {
            (Transport::Mqtt, looks) => growing(self.next_looks.saturating_mul(2), looks),
            (Transport::JsonRpc | Transport::Rest, looks) if job.is_polled => {
                let [.., last] = POLLED;
                let wait = POLLED.get(usize::try_from(looks).unwrap_or(usize::MAX));
                Duration::from_secs(wait.copied().unwrap_or(last))
            }
            (Transport::JsonRpc | Transport::Rest, 0) => self.first_look,
            (Transport::JsonRpc | Transport::Rest, looks) => growing(self.next_looks, looks),
        };
        // Failures of before its last news count no more.
        match job.failing_since.filter(|since| *since >= job.updated_at) {
            None => wait.min(self.limit / 3),
            Some(_) => wait,
        }
    }

    /// Whether the agent that is at work on it gives no answer when it is asked.
    pub(crate) fn is_mute(job: &Job) -> bool {
        let is_at_work =
            matches!(&job.state, JobState::Linked { remote, .. } if !remote.state.is_interrupted());
        is_at_work && job.failing_since.is_some_and(|since| since >= job.updated_at)
    }

    /// When something is to be done about the job, by a clock that may have been set back since it changed last.
    pub(crate) fn next_by(&self, job: &Job, now: Timestamp) -> Option<Timestamp> {
        self.next(job).map(|at| at.before(job.updated_at.since(now)))
    }

    /// When a message is sent that has not arrived so far; never again once the schedule is used up.
    fn next_send(&self, job: &Job) -> Option<Timestamp> {
        let Some(failed) = job.attempts.checked_sub(1) else {
            return Some(job.updated_at);
        };
        let wait = usize::try_from(failed)
            .ok()
            .and_then(|failed| self.retries.get(failed))?;
        let next = job.updated_at.after(*wait);
        // Where nobody was awake for a part of the schedule, it ends at its time all the same.
        (next <= self.end_of_sends(job)).then_some(next)
    }

    /// True where a message that did not arrive is not sent again.
    pub(crate) fn is_used_up(&self, job: &Job) -> bool {
        matches!(job.state, JobState::Prepared) && self.next_send(job).is_none()
    }

    /// When the schedule of a send that fails is over.
    fn end_of_sends(&self, job: &Job) -> Timestamp {
        let since = job.failing_since.unwrap_or(job.updated_at);
        since.after(self.retries.iter().sum())
    }

    /// When a job of which nothing is heard makes the task `unknown`; `None` where it waits for the user.
    pub(crate) fn deadline(&self, task: &Task, job: &Job) -> Option<Timestamp> {
        let waits = is_over(job)
            || task.holds(job)
            || job.awaited_consent().is_some()
            || job.remote().is_some_and(|remote| remote.state.is_interrupted());
        if self.is_used_up(job) {
            return Some(job.updated_at);
        }
        // The user's own part, a consent or an answer, is no silence of the agent; what the user is told of looks that fail is no
        // news.
        let heard = match (&job.state, job.failing_since) {
            (JobState::Linked { .. }, Some(since)) if since >= job.updated_at => since,
            _ => job.updated_at.max(task.status.at),
        };
        let limit = heard.after(self.limit).min(job.begun_at().after(self.token_ttl));
        (!waits).then_some(limit)
    }

    /// When the task is to be looked at again.
    pub(crate) fn wake_at(&self, task: &Task, now: Timestamp) -> Timestamp {
        let given_up = task.status.state == TaskState::Unknown;
        let times = task.jobs.iter().flat_map(|job| {
            let deadline = self.deadline(task, job).filter(|_| !given_up);
            // What waits for other jobs is moved by them; its consent, where it waits for that, has its time.
            let held = task.holds(job) && job.awaited_consent().is_none();
            [self.next_by(job, now).filter(|_| !held), deadline]
                .into_iter()
                .flatten()
        });
        let next = times.min().unwrap_or_else(|| now.after(LONGEST));
        // Never in the past: the worker would find the task due again at once.
        next.clamp(now.after(Duration::from_secs(1)), now.after(LONGEST))
    }
}

/// The first wait, doubled with each try before, as far as that goes.
fn growing(first: Duration, tries: u32) -> Duration {
    first
        .saturating_mul(2_u32.saturating_pow(tries.min(20)))
        .min(LONGEST)
}

#[cfg(test)]
mod tests {
    use domain::{Artifact, Notification, Part, RemoteTaskId, RemoteUpdate};

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(1_767_225_600_000 + seconds * 1_000)
    }

    /// The bare word of a job's agent.
    fn word(state: TaskState) -> Notification {
        Notification {
            remote_task_id: Some(RemoteTaskId::parse("r-1").unwrap()),
            update: Some(RemoteUpdate::of(state)),
            artifacts: Vec::new(),
            snapshot: false,
            responder: None,
        }
    }

    /// A job that its agent's bare word settled at second 9.
    fn settled(state: TaskState) -> Job {
        let mut job = domain::testing::job(at(0));
        job.note(word(state), at(9));
        job
    }

    #[test]
    fn a_send_that_fails_is_tried_for_half_an_hour_and_no_longer_whoever_sleeps_meanwhile() {
        let patience = Patience::default();
        let failing = |attempts, second| Job {
            attempts,
            updated_at: at(second),
            failing_since: Some(at(0)),
            ..domain::testing::job(at(0))
        };
        assert_eq!(patience.next(&domain::testing::job(at(0))), Some(at(0)));
        let mut second = 0;
        for (attempts, wait) in (1..).zip(&patience.retries) {
            let job = failing(attempts, second);
            second += i64::try_from(wait.as_secs()).unwrap();
            assert_eq!(patience.next(&job), Some(at(second)));
            assert!(!patience.is_used_up(&job));
        }
        assert_eq!(second, 1_800);
        assert!(patience.is_used_up(&failing(8, second)));
        // The second attempt came an hour late.
        assert!(patience.is_used_up(&failing(2, 3_600)));
        assert_eq!(patience.next(&failing(2, 3_600)), None);
    }

    #[test]
    fn sends_that_failed_put_no_look_off_once_the_agent_is_heard_of() {
        let patience = Patience::default();
        let mut job = Job {
            attempts: 11,
            failing_since: Some(at(0)),
            ..domain::testing::job(at(0))
        };
        job.note(word(TaskState::Submitted), at(30));
        assert_eq!(patience.next(&job), Some(at(34)));
        let later = Job {
            attempts: MOST_LOOKS + 4,
            ..job
        };
        assert_eq!(patience.next(&later), Some(at(30 + 600)), "a third of the limit");
    }

    #[test]
    fn an_agent_that_sends_no_notifications_is_asked_three_times_within_four_seconds_and_rarely_later() {
        let patience = Patience::default();
        let looks = |is_polled| {
            let (mut second, mut at_work) = (0, settled(TaskState::Working));
            at_work.is_polled = is_polled;
            let looks = (0..6).map(|attempts| {
                at_work = Job {
                    attempts,
                    updated_at: at(second),
                    ..at_work.clone()
                };
                let next = patience.next(&at_work).unwrap();
                second = (next.millis() - at(0).millis()) / 1000;
                second
            });
            looks.collect::<Vec<_>>()
        };
        assert_eq!(looks(true), [1, 2, 4, 12, 42, 162]);
        assert_eq!(looks(false)[..2], [4, 34]);
    }

    #[test]
    fn a_job_that_a_bare_word_settled_is_not_over_before_its_agent_was_asked_for_the_result() {
        let patience = Patience::default();
        for state in [TaskState::Completed, TaskState::Failed] {
            let mut job = settled(state);
            assert!(job.is_settled() && !is_over(&job), "{state:?}");
            assert_eq!(patience.next(&job), Some(at(9)), "at once");
            job.fetches = 3;
            assert!(!is_over(&job));
            assert_eq!(patience.next(&job), Some(at(13)), "later each time");
            // There is nothing, or there is something: either way that is all.
            let nothing = Job {
                fetched: true,
                ..job.clone()
            };
            job.artifacts
                .push(Artifact::new("forecast", vec![Part::text("rain")]));
            for mut job in [nothing, job] {
                job.tidy();
                assert!(is_over(&job));
                assert_eq!(patience.next(&job), None);
            }
        }
    }
}
