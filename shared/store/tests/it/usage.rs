//! Tokens of language models by day: reserved before they are used, never more than there are, and counted once.

use std::sync::Arc;
use std::time::Duration;

use domain::{SystemEntropy, Tenant, Timestamp, TokenUsage};
use store::{Store, TokenHold, TooFewTokens, day_of};

use crate::{now, tenant};

const TAKEN: TokenUsage = TokenUsage {
    input: 300,
    output: 50,
    cached: 100,
};

async fn reserve(
    store: &Store,
    tenant: &Tenant,
    tokens: u64,
    limit: Option<u64>,
    now: Timestamp,
) -> Result<TokenHold, TooFewTokens> {
    let usage = store.usage();
    let reserved = usage.reserve(tenant, tokens, limit, (now, &SystemEntropy));
    reserved.await.unwrap()
}

#[tokio::test]
async fn what_is_reserved_is_counted_and_then_what_was_really_taken() {
    let (store, _database) = store_testing::start().await;
    let (acme, usage, today) = (tenant("acme"), store.usage(), day_of(now()));
    assert_eq!(usage.of_day(&acme, today).await.unwrap(), None);

    let one = reserve(&store, &acme, 1_000, Some(2_500), now()).await.unwrap();
    let two = reserve(&store, &acme, 1_000, Some(2_500), now()).await.unwrap();
    let third = reserve(&store, &acme, 1_000, Some(2_500), now()).await;
    assert_eq!(
        third,
        Err(TooFewTokens::InUse),
        "what two calls hold may come back"
    );
    let so_far = usage.of_day(&acme, today).await.unwrap().unwrap();
    assert_eq!((so_far.used, so_far.reserved), (2_000, 2_000));

    usage
        .settle(&acme, &one, "bedrock:eu.nova-pro v1:0", TAKEN)
        .await
        .unwrap();
    usage
        .settle(&acme, &one, "bedrock:eu.nova-pro v1:0", TAKEN)
        .await
        .unwrap();
    // 350 are really gone, and a call holds 1,000: 1,500 are had once that one has ended, 2,200 today no more.
    let wanted = async |tokens| reserve(&store, &acme, tokens, Some(2_500), now()).await;
    assert_eq!(wanted(1_500).await, Err(TooFewTokens::InUse));
    assert_eq!(wanted(2_200).await, Err(TooFewTokens::Spent));
    usage.release(&acme, &one).await.unwrap();
    usage.release(&acme, &two).await.unwrap();
    usage.release(&acme, &two).await.unwrap();
    let told = usage.of_day(&acme, today).await.unwrap().unwrap();
    assert_eq!(
        (told.used, told.reserved),
        (350, 0),
        "each once, however often it is said"
    );
    let model = told.models["bedrock:eu.nova-pro v1:0"];
    assert_eq!((model.calls, model.tokens), (1, TAKEN));
    assert_eq!(told.models.len(), 1);

    // Another tenant, and the day after, begin at nothing.
    assert_eq!(usage.of_day(&tenant("globex"), today).await.unwrap(), None);
    let tomorrow = now().after(Duration::from_secs(86_400));
    let _held = reserve(&store, &acme, 7, None, tomorrow).await.unwrap();
    let days = usage.last(&acme, tomorrow, 7).await.unwrap();
    let days: Vec<_> = days.iter().map(|day| (day.day, day.used)).collect();
    assert_eq!(days, [(day_of(tomorrow), 7), (today, 350)]);
    assert_eq!(usage.last(&acme, tomorrow, 1).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_limit_of_nothing_and_of_less_than_is_wanted_lets_nothing_through() {
    let (store, _database) = store_testing::start().await;
    let acme = tenant("acme");
    for limit in [0, 999] {
        let refused = reserve(&store, &acme, 1_000, Some(limit), now()).await;
        assert_eq!(refused, Err(TooFewTokens::Spent));
    }
    assert_eq!(
        store.usage().of_day(&acme, day_of(now())).await.unwrap(),
        None,
        "nothing was written"
    );
}

#[tokio::test]
async fn fifty_at_once_never_reserve_more_than_there_is() {
    let (store, _database) = store_testing::start().await;
    let (store, limit) = (Arc::new(store), 20_500);
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let store = Arc::clone(&store);
        tasks.spawn(async move { reserve(&store, &tenant("acme"), 1_000, Some(limit), now()).await });
    }
    let held = tasks.join_all().await.into_iter().flatten().count();
    assert_eq!(held, 20);
    let told = store
        .usage()
        .of_day(&tenant("acme"), day_of(now()))
        .await
        .unwrap()
        .unwrap();
    assert_eq!((told.used, told.reserved), (20_000, 20_000));
}
