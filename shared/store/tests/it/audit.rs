//! The audit: an entry is in the transaction that does the thing, and outlives its tenant.

use domain::TypeScope;
use store::Fault;
use store::audit::{Action, Actor, DONE};

use crate::*;

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
