//! Tasks that are due.

use std::time::Duration;

use domain::{
    AgentName, ContextId, EventKind, Generation, Message, MessageId, NewTask, Owner, Part, PushConfigId,
    Revision, Task, TaskId, TaskState, Tenant, Timestamp,
};
use store::{Committed, Created, Due, LeaseAfter, NewRecord, PushConfig, Store};

pub(crate) fn start() -> Timestamp {
    Timestamp::from_millis(1_767_225_600_000)
}

/// The sixteen ids of which each falls into the shard of its number.
pub(crate) fn id(number: u8) -> TaskId {
    TaskId::from_bytes([number; 16])
}

pub(crate) struct Wanted {
    pub(crate) tenant: &'static str,
    pub(crate) agent: &'static str,
    pub(crate) id: TaskId,
    pub(crate) due_at: Timestamp,
}

pub(crate) async fn create(store: &Store, wanted: Wanted) -> Task {
    create_with(store, wanted, None).await
}

/// A task whose client wants to be told, and was not yet.
pub(crate) async fn create_with_delivery(store: &Store, wanted: Wanted, config: &PushConfigId) {
    let mut revision = Revision::of(create_with(store, wanted, Some(config)).await);
    revision
        .record(EventKind::status(TaskState::Working, None), start())
        .unwrap();
    let committed = store
        .tasks()
        .commit(&revision, Due::Never, LeaseAfter::Keep)
        .await
        .unwrap();
    assert_eq!(committed, Committed::Yes);
}

async fn create_with(store: &Store, wanted: Wanted, config: Option<&PushConfigId>) -> Task {
    let message = MessageId::parse(&format!("m-{}", wanted.id)).unwrap();
    let mut task = Task::create(
        NewTask {
            id: wanted.id,
            tenant: Tenant::parse(wanted.tenant).unwrap(),
            agent: AgentName::parse(wanted.agent).unwrap(),
            context_id: ContextId::parse("trip").unwrap(),
            owner: Owner::parse("user-1").unwrap(),
            message: Message::user(message.clone(), vec![Part::text("Oslo tomorrow?")]),
            trace: None,
        },
        start(),
    );
    task.push_configs.extend(config.cloned());
    let push = config.map(|id| PushConfig {
        id: id.clone(),
        url: "https://client.example/hook".parse().unwrap(),
        generation: Generation::V1_0,
        sealed_token: None,
        scheme: None,
        sealed_credentials: None,
        every_event: false,
    });
    let record = NewRecord {
        task: &task,
        message_id: &message,
        body_hash: "hash",
        push: push.as_ref(),
        due_at: wanted.due_at,
        retention: Duration::from_secs(86_400),
    };
    assert!(matches!(
        store.tasks().create(&record).await.unwrap(),
        Created::New
    ));
    task
}
