//! The identity provider's own: what is good once, and what is nobody else's.

use crate::faults::{Fault, faulty};
use crate::*;
use store::{
    Client, Code, Family, Redeemed, Rotated, SessionIssuer, User, client_item, counted, session_issuer_item,
    user_item,
};

fn code() -> Code {
    Code {
        client_id: "host".into(),
        redirect_uri: "https://acme.example/callback".into(),
        subject: owner("user-1"),
        scope: "openid orders:read".into(),
        resource: "https://horizon.example/".into(),
        challenge: "challenge".into(),
        nonce: Some("nonce".into()),
        auth_time: now(),
        issued_at: later(1),
        expires_at: later(61),
    }
}

fn family(id: &str) -> Family {
    Family {
        id: id.into(),
        client_id: "host".into(),
        subject: owner("user-1"),
        scope: "orders:read offline_access".into(),
        resource: "https://horizon.example/".into(),
        refresh_hash: "first".into(),
        auth_time: None,
        generation: 0,
        expires_at: later(3600),
        revoked: false,
    }
}

async fn with_code(tenant_name: &str) -> (Store, store_testing::Database) {
    let (store, database) = store_testing::start().await;
    store
        .identity()
        .put_code(&tenant(tenant_name), "hash", &code())
        .await
        .unwrap();
    (store, database)
}

async fn with_family(tenant_name: &str) -> (Store, store_testing::Database) {
    let (store, database) = store_testing::start().await;
    let tenant = tenant(tenant_name);
    assert!(store.identity().put_family(&tenant, &family("f")).await.unwrap());
    (store, database)
}

async fn redeem(store: &Store, tenant_name: &str, family: &str, at: u64) -> Redeemed {
    let tenant = tenant(tenant_name);
    store
        .identity()
        .redeem_code(&tenant, "hash", family, later(at))
        .await
        .unwrap()
}

async fn rotate(store: &Store, presented: &str, next: &str, at: u64) -> Rotated {
    let acme = tenant("acme");
    store
        .identity()
        .rotate(&acme, "f", presented, next, later(at))
        .await
        .unwrap()
}

fn replayed(family_id: &str) -> Redeemed {
    Redeemed::Replayed {
        family_id: family_id.into(),
    }
}

#[tokio::test]
async fn users_and_clients_are_found_by_tenant_and_name() {
    let (store, _database) = store_testing::start().await;
    let (identity, acme, globex) = (store.identity(), tenant("acme"), tenant("globex"));
    let ada = User {
        username: "ada".into(),
        subject: owner("user-1"),
        display_name: "Ada".into(),
        password_hash: "$argon2id$secret".into(),
        roles: Vec::new(),
        since: None,
        not_before: None,
    };
    let host = Client {
        client_id: "host".into(),
        name: "Switchyard".into(),
        secret_hash: None,
        redirect_uris: vec!["https://acme.example/callback".into()],
        signed_out_uris: Vec::new(),
        grant_types: vec!["authorization_code".into()],
        scopes: vec!["orders:read".into()],
        resources: Vec::new(),
        public: true,
    };
    identity.put_user(&acme, &ada).await.unwrap();
    identity.put_client(&acme, &host).await.unwrap();
    assert!(
        !format!("{ada:?}").contains("secret"),
        "the password's hash is not shown"
    );
    let (found, calls) = counted(identity.find_user(&acme, "ada")).await;
    assert_eq!((found.unwrap(), calls.total()), (Some(ada), 1));
    let (found, calls) = counted(identity.find_client(&acme, "host")).await;
    assert_eq!((found.unwrap(), calls.total()), (Some(host), 1));
    assert_eq!(identity.find_user(&globex, "ada").await.unwrap(), None);
    assert_eq!(identity.find_client(&globex, "host").await.unwrap(), None);
    // What somebody types can neither name another kind of item nor be too much.
    for name in ["", "host", "ada#", &"a".repeat(5000)] {
        assert_eq!(identity.find_user(&acme, name).await.unwrap(), None);
    }
    assert_eq!(identity.find_client(&acme, "ada").await.unwrap(), None);
}

#[tokio::test]
async fn a_consent_is_of_one_user_client_and_resource() {
    let (store, _database) = store_testing::start().await;
    let (identity, acme) = (store.identity(), tenant("acme"));
    let scopes = ["openid".to_owned(), "orders:read".to_owned()];
    let user = owner("user-1");
    identity
        .put_consent(&acme, &user, "host", "https://a.example", &scopes)
        .await
        .unwrap();
    let others = [
        ("globex", "user-1", "host", "https://a.example"),
        ("acme", "user-2", "host", "https://a.example"),
        ("acme", "user-1", "hos", "https://a.example"),
        ("acme", "user-1", "host", "https://a.example/"),
    ];
    for (tenant_name, user, client, resource) in others {
        let (tenant, user) = (tenant(tenant_name), owner(user));
        let found = identity.find_consent(&tenant, &user, client, resource).await;
        assert!(found.unwrap().is_empty());
    }
    let found = identity
        .find_consent(&acme, &user, "host", "https://a.example")
        .await;
    assert_eq!(found.unwrap(), scopes);
}

#[tokio::test]
async fn a_code_is_redeemed_once_in_one_call() {
    let (store, _database) = with_code("acme").await;
    let (redeemed, calls) = counted(redeem(&store, "acme", "f1", 5)).await;
    assert_eq!((redeemed, calls.total()), (Redeemed::Fresh(code()), 1));
    let (again, calls) = counted(redeem(&store, "acme", "f2", 6)).await;
    assert_eq!((again, calls.total()), (replayed("f1"), 1));
    // A replay is known for one long after the code has ended.
    assert_eq!(redeem(&store, "acme", "f3", 3600).await, replayed("f1"));
}

#[tokio::test]
async fn of_concurrent_redemptions_one_is_fresh() {
    let (store, _database) = with_code("acme").await;
    let mut redeemers = tokio::task::JoinSet::new();
    for redeemer in 0..12 {
        let store = store.clone();
        redeemers.spawn(async move {
            let family = format!("f{redeemer}");
            (redeem(&store, "acme", &family, 5).await, family)
        });
    }
    let (fresh, rest): (Vec<_>, Vec<_>) = redeemers
        .join_all()
        .await
        .into_iter()
        .partition(|(redeemed, _)| *redeemed == Redeemed::Fresh(code()));
    assert_eq!((fresh.len(), rest.len()), (1, 11));
    let winner = &fresh[0].1;
    assert!(rest.iter().all(|(redeemed, _)| *redeemed == replayed(winner)));
}

#[tokio::test]
async fn a_code_ends_and_is_no_other_tenants() {
    let (store, _database) = with_code("acme").await;
    assert_eq!(redeem(&store, "globex", "f", 5).await, Redeemed::Missing);
    assert_eq!(redeem(&store, "acme", "f", 61).await, Redeemed::Missing);
    // Neither of the two used it up.
    let last = later(61).before(Duration::from_millis(1));
    let redeemed = store
        .identity()
        .redeem_code(&tenant("acme"), "hash", "f", last)
        .await
        .unwrap();
    assert_eq!(redeemed, Redeemed::Fresh(code()));
    let unknown = store
        .identity()
        .redeem_code(&tenant("acme"), &"x".repeat(5000), "f", now())
        .await
        .unwrap();
    assert_eq!(unknown, Redeemed::Missing);
}

#[tokio::test]
async fn a_redemption_whose_answer_was_lost_knows_its_own_work() {
    let (store, database) = with_code("acme").await;
    let (unlucky, requests) = faulty(&database, vec![Fault::Lost]);
    assert_eq!(redeem(&unlucky, "acme", "f1", 5).await, Redeemed::Fresh(code()));
    assert_eq!(requests.load(std::sync::atomic::Ordering::SeqCst), 2);
    assert_eq!(redeem(&store, "acme", "f2", 5).await, replayed("f1"));
}

#[tokio::test]
async fn a_refresh_token_is_rotated_in_one_call() {
    let (store, _database) = with_family("acme").await;
    let (rotated, calls) = counted(rotate(&store, "first", "second", 5)).await;
    let next = Family {
        refresh_hash: "second".into(),
        generation: 1,
        ..family("f")
    };
    assert_eq!((rotated, calls.total()), (Rotated::Yes(next.clone()), 1));
    let found = store
        .identity()
        .find_family(&tenant("acme"), "f", later(5))
        .await
        .unwrap();
    assert_eq!(found, Some(next));
    assert!(
        matches!(rotate(&store, "second", "third", 6).await, Rotated::Yes(family) if family.generation == 2)
    );
}

#[tokio::test]
async fn a_rotated_token_presented_again_revokes_the_family() {
    let (store, _database) = with_family("acme").await;
    rotate(&store, "first", "second", 5).await;
    assert_eq!(rotate(&store, "first", "thief", 6).await, Rotated::Reused);
    assert_eq!(rotate(&store, "second", "third", 7).await, Rotated::Revoked);
    assert_eq!(rotate(&store, "first", "thief", 8).await, Rotated::Revoked);
    let found = store.identity().find_family(&tenant("acme"), "f", later(9)).await;
    let found = found.unwrap().unwrap();
    assert!(found.revoked);
    assert_eq!((found.refresh_hash.as_str(), found.generation), ("second", 1));
}

#[tokio::test]
async fn of_concurrent_rotations_of_one_token_one_at_most_goes_through() {
    let (store, _database) = with_family("acme").await;
    let mut clients = tokio::task::JoinSet::new();
    for client in 0..12 {
        let store = store.clone();
        clients.spawn(async move { rotate(&store, "first", &format!("next-{client}"), 5).await });
    }
    let rotated = clients.join_all().await;
    let yes = rotated
        .iter()
        .filter(|rotated| matches!(rotated, Rotated::Yes(_)));
    assert_eq!(yes.count(), 1);
    assert!(rotated.contains(&Rotated::Reused));
    let found = store
        .identity()
        .find_family(&tenant("acme"), "f", later(5))
        .await
        .unwrap();
    assert!(found.unwrap().revoked);
}

#[tokio::test]
async fn a_rotation_whose_answer_was_lost_does_not_revoke_its_own_family() {
    let (store, database) = with_family("acme").await;
    let (unlucky, _) = faulty(&database, vec![Fault::Lost]);
    assert!(
        matches!(rotate(&unlucky, "first", "second", 5).await, Rotated::Yes(family) if family.generation == 1)
    );
    assert!(matches!(
        rotate(&store, "second", "third", 6).await,
        Rotated::Yes(_)
    ));
}

#[tokio::test]
async fn a_family_ends_and_is_no_other_tenants() {
    let (store, _database) = with_family("acme").await;
    let (identity, acme, globex) = (store.identity(), tenant("acme"), tenant("globex"));
    let elsewhere = identity.rotate(&globex, "f", "first", "second", now()).await;
    assert_eq!(elsewhere.unwrap(), Rotated::Missing);
    assert_eq!(identity.find_family(&globex, "f", now()).await.unwrap(), None);
    identity.revoke_family(&globex, "f", now()).await.unwrap();
    assert_eq!(rotate(&store, "first", "second", 3600).await, Rotated::Missing);
    // A token of an expired family says nothing, not even that it was used before.
    assert_eq!(rotate(&store, "rubbish", "second", 3600).await, Rotated::Missing);
    assert_eq!(identity.find_family(&acme, "f", later(3600)).await.unwrap(), None);
    let found = identity.find_family(&acme, "f", later(3599)).await.unwrap();
    assert_eq!(found, Some(family("f")));
}

#[tokio::test]
async fn a_revocation_finds_the_family_that_is_only_just_about_to_be_stored() {
    let (store, _database) = store_testing::start().await;
    let (identity, acme) = (store.identity(), tenant("acme"));
    identity.revoke_family(&acme, "f", now()).await.unwrap();
    assert_eq!(identity.find_family(&acme, "f", now()).await.unwrap(), None);
    assert_eq!(rotate(&store, "first", "second", 1).await, Rotated::Missing);
    assert!(!identity.put_family(&acme, &family("f")).await.unwrap());
    assert_eq!(rotate(&store, "first", "second", 1).await, Rotated::Missing);

    assert!(identity.put_family(&acme, &family("g")).await.unwrap());
    identity.revoke_family(&acme, "g", now()).await.unwrap();
    let rotated = identity.rotate(&acme, "g", "first", "second", now()).await;
    assert_eq!(rotated.unwrap(), Rotated::Revoked);
    assert!(!identity.put_family(&acme, &family("g")).await.unwrap());
}

#[tokio::test]
async fn a_family_stored_twice_by_a_lost_answer_is_stored_once() {
    let (_store, database) = store_testing::start().await;
    let (unlucky, _) = faulty(&database, vec![Fault::Lost]);
    let put = unlucky.identity().put_family(&tenant("acme"), &family("f")).await;
    assert!(put.unwrap());
}

#[tokio::test]
async fn items_put_by_hand_are_read_as_ours() {
    let (store, database) = store_testing::start().await;
    let (identity, acme) = (store.identity(), tenant("acme"));
    let ada = User {
        username: "ada".into(),
        subject: owner("user-1"),
        display_name: "Ada".into(),
        password_hash: "$argon2id$secret".into(),
        roles: Vec::new(),
        since: None,
        not_before: None,
    };
    let host = Client {
        client_id: "host".into(),
        name: "Switchyard".into(),
        secret_hash: Some("hash".into()),
        redirect_uris: vec!["https://acme.example/callback".into()],
        signed_out_uris: Vec::new(),
        grant_types: vec!["authorization_code".into()],
        scopes: vec!["orders:read".into()],
        resources: Vec::new(),
        public: false,
    };
    let sessions = SessionIssuer {
        issuer: "https://acme.example".into(),
        keys: vec![serde_json::json!({ "kty": "EC" })],
        browser_keys: Vec::new(),
    };
    for item in [
        client_item(&acme, &host).unwrap(),
        user_item(&acme, &ada).unwrap(),
        session_issuer_item(&acme, &sessions).unwrap(),
    ] {
        database.put(&database.tables().identity, &item);
    }
    assert_eq!(identity.find_client(&acme, "host").await.unwrap(), Some(host));
    assert_eq!(identity.find_user(&acme, "ada").await.unwrap(), Some(ada));
    assert_eq!(identity.find_session_issuer(&acme).await.unwrap(), Some(sessions));
    assert_eq!(
        identity.find_session_issuer(&tenant("globex")).await.unwrap(),
        None
    );
    identity.remove_session_issuer(&acme).await.unwrap();
    assert_eq!(identity.find_session_issuer(&acme).await.unwrap(), None);
    assert!(identity.find_client(&acme, "host").await.unwrap().is_some());
}
