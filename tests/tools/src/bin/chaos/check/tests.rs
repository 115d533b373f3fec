//! Each rule is shown a history that breaks it, and must say so; and a good one, about which nobody may complain.

use domain::{
    AgentName, Artifact, ContextId, Job, Message, NewJob, NewTask, Notification, Owner, Part, PushConfigId,
    RemoteTaskId, RemoteUpdate, TaskId, Tenant, Timestamp,
};
use serde_json::json;
use store::{Delivery, TaskKey};

use super::*;

const NUMBER: usize = 4;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn job(message: &str) -> Job {
    let new = NewJob {
        message_id: MessageId::derived(message),
        ..domain::testing::new_job()
    };
    Job::prepare(new, at(2))
}

fn empty(agent: &str, id: u8, message: &str) -> Logged {
    let new = NewTask {
        id: TaskId::from_bytes([id; 16]),
        tenant: Tenant::parse("acme").unwrap(),
        agent: AgentName::parse(agent).unwrap(),
        context_id: ContextId::derived("c"),
        owner: Owner::parse("ann").unwrap(),
        message: Message::user(
            MessageId::derived(message),
            vec![Part::text("Will it rain in Oslo?")],
        ),
        trace: None,
    };
    let task = Task::create(new, at(1));
    Logged {
        events: vec![task.first_event()],
        task,
    }
}

impl Logged {
    fn then(mut self, kind: EventKind) -> Self {
        let now = at(1 + self.events.len() as i64);
        self.events.push(self.task.record(kind, now).unwrap());
        self
    }

    fn becomes(self, state: TaskState) -> Self {
        self.then(EventKind::status(state, None))
    }

    fn brings(self, text: &str) -> Self {
        self.then(EventKind::artifact(Artifact::new("a", vec![Part::text(text)])))
    }
}

fn settled(job: &Job, specialist: &Logged) -> EventKind {
    let mut job = job.clone();
    let news = Notification {
        remote_task_id: Some(RemoteTaskId::parse(&specialist.task.id.to_string()).unwrap()),
        update: Some(RemoteUpdate::of(specialist.task.status.state)),
        artifacts: Vec::new(),
        snapshot: false,
        responder: None,
    };
    job.note(news, at(5));
    EventKind::Job { job: Box::new(job) }
}

/// A run of one task in which all is well: 1 submitted, 2 job, 3 working, 4 job, 5 artifact, 6 completed.
fn good() -> (Tables, Heard) {
    let specialist = empty("weather", 9, "job")
        .becomes(TaskState::Working)
        .brings("Rain in Oslo")
        .becomes(TaskState::Completed);
    let job = job("job");
    let mut host = empty("host", 1, "chaos")
        .then(EventKind::Job {
            job: Box::new(job.clone()),
        })
        .becomes(TaskState::Working)
        .then(settled(&job, &specialist))
        .brings("Rain in Oslo")
        .becomes(TaskState::Completed);
    host.task.push_configs = vec![config()];
    let asked = Asked {
        number: NUMBER,
        key: TaskKey::from(&host.task),
        city: "Oslo",
        called_off: false,
    };
    let heard = vec![
        notice(&host, 3, "statusUpdate", "WORKING"),
        notice(&host, 6, "task", "COMPLETED"),
    ];
    let delivery = Delivery {
        key: TaskKey::from(&host.task),
        config_id: config(),
        url_host: "127.0.0.1".into(),
        delivered: 6,
        latest: 6,
        attempts: 0,
        state: DeliveryState::Idle,
        last_error: None,
        changed_at: at(9),
    };
    let tables = Tables {
        asked: vec![(asked, Some(host))],
        specialists: vec![specialist],
        deliveries: vec![delivery],
    };
    (tables, Heard::from([(NUMBER, heard)]))
}

fn config() -> PushConfigId {
    PushConfigId::parse("hook").unwrap()
}

fn notice(of: &Logged, seq: u64, kind: &str, state: &str) -> Notice {
    let seed = format!("push/{}/{}/{seq}", of.task.id, config());
    let status = json!({"status": {"state": format!("TASK_STATE_{state}")}});
    Notice {
        id: MessageId::derived(&seed).to_string(),
        body: json!({ kind: status }),
    }
}

/// What is found once the run was changed so.
fn found(change: impl FnOnce(&mut Tables, &mut Heard)) -> Vec<&'static str> {
    let (mut tables, mut heard) = good();
    change(&mut tables, &mut heard);
    judge(&tables, &heard, &[]).wrong.into_keys().collect()
}

fn host(tables: &mut Tables) -> &mut Logged {
    tables.asked[0].1.as_mut().unwrap()
}

fn told(heard: &mut Heard) -> &mut Vec<Notice> {
    heard.get_mut(&NUMBER).unwrap()
}

#[test]
fn a_good_run_is_clean_and_counted() {
    let (tables, heard) = good();
    let faults = judge(&tables, &heard, &[]);
    assert!(faults.is_clean(), "{}", faults.summary());
    assert_eq!(
        (faults.completed, faults.events, faults.notifications),
        (1, 6, 2),
        "{}",
        faults.summary()
    );
}

#[test]
fn what_a_customer_complains_of_is_wrong() {
    let (tables, heard) = good();
    let faults = judge(
        &tables,
        &heard,
        &[("messages that made two tasks", "task 4".into())],
    );
    assert!(!faults.is_clean());
    assert!(
        faults
            .summary()
            .contains("WRONG, messages that made two tasks: 1"),
        "{}",
        faults.summary()
    );
}

#[test]
fn a_lost_task_is_found() {
    assert_eq!(
        found(|tables, _| tables.asked[0].1 = None),
        ["specialists' tasks of nobody", "tasks that are not there"]
    );
}

#[test]
fn a_gap_a_doubled_number_and_a_forged_step_in_a_log_are_found() {
    let illegal = ["logs that are not legal"];
    assert_eq!(
        found(|tables, _| {
            host(tables).events.remove(3);
        }),
        illegal
    );
    assert_eq!(
        found(|tables, _| {
            let again = host(tables).events[1].clone();
            host(tables).events.insert(1, again);
        }),
        illegal
    );
    // The end comes before the artifact.
    let swapped = found(|tables, _| {
        let events = &mut host(tables).events;
        events.swap(4, 5);
        (events[4].seq, events[5].seq) = (5, 6);
    });
    assert!(swapped.contains(&illegal[0]), "{swapped:?}");
    // The specialists' logs too.
    assert_eq!(
        found(|tables, _| {
            tables.specialists[0].events.pop();
        }),
        illegal
    );
}

#[test]
fn a_task_that_says_what_its_log_does_not_is_found() {
    assert_eq!(
        found(|tables, _| host(tables).task.artifacts[0] = Artifact::new("b", vec![Part::text("Oslo")])),
        ["logs that are not legal"]
    );
}

#[test]
fn a_task_that_is_not_over_is_found() {
    let wrong = found(|tables, heard| {
        let short = empty("host", 1, "chaos").becomes(TaskState::Working);
        let configs = vec![config()];
        *host(tables) = short;
        host(tables).task.push_configs = configs;
        tables.specialists.clear();
        told(heard).pop();
        told(heard)[0] = notice(host(tables), 2, "statusUpdate", "WORKING");
    });
    assert_eq!(wrong, ["tasks that are not over"]);
}

#[test]
fn an_end_that_nobody_asked_for_is_found() {
    for state in [TaskState::Canceled, TaskState::Failed, TaskState::Rejected] {
        let wrong = found(|tables, heard| {
            let mut ended = empty("host", 1, "chaos").becomes(state);
            ended.task.push_configs = vec![config()];
            let name = state.as_str().to_uppercase();
            *told(heard) = vec![notice(&ended, 2, "statusUpdate", &name)];
            *host(tables) = ended;
            tables.specialists.clear();
        });
        assert_eq!(wrong, ["ends that nobody asked for"], "{state:?}");
    }
}

#[test]
fn no_result_two_results_and_the_wrong_result_are_found() {
    let results = ["", "Rain in Oslo, Rain in Oslo", "Rain in Paris"];
    for result in results {
        let wrong = found(|tables, heard| {
            let mut ended = empty("host", 1, "chaos");
            for (number, text) in result.split(", ").filter(|text| !text.is_empty()).enumerate() {
                let artifact = Artifact::new(format!("{number}"), vec![Part::text(text)]);
                ended = ended.then(EventKind::artifact(artifact));
            }
            ended = ended.becomes(TaskState::Completed);
            ended.task.push_configs = vec![config()];
            *told(heard) = vec![notice(&ended, ended.task.rev, "task", "COMPLETED")];
            *host(tables) = ended;
            tables.specialists.clear();
        });
        assert_eq!(wrong, ["results that are not exactly one"], "{result:?}");
    }
}

#[test]
fn a_result_that_came_twice_is_found_though_it_is_shown_once() {
    let wrong = found(|tables, heard| {
        let mut ended = empty("host", 1, "chaos")
            .brings("Rain in Oslo")
            .brings("Rain in Oslo")
            .becomes(TaskState::Completed);
        ended.task.push_configs = vec![config()];
        *told(heard) = vec![notice(&ended, 4, "task", "COMPLETED")];
        *host(tables) = ended;
        tables.specialists.clear();
    });
    assert_eq!(wrong, ["results that are not exactly one"]);
}

#[test]
fn work_that_was_done_twice_or_for_nobody_is_found() {
    assert_eq!(
        found(|tables, _| {
            let mut second = tables.specialists[0].clone();
            second.task.id = TaskId::from_bytes([8; 16]);
            tables.specialists.push(second);
        }),
        ["messages that were done twice"]
    );
    assert_eq!(
        found(|tables, _| tables
            .specialists
            .push(empty("weather", 8, "other").becomes(TaskState::Canceled))),
        ["specialists' tasks of nobody"]
    );
    assert_eq!(
        found(|tables, _| tables.specialists.clear()),
        ["jobs of a task that is not there"]
    );
}

#[test]
fn a_specialist_that_still_works_is_found() {
    let wrong = found(|tables, _| {
        tables.specialists[0] = empty("weather", 9, "job").becomes(TaskState::Working);
    });
    assert_eq!(
        wrong,
        [
            "ends that a job has otherwise than its specialist",
            "specialists' tasks that are not over"
        ]
    );
}

#[test]
fn an_unheard_end_is_found() {
    let unheard = ["ends that the customer did not hear of"];
    assert_eq!(found(|_, heard| heard.clear()), unheard);
    assert_eq!(
        found(|_, heard| {
            told(heard).pop();
        }),
        unheard
    );
}

#[test]
fn notifications_out_of_order_left_out_or_of_nothing_are_found() {
    assert_eq!(
        found(|_, heard| told(heard).swap(0, 1)),
        ["notifications out of order"]
    );
    // The end alone, though the artifact before it was never told.
    assert_eq!(
        found(|tables, heard| told(heard)[1] = notice(host(tables), 6, "statusUpdate", "COMPLETED")),
        ["notifications that were left out"]
    );
    assert_eq!(
        found(|tables, heard| told(heard).push(notice(host(tables), 77, "task", "COMPLETED"))),
        ["notifications of nothing"]
    );
    assert_eq!(
        found(|tables, heard| told(heard)[1] = notice(host(tables), 6, "task", "FAILED")),
        ["notifications that tell another state than the log"]
    );
}

#[test]
fn a_notification_may_come_twice() {
    let (tables, mut heard) = good();
    let again = told(&mut heard)[1].clone();
    told(&mut heard).push(again);
    let faults = judge(&tables, &heard, &[]);
    assert!(faults.is_clean(), "{}", faults.summary());
    assert_eq!(faults.repeated, 1);
}

#[test]
fn a_delivery_that_is_owed_or_parked_is_found() {
    for state in [DeliveryState::Owed, DeliveryState::Parked] {
        assert_eq!(
            found(|tables, _| tables.deliveries[0].state = state),
            ["deliveries that are still owed or parked"]
        );
    }
}

#[test]
fn what_was_called_off_may_be_canceled_and_leave_its_specialist_without_a_link() {
    let (mut tables, mut heard) = good();
    let mut ended = empty("host", 1, "chaos")
        .then(EventKind::Job {
            job: Box::new(job("job")),
        })
        .becomes(TaskState::Canceled);
    ended.task.push_configs = vec![config()];
    *told(&mut heard) = vec![notice(&ended, 3, "statusUpdate", "CANCELED")];
    *host(&mut tables) = ended;
    tables.asked[0].0.called_off = true;
    let faults = judge(&tables, &heard, &[]);
    assert!(faults.is_clean(), "{}", faults.summary());
    assert_eq!(faults.canceled, 1);
    tables.asked[0].0.called_off = false;
    assert!(!judge(&tables, &heard, &[]).is_clean());
}
