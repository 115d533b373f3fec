//! Tasks and jobs for tests.

use domain::{
    AgentName, ContextId, Job, Message, MessageId, NewJob, NewTask, Owner, Part, SealedToken, Task, TaskId,
    Tenant, Timestamp,
};

/// A job that was stored before its message left, with the hash of this webhook token.
pub(crate) fn prepared_job(number: u32, token: &str) -> Job {
    let new = NewJob {
        number,
        webhook: SealedToken {
            hash: auth::token::hash(token),
            sealed: Some("s".into()),
        },
        ..domain::testing::new_job()
    };
    Job::prepare(new, Timestamp::from_millis(0))
}

/// A host's task with these jobs, in its first revision.
pub(crate) fn task_with(jobs: Vec<Job>) -> Task {
    let new = NewTask {
        id: TaskId::from_bytes([1; 16]),
        tenant: Tenant::parse("acme").unwrap(),
        agent: AgentName::parse("host").unwrap(),
        context_id: ContextId::parse("c").unwrap(),
        owner: Owner::parse("o").unwrap(),
        message: Message::user(MessageId::parse("m").unwrap(), vec![Part::text("Oslo?")]),
        trace: None,
    };
    let mut task = Task::create(new, Timestamp::from_millis(0));
    task.jobs = jobs;
    task
}
