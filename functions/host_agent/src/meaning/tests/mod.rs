//! What messages mean beside what waits, runs and was said last.

mod answering;
mod commands;
mod hearing;

use domain::{
    AgentName, AwaitedConsent, ContextId, Message, MessageId, NewTask, Notification, Owner, Part, Protection,
    RemoteTaskId, RemoteUpdate, Tenant,
};

use super::*;

const ID: &str = "6f2c1b1e-9a2b-4c3d-8e4f-5a6b7c8d9e0f";

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(1_767_225_600_000 + seconds * 1_000)
}

/// A task of that second, asked so, of which its agent said this.
fn task(number: u8, asked: &str, agent: &str, told: Option<(TaskState, &str)>) -> Task {
    let now = at(i64::from(number));
    let new = NewTask {
        id: TaskId::from_bytes([number; 16]),
        tenant: Tenant::parse("acme").unwrap(),
        agent: AgentName::parse("host").unwrap(),
        context_id: ContextId::parse("c").unwrap(),
        owner: Owner::parse("ada").unwrap(),
        message: Message::user(MessageId::derived(asked), vec![Part::text(asked)]),
        trace: None,
    };
    let mut task = Task::create(new, now);
    let mut job = domain::testing::job(now);
    job.agent_name = agent.to_owned();
    task.status.state = TaskState::Working;
    match told {
        Some((state, text)) => {
            let update = RemoteUpdate {
                text: Some(text.to_owned()),
                ..RemoteUpdate::of(state)
            };
            let news = Notification {
                remote_task_id: Some(RemoteTaskId::parse("r-1").unwrap()),
                update: Some(update),
                artifacts: Vec::new(),
                snapshot: false,
                responder: None,
            };
            job.note(news, now);
            task.status.state = state;
        }
        None => {
            let consent = AwaitedConsent {
                id: "c".to_owned(),
                expires_at: at(1_000_000),
            };
            job.protection = Some(Protection {
                provider: "idp".to_owned(),
                scopes: Vec::new(),
                consent: Some(consent),
                granted_at: None,
            });
            task.status.state = TaskState::AuthRequired;
        }
    }
    task.jobs.push(job);
    task
}

fn order(number: u8, asked: &str) -> Task {
    task(number, asked, "Horizon", None)
}

fn springfield(number: u8) -> Task {
    let question = "Several places are called “Springfield”. Which one do you mean?\n1. Springfield, Missouri\n2. Springfield, \
                    Massachusetts\n3. Springfield, Illinois";
    task(
        number,
        "weather in Springfield",
        "Weather",
        Some((TaskState::InputRequired, question)),
    )
}

fn greets(number: u8) -> Task {
    task(
        number,
        "gizmo ask",
        "Gizmo",
        Some((TaskState::InputRequired, "Whom shall I greet?")),
    )
}

fn report(number: u8, asked: &str) -> Task {
    task(number, asked, "Report", Some((TaskState::Working, "Gathering")))
}

#[track_caller]
fn means(here: &[Task], text: &str, check: impl Fn(&Meaning<'_>) -> bool) {
    means_beside(here, &[], None, text, check);
}

#[track_caller]
fn means_beside(
    here: &[Task],
    elsewhere: &[Task],
    asked: Option<Question>,
    text: &str,
    check: impl Fn(&Meaning<'_>) -> bool,
) {
    let chat = Chat {
        here,
        asked,
        elsewhere: Some(elsewhere),
        since: at(1_000),
    };
    let meant = chat.meaning(text, None);
    assert!(check(&meant), "{text}: {}", meant.word());
}

#[test]
fn what_a_message_takes_goes_by_its_length() {
    let here = [
        order(1, "Where is my order 1001?"),
        springfield(2),
        report(3, "a report on whales"),
    ];
    let chat = Chat {
        here: &here,
        asked: Some(Question::about(Deed::Cancel, &here.iter().collect::<Vec<_>>())),
        elsewhere: None,
        since: at(1_000),
    };
    words_testing::assert_linear(|text| _ = chat.meaning(text, None));
}

#[test]
fn a_long_message_is_a_request_and_stays_whole() {
    let here = [
        order(1, "Where is my order 1001?"),
        report(2, "a report on whales"),
    ];
    for begins in ["yes ", "no ", "cancel everything. ", "done ", "retry ", "x"] {
        let text = begins.repeat(1_000);
        let whole = |meant: &Meaning<'_>| matches!(meant, Meaning::Request { text: kept, .. } if *kept == text.trim());
        means(&here, &text, whole);
        assert!(!is_no(&text) && !calls_off(&here[0], &text), "{begins}");
    }
    // A code is found wherever it stands, so that nobody stores it.
    let code = format!("{} BCDF-GHJK", "x ".repeat(5_000));
    means(&here, &code, |meant| matches!(meant, Meaning::Code(_)));
}
