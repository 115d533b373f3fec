//! The audit: an entry is in the transaction that does the thing, and outlives its tenant.

use domain::TypeScope;
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
