//! A finished task's results are stored once, though a job brought them and the answer repeats them.

use crate::job::Answered;
use crate::unkept::size;
use crate::{Artifact, Task};

/// From so many bytes of results on, those that an answer repeats are stored once.
const SHARED: usize = 64 * 1024;

impl Task {
    /// The task with the results that its answer repeats from jobs once; `None` where that saves nothing worth it.
    pub(crate) fn shared(&self) -> Option<Self> {
        let large = !self.artifacts.is_empty() && size(&self.artifacts) >= SHARED;
        if !large || self.jobs.is_empty() {
            return None;
        }
        let mut shared = self.clone();
        for job in &mut shared.jobs {
            let mut at = 0;
            job.artifacts.retain(|artifact| {
                let answer = self.artifacts.iter().find(|answer| {
                    Artifact {
                        artifact_id: artifact.artifact_id.clone(),
                        ..(*answer).clone()
                    } == *artifact
                });
                job.answered.extend(answer.map(|answer| Answered {
                    artifact_id: artifact.artifact_id.clone(),
                    answer_id: answer.artifact_id.clone(),
                    at,
                }));
                at += 1;
                answer.is_none()
            });
        }
        Some(shared)
    }

    /// Gives the jobs back the results that are stored in the answer alone.
    pub(crate) fn unshare(&mut self) {
        for job in &mut self.jobs {
            for Answered {
                artifact_id,
                answer_id,
                at,
            } in std::mem::take(&mut job.answered)
            {
                let answer = self
                    .artifacts
                    .iter()
                    .find(|answer| answer.artifact_id == answer_id);
                if let Some(answer) = answer {
                    let artifact = Artifact {
                        artifact_id,
                        ..answer.clone()
                    };
                    job.artifacts.insert(at.min(job.artifacts.len()), artifact);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        AgentName, ContextId, EventKind, JobState, Message, MessageId, NewTask, Notification, Owner, Part,
        RemoteTaskId, RemoteUpdate, Revision, TaskId, TaskState, Tenant, Timestamp, testing,
    };

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn task() -> Task {
        let new = NewTask {
            id: TaskId::from_bytes([1; 16]),
            tenant: Tenant::parse("acme").unwrap(),
            agent: AgentName::parse("host").unwrap(),
            context_id: ContextId::parse("c").unwrap(),
            owner: Owner::parse("o").unwrap(),
            message: Message::user(MessageId::parse("m").unwrap(), vec![Part::text("hi")]),
            trace: None,
        };
        let mut task = Task::create(new, at(0));
        task.jobs = vec![testing::job(at(0)), testing::job(at(0))];
        task.jobs[1].number = 1;
        task
    }

    fn file(bytes: usize) -> Artifact {
        let part = Part {
            filename: Some("minutes.txt".to_owned()),
            ..Part::text("x".repeat(bytes))
        };
        Artifact::new("minutes", vec![Part::text("In short: all agreed."), part])
    }

    fn news(state: TaskState, artifacts: Vec<(Artifact, bool)>, snapshot: bool) -> Notification {
        Notification {
            remote_task_id: Some(RemoteTaskId::parse("r-1").unwrap()),
            update: Some(RemoteUpdate {
                text: Some("Here are the minutes.".to_owned()),
                ..RemoteUpdate::of(state)
            }),
            artifacts,
            snapshot,
            responder: None,
        }
    }

    /// The task after its job heard this, as it is recorded.
    fn heard(mut task: Task, number: u32, news: Notification) -> Task {
        let mut job = task.jobs[number as usize].clone();
        job.note(news, at(1));
        task.record(EventKind::Job { job: Box::new(job) }, at(1)).unwrap();
        task
    }

    #[test]
    fn what_fits_is_kept_whole_and_what_does_not_fails_its_job_by_name_and_size() {
        let told = |bytes| {
            heard(
                task(),
                0,
                news(TaskState::Completed, vec![(file(bytes), false)], true),
            )
        };
        let kept = told(1_500_000);
        assert_eq!(kept.jobs[0].remote().unwrap().state, TaskState::Completed);
        assert_eq!(kept.jobs[0].artifacts, [file(1_500_000)]);
        assert_eq!(
            kept.jobs[0].brought().as_deref(),
            Some("Here are the minutes.\nIn short: all agreed.\nminutes.txt (1.5 MB)")
        );
        let task = told(3_000_000);
        let remote = task.jobs[0].remote().unwrap();
        assert!(matches!(task.jobs[0].state, JobState::Settled { .. }));
        assert_eq!(
            (remote.state, remote.text.as_deref()),
            (
                TaskState::Failed,
                Some(
                    "Here are the minutes.\nIn short: all agreed.\nWhat it brought is too large to keep here: minutes.txt \
                     (3.0 MB)."
                )
            )
        );
        assert_eq!(task.jobs[0].artifacts[0].parts.len(), 1, "its words are kept");
    }

    #[test]
    fn all_jobs_of_a_task_have_one_bound_together() {
        let told = || news(TaskState::Completed, vec![(file(1_000_000), false)], true);
        let task = heard(heard(task(), 0, told()), 1, told());
        let states: Vec<TaskState> = task.jobs.iter().map(|job| job.remote().unwrap().state).collect();
        assert_eq!(states, [TaskState::Completed, TaskState::Failed]);
    }

    #[test]
    fn pieces_that_grow_too_large_leave_no_half_of_them() {
        let mut task = task();
        for _ in 0..4 {
            let mut piece = file(700_000);
            piece.parts.remove(0);
            task = heard(task, 0, news(TaskState::Working, vec![(piece, true)], false));
        }
        assert!(task.jobs[0].artifacts.is_empty());
        let task = heard(task, 0, news(TaskState::Completed, Vec::new(), false));
        let remote = task.jobs[0].remote().unwrap();
        assert_eq!(remote.state, TaskState::Failed);
        assert!(
            remote.text.as_ref().unwrap().contains("minutes.txt (2.8 MB)"),
            "{remote:?}"
        );
    }

    #[test]
    fn many_small_parts_are_left_out_together() {
        let parts = vec![Part::text("y".repeat(4_000)); 1_000];
        let all = vec![(Artifact::new("a", parts).named("pages"), false)];
        let task = heard(task(), 0, news(TaskState::Completed, all, true));
        let text = task.jobs[0].remote().unwrap().text.clone().unwrap();
        assert!(text.ends_with("pages (4.0 MB)."), "{text}");
        assert_eq!(task.jobs[0].unkept.len(), 1);
    }

    fn letters(many: usize) -> Vec<(Artifact, bool)> {
        let letter = |at: usize| Artifact::new(format!("a-{at}"), vec![Part::text("x")]);
        (0..many).map(|at| (letter(at), false)).collect()
    }

    const LEFT_OUT: &str =
        "It brought more results than the 200 that are kept here: 19800 are left out (20 KB).";

    #[test]
    fn of_many_results_the_first_are_kept_and_the_rest_is_counted_however_they_come() {
        // An acknowledgement, a look and a push of the whole task.
        let told = heard(task(), 0, news(TaskState::Completed, letters(20_000), true));
        // What is fetched once a task is over.
        let mut fetched = heard(task(), 0, news(TaskState::Completed, Vec::new(), true));
        let mut job = fetched.jobs[0].clone();
        job.artifacts = letters(20_000)
            .into_iter()
            .map(|(artifact, _)| artifact)
            .collect();
        job.fetched = true;
        fetched
            .record(EventKind::Job { job: Box::new(job) }, at(2))
            .unwrap();
        for task in [told, fetched] {
            let job = &task.jobs[0];
            let remote = job.remote().unwrap();
            assert_eq!((job.artifacts.len(), remote.state), (200, TaskState::Failed));
            let text = remote.text.as_ref().unwrap();
            assert!(
                text.starts_with("Here are the minutes.") && text.ends_with(LEFT_OUT),
                "{text}"
            );
        }
    }

    #[test]
    fn of_many_results_that_come_one_by_one_each_is_counted_once() {
        let mut task = task();
        for (artifact, _) in letters(205) {
            for append in [false, true] {
                let piece = vec![(artifact.clone(), append)];
                task = heard(task, 0, news(TaskState::Working, piece, false));
            }
        }
        let task = heard(task, 0, news(TaskState::Completed, Vec::new(), false));
        let text = task.jobs[0].remote().unwrap().text.clone().unwrap();
        assert!(text.ends_with("5 are left out (5 bytes)."), "{text}");
        assert_eq!(task.jobs[0].artifacts.len(), 200);
    }

    #[test]
    fn all_jobs_of_a_task_have_one_number_of_results_together() {
        let told = || news(TaskState::Completed, letters(150), true);
        let task = heard(heard(task(), 0, told()), 1, told());
        let kept: Vec<usize> = task.jobs.iter().map(|job| job.artifacts.len()).collect();
        assert_eq!(kept, [150, 50]);
    }

    #[test]
    fn of_many_parts_the_first_are_kept_and_the_rest_is_named() {
        let artifact = Artifact::new("a", vec![Part::text("x"); 20_000]).named("pages");
        let task = heard(
            task(),
            0,
            news(TaskState::Completed, vec![(artifact, false)], true),
        );
        let text = task.jobs[0].remote().unwrap().text.clone().unwrap();
        assert!(text.ends_with("pages (10 KB)."), "{}", &text[text.len() - 100..]);
        assert_eq!(task.jobs[0].artifacts[0].parts.len(), 10_000);
    }

    #[test]
    fn a_result_that_the_answer_repeats_is_stored_once_and_read_twice() {
        let done = news(TaskState::Completed, vec![(file(1_400_000), false)], true);
        let mut revision = Revision::of(heard(task(), 0, done));
        let answer = Artifact {
            artifact_id: "0-minutes".to_owned(),
            ..file(1_400_000)
        };
        revision.record(EventKind::artifact(answer), at(2)).unwrap();
        revision
            .record(EventKind::status(TaskState::Completed, None), at(2))
            .unwrap();
        let task = revision.into_task();
        let stored = task.to_stored().unwrap();
        assert!(stored.len() < 1_500_000, "{}", stored.len());
        assert_eq!(Task::from_stored(&stored).unwrap(), task);
        let small = heard(
            super::tests::task(),
            0,
            news(TaskState::Completed, vec![(file(100), false)], true),
        );
        assert_eq!(small.to_stored().unwrap(), serde_json::to_string(&small).unwrap());
    }
}
