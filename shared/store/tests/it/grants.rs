//! Grants: one refreshes, the others see it.

use crate::faults::{Fault, faulty};
use crate::*;
use domain::GrantKey;
use store::{Claim, GivenGrant, StoredGrant, counted};

const RESOURCE: &str = "https://horizon.example/";

/// A place for a grant, owning what its key borrows.
#[derive(Clone)]
struct Place(Tenant, Owner);

impl Place {
    fn key(&self) -> GrantKey<'_> {
        self.at(RESOURCE)
    }

    fn at<'a>(&'a self, resource: &'a str) -> GrantKey<'a> {
        GrantKey {
            tenant: &self.0,
            owner: &self.1,
            provider: "idp",
            resource,
        }
    }
}

fn ada() -> Place {
    Place(tenant("acme"), owner("user-1"))
}

fn scopes(scopes: &[&str]) -> Vec<String> {
    scopes.iter().map(ToString::to_string).collect()
}

fn given<'a>(key: GrantKey<'a>, scopes: &'a [String], sealed: &'a str, now: Timestamp) -> GivenGrant<'a> {
    GivenGrant {
        key,
        scopes,
        sealed,
        person: None,
        now,
    }
}

async fn put(store: &Store, place: &Place, sealed: &str, at: u64) -> StoredGrant {
    let scopes = scopes(&["orders:read"]);
    store
        .grants()
        .put_grant(given(place.key(), &scopes, sealed, later(at)))
        .await
        .unwrap()
}

async fn find(store: &Store, place: &Place) -> Option<StoredGrant> {
    store.grants().find_grant(place.key()).await.unwrap()
}

async fn claim(store: &Store, seen: u64, at: u64) -> Claim {
    let place = ada();
    store
        .grants()
        .claim_refresh(place.key(), seen, later(at), later(at + 10))
        .await
        .unwrap()
}

async fn replace(store: &Store, seen: u64, sealed: &str, at: u64) -> bool {
    let (place, scopes) = (ada(), scopes(&["orders:read", "orders:write"]));
    store
        .grants()
        .replace_grant(place.key(), seen, &scopes, sealed, later(at))
        .await
        .unwrap()
}

#[tokio::test]
async fn a_grant_is_one_owners_for_one_resource() {
    let (store, _database) = store_testing::start().await;
    let grants = store.grants();
    let (stored, calls) = counted(put(&store, &ada(), "one", 0)).await;
    assert_eq!(calls.total(), 1);
    let expected = StoredGrant {
        provider: "idp".into(),
        resource: RESOURCE.into(),
        scopes: scopes(&["orders:read"]),
        sealed: "one".into(),
        version: stored.version,
        refreshing_until: None,
        created_at: now(),
        updated_at: now(),
        expires_at: Some(later(365 * 24 * 3600).after(seconds(1)).seconds()),
        person: None,
    };
    assert_eq!(stored, expected);
    let (found, calls) = counted(find(&store, &ada())).await;
    assert_eq!((found, calls.total()), (Some(stored), 1));
    for other in [
        Place(tenant("globex"), owner("user-1")),
        Place(tenant("acme"), owner("user-2")),
    ] {
        assert_eq!(find(&store, &other).await, None);
        assert!(grants.list_grants(&other.0, &other.1).await.unwrap().is_empty());
        assert_eq!(grants.delete_grant(other.key()).await.unwrap(), None);
    }
    let place = ada();
    for resource in ["", "https://horizon.example", &"x".repeat(9000)] {
        assert_eq!(grants.find_grant(place.at(resource)).await.unwrap(), None);
    }
    let odd = GrantKey {
        provider: "",
        ..place.key()
    };
    assert_eq!(grants.find_grant(odd).await.unwrap(), None);
    assert!(find(&store, &ada()).await.is_some());
}

#[tokio::test]
async fn a_listing_of_grants_is_bounded_and_one_owners() {
    let (store, _database) = store_testing::start().await;
    let (grants, place, scopes) = (store.grants(), ada(), scopes(&[]));
    for number in 0..103 {
        let resource = format!("https://agent-{number}.example/");
        grants
            .put_grant(given(place.at(&resource), &scopes, "sealed", now()))
            .await
            .unwrap();
    }
    put(&store, &Place(tenant("globex"), owner("user-1")), "other", 0).await;
    let listed = grants.list_grants(&place.0, &place.1).await.unwrap();
    assert_eq!(listed.len(), 100);
    let other = grants.list_grants(&tenant("globex"), &place.1).await.unwrap();
    assert_eq!(other.len(), 1);
}

#[tokio::test]
async fn another_consent_replaces_the_grant_under_a_refresh() {
    let (store, _database) = store_testing::start().await;
    let first = put(&store, &ada(), "one", 0).await;
    assert_eq!(claim(&store, first.version, 1).await, Claim::Yes);
    let second = put(&store, &ada(), "two", 2).await;
    assert_eq!(second.version, first.version + 1);
    assert_eq!((second.created_at, second.updated_at), (now(), later(2)));
    assert_eq!(second.refreshing_until, None);
    // What the refresh brought belongs to the grant of before.
    assert!(!replace(&store, first.version, "late", 3).await);
    assert_eq!(find(&store, &ada()).await, Some(second));
}

#[tokio::test]
async fn a_refresh_is_one_callers_at_a_time() {
    let (store, _database) = store_testing::start().await;
    let seen = put(&store, &ada(), "one", 0).await.version;
    let (first, calls) = counted(claim(&store, seen, 1)).await;
    assert_eq!((first, calls.total()), (Claim::Yes, 1));
    assert_eq!(claim(&store, seen, 2).await, Claim::Busy);
    assert_eq!(claim(&store, seen, 10).await, Claim::Busy);
    // Whoever died over it keeps nobody waiting for ever.
    assert_eq!(claim(&store, seen, 11).await, Claim::Yes);
    let (replaced, calls) = counted(replace(&store, seen, "two", 12)).await;
    assert_eq!((replaced, calls.total()), (true, 1));
    let now_it_is = find(&store, &ada()).await.unwrap();
    assert_eq!((now_it_is.version, now_it_is.sealed.as_str()), (seen + 1, "two"));
    assert_eq!(now_it_is.scopes, scopes(&["orders:read", "orders:write"]));
    assert_eq!((now_it_is.created_at, now_it_is.updated_at), (now(), later(12)));
    // Who saw the old one gets the new one, and can claim that.
    assert_eq!(claim(&store, seen, 13).await, Claim::Changed(now_it_is.clone()));
    assert!(!replace(&store, seen, "stale", 13).await);
    assert_eq!(claim(&store, seen + 1, 13).await, Claim::Yes);
}

#[tokio::test]
async fn of_concurrent_claims_one_refreshes() {
    let (store, _database) = store_testing::start().await;
    let seen = put(&store, &ada(), "one", 0).await.version;
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..12 {
        let store = store.clone();
        callers.spawn(async move { claim(&store, seen, 1).await });
    }
    let (yes, rest): (Vec<_>, Vec<_>) = callers
        .join_all()
        .await
        .into_iter()
        .partition(|claim| *claim == Claim::Yes);
    assert_eq!(yes.len(), 1);
    assert_eq!(rest, vec![Claim::Busy; 11]);
}

#[tokio::test]
async fn a_removed_grant_is_gone_and_its_versions_never_return() {
    let (store, _database) = store_testing::start().await;
    let (grants, place) = (store.grants(), ada());
    let first = put(&store, &place, "one", 0).await;
    assert_eq!(
        grants.delete_grant(place.key()).await.unwrap(),
        Some(first.clone())
    );
    assert_eq!(grants.delete_grant(place.key()).await.unwrap(), None);
    assert_eq!(find(&store, &place).await, None);
    assert_eq!(claim(&store, first.version, 1).await, Claim::Gone);
    assert!(!replace(&store, first.version, "late", 1).await);
    assert_eq!(find(&store, &place).await, None, "nothing brings it back");

    let second = put(&store, &place, "two", 2).await;
    assert!(second.version > first.version);
    assert!(!replace(&store, first.version, "late", 3).await);
    assert!(matches!(claim(&store, first.version, 3).await, Claim::Changed(_)));
}

#[tokio::test]
async fn a_refused_refresh_drops_only_the_grant_it_was_of() {
    let (store, _database) = store_testing::start().await;
    let (grants, place) = (store.grants(), ada());
    let first = put(&store, &place, "one", 0).await.version;
    let second = put(&store, &place, "two", 1).await.version;
    assert!(!grants.drop_grant(place.key(), first).await.unwrap());
    assert!(find(&store, &place).await.is_some());
    assert!(grants.drop_grant(place.key(), second).await.unwrap());
    assert_eq!(find(&store, &place).await, None);
    assert!(grants.drop_grant(place.key(), second).await.unwrap());
}

#[tokio::test]
async fn a_replacement_whose_answer_was_lost_knows_its_own_work() {
    let (store, database) = store_testing::start().await;
    let seen = put(&store, &ada(), "one", 0).await.version;
    let (unlucky, _) = faulty(&database, vec![Fault::Lost]);
    assert!(replace(&unlucky, seen, "two", 1).await);
    assert!(!replace(&store, seen, "three", 1).await);
    assert_eq!(find(&store, &ada()).await.unwrap().sealed, "two");
}

#[tokio::test]
async fn a_claim_and_a_removal_whose_answers_were_lost_know_their_own_work() {
    let (store, database) = store_testing::start().await;
    let known = put(&store, &ada(), "one", 0).await;
    let unlucky = || faulty(&database, vec![Fault::Lost]).0;
    assert_eq!(claim(&unlucky(), known.version, 1).await, Claim::Yes);
    assert_eq!(claim(&store, known.version, 1).await, Claim::Busy);
    let place = ada();
    // The first request only reads.
    let (other, _) = faulty(&database, vec![Fault::Fine, Fault::Lost]);
    let removed = other.grants().delete_grant(place.key()).await.unwrap();
    assert_eq!(removed.map(|grant| grant.sealed), Some("one".to_owned()));
    assert_eq!(store.grants().delete_grant(place.key()).await.unwrap(), None);
}

#[tokio::test]
async fn a_giant_grant_is_refused() {
    let (store, _database) = store_testing::start().await;
    let (place, giant) = (ada(), "x".repeat(400_000));
    let refused = store
        .grants()
        .put_grant(given(place.key(), &[], &giant, now()))
        .await;
    assert!(matches!(refused, Err(StoreError::TooLarge { .. })));
    let long = "p".repeat(2000);
    let key = GrantKey {
        provider: &long,
        ..place.key()
    };
    let refused = store.grants().put_grant(given(key, &[], "sealed", now())).await;
    assert!(matches!(refused, Err(StoreError::TooLarge { .. })));
}

#[tokio::test]
async fn a_guests_grant_ends_a_month_after_its_last_use_and_others_as_late_as_their_tenant_says() {
    let (store, _database) = store_testing::start().await;
    let day = 24 * 3600;
    let guest = Place(tenant("acme"), owner("guest-1"));
    put(&store, &guest, "one", 0).await;
    put(&store, &ada(), "one", 0).await;
    let found = find(&store, &guest).await.unwrap();
    assert!(!found.is_over(later(30 * day - 1)) && found.is_over(later(30 * day + 1)));
    let found = find(&store, &ada()).await.unwrap();
    assert!(!found.is_over(later(365 * day - 1)) && found.is_over(later(365 * day + 1)));
    // A use that renews it puts its end off.
    let (grants, scopes) = (store.grants(), scopes(&["orders:read"]));
    let replaced = grants.replace_grant(guest.key(), found.version, &scopes, "two", later(10 * day));
    assert!(replaced.await.unwrap());
    let found = find(&store, &guest).await.unwrap();
    assert!(!found.is_over(later(40 * day - 1)) && found.is_over(later(40 * day + 1)));
}
