//! What the database in the process cannot do, injected into the client: load, rival transactions, lost answers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;

use crate::*;
use store::{StoreError, Tables, counted};

/// What happens to a request instead of, or after, its being answered.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    /// This status and body come back; the database never hears of it.
    Answer(u16, String),
    /// The database does it, and the answer is lost.
    Lost,
    /// Nothing goes wrong.
    Fine,
}

/// Faults for the first requests; later ones go through.
#[derive(Debug, Clone)]
struct Faulty {
    inner: SharedHttpClient,
    faults: Arc<Mutex<Vec<Fault>>>,
    requests: Arc<AtomicUsize>,
}

impl HttpClient for Faulty {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(Connector {
            faulty: self.clone(),
            inner: self.inner.http_connector(settings, components),
        })
    }
}

#[derive(Debug)]
struct Connector {
    faulty: Faulty,
    inner: SharedHttpConnector,
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        self.faulty.requests.fetch_add(1, Ordering::SeqCst);
        let fault = self.faulty.faults.lock().unwrap().pop();
        match fault {
            None | Some(Fault::Fine) => self.inner.call(request),
            Some(Fault::Answer(status, body)) => {
                let status = StatusCode::try_from(status).unwrap();
                HttpConnectorFuture::ready(Ok(HttpResponse::new(status, SdkBody::from(body))))
            }
            Some(Fault::Lost) => {
                let answered = self.inner.call(request);
                HttpConnectorFuture::new(async move {
                    answered.await?;
                    Err(ConnectorError::io("connection reset".into()))
                })
            }
        }
    }
}

pub(crate) fn faulty(
    database: &store_testing::Database,
    mut faults: Vec<Fault>,
) -> (Store, Arc<AtomicUsize>) {
    faults.reverse();
    let client = Faulty {
        inner: aws_smithy_http_client::Builder::new().build_http(),
        faults: Arc::new(Mutex::new(faults)),
        requests: Arc::default(),
    };
    let requests = Arc::clone(&client.requests);
    let config = database.config().into_builder().http_client(client).build();
    (Store::new(&config, database.tables()), requests)
}

fn error(code: &str) -> Fault {
    Fault::Answer(
        400,
        format!("{{\"__type\":\"com.amazonaws.dynamodb.v20120810#{code}\"}}"),
    )
}

fn canceled(codes: &[&str]) -> Fault {
    let reasons: Vec<_> = codes.iter().map(|code| json!({ "Code": code })).collect();
    let body = json!({
        "__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
        "CancellationReasons": reasons,
    });
    Fault::Answer(400, body.to_string())
}

#[tokio::test]
async fn a_rival_transaction_is_waited_for() {
    let (store, database) = store_testing::start().await;
    let task = task();
    let key = created(&store, &task).await;
    let conflict = || canceled(&["TransactionConflict", "None"]);
    let (faulty, _) = faulty(&database, vec![conflict(), conflict()]);
    let revision = revised(&read(&store, &task).await, TaskState::Working, now());
    let (committed, calls) = counted(faulty.tasks().commit(&revision, Due::Keep, LeaseAfter::Keep)).await;
    assert_eq!(committed.unwrap(), Committed::Yes);
    assert_eq!(calls.by_operation["TransactWriteItems"], 3, "retries are counted");
    assert_eq!(
        store.tasks().find(&key, now()).await.unwrap().unwrap().task.rev,
        2
    );
}

#[tokio::test]
async fn a_rival_that_never_ends_is_load_and_no_conflict() {
    let (store, database) = store_testing::start().await;
    let task = task();
    created(&store, &task).await;
    let (faulty, requests) = faulty(&database, vec![canceled(&["TransactionConflict"]); 100]);
    let revision = revised(&read(&store, &task).await, TaskState::Working, now());
    let failed = faulty
        .tasks()
        .commit(&revision, Due::Keep, LeaseAfter::Keep)
        .await;
    assert!(matches!(failed, Err(StoreError::Throttled { .. })));
    assert!(requests.load(Ordering::SeqCst) <= 10, "the retries are bounded");
}

#[tokio::test]
async fn a_condition_that_fails_beside_a_rival_is_a_conflict_at_once() {
    let (store, database) = store_testing::start().await;
    let task = task();
    created(&store, &task).await;
    let (faulty, requests) = faulty(
        &database,
        vec![canceled(&["ConditionalCheckFailed", "TransactionConflict"])],
    );
    let revision = revised(&read(&store, &task).await, TaskState::Working, now());
    let committed = faulty
        .tasks()
        .commit(&revision, Due::Keep, LeaseAfter::Keep)
        .await
        .unwrap();
    assert_eq!(
        (committed, requests.load(Ordering::SeqCst)),
        (Committed::Conflict, 1)
    );
}

#[tokio::test]
async fn a_single_write_waits_for_a_transaction_too() {
    let (store, database) = store_testing::start().await;
    let key = created(&store, &task()).await;
    let (faulty, _) = faulty(&database, vec![error("TransactionConflictException")]);
    let (leased, calls) = counted(faulty.tasks().lease(&key, "w", now(), later(30))).await;
    assert!(matches!(leased.unwrap(), store::Leased::Taken(_)));
    assert_eq!(calls.by_operation["UpdateItem"], 2);
}

#[tokio::test]
async fn load_is_waited_out_and_then_said() {
    let (store, database) = store_testing::start().await;
    let key = created(&store, &task()).await;
    let busy = || error("ProvisionedThroughputExceededException");
    let (once, _) = faulty(&database, vec![busy(), error("ThrottlingException")]);
    let (found, calls) = counted(once.tasks().find(&key, now())).await;
    assert!(found.unwrap().is_some());
    assert_eq!(calls.by_operation["GetItem"], 3);
    let (always, requests) = faulty(&database, vec![busy(); 100]);
    let failed = always.tasks().find(&key, now()).await;
    assert!(matches!(
        failed,
        Err(StoreError::Throttled { operation: "GetItem" })
    ));
    assert_eq!(requests.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn a_commit_whose_answer_was_lost_is_done_once_and_said_to_be_done() {
    let (store, database) = store_testing::start().await;
    let task = task();
    let key = created(&store, &task).await;
    let (faulty, requests) = faulty(&database, vec![Fault::Lost]);
    let revision = revised(&read(&store, &task).await, TaskState::Working, now());
    let committed = faulty
        .tasks()
        .commit(&revision, Due::Keep, LeaseAfter::Keep)
        .await
        .unwrap();
    assert_eq!((committed, requests.load(Ordering::SeqCst)), (Committed::Yes, 2));
    assert_eq!(store.tasks().events(&key, 0, 10).await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_create_whose_answer_was_lost_is_new() {
    let (_, database) = store_testing::start().await;
    let (faulty, _) = faulty(&database, vec![Fault::Lost]);
    assert_eq!(create_as(&faulty, &task(), "m", "hash").await, Created::New);
}

#[tokio::test]
async fn unread_keys_are_asked_for_again() {
    let (store, database) = store_testing::start().await;
    let key = created(&store, &task()).await;
    let nothing = json!({
        "Responses": {},
        "UnprocessedKeys": { "switchyard-tasks": { "Keys": [keyed(place(&key))], "ConsistentRead": true } },
    });
    let nothing = || Fault::Answer(200, nothing.to_string());
    let page = || PageRequest {
        limit: 10,
        cursor: None,
    };
    // The index is asked first, which goes well.
    let (slow, requests) = faulty(&database, vec![Fault::Fine, nothing()]);
    let found = of_user(&slow, "user-1", page()).await.unwrap();
    assert_eq!(found.items.len(), 1);
    assert_eq!(requests.load(Ordering::SeqCst), 3);
    let (stuck, _) = faulty(&database, [vec![Fault::Fine], vec![nothing(); 100]].concat());
    let failed = of_user(&stuck, "user-1", page()).await;
    assert!(matches!(failed, Err(StoreError::Throttled { .. })));
}

#[tokio::test]
async fn a_database_that_is_not_there_is_unavailable() {
    let (store, database) = store_testing::start().await;
    let key = created(&store, &task()).await;
    let refused = Tables {
        tasks: "nowhere".into(),
        ..Tables::prefixed("switchyard-")
    };
    let nowhere = Store::new(&database.config(), refused);
    assert!(matches!(
        nowhere.tasks().find(&key, now()).await,
        Err(StoreError::Unavailable { .. })
    ));
    let gone = database
        .config()
        .into_builder()
        .endpoint_url("http://127.0.0.1:1")
        .build();
    let gone = Store::new(&gone, Tables::prefixed("switchyard-"));
    assert!(matches!(
        gone.tasks().find(&key, now()).await,
        Err(StoreError::Unavailable { .. })
    ));
}

#[tokio::test]
async fn an_index_that_lags_behind_shows_nothing_that_is_no_longer_so() {
    let (store, database) = store_testing::start().await;
    let task = task();
    let key = created(&store, &task).await;
    step(&store, task, TaskState::Completed, now()).await;
    let gone = TaskKey {
        id: TaskId::random(&SystemEntropy),
        ..key.clone()
    };
    let items = [key, gone].map(|key| keyed(place(&key)));
    let old = json!({ "Count": 2, "ScannedCount": 2, "Items": items }).to_string();
    let (lagging, _) = faulty(&database, vec![Fault::Answer(200, old)]);
    let page = PageRequest {
        limit: 10,
        cursor: None,
    };
    let found = of_user(&lagging, "user-1", page).await.unwrap().items;
    let states: Vec<_> = found.iter().map(|task| task.status.state).collect();
    assert_eq!(states, [TaskState::Completed]);
}
