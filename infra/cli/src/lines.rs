//! What `up` shows of the tasks, one line each time one ends or waits for its user:
//! `12:04:05 acme ● Weather ✓ 0.3 s  Will it rain in Oslo tomorrow?`

use std::io::{Write as _, stdout};
use std::sync::mpsc;
use std::time::Duration;

use domain::{Clause, Fate, Role, Task, TaskState, Timestamp};

use super::out::has_colours;

/// Longest prompt that is shown, in characters: a line then fits most terminals.
const PROMPT_MAX: usize = 72;
/// Longest name of an agent. The name is its card's, and so a stranger's.
const NAME_MAX: usize = 24;
/// Lines that wait for a slow terminal. More are dropped: nobody reads them, and no task may wait for a terminal.
const WAITING_MAX: usize = 1_000;
/// The agent whose tasks are the users' own; those of the specialists are parts of them.
const HOST: &str = "host";

/// Shows the tasks of this process on the standard output from now on, until that is closed.
pub(super) fn show() {
    let colours = has_colours();
    let (send, lines) = mpsc::sync_channel(WAITING_MAX);
    agent::measure::watch(move |task| {
        if let Some(line) = line(task, colours) {
            let _dropped_where_full = send.try_send(line);
        }
    });
    std::thread::spawn(move || {
        for line in lines {
            let line: String = line;
            let mut out = stdout().lock();
            if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
                return;
            }
        }
    });
}

/// The line for a task in its state of now; `None` while it is being worked on.
fn line(task: &Task, colours: bool) -> Option<String> {
    let is_refused = |clause: &Clause| clause.fate == Fate::Refused;
    let (mark, colour, said) = match task.status.state {
        TaskState::Completed if Clause::of(task).iter().any(is_refused) => ('–', "33", "not all of it"),
        // It may have been a refusal: nobody worked on it.
        TaskState::Completed if task.jobs.is_empty() => ('·', "2", "asked nobody"),
        TaskState::Completed => ('✓', "32", ""),
        TaskState::Failed => ('✗', "31", "failed"),
        TaskState::Rejected => ('✗', "31", "rejected"),
        TaskState::Canceled => ('–', "33", "canceled"),
        TaskState::Unknown => ('?', "33", "nothing heard in time"),
        TaskState::InputRequired => ('…', "36", "waits for an answer"),
        TaskState::AuthRequired => ('…', "36", "waits for consent"),
        TaskState::Submitted | TaskState::Working => return None,
    };
    if task.agent.as_str() != HOST {
        return None;
    }
    let mut agents: Vec<String> = Vec::new();
    for job in &task.jobs {
        let name = cut(&job.agent_name, NAME_MAX);
        if !agents.contains(&name) {
            agents.push(name);
        }
    }
    let agents = if agents.is_empty() {
        "Host".to_owned()
    } else {
        agents.join(", ")
    };
    let asked = task.history.iter().find(|message| message.role == Role::User);
    let prompt = asked.map_or_else(String::new, |message| cut(&message.text(), PROMPT_MAX));
    let painted = |text: String, colour: &str| match colours {
        true => format!("\u{1b}[{colour}m{text}\u{1b}[0m"),
        false => text,
    };
    let (time, took) = (
        clock(task.updated_at),
        took(task.updated_at.since(task.created_at)),
    );
    let mut outcome = mark.to_string();
    if !said.is_empty() {
        outcome = format!("{mark} {said},");
    }
    Some(format!(
        "{} {} {} {agents} {} {took}  {prompt}",
        painted(time, "2"),
        task.tenant.name(),
        painted("●".to_owned(), colour),
        painted(outcome, colour),
    ))
}

/// The time of day, UTC.
fn clock(at: Timestamp) -> String {
    let seconds = at.millis().div_euclid(1_000).rem_euclid(86_400);
    format!(
        "{:02}:{:02}:{:02}",
        seconds / 3_600,
        seconds / 60 % 60,
        seconds % 60
    )
}

pub(crate) fn took(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{:.1} s", time.as_secs_f64()),
        60..3_600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3_600, seconds / 60 % 60),
    }
}

/// A text on one line, at most so long. What would move the cursor, colour the terminal or turn the direction of writing
/// is left out: people and agents wrote it, and it must not look like ours.
fn cut(text: &str, max: usize) -> String {
    let words = domain::clean(text, max.saturating_add(2));
    if words.chars().count() <= max {
        return words;
    }
    let short: String = words.chars().take(max.saturating_sub(1)).collect();
    format!("{}…", short.trim_end())
}

#[cfg(test)]
mod tests {
    use domain::{
        AgentName, ContextId, EventKind, Job, Message, MessageId, NewTask, Owner, Part, TaskId, Tenant,
    };

    use super::*;

    /// A task of noon that reached this state 300 ms later.
    fn task(agent: &str, prompt: &str, state: Option<TaskState>) -> Task {
        let at = Timestamp::from_millis(43_445_000);
        let new = NewTask {
            id: TaskId::from_bytes([1; 16]),
            tenant: Tenant::parse("acme").unwrap(),
            agent: AgentName::parse(agent).unwrap(),
            context_id: ContextId::parse("ctx").unwrap(),
            owner: Owner::parse("owner-1").unwrap(),
            message: Message::user(MessageId::parse("m").unwrap(), vec![Part::text(prompt)]),
            trace: None,
        };
        let mut task = Task::create(new, at);
        let job = Job::prepare(domain::testing::new_job(), at);
        task.record(EventKind::Job { job: Box::new(job) }, at).unwrap();
        if let Some(state) = state {
            let at = Timestamp::from_millis(43_445_300);
            task.record(EventKind::status(state, None), at).unwrap();
        }
        task
    }

    #[test]
    fn a_task_is_one_line() {
        let check = |prompt: &str, state, expect: &str| {
            let name = task("host", "", None).jobs[0].agent_name.clone();
            let expect = expect.replace("NAME", &name);
            assert_eq!(line(&task("host", prompt, Some(state)), false), Some(expect));
        };
        let rain = "Will it rain in Oslo tomorrow?";
        check(
            rain,
            TaskState::Completed,
            &format!("12:04:05 acme ● NAME ✓ 0.3 s  {rain}"),
        );
        check(
            rain,
            TaskState::Failed,
            &format!("12:04:05 acme ● NAME ✗ failed, 0.3 s  {rain}"),
        );
        check(
            rain,
            TaskState::Canceled,
            &format!("12:04:05 acme ● NAME – canceled, 0.3 s  {rain}"),
        );
        check(
            rain,
            TaskState::AuthRequired,
            &format!("12:04:05 acme ● NAME … waits for consent, 0.3 s  {rain}"),
        );
        check(
            "one\r\n\ttwo \u{1b}[31mred\u{7} \u{202e}evil",
            TaskState::Completed,
            "12:04:05 acme ● NAME ✓ 0.3 s  one two [31mred evil",
        );
        let long = "ä ".repeat(400);
        let shown = line(&task("host", &long, Some(TaskState::Completed)), false).unwrap();
        assert!(shown.ends_with("ä…") && shown.chars().count() < 130, "{shown}");
    }

    #[test]
    fn what_nobody_worked_on_and_what_was_refused_in_part_is_no_tick() {
        let mut done = task("host", "17% of 2,340", Some(TaskState::Completed));
        done.checkpoint =
            Some(serde_json::json!({ "clauses": [Clause::new("17% of 2,340", Fate::Refused)] }));
        let shown = line(&done, false).unwrap();
        assert!(shown.contains(" – not all of it, 0.3 s  17%"), "{shown}");
        (done.checkpoint, done.jobs) = (None, Vec::new());
        let shown = line(&done, true).unwrap();
        assert!(
            shown.contains("Host ") && shown.contains("· asked nobody,") && !shown.contains('✓'),
            "{shown}"
        );
    }

    #[test]
    fn what_is_worked_on_and_what_is_a_part_of_something_is_not_shown() {
        assert_eq!(line(&task("host", "x", None), false), None);
        assert_eq!(line(&task("host", "x", Some(TaskState::Working)), false), None);
        assert_eq!(
            line(&task("weather", "x", Some(TaskState::Completed)), false),
            None
        );
    }

    #[test]
    fn colours_are_for_terminals() {
        let done = task("host", "x", Some(TaskState::Completed));
        assert!(!line(&done, false).unwrap().contains('\u{1b}'));
        assert!(line(&done, true).unwrap().contains("\u{1b}[32m✓\u{1b}[0m"));
    }

    #[test]
    fn long_work_is_told_in_minutes_and_hours() {
        assert_eq!(took(Duration::from_millis(59_949)), "59.9 s");
        assert_eq!(took(Duration::from_secs(125)), "2 min 05 s");
        assert_eq!(took(Duration::from_secs(3_720)), "1 h 02 min");
    }
}
