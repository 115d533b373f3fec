//! Vectors of sentences: kept as bytes under a hash, of a tenant, until they are over.

use std::time::Duration;

use store::{StoreError, counted};

use crate::{now, tenant};

const DAY: Duration = Duration::from_secs(24 * 3600);

#[tokio::test]
async fn bytes_are_there_for_those_whose_they_are_until_they_are_over() {
    let (store, _database) = store_testing::start().await;
    let (acme, globex) = (tenant("acme"), tenant("globex"));
    let vectors = store.vectors();
    let bytes: Vec<u8> = (0..=255).cycle().take(140_000).collect();
    let (kept, written) = counted(vectors.keep(&acme, "abc", bytes.clone(), now())).await;
    kept.unwrap();
    let (found, read) = counted(vectors.load(&acme, "abc", now())).await;
    assert_eq!(found.unwrap(), Some(bytes));
    assert_eq!((written.total(), read.total()), (1, 1));
    // A card may be known to its tenant alone, and so may what was made of it.
    for (owner, hash) in [(&globex, "abc"), (&acme, "abd")] {
        assert_eq!(vectors.load(owner, hash, now()).await.unwrap(), None, "{hash}");
    }
    let later = now().after(401 * DAY);
    assert_eq!(vectors.load(&acme, "abc", later).await.unwrap(), None);
}

#[tokio::test]
async fn what_is_too_large_for_an_item_is_refused() {
    let (store, _database) = store_testing::start().await;
    let kept = store
        .vectors()
        .keep(&tenant("acme"), "abc", vec![0; 400_000], now())
        .await;
    assert!(matches!(kept, Err(StoreError::TooLarge { .. })), "{kept:?}");
}
