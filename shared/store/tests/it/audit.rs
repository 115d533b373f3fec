//! The audit: an entry is in the transaction that does the thing, and outlives its tenant.

use domain::{
    AgentId, AgentType, Approval, PlanStep, StepGuard, StepState, TaskPlan, TypeScope, UserWord, WorkNote,
};
use store::audit::{Action, Actor, DONE};
use store::{BlobScope, Blobs as _, Fault, Folder};

use crate::blobs::with_folder_at;
use crate::*;

/// A plan of two steps that waits for its user; the second one is sent with their word alone.
fn waiting_plan() -> TaskPlan {
    let step = |number, guard| PlanStep {
        number,
        agent_type: AgentType::parse("weather").unwrap(),
        agent_name: "Weather".to_owned(),
        instruction: "Oslo".to_owned(),
        after: Vec::new(),
        uses: Vec::new(),
        optional: false,
        state: StepState::Planned,
        turn: 0,
        guard,
    };
    let guard = StepGuard {
        agent: AgentId::random(&SystemEntropy),
        from: Vec::new(),
        writes: true,
        word: UserWord::Awaited,
    };
    TaskPlan {
        goal: "Oslo".to_owned(),
        approval: Approval::Awaited,
        steps: vec![step(0, None), step(1, Some(guard))],
    }
}

#[tokio::test]
async fn a_users_word_is_told_in_the_write_that_has_it_and_once() {
    let (store, database) = store_testing::start().await;
    let task = task_of("acme", "host", "user-1", now());
    created(&store, &task).await;
    let told = || {
        let entries = database.items("switchyard-audit", "acme#audit").into_iter();
        let mut told: Vec<String> = entries
            .map(|entry| {
                ["action", "actor", "object"]
                    .map(|name| entry[name]["S"].as_str().unwrap().to_owned())
                    .join(" ")
            })
            .collect();
        told.sort();
        told
    };
    let with = |task: Task, plan: &TaskPlan| {
        let mut revision = Revision::of(task);
        let note = WorkNote::Plan {
            plan: Box::new(plan.clone()),
        };
        revision.record(EventKind::Work { note }, later(1)).unwrap();
        revision
    };
    let commit = async |revision: &Revision| {
        let tasks = store.tasks();
        let committed = tasks.commit(revision, Due::Keep, LeaseAfter::Keep);
        let (committed, calls) = store::counted(committed).await;
        (committed.unwrap(), calls.total())
    };
    let mut plan = waiting_plan();
    let waits = with(read(&store, &task).await, &plan);
    assert_eq!(commit(&waits).await, (Committed::Yes, 1));
    assert!(told().is_empty());

    plan.approve();
    let stale = with(task.clone(), &plan);
    assert_eq!(commit(&stale).await.0, Committed::Conflict);
    assert!(told().is_empty(), "it was not written");
    assert_eq!(
        commit(&with(read(&store, &task).await, &plan)).await,
        (Committed::Yes, 1)
    );
    let approved = format!("plan.approve user-1 {}", task.id);
    assert_eq!(told(), [approved.as_str()]);
    plan.allow(&[1]);
    assert_eq!(
        commit(&with(read(&store, &task).await, &plan)).await,
        (Committed::Yes, 1)
    );
    let released = format!("effect.release user-1 {}/1", task.id);
    assert_eq!(told(), [released.as_str(), &approved]);
    // Whatever else becomes of the plan is nobody's word.
    plan.leave_out(&[0]);
    assert_eq!(
        commit(&with(read(&store, &task).await, &plan)).await,
        (Committed::Yes, 1)
    );
    assert_eq!(told().len(), 2);
}

#[tokio::test]
async fn an_entry_is_written_with_what_it_tells_of_or_neither_is() {
    let (store, database) = store_testing::start().await;
    let name = domain::AgentType::parse("weather").unwrap();
    let entries = || database.items("switchyard-audit", "global#audit").len();
    let entry = |action| {
        store
            .audit(now())
            .entry(action, None, Actor::Operator, "weather", DONE)
    };
    // What is refused leaves nothing, and nobody tells of it.
    let removed = entry(Action::TypeRemove);
    let telling = store.telling(&removed);
    assert!(!telling.registry().remove_type(&name).await.unwrap());
    assert_eq!(entries(), 0);
    // One call has both, and telling of it writes no more.
    let declared = entry(Action::TypeDeclare);
    let telling = store.telling(&declared);
    let (done, calls) = store::counted(async {
        let done = telling.registry().declare_type(&name, TypeScope::Global).await;
        declared.tell(&store).await;
        done
    })
    .await;
    assert_eq!(done.unwrap(), store::Declared::New);
    assert_eq!(calls.total(), 1, "{calls:?}");
    assert_eq!(entries(), 1);
    // Tables that are not there fail nothing that was done.
    let nowhere = store::Store::new(&database.config(), store::Tables::prefixed("nowhere-"));
    entry(Action::TypeDeclare).tell(&nowhere).await;
    assert_eq!(entries(), 1);
}

const HOUR: u64 = 3600;

fn sign(bytes: &[u8]) -> Option<[String; 2]> {
    Some([
        "key".to_owned(),
        format!("signed {}", String::from_utf8_lossy(bytes)),
    ])
}

fn is_signed(signature: &[String; 2], bytes: &[u8]) -> bool {
    sign(bytes).as_ref() == Some(signature)
}

/// So many sign-outs of acme, a second from each other.
async fn told(store: &store::Store, from: u64, number: u64) {
    let (acme, guest) = (tenant("acme"), owner("guest-1"));
    for second in 0..number {
        let audit = store.audit(later(from + second));
        let action = Action::ChatSignOut;
        audit
            .tell(action, Some(&acme), Actor::Owner(&guest), "session", DONE)
            .await;
    }
}

async fn verified(store: &store::Store, at: u64) -> store::Verified {
    let audit = store.audit(later(at));
    let since = now().before(std::time::Duration::from_secs(HOUR));
    let acme = tenant("acme");
    audit.verify(Some(&acme), since, &is_signed).await.unwrap()
}

/// The entries of acme, in the order of their keys.
fn entries(database: &store_testing::Database) -> Vec<serde_json::Value> {
    let mut items = database.items("switchyard-audit", "acme#audit");
    items.sort_by_key(|item| item["sk"]["S"].to_string());
    items
}

fn key(item: &serde_json::Value) -> String {
    item["sk"]["S"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn closed_minutes_are_sealed_once_into_one_chain() {
    let (store, database) = store_testing::start().await;
    let seals = || database.items("switchyard-audit", "acme#seals");
    told(&store, 0, 90).await;
    // Nothing is closed yet; what is not sealed is told, and is no fault.
    assert_eq!(store.audit(later(59)).seal(&sign).await.unwrap(), 0);
    let open = verified(&store, 90).await;
    assert_eq!((open.unsealed.len(), open.faults.len()), (90, 0), "{open:?}");
    // Two at once make one chain, and a repeat makes no other.
    let at = store.audit(later(4 * 60));
    let (one, other) = tokio::join!(at.seal(&sign), at.seal(&sign));
    assert_eq!(one.unwrap() + other.unwrap(), 90);
    let first = seals();
    assert_eq!(first.len(), 1);
    assert_eq!(at.seal(&sign).await.unwrap(), 0);
    assert_eq!(seals(), first);
    // One of a clock behind comes after its minute was closed: it is in the next seal, and said to be late.
    told(&store, 100, 1).await;
    told(&store, 5 * 60, 3).await;
    assert_eq!(store.audit(later(8 * 60)).seal(&sign).await.unwrap(), 4);
    assert_eq!(seals().len(), 2);
    let well = verified(&store, 9 * 60).await;
    assert_eq!(
        (well.entries, well.seals, well.late.len()),
        (94, 2, 1),
        "{well:?}"
    );
    assert_eq!((well.faults.len(), well.unsealed.len()), (0, 0), "{well:?}");
    // What nobody signed for seals nothing, and is sealed with the next look, wherever the one before broke off.
    told(&store, 10 * 60, 2).await;
    assert!(store.audit(later(13 * 60)).seal(&|_| None).await.is_err());
    assert_eq!(store.audit(later(14 * 60)).seal(&sign).await.unwrap(), 2);
    assert_eq!(verified(&store, 15 * 60).await.faults, []);
}

#[tokio::test]
async fn what_is_sealed_lies_elsewhere_before_it_is_in_the_table() {
    let (store, database, folder, directory) = with_folder_at(false).await;
    told(&store, 0, 5).await;
    // A place that takes nothing: nothing is sealed, and nothing is lost.
    let file = directory.join("file");
    std::fs::write(&file, "").unwrap();
    let full = Folder::new(file);
    let at = store.audit(later(300));
    assert!(at.shipping_to(Some(&full)).seal(&sign).await.is_err());
    assert!(database.items("switchyard-audit", "acme#seals").is_empty());

    assert_eq!(at.shipping_to(Some(&*folder)).seal(&sign).await.unwrap(), 5);
    told(&store, 400, 2).await;
    let later = store.audit(later(700));
    assert_eq!(later.shipping_to(Some(&*folder)).seal(&sign).await.unwrap(), 2);
    let mut seals = database.items("switchyard-audit", "acme#seals");
    seals.retain(|item| item["sk"]["S"].as_str().unwrap().starts_with("SEAL#"));
    let shipped = folder.list(&BlobScope::All, None).await.unwrap();
    assert_eq!((shipped.len(), seals.len()), (2, 2));
    let mut names = Vec::new();
    for (number, one) in (1..).zip(&shipped) {
        let place = number.to_string();
        assert_eq!(one.key.owner(), format!("acme#seals#{number:012}"));
        let bytes = folder.get(&one.key, 1_000_000).await.unwrap().unwrap();
        let lines = std::str::from_utf8(&bytes).unwrap().lines();
        let lines: Vec<serde_json::Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
        let (seal, told) = lines.split_first().unwrap();
        let kept = seals
            .iter()
            .find(|kept| kept["number"]["N"].as_str() == Some(place.as_str()))
            .unwrap();
        assert_eq!(seal["hash"], kept["hash"]["S"]);
        assert_eq!(seal["entries"].as_array().unwrap().len(), told.len());
        names.extend(told.iter().map(|entry| entry["sk"].as_str().unwrap().to_owned()));
    }
    assert_eq!(names, entries(&database).iter().map(key).collect::<Vec<_>>());
}

#[tokio::test]
async fn what_is_changed_after_it_was_sealed_is_named() {
    let (store, database) = store_testing::start().await;
    told(&store, 0, 5).await;
    assert_eq!(store.audit(later(300)).seal(&sign).await.unwrap(), 5);
    told(&store, 400, 2).await;
    assert_eq!(store.audit(later(700)).seal(&sign).await.unwrap(), 2);
    assert_eq!(verified(&store, HOUR).await.faults, []);
    let was = entries(&database);
    let put = |item: &serde_json::Value| database.put("switchyard-audit", item);
    let changed = |at: usize| Fault::Changed { entry: key(&was[at]) };

    // A byte of one.
    let mut flipped = was[1].clone();
    flipped["actor"]["S"] = json!("guest-2");
    put(&flipped);
    assert_eq!(verified(&store, HOUR).await.faults, [changed(1)]);
    put(&was[1]);
    // Two that are swapped: a tenth of a second is not the other's.
    let (mut one, mut other) = (was[0].clone(), was[3].clone());
    (one["at"], other["at"]) = (was[3]["at"].clone(), was[0]["at"].clone());
    put(&one);
    put(&other);
    assert_eq!(verified(&store, HOUR).await.faults, [changed(0), changed(3)]);
    put(&was[0]);
    put(&was[3]);
    // One that is gone.
    database.delete("switchyard-audit", &was[2]);
    let removed = Fault::Removed { entry: key(&was[2]) };
    assert_eq!(verified(&store, HOUR).await.faults, [removed]);
    put(&was[2]);
    // One that was not there.
    told(&store, 30, 1).await;
    let new = entries(&database)
        .into_iter()
        .find(|item| !was.contains(item))
        .unwrap();
    let inserted = Fault::Inserted { entry: key(&new) };
    assert_eq!(verified(&store, HOUR).await.faults, [inserted]);
    database.delete("switchyard-audit", &new);
    assert_eq!(verified(&store, HOUR).await.faults, []);
    // A seal that says something else, is made anew without the key, or is gone.
    let mut seals = database.items("switchyard-audit", "acme#seals");
    seals.sort_by_key(|item| item["sk"]["S"].to_string());
    let mut other = seals[0].clone();
    other["until"]["S"] = json!(later(60));
    put(&other);
    assert_eq!(verified(&store, HOUR).await.faults, [Fault::Seal { number: 1 }]);
    put(&seals[0]);
    let mut unsigned = seals[1].clone();
    unsigned["signature"]["L"][1]["S"] = json!("signed by somebody else");
    put(&unsigned);
    assert_eq!(verified(&store, HOUR).await.faults, [Fault::Seal { number: 2 }]);
    put(&seals[1]);
    database.delete("switchyard-audit", &seals[0]);
    let faults = verified(&store, HOUR).await.faults;
    assert!(faults.contains(&Fault::Seal { number: 2 }), "{faults:?}");
    assert_eq!(faults.len(), 6, "{faults:?}");
    // Another tenant has nothing of it.
    let audit = store.audit(later(HOUR));
    let globex = audit
        .verify(Some(&tenant("globex")), now(), &is_signed)
        .await
        .unwrap();
    assert_eq!(globex, store::Verified::default());
}
