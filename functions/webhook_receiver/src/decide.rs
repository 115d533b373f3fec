//! What an update of a job does to its task: a pure rule, applied again whenever the task changed meanwhile.

use std::time::Duration;

use a2a::mqtt::TopicPrefix;
use domain::{
    EventKind, InvalidTransition, Job, JobState, Message, MessageId, Noted, Notification, RemoteTaskId,
    Responder, Revision, Task, TaskState, Timestamp, Transport,
};
use store::Due;

/// What is to be done with a notification.
#[derive(Debug)]
pub enum Decision {
    /// Nothing: a duplicate, or older than what is known, or the task is over.
    Nothing,
    /// The notification is of another remote task than the one this job is linked to.
    Foreign,
    /// The job's agent says too much; this long it is not listened to.
    TooMany(Duration),
    /// The task was over before its job's agent was heard for the first time: that works for nobody, on this task of
    /// its own, and is to be called off.
    CallOff(RemoteTaskId),
    /// This is to be written.
    Write {
        /// The task with the news in it.
        revision: Box<Revision>,
        /// When the host is to look at it.
        due: Due,
        /// The host is to look at it now.
        wake: bool,
    },
}

/// What its sender says of a notification beside the news in it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Delivery<'d> {
    /// What it calls the notification, the same with every resend: a piece of an artifact that was added once is not added again.
    pub id: Option<&'d str>,
    /// Over MQTT: the address of the agent that has the task.
    pub responder: Option<&'d str>,
    /// It is one of all the events of its task, which are numbered.
    pub is_numbered: bool,
}

/// Takes the news of the job with this number into the task.
///
/// A job that is over or waits for the user is the host's to judge, so the task becomes due; mere progress is shown as
/// the task's own. Either way the job's record is written first: a job takes news before it is linked, so that a
/// notification may overtake the acknowledgement of its own send.
///
/// How much mere progress a job may report is bounded; its end is always heard.
#[must_use]
pub fn decide(
    task: &Task,
    number: u32,
    mut news: Notification,
    delivery: Delivery<'_>,
    now: Timestamp,
) -> Decision {
    let Some(known) = task.jobs.iter().find(|job| job.number == number) else {
        return Decision::Nothing;
    };
    if delivery.id.is_some_and(|id| known.heard.knows(id)) {
        return Decision::Nothing;
    }
    news.responder = delivery.responder.and_then(|agent| responder(known, agent));
    let mut job = known.clone();
    if ends_in_pieces(&job, &news, delivery) {
        job.artifacts.clear();
    }
    let noted = job.note(news, now);
    let wake = match noted {
        Noted::Nothing => return Decision::Nothing,
        Noted::Foreign => return Decision::Foreign,
        Noted::Progress => false,
        Noted::Interrupted | Noted::Settled => true,
    };
    if let Some(wait) = known.heard.too_many(now).filter(|_| noted != Noted::Settled) {
        return Decision::TooMany(wait);
    }
    job.heard.take(delivery.id, now);
    let unlinked = known.remote_task_id().is_none() && !job.is_settled();
    let orphan = job.remote_task_id().filter(|_| unlinked).cloned();
    let status = (!wake).then(|| progress(task, known, &job)).flatten();
    match revised(task, job, status, now) {
        Ok(revision) => Decision::Write {
            revision: Box::new(revision),
            due: if wake { Due::At(now) } else { Due::Keep },
            wake,
        },
        // A finished task takes nothing more.
        Err(_) => orphan.map_or(Decision::Nothing, Decision::CallOff),
    }
}

/// The task with its job's next look as soon as any: for a notification that cannot be read. It counts like one that can, so that
/// an agent cannot have itself asked without end; `None` where there is nothing to look at, or too much was said already.
pub(crate) fn look_at(task: &Task, number: u32, now: Timestamp) -> Option<Revision> {
    let known = task.jobs.iter().find(|job| job.number == number)?;
    let waits = known.remote().is_some_and(|remote| remote.state.is_interrupted());
    let is_linked = matches!(known.state, JobState::Linked { .. });
    if !is_linked || waits || known.attempts == 0 || known.heard.too_many(now).is_some() {
        return None;
    }
    let mut job = known.clone();
    job.heard.take(None, now);
    // Looks grow rarer with each that brought nothing new: from here they begin anew.
    job.attempts = 0;
    revised(task, job, None, now).ok()
}

/// Whether a job ends whose result came in pieces over a broker. One that was killed may have lost some that it had acknowledged, so that
/// its host asks for the whole. Whoever numbers events can tell it.
fn ends_in_pieces(job: &Job, news: &Notification, delivery: Delivery<'_>) -> bool {
    let ends = news
        .update
        .as_ref()
        .is_some_and(|update| update.state.is_terminal());
    job.endpoint.transport == Transport::Mqtt
        && delivery.is_numbered
        && !news.snapshot
        && ends
        && !job.is_settled()
}

/// The agent that has a job's task from now on: an agent of the broker that the job is at, in the unit that was asked.
fn responder(job: &Job, agent: &str) -> Option<Responder> {
    let asked = (job.endpoint.transport == Transport::Mqtt).then(|| job.endpoint.url.clone())?;
    let url = TopicPrefix::interface_of_responder(&asked, agent)?;
    Some(Responder { asked, url })
}

fn revised(
    task: &Task,
    job: Job,
    status: Option<EventKind>,
    now: Timestamp,
) -> Result<Revision, InvalidTransition> {
    let mut revision = Revision::of(task.clone());
    revision.record(EventKind::Job { job: Box::new(job) }, now)?;
    if let Some(status) = status {
        revision.record(status, now)?;
    }
    Ok(revision)
}

/// The status that progress of a job gives to its task; `None` where it says nothing new, or where the task waits for
/// the user on somebody else's behalf.
fn progress(task: &Task, before: &Job, after: &Job) -> Option<EventKind> {
    let waits = |job: &Job| job.remote().is_some_and(|remote| remote.state.is_interrupted());
    let others_wait = task
        .jobs
        .iter()
        .any(|job| job.number != after.number && waits(job));
    if waits(after) || others_wait || (task.status.state.is_interrupted() && !waits(before)) {
        return None;
    }
    let text = after
        .remote()
        .and_then(|remote| remote.text.as_deref())
        .filter(|text| !text.trim().is_empty());
    let shown = task.status.message.as_ref().map(Message::text);
    let at_work = task.status.state == TaskState::Working;
    if at_work && (text.is_none() || text == shown.as_deref()) {
        return None;
    }
    let id = MessageId::derived(&format!("progress/{}/{}", task.id, task.rev));
    Some(EventKind::status(
        TaskState::Working,
        text.map(|text| Message::agent_text(id, text)),
    ))
}

#[cfg(test)]
mod tests {
    use domain::{Artifact, Part, RemoteTaskId, RemoteUpdate};

    use super::*;
    use crate::testing::{prepared_job, task_with};

    fn news(state: TaskState, text: &str) -> Notification {
        Notification {
            remote_task_id: Some(RemoteTaskId::parse("r-1").unwrap()),
            update: Some(RemoteUpdate {
                text: Some(text.to_owned()),
                ..RemoteUpdate::of(state)
            }),
            artifacts: Vec::new(),
            snapshot: false,
            responder: None,
        }
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    /// Decides, and gives the task after it with what is to happen.
    fn step(task: &Task, number: u32, news: Notification) -> (Task, Option<bool>) {
        match decide(task, number, news, Delivery::default(), at(9)) {
            Decision::Write { revision, due, wake } => {
                assert_eq!(due, if wake { Due::At(at(9)) } else { Due::Keep });
                (revision.into_task(), Some(wake))
            }
            Decision::Nothing | Decision::Foreign | Decision::TooMany(_) | Decision::CallOff(_) => {
                (task.clone(), None)
            }
        }
    }

    #[test]
    fn what_cannot_be_read_of_a_linked_job_is_a_reason_to_look() {
        let task = task_with(vec![prepared_job(0, "token")]);
        assert!(look_at(&task, 0, at(9)).is_none(), "nothing to ask for yet");
        assert!(look_at(&task, 7, at(9)).is_none());
        let (mut task, _) = step(&task, 0, news(TaskState::Working, "on it"));
        assert!(
            look_at(&task, 0, at(9)).is_none(),
            "the next look is as near as can be"
        );
        task.jobs[0].attempts = 5;
        let looked = look_at(&task, 0, at(9)).unwrap().into_task();
        assert_eq!(looked.jobs[0].attempts, 0);
        assert_eq!(looked.jobs[0].state, task.jobs[0].state);
        assert_eq!(looked.status, task.status);
        // Counted like any other, so that there is an end to it.
        let mut again = task.clone();
        let writes = (0..10_000).take_while(|_| {
            again.jobs[0].attempts = 5;
            look_at(&again, 0, at(9))
                .map(|revision| again = revision.into_task())
                .is_some()
        });
        assert!(writes.count() < 10_000);
        let (done, _) = step(&task, 0, news(TaskState::Completed, "done"));
        assert!(look_at(&done, 0, at(9)).is_none());
        let (mut waits, _) = step(&task, 0, news(TaskState::InputRequired, "which?"));
        waits.jobs[0].attempts = 5;
        assert!(look_at(&waits, 0, at(9)).is_none(), "only its user can move it");
    }

    #[test]
    fn progress_is_shown_as_the_tasks_own() {
        let task = task_with(vec![prepared_job(0, "token")]);
        let (task, wake) = step(&task, 0, news(TaskState::Working, "half way"));
        assert_eq!(wake, Some(false));
        assert_eq!(task.status.state, TaskState::Working);
        assert_eq!(
            task.status.message.as_ref().map(Message::text).as_deref(),
            Some("half way")
        );
        assert_eq!(task.rev, 3, "the job and the status");
        let (after, wake) = step(&task, 0, news(TaskState::Working, "half way"));
        assert_eq!((after.rev, wake), (3, None), "a duplicate writes nothing");
    }

    #[test]
    fn a_result_is_left_for_the_host_to_judge() {
        for state in [
            TaskState::Completed,
            TaskState::Failed,
            TaskState::Canceled,
            TaskState::Rejected,
        ] {
            let task = task_with(vec![prepared_job(0, "token")]);
            let (task, wake) = step(&task, 0, news(state, "that is it"));
            assert_eq!(wake, Some(true));
            assert_eq!(
                task.status.state,
                TaskState::Submitted,
                "only the host ends a task"
            );
            assert_eq!(task.jobs[0].remote().unwrap().state, state);
            let (after, wake) = step(&task, 0, news(TaskState::Working, "late"));
            assert_eq!(
                (after.jobs[0].remote().unwrap().state, wake),
                (state, None),
                "late news undoes nothing"
            );
        }
    }

    #[test]
    fn a_question_of_one_job_is_not_hidden_by_the_progress_of_another() {
        let task = task_with(vec![prepared_job(0, "a"), prepared_job(1, "b")]);
        let (mut task, wake) = step(&task, 0, news(TaskState::InputRequired, "which one?"));
        assert_eq!(wake, Some(true));
        task.record(EventKind::status(TaskState::InputRequired, None), at(2))
            .unwrap();
        let (task, wake) = step(&task, 1, news(TaskState::Working, "on it"));
        assert_eq!((task.status.state, wake), (TaskState::InputRequired, Some(false)));
        let (task, _) = step(&task, 0, news(TaskState::Working, "got it"));
        assert_eq!(
            task.status.state,
            TaskState::Working,
            "the job that asked goes on"
        );
    }

    #[test]
    fn the_hosts_own_question_stays() {
        let mut task = task_with(vec![prepared_job(0, "a")]);
        task.record(EventKind::status(TaskState::InputRequired, None), at(2))
            .unwrap();
        let (task, _) = step(&task, 0, news(TaskState::Working, "on it"));
        assert_eq!(task.status.state, TaskState::InputRequired);
    }

    #[test]
    fn a_task_of_which_nothing_was_heard_takes_late_news() {
        let mut task = task_with(vec![prepared_job(0, "a")]);
        task.record(EventKind::status(TaskState::Unknown, None), at(2))
            .unwrap();
        assert_eq!(
            step(&task, 0, news(TaskState::Working, "still here"))
                .0
                .status
                .state,
            TaskState::Working
        );
        assert_eq!(step(&task, 0, news(TaskState::Completed, "done")).1, Some(true));
    }

    #[test]
    fn a_finished_task_and_an_unknown_job_take_nothing() {
        let mut task = task_with(vec![prepared_job(0, "a")]);
        assert!(matches!(
            decide(&task, 7, news(TaskState::Working, ""), Delivery::default(), at(9)),
            Decision::Nothing
        ));
        task.record(EventKind::status(TaskState::Canceled, None), at(2))
            .unwrap();
        assert!(matches!(
            decide(
                &task,
                0,
                news(TaskState::Completed, ""),
                Delivery::default(),
                at(9)
            ),
            Decision::Nothing
        ));
    }

    #[test]
    fn who_is_first_heard_of_when_the_task_is_over_is_called_off_unless_over_too() {
        let mut task = task_with(vec![prepared_job(0, "a"), prepared_job(1, "b")]);
        (task, _) = step(&task, 1, news(TaskState::Working, "linked"));
        task.record(EventKind::status(TaskState::Canceled, None), at(2))
            .unwrap();
        let on_it = || news(TaskState::Working, "on it");
        assert!(
            matches!(decide(&task, 0, on_it(), Delivery::default(), at(9)), Decision::CallOff(id) if id.as_str() == "r-1")
        );
        assert!(matches!(
            decide(&task, 0, news(TaskState::Failed, ""), Delivery::default(), at(9)),
            Decision::Nothing
        ));
        assert!(matches!(
            decide(
                &task,
                1,
                news(TaskState::InputRequired, "known"),
                Delivery::default(),
                at(9)
            ),
            Decision::Nothing
        ));
    }

    #[test]
    fn news_of_another_remote_task_is_foreign() {
        let task = task_with(vec![prepared_job(0, "a")]);
        let (task, _) = step(&task, 0, news(TaskState::Working, "on it"));
        let mut other = news(TaskState::Completed, "done");
        other.remote_task_id = Some(RemoteTaskId::parse("r-2").unwrap());
        assert!(matches!(
            decide(&task, 0, other, Delivery::default(), at(9)),
            Decision::Foreign
        ));
    }

    #[test]
    fn a_job_on_a_broker_follows_its_task_within_its_unit_and_others_stay() {
        let broker = "mqtts://broker.example/$a2a/v1/request";
        let after = |transport: Transport, agent: &str| {
            let mut job = prepared_job(0, "a");
            job.endpoint.transport = transport;
            job.endpoint.url = format!("{broker}/acme/lab/pool/echoes").parse().unwrap();
            let delivery = Delivery {
                responder: Some(agent),
                ..Delivery::default()
            };
            let told = news(TaskState::Working, "on it");
            match decide(&task_with(vec![job]), 0, told, delivery, at(9)) {
                Decision::Write { revision, .. } => revision.into_task().jobs[0].endpoint.url.to_string(),
                other => panic!("{other:?}"),
            }
        };
        let moved = format!("{broker}/acme/lab/echo-2");
        let stays = format!("{broker}/acme/lab/pool/echoes");
        assert_eq!(after(Transport::Mqtt, "acme/lab/echo-2"), moved);
        for (transport, agent) in [
            (Transport::Mqtt, "acme/press/echo-2"),
            (Transport::Mqtt, "globex/lab/echo-2"),
            (Transport::Mqtt, "https://evil.example"),
            (Transport::JsonRpc, "acme/lab/echo-2"),
        ] {
            assert_eq!(after(transport, agent), stays, "{agent}");
        }
    }

    /// A piece of a result.
    fn piece() -> Notification {
        Notification {
            remote_task_id: Some(RemoteTaskId::parse("r-1").unwrap()),
            update: None,
            artifacts: vec![(Artifact::new("a", vec![Part::text("x")]), true)],
            snapshot: false,
            responder: None,
        }
    }

    #[test]
    fn a_piece_that_comes_twice_is_added_once() {
        let mut task = task_with(vec![prepared_job(0, "a")]);
        for (delivery, parts) in [
            (Some("one"), 1),
            (Some("one"), 1),
            (Some("two"), 2),
            (Some("one"), 2),
            (Some("two"), 2),
        ] {
            if let Decision::Write { revision, .. } = decide(
                &task,
                0,
                piece(),
                Delivery {
                    id: delivery,
                    ..Delivery::default()
                },
                at(9),
            ) {
                task = revision.into_task();
            }
            assert_eq!(task.jobs[0].artifacts[0].parts.len(), parts, "{delivery:?}");
        }
    }

    #[test]
    fn a_result_that_came_in_pieces_over_a_broker_is_asked_for_whole() {
        for (transport, is_numbered, is_kept) in [
            (Transport::Mqtt, true, false),
            // Who numbers nothing may not be able to tell it.
            (Transport::Mqtt, false, true),
            (Transport::JsonRpc, true, true),
        ] {
            let mut job = prepared_job(0, "a");
            job.endpoint.transport = transport;
            let mut task = task_with(vec![job]);
            for told in [piece(), news(TaskState::Completed, "done")] {
                let delivery = Delivery {
                    is_numbered,
                    ..Delivery::default()
                };
                match decide(&task, 0, told, delivery, at(9)) {
                    Decision::Write { revision, .. } => task = revision.into_task(),
                    other => panic!("{other:?}"),
                }
            }
            let job = &task.jobs[0];
            assert!(job.is_settled());
            let fetches = matches!(job.state, domain::JobState::Fetching { .. });
            assert_eq!(
                (fetches, job.artifacts.len() == 1),
                (!is_kept, is_kept),
                "{transport:?}"
            );
        }
    }

    #[test]
    fn a_job_that_talks_without_end_is_heard_again_after_a_while_and_its_end_at_once() {
        let mut task = task_with(vec![prepared_job(0, "a")]);
        let mut heard = 0;
        let wait = loop {
            let told = news(TaskState::Working, &format!("{heard}"));
            match decide(&task, 0, told, Delivery::default(), at(9)) {
                Decision::Write { revision, .. } => task = revision.into_task(),
                Decision::TooMany(wait) => break wait,
                other => panic!("{other:?}"),
            }
            heard += 1;
        };
        assert_eq!((heard, wait), (300, Duration::from_secs(60)));
        let told = || news(TaskState::Working, "later");
        let later = at(9).after(wait);
        assert!(matches!(
            decide(&task, 0, told(), Delivery::default(), later),
            Decision::Write { .. }
        ));
        assert!(matches!(
            decide(
                &task,
                0,
                news(TaskState::Completed, "done"),
                Delivery::default(),
                at(9)
            ),
            Decision::Write { wake: true, .. }
        ));
    }
}
