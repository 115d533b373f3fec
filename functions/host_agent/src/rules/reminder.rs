//! When what waits for the user is mentioned under the answer to something else.

use std::time::Duration;

use domain::{Task, Timestamp};

use super::note::Note;
use super::wording;

/// What waits is mentioned at most once in this time, and not before it has waited so long.
const EVERY: Duration = Duration::from_secs(600);

/// One line about what waits, where nobody mentioned it for a while: the newest of it.
pub(crate) fn due(here: &[Task], now: Timestamp, language: &str) -> Option<String> {
    let lately = |at: Timestamp| now < at.after(EVERY);
    let reminded =
        |task: &Task| lately(task.created_at) && Note::of(task).is_some_and(|note| note.reminder.is_some());
    if here.iter().any(reminded) {
        return None;
    }
    let waits = |task: &&Task| task.status.state.is_interrupted() && !lately(task.status.at);
    let newest = here.iter().rfind(waits)?;
    Some(wording::reminder(newest, language))
}

#[cfg(test)]
mod tests {
    use domain::{AgentName, ContextId, Message, MessageId, NewTask, Owner, Part, TaskId, TaskState, Tenant};

    use super::*;

    fn at(minutes: i64) -> Timestamp {
        Timestamp::from_millis(1_767_225_600_000 + minutes * 60_000)
    }

    /// A task of that minute, which has been in its state since then.
    fn task(minute: i64, asked: &str, state: TaskState) -> Task {
        let new = NewTask {
            id: TaskId::from_bytes([u8::try_from(minute).unwrap(); 16]),
            tenant: Tenant::parse("acme").unwrap(),
            agent: AgentName::parse("host").unwrap(),
            context_id: ContextId::parse("c").unwrap(),
            owner: Owner::parse("ada").unwrap(),
            message: Message::user(MessageId::derived(asked), vec![Part::text(asked)]),
            trace: None,
        };
        let mut task = Task::create(new, at(minute));
        let mut job = domain::testing::job(at(minute));
        job.agent_name = "Gizmo".to_owned();
        task.jobs.push(job);
        task.status.state = state;
        task
    }

    /// A task whose answer mentioned what waits.
    fn reminding(minute: i64) -> Task {
        let note = Note {
            reminder: Some(String::new()),
            ..Note::default()
        };
        Task {
            checkpoint: Some(serde_json::to_value(note).unwrap()),
            ..task(minute, "weather in Oslo", TaskState::Completed)
        }
    }

    #[track_caller]
    fn check(here: &[Task], minute: i64, expected: Option<&str>) {
        let said = due(here, at(minute), "en");
        let about = expected.map(|asked| format!("Still open: “{asked}” ("));
        match (&said, &about) {
            (Some(said), Some(about)) => assert!(said.starts_with(about), "{said}"),
            _ => assert_eq!(said, about),
        }
    }

    #[test]
    fn what_waits_is_mentioned_once_it_has_waited_ten_minutes() {
        for state in [TaskState::InputRequired, TaskState::AuthRequired] {
            let here = [task(0, "gizmo ask", state)];
            check(&here, 9, None);
            check(&here, 10, Some("gizmo ask"));
        }
        check(&[], 60, None);
    }

    #[test]
    fn it_is_mentioned_again_ten_minutes_after_the_last_time() {
        let here = [task(0, "gizmo ask", TaskState::InputRequired), reminding(12)];
        check(&here, 21, None);
        check(&here, 22, Some("gizmo ask"));
    }

    #[test]
    fn what_runs_or_is_over_is_not_mentioned() {
        for state in [
            TaskState::Submitted,
            TaskState::Working,
            TaskState::Completed,
            TaskState::Failed,
            TaskState::Canceled,
            TaskState::Unknown,
        ] {
            check(&[task(0, "gizmo ask", state)], 60, None);
        }
    }

    #[test]
    fn of_several_the_newest_that_has_waited_is_mentioned() {
        let here = [
            task(0, "first", TaskState::InputRequired),
            task(1, "second", TaskState::InputRequired),
            task(15, "third", TaskState::InputRequired),
        ];
        check(&here, 20, Some("second"));
        check(&here, 25, Some("third"));
    }
}
