//! Limits: who has used up theirs is told so, nothing of what they asked is begun, and everybody else goes on.

use std::sync::Arc;
use std::time::Duration;

use agent::{Access, Outcome};
use async_trait::async_trait;
use auth::{Refusal, TokenValidator};
use domain::{Caller, Owner, SettingChange, Tenant, Timestamp};
use http::{Request, StatusCode};
use serde_json::{Value, json};

use crate::support::{Bench, bench, done, id_of, message, now, state};

fn acme() -> Tenant {
    Tenant::parse("acme").unwrap()
}

/// A bench whose tenant has these settings.
async fn limited(settings: &[(&str, &str)]) -> Bench {
    let bench = bench(Access::Secured, Box::new(|_, _| Ok(done()))).await;
    let tenants = bench.agent.store.tenants();
    tenants.add(&acme()).await.unwrap();
    set(&bench, settings).await;
    bench
}

async fn set(bench: &Bench, settings: &[(&str, &str)]) {
    let changes = settings
        .iter()
        .map(|(key, value)| SettingChange::parse(key, Some(value)).unwrap());
    let changes: Vec<_> = changes.collect();
    let tenants = bench.agent.store.tenants();
    assert!(tenants.set_own(&acme(), &changes).await.unwrap().is_some());
}

async fn counted(bench: &Bench) -> (u64, u64) {
    let now = domain::Clock::now(bench.clock.as_ref());
    let day = bench.agent.store.ledger().today(&acme(), now).await.unwrap();
    (day.tasks, day.running)
}

async fn send(bench: &Bench, owner: &str, id: &str) -> Value {
    bench.send(owner, message(id, "hi"), now()).await
}

#[tokio::test]
async fn over_a_share_of_the_day_a_send_is_refused_and_nothing_is_begun() {
    let bench = limited(&[("tasks_per_day", "20")]).await;
    let first = send(&bench, "ann", "m1").await;
    send(&bench, "ann", "m2").await;
    bench.drain().await;
    let refused = send(&bench, "ann", "m3").await;
    let sentence = "You have used today's 2 tasks; more from 00:00 UTC, or ask your administrator";
    assert_eq!(refused["error"]["code"], -32029, "{refused}");
    assert_eq!(refused["error"]["message"], sentence);
    let data = &refused["error"]["data"];
    assert_eq!(data[0]["reason"], "QUOTA_EXCEEDED");
    assert_eq!(data[1]["violations"][0]["subject"], "owner");
    assert_eq!(data[2]["retryDelay"], "86400s");
    assert!(bench.door.0.lock().unwrap().is_empty(), "nobody is woken");

    let body = json!({ "message": message("m4", "hi"), "configuration": now() }).to_string();
    let post = |path: &str| {
        Request::post(path)
            .header("content-type", "application/json")
            .header("a2a-version", "1.0")
    };
    for path in ["/message:send", "/message:stream"] {
        let refused = bench.ask(Some("ann"), post(path), &body).await;
        assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS, "{path}");
        assert_eq!(refused.headers()["retry-after"], "86400", "{path}");
    }
    let (_, told) = bench.json(Some("ann"), post("/message:send"), &body).await;
    assert_eq!(told["error"]["status"], "RESOURCE_EXHAUSTED");
    assert_eq!(told["error"]["message"], sentence);
    let own = bench.rpc("ann", "ListTasks", json!({})).await;
    assert_eq!(own["result"]["totalSize"], 2, "{own}");

    // What was taken before is answered, and so is a follow-up; the neighbour is served.
    let again = send(&bench, "ann", "m1").await;
    assert_eq!(id_of(&again), id_of(&first));
    assert_eq!(state(&send(&bench, "bob", "m1").await), "TASK_STATE_SUBMITTED");
    bench.drain().await;
    assert_eq!(counted(&bench).await, (3, 0));

    // An admin raises the share inside the plan, and the next send goes; so does one the day after.
    set(&bench, &[("shares", "ann=15")]).await;
    assert_eq!(state(&send(&bench, "ann", "m3").await), "TASK_STATE_SUBMITTED");
    bench.drain().await;
    assert_eq!(send(&bench, "ann", "m5").await["error"]["code"], -32029);
    bench.clock.advance(Duration::from_secs(86_400));
    assert_eq!(state(&send(&bench, "ann", "m5").await), "TASK_STATE_SUBMITTED");
}

#[tokio::test]
async fn the_tenants_own_limit_is_told_as_its() {
    let bench = limited(&[("tasks_per_day", "2"), ("shares", "ann=100 bob=100")]).await;
    send(&bench, "ann", "m1").await;
    send(&bench, "bob", "m1").await;
    let refused = send(&bench, "bob", "m2").await;
    let sentence =
        "Your organisation has used today's 2 tasks; more from 00:00 UTC, or ask your administrator";
    assert_eq!(refused["error"]["message"], sentence);
    assert_eq!(refused["error"]["data"][1]["violations"][0]["subject"], "tenant");
    assert_eq!(counted(&bench).await, (2, 2));
}

#[tokio::test]
async fn at_once_only_so_many_are_at_work_and_an_end_makes_room() {
    let bench = limited(&[("tasks_at_once", "10")]).await;
    send(&bench, "ann", "m1").await;
    let refused = send(&bench, "ann", "m2").await;
    let sentence = "1 of your tasks runs at once; more when one of them ends, or ask your administrator";
    assert_eq!(refused["error"]["message"], sentence);
    bench.drain().await;
    let canceled = send(&bench, "ann", "m2").await;
    assert_eq!(state(&canceled), "TASK_STATE_SUBMITTED");
    bench.act("ann", "CancelTask", &id_of(&canceled)).await;
    assert_eq!(state(&send(&bench, "ann", "m3").await), "TASK_STATE_SUBMITTED");
    bench.drain().await;
    assert_eq!(counted(&bench).await, (3, 0));
}

#[tokio::test]
async fn who_is_asked_back_can_answer_and_ask_something_else() {
    let bench = bench(
        Access::Secured,
        Box::new(|number, _| match number {
            0 => Ok(Outcome::InputRequired("What?".into())),
            _ => Ok(done()),
        }),
    )
    .await;
    bench.agent.store.tenants().add(&acme()).await.unwrap();
    set(&bench, &[("tasks_at_once", "10"), ("tasks_per_day", "20")]).await;
    let asked = send(&bench, "ann", "m1").await;
    bench.drain().await;
    assert_eq!(state(&send(&bench, "ann", "m2").await), "TASK_STATE_SUBMITTED");
    bench.drain().await;
    let mut answer = message("m3", "that");
    answer["taskId"] = json!(id_of(&asked));
    let answered = bench.send("ann", answer, now()).await;
    assert_eq!(id_of(&answered), id_of(&asked), "an answer is no task more");
    bench.drain().await;
    assert_eq!(
        state(&bench.act("ann", "GetTask", &id_of(&asked)).await),
        "TASK_STATE_COMPLETED"
    );
    assert_eq!(counted(&bench).await, (2, 0));
}

/// The sweeper wakes the host for its tenant's ledger, once a day; nobody can make a task under the id that stands for it.
#[tokio::test]
async fn a_wake_looks_after_the_ledger_and_no_task_has_its_id() {
    let mut bench = limited(&[("tasks_per_day", "1000")]).await;
    Arc::get_mut(&mut bench.agent).unwrap().card.extensions = a2a::carrier_extensions().into();
    send(&bench, "ann", "m1").await;
    bench.drain().await;
    bench.clock.advance(Duration::from_secs(3_700));
    let due = async || {
        let (now, mut due) = (domain::Clock::now(bench.clock.as_ref()), Vec::new());
        for shard in 0..store::DUE_SHARDS {
            let page = bench
                .agent
                .store
                .tasks()
                .due(shard, now, 100, None)
                .await
                .unwrap();
            due.extend(page.items);
        }
        due
    };
    let [pointer] = due().await.try_into().unwrap();
    assert_eq!(
        (&pointer.key.tenant, &pointer.what),
        (&acme(), &store::PointsAt::Ledger)
    );
    let key = store::TaskKey {
        agent: bench.agent.name.clone(),
        ..pointer.key
    };
    agent::handle(&bench.agent, &agent::Wake::task(&key))
        .await
        .unwrap();
    assert_eq!(due().await, []);
    let mut message = message("m2", "hi");
    message["taskId"] = json!("00000000-0000-0000-0000-000000000000");
    let body = json!({ "message": message, "configuration": now() }).to_string();
    let post = Request::post("/message:send")
        .header("content-type", "application/json")
        .header("a2a-version", "1.0")
        .header("a2a-extensions", a2a::CLIENT_TASK_ID);
    let (status, told) = bench.json(Some("ann"), post, &body).await;
    assert_eq!(status, StatusCode::NOT_FOUND, "{told}");
    assert_eq!(counted(&bench).await, (1, 0));
}

#[tokio::test]
async fn a_repeat_of_a_chosen_id_takes_no_place_of_its_own() {
    let mut bench = limited(&[("tasks_per_day", "1000")]).await;
    Arc::get_mut(&mut bench.agent).unwrap().card.extensions = a2a::carrier_extensions().into();
    let body = |id: &str| {
        let mut message = message(id, "hi");
        message["taskId"] = json!("0f8fad5b-d9cb-469f-a165-70867728950e");
        json!({ "message": message, "configuration": now() }).to_string()
    };
    let post = || {
        Request::post("/message:send")
            .header("content-type", "application/json")
            .header("a2a-version", "1.0")
            .header("a2a-extensions", a2a::CLIENT_TASK_ID)
    };
    for id in ["m1", "m1", "m2"] {
        let (status, told) = bench.json(Some("ann"), post(), &body(id)).await;
        assert_eq!(status, StatusCode::OK, "{told}");
        bench.clock.advance(Duration::from_millis(5));
        assert_eq!(counted(&bench).await, (1, 1), "{id}");
    }
}

/// Whoever calls is the host, for ann.
struct Host;

#[async_trait]
impl TokenValidator for Host {
    async fn admit(&self, _: &str, _: Timestamp, _: Option<&Tenant>, _: &str) -> Result<Caller, Refusal> {
        Ok(Caller {
            tenant: acme(),
            owner: Owner::parse("ann").unwrap(),
            scopes: ["tasks", auth::scope::DELEGATED].map(str::to_owned).into(),
        })
    }
}

#[tokio::test]
async fn what_a_host_hands_on_is_counted_where_it_was_asked() {
    let mut bench = limited(&[("tasks_per_day", "0")]).await;
    assert_eq!(send(&bench, "ann", "m1").await["error"]["code"], -32029);
    Arc::get_mut(&mut bench.agent).unwrap().validator = Arc::new(Host);
    let (sent, calls) = store::counted(send(&bench, "ann", "m1")).await;
    assert_eq!((state(&sent), calls.total()), ("TASK_STATE_SUBMITTED", 1));
    bench.drain().await;
    assert_eq!(counted(&bench).await, (0, 0));
}

#[tokio::test]
async fn subscriptions_of_one_owner_are_few_at_once() {
    let bench = bench(
        Access::Secured,
        Box::new(|_, _| Ok(Outcome::InputRequired("What?".into()))),
    )
    .await;
    let mut held = Vec::new();
    for owner in ["ann", "bob"] {
        let id = id_of(&send(&bench, owner, "m1").await);
        let subscribe = || Request::post(format!("/tasks/{id}:subscribe")).header("a2a-version", "1.0");
        for _ in 0..5 {
            let stream = bench.ask(Some(owner), subscribe(), "").await;
            assert_eq!(stream.status(), StatusCode::OK);
            held.push(stream);
        }
        let refused = bench.ask(Some(owner), subscribe(), "").await;
        assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS, "{owner}");
        assert!(refused.headers().contains_key("retry-after"));
    }
    let id = id_of(&send(&bench, "ann", "m1").await);
    held.clear();
    tokio::time::sleep(Duration::from_millis(300)).await;
    let request = Request::post(format!("/tasks/{id}:subscribe")).header("a2a-version", "1.0");
    assert_eq!(bench.ask(Some("ann"), request, "").await.status(), StatusCode::OK);
}

#[tokio::test]
async fn an_open_agent_that_is_not_public_wants_a_token() {
    let mut bench = bench(Access::Open, Box::new(|_, _| Ok(done()))).await;
    Arc::get_mut(&mut bench.agent).unwrap().settings.public = false;
    let params = json!({ "message": message("m1", "hi"), "configuration": now() });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params });
    assert_eq!(bench.call(None, &body).await.0, StatusCode::UNAUTHORIZED);
    assert_eq!(state(&send(&bench, "ann", "m1").await), "TASK_STATE_SUBMITTED");
}
