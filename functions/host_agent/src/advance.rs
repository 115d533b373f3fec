//! Moving a task's jobs on: whatever can be done about them now is done, all at once, and written down together.

use std::time::Duration;

use agent::{ExecuteError, Run, Wake, wake_or_log};
use domain::{
    EventKind, Job, JobState, Message, MessageId, Noted, Notification, RemoteTaskId, Task, TaskState,
    Timestamp,
};
use futures_util::future::join_all;
use store::{StoreError, TaskKey};

use crate::downstream::Done;
use crate::host::Host;
use crate::patience::{is_over, lacks_result};
use crate::transcript;

/// A send may settle a job whose result must then be fetched. What news still ask for after that is for the next look.
const PASSES: usize = 3;
/// Beyond this the sweeper wakes the task; sooner, a delayed wake does.
const SOON: Duration = Duration::from_secs(60);

enum Act {
    Send,
    Resend,
    Forward(Message),
    Look,
    Fetch,
}

impl Host {
    /// Does what can be done about the task's jobs now; where nothing is left to do then, the task is parked with what
    /// came of it. The `fresh` ones have certainly not been sent yet; of others a process may have ended between their send
    /// and its acknowledgement.
    pub(crate) async fn advance(&self, run: &mut Run, fresh: &[u32]) -> Result<(), ExecuteError> {
        for _ in 0..PASSES {
            if !self.pass(run, fresh).await? {
                break;
            }
        }
        Ok(())
    }

    async fn pass(&self, run: &mut Run, fresh: &[u32]) -> Result<bool, ExecuteError> {
        let now = run.now();
        // From the first call until what came of it is stored: a cancel waits for that, and then finds whom to tell.
        let _undisturbed = run.undisturbed();
        let before = run.task().clone();
        let mut heard = Vec::new();
        let mut task = before.clone();
        // While a consent is waited for, what the user says is about that.
        let consents = transcript::unconsented(&before).is_some();
        let mut said = transcript::pending_answer(&before).filter(|_| !consents).cloned();
        let answered = said.is_some();
        let asked_again = answered && before.status.state == TaskState::Unknown;
        let mut acts: Vec<(Job, Act)> = Vec::new();
        for job in &task.jobs {
            let act = match &job.state {
                JobState::Linked { remote, .. } if remote.state.is_interrupted() && said.is_some() => {
                    said.take().map(Act::Forward)
                }
                _ if job.awaited_consent().is_some() => None,
                _ => self.act(job, asked_again, now),
            };
            let act = match act {
                Some(Act::Send) if job.attempts > 0 || !fresh.contains(&job.number) => Some(Act::Resend),
                act => act,
            };
            acts.extend(act.map(|act| (job.clone(), act)));
        }
        let done = join_all(
            acts.into_iter()
                .map(|(job, act)| self.perform(&task, job, act, now)),
        )
        .await;
        let again = done.iter().find_map(|done| done.again.clone());
        for Done {
            mut job,
            heard: news,
            needs,
            ..
        } in done
        {
            if let Some(scopes) = needs {
                self.request_consent(&task, &mut job, scopes, &task.jobs, now)
                    .await?;
            }
            heard.extend(news.map(|news| (job.number, news)));
            if let Some(known) = task.jobs.iter_mut().find(|known| known.number == job.number) {
                *known = job;
            }
        }
        let changed: Vec<Job> = task
            .jobs
            .iter()
            .filter(|job| !before.jobs.contains(*job))
            .cloned()
            .collect();
        let mut kinds = self.news(&before, &changed);
        let tells = |kind: &EventKind| matches!(kind, EventKind::Status { .. });
        if again.is_some() {
            // A new status would hide that the user's answer is still to be handed on.
            kinds.retain(|kind| !tells(kind));
        } else if answered && !kinds.iter().any(tells) && transcript::unconsented(&task).is_none() {
            kinds.push(self.status(&after_answer(&before, said.is_none())));
        }
        let moved = !kinds.is_empty();
        self.record(run, kinds, heard, again.is_none()).await?;
        match again {
            Some(reason) => Err(ExecuteError::Retry(reason)),
            None => Ok(moved && run.parked().is_none()),
        }
    }

    /// Until when the task can rest, where another look at it now would do nothing and say nothing.
    fn rests(&self, task: &Task, now: Timestamp) -> Option<Timestamp> {
        let idle = |job: &Job| job.awaited_consent().is_none() && self.act(job, false, now).is_none();
        let waits = transcript::pending_answer(task).is_none()
            && task.jobs.iter().all(idle)
            && !task.jobs.iter().all(is_over)
            && self.waiting_for(task, now).is_none();
        waits.then(|| self.patience.wake_at(task, now))
    }

    fn act(&self, job: &Job, asked_again: bool, now: Timestamp) -> Option<Act> {
        let is_due = self.patience.next(job).is_some_and(|at| at <= now);
        match &job.state {
            JobState::Prepared => is_due.then_some(Act::Send),
            JobState::Unknown => None,
            JobState::Linked { .. } => (is_due || asked_again).then_some(Act::Look),
            // Where it cannot be had now, it is asked for at growing intervals: a task is never completed without a
            // result that its agent has.
            JobState::Settled { .. } => {
                let now = job.fetches == 0 || is_due || asked_again;
                (now && lacks_result(job)).then_some(Act::Fetch)
            }
        }
    }

    async fn perform(&self, task: &Task, job: Job, act: Act, now: Timestamp) -> Done {
        match act {
            Act::Send => self.send(task, job, now).await,
            Act::Resend => self.resend(task, job, now).await,
            Act::Forward(said) => self.forward(task, job, &said, now).await,
            Act::Look => self.look(task, job, now).await,
            Act::Fetch => self.fetch(task, job, now).await,
        }
    }

    /// The events that tell of these jobs: their records, and the newest word of those that go on.
    pub(crate) fn news(&self, task: &Task, changed: &[Job]) -> Vec<EventKind> {
        let mut kinds: Vec<EventKind> = changed
            .iter()
            .map(|job| EventKind::Job {
                job: Box::new(job.clone()),
            })
            .collect();
        let at_work = task.status.state == TaskState::Working;
        let word = changed.iter().rev().find_map(|job| {
            let JobState::Linked { remote, .. } = &job.state else {
                return None;
            };
            let before = task
                .jobs
                .iter()
                .find(|known| known.number == job.number)
                .and_then(Job::remote);
            if remote.state.is_interrupted() || before == Some(remote) {
                return None;
            }
            let text = remote
                .text
                .as_deref()
                .map(str::trim)
                .filter(|text| !text.is_empty());
            match text {
                Some(text) => Some(text.to_owned()),
                None if at_work && before.is_some() => None,
                None => Some(format!("{} is working on it.", job.agent_name)),
            }
        });
        let waits = task.status.state.is_interrupted();
        kinds.extend(
            word.filter(|_| !waits || transcript::pending_answer(task).is_some())
                .map(|text| self.status(&text)),
        );
        kinds
    }

    fn status(&self, text: &str) -> EventKind {
        let message = Message::agent_text(MessageId::random(self.entropy.as_ref()), text);
        EventKind::status(TaskState::Working, Some(message))
    }

    async fn record(
        &self,
        run: &mut Run,
        kinds: Vec<EventKind>,
        heard: Vec<(u32, Notification)>,
        may_rest: bool,
    ) -> Result<(), ExecuteError> {
        let now = run.now();
        let rests = |task: &Task| self.rests(task, now).filter(|_| may_rest);
        let recorded = match run.record_and_park(kinds.clone(), rests).await {
            Err(ExecuteError::Store(StoreError::TooLarge { .. })) => {
                run.record(kinds.into_iter().map(|kind| without_bulk(kind, now)).collect())
                    .await
            }
            recorded => recorded,
        };
        match recorded {
            Err(ExecuteError::Stale) => self.keep(run, &heard).await,
            recorded => recorded,
        }
    }

    /// Writes down what agents said although the task changed meanwhile (an agent's own push overtakes its
    /// acknowledgement easily): it is as true of the task as it is now. Everything else is decided anew, and so this
    /// never succeeds.
    async fn keep(&self, run: &mut Run, heard: &[(u32, Notification)]) -> Result<(), ExecuteError> {
        run.reload().await?;
        let now = run.now();
        let noted = |task: &Task| -> Vec<EventKind> {
            let jobs = heard.iter().filter_map(|(number, news)| {
                let mut job = task.jobs.iter().find(|job| job.number == *number)?.clone();
                (job.note(news.clone(), now) != Noted::Nothing).then(|| EventKind::Job { job: Box::new(job) })
            });
            jobs.collect()
        };
        match run.amend(noted).await {
            Ok(()) | Err(ExecuteError::Stale) => {}
            Err(error) => return Err(error),
        }
        let task = run.task();
        if task.status.state.is_terminal() {
            // Called off while the call was under way. The task takes nothing more, but it is due until everybody who
            // works on parts of it was told, and this is one of them.
            for (number, news) in heard {
                let job = task.jobs.iter().find(|job| job.number == *number);
                if let (Some(job), Some(id)) = (job, &news.remote_task_id) {
                    self.remember_stray(task, job, id, now).await?;
                }
            }
        }
        Err(ExecuteError::Stale)
    }

    /// Wakes the task after a while; the sweeper would, but not as soon.
    pub(crate) async fn nudge(&self, task: &Task, wait: Duration) {
        if wait <= SOON {
            let wake = Wake::task(&TaskKey::from(task), task.trace.clone());
            wake_or_log(self.wake.as_ref(), &wake, wait).await;
        }
    }
}

fn after_answer(task: &Task, forwarded: bool) -> String {
    let waiting = task
        .jobs
        .iter()
        .find(|job| job.remote().is_some_and(|remote| remote.state.is_interrupted()));
    match waiting {
        Some(job) if forwarded => format!("Your answer went to {}.", job.agent_name),
        _ if task.status.state == TaskState::Unknown => "Asking once more and waiting on.".to_owned(),
        _ => {
            "I can take nothing more for this task while the agents work on it; please ask again afterwards."
                .to_owned()
        }
    }
}

/// The event with its job failed for being too large to keep.
fn without_bulk(kind: EventKind, now: Timestamp) -> EventKind {
    let EventKind::Job { mut job } = kind else {
        return kind;
    };
    if !job.artifacts.is_empty() {
        let remote_task_id: Option<RemoteTaskId> = job.remote_task_id().cloned();
        let remote = domain::RemoteUpdate {
            state: TaskState::Failed,
            text: Some("its result is too large to keep.".to_owned()),
            at: Some(now),
        };
        job.artifacts.clear();
        job.state = JobState::Settled {
            remote_task_id,
            remote,
        };
    }
    EventKind::Job { job }
}
