//! What may be done about each job of a task now. "May this job be sent?" is answered here, and nowhere else.

use domain::{Job, JobState, Message, Task, TaskState, Timestamp};

use crate::meaning;
use crate::rules::patience::{Patience, is_over};
use crate::rules::{transcript, wording};

/// One call about one job.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Act {
    /// Send its message, which has certainly not left before.
    Send,
    /// Send its message, which may have left before: its agent is asked for it first, where it can be.
    Resend,
    /// Send its message once more, as its agent has it and gives no answer.
    Anew,
    /// Hand the user's answer on to the agent that asked.
    Forward(Box<Message>),
    /// Ask its agent how it is doing.
    Look,
    /// Get the result of a job that ended without bringing one.
    Fetch,
}

impl Act {
    /// Whether it hands a message to an agent, which may take its time to answer.
    pub(crate) fn delivers(&self) -> bool {
        matches!(self, Self::Send | Self::Resend | Self::Anew | Self::Forward(_))
    }
}

/// What is done about a task in one pass.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plan {
    pub(crate) acts: Vec<(Job, Act)>,
    /// The user has said something since the last look.
    pub(crate) answered: bool,
    /// That goes to an agent which asked for it.
    pub(crate) forwarded: bool,
}

impl Plan {
    /// The `fresh` jobs have certainly not been sent yet; of others a process may have ended between their send and its
    /// acknowledgement.
    pub(crate) fn of(patience: &Patience, task: &Task, fresh: &[u32], now: Timestamp) -> Self {
        // What is about a consent that is waited for is looked at there.
        let mut said = transcript::pending_answer(task).cloned();
        said.take_if(|said| meaning::is_about_consent(task, said));
        let answered = said.is_some();
        let asked_again = answered && task.status.state == TaskState::Unknown;
        let mut acts = Vec::new();
        for job in &task.jobs {
            let act = match &job.state {
                JobState::Linked { remote, .. } if remote.state.is_interrupted() && said.is_some() => {
                    // Taken: one answer must not go to two agents.
                    said.take().map(|said| Act::Forward(Box::new(said)))
                }
                _ if task.holds(job) => None,
                _ => act(patience, job, asked_again, now),
            };
            let act = match act {
                Some(Act::Look) if asked_again && Patience::is_mute(job) => Some(Act::Anew),
                Some(Act::Send) if job.attempts > 0 || !fresh.contains(&job.number) => Some(Act::Resend),
                act => act,
            };
            let mut job = job.clone();
            if asked_again && matches!(job.state, JobState::Prepared) {
                // With all the patience there is; its user wants it sent, whatever became of it before.
                (job.attempts, job.delivered, job.updated_at) = (0, false, now);
            }
            acts.extend(act.map(|act| (job, act)));
        }
        Self {
            acts,
            answered,
            forwarded: answered && said.is_none(),
        }
    }
}

/// Until when the task can rest, where another look at it now would do nothing and say nothing.
pub(crate) fn rests(patience: &Patience, task: &Task, now: Timestamp) -> Option<Timestamp> {
    let idle = |job: &Job| {
        !matches!(job.state, JobState::AwaitingConsent { .. })
            && (task.holds(job) || act(patience, job, false, now).is_none())
    };
    let plan_rests = task
        .plan
        .as_ref()
        .is_none_or(|plan| plan.moves(&task.jobs).is_empty());
    let waits = plan_rests
        && transcript::pending_answer(task).is_none()
        && task.jobs.iter().all(idle)
        && !task.jobs.iter().all(is_over)
        && wording::waiting_for(patience, task, now).is_none();
    waits.then(|| patience.wake_at(task, now))
}

fn act(patience: &Patience, job: &Job, asked_again: bool, now: Timestamp) -> Option<Act> {
    let is_due = patience.next_by(job, now).is_some_and(|at| at <= now);
    match &job.state {
        JobState::Prepared => (is_due || asked_again).then_some(Act::Send),
        // It is not sent before its user has consented. What is unknown, a newer release knows what to do about.
        JobState::AwaitingConsent { .. } | JobState::Settled { .. } | JobState::Unknown => None,
        JobState::Linked { .. } => (is_due || asked_again).then_some(Act::Look),
        // Where it cannot be had now, it is asked for at growing intervals: a task is never completed without a
        // result that its agent has.
        JobState::Fetching { .. } => (job.fetches == 0 || is_due || asked_again).then_some(Act::Fetch),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use domain::{
        AgentName, AwaitedConsent, ContextId, MessageId, NewTask, Notification, Owner, Part, Protection,
        RemoteTaskId, RemoteUpdate, TaskId, Tenant,
    };

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(1_767_225_600_000 + seconds * 1_000)
    }

    /// A task of second 0 with this one job.
    fn task(job: Job) -> Task {
        let new = NewTask {
            id: TaskId::from_bytes([1; 16]),
            tenant: Tenant::parse("acme").unwrap(),
            agent: AgentName::parse("host").unwrap(),
            context_id: ContextId::parse("c").unwrap(),
            owner: Owner::parse("ada").unwrap(),
            message: Message::user(MessageId::parse("m").unwrap(), vec![Part::text("Oslo?")]),
            trace: None,
        };
        let mut task = Task::create(new, at(0));
        task.jobs.push(job);
        task
    }

    fn prepared() -> Job {
        domain::testing::job(at(0))
    }

    /// A job that its agent said this of, at second 0.
    fn told(state: TaskState) -> Job {
        let mut job = prepared();
        let update = RemoteUpdate::of(state);
        let news = Notification {
            remote_task_id: Some(RemoteTaskId::parse("r-1").unwrap()),
            update: Some(update),
            artifacts: Vec::new(),
            snapshot: false,
            responder: None,
        };
        job.note(news, at(0));
        job
    }

    fn planned(task: &Task, fresh: &[u32], second: i64) -> Option<Act> {
        let plan = Plan::of(&Patience::default(), task, fresh, at(second));
        plan.acts.into_iter().next().map(|(_, act)| act)
    }

    #[test]
    fn only_a_job_that_was_never_tried_is_sent_without_asking_for_it_first() {
        assert_eq!(planned(&task(prepared()), &[0], 0), Some(Act::Send));
        // Another process may have sent it.
        assert_eq!(planned(&task(prepared()), &[], 0), Some(Act::Resend));
        let tried = Job {
            attempts: 1,
            ..prepared()
        };
        assert_eq!(
            planned(&task(tried.clone()), &[0], 0),
            None,
            "the retry has its time"
        );
        assert_eq!(planned(&task(tried), &[0], 1), Some(Act::Resend));
    }

    #[test]
    fn nothing_is_sent_before_its_user_has_consented() {
        let mut job = prepared();
        let consent = AwaitedConsent {
            id: "c".to_owned(),
            expires_at: at(60),
        };
        job.protection = Some(Protection {
            provider: "idp".to_owned(),
            scopes: Vec::new(),
            consent: Some(consent),
            granted_at: None,
        });
        job.tidy();
        for second in [0, 60, 3600] {
            assert_eq!(planned(&task(job.clone()), &[0], second), None);
            let resting = rests(&Patience::default(), &task(job.clone()), at(second));
            assert_eq!(resting, None, "its consent is looked at");
        }
    }

    #[test]
    fn a_job_whose_state_only_a_newer_release_knows_is_left_alone() {
        let job = Job {
            state: JobState::Unknown,
            ..prepared()
        };
        assert_eq!(planned(&task(job), &[0], 3600), None);
    }

    #[test]
    fn an_agent_is_asked_after_a_while_and_for_its_result_at_once() {
        let working = task(told(TaskState::Working));
        assert_eq!(planned(&working, &[], 3), None);
        assert_eq!(planned(&working, &[], 4), Some(Act::Look));
        let until = rests(&Patience::default(), &working, at(1));
        assert_eq!(until, Some(at(0).after(Duration::from_secs(4))));
        assert_eq!(
            planned(&task(told(TaskState::Completed)), &[], 0),
            Some(Act::Fetch)
        );
    }

    #[test]
    fn beside_a_consent_an_answer_goes_to_the_agent_that_asked_and_a_code_does_not() {
        let mut waiting = Job {
            number: 1,
            ..prepared()
        };
        let consent = AwaitedConsent {
            id: "c".to_owned(),
            expires_at: at(60),
        };
        waiting.protection = Some(Protection {
            provider: "idp".to_owned(),
            scopes: Vec::new(),
            consent: Some(consent),
            granted_at: None,
        });
        waiting.tidy();
        for (asks, text, goes) in [
            (true, "dinner", true),
            (true, "BCDF-GHJK", false),
            (true, "done", false),
            (false, "dinner", false),
        ] {
            let state = if asks {
                TaskState::InputRequired
            } else {
                TaskState::Working
            };
            let mut task = task(told(state));
            task.jobs.push(waiting.clone());
            let answer = Message::user(MessageId::parse("n").unwrap(), vec![Part::text(text)]);
            task.unanswered = Some(answer.message_id.clone());
            task.history.push(answer);
            let plan = Plan::of(&Patience::default(), &task, &[], at(1));
            let forwards = plan.acts.iter().any(|(_, act)| matches!(act, Act::Forward(_)));
            assert_eq!((forwards, plan.forwarded), (goes, goes), "{text}");
        }
    }

    #[test]
    fn what_the_user_says_goes_to_the_first_agent_that_asked_and_to_no_other() {
        let mut task = task(told(TaskState::InputRequired));
        task.jobs.push(Job {
            number: 1,
            ..told(TaskState::InputRequired)
        });
        assert_eq!(planned(&task, &[], 3600), None, "nobody said anything");
        let answer = Message::user(MessageId::parse("n").unwrap(), vec![Part::text("Bergen")]);
        task.history.push(answer.clone());
        task.unanswered = Some(answer.message_id.clone());
        let plan = Plan::of(&Patience::default(), &task, &[], at(1));
        let [(job, Act::Forward(said))] = &plan.acts[..] else {
            panic!("one call: {:?}", plan.acts)
        };
        assert_eq!((job.number, said.as_ref()), (0, &answer));
        assert!(plan.answered && plan.forwarded);
    }
}
