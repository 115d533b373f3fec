//! A user is asked, once for each thing, and nobody else's grant is ever used.

use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use consent::{Consent, Stage};
use domain::{Clock as _, Owner, Tenant};
use outbound::google_calendar::{EVENTS, FREE_BUSY};
use sandbox::google::{CLIENT, USERS};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::world::{ADA, World, data, said, world};

fn state(task: &Value) -> &str {
    task["status"]["state"].as_str().unwrap()
}

async fn grants(world: &World, name: &str, owner: &str) -> usize {
    let (tenant, owner) = (Tenant::parse(name).unwrap(), Owner::parse(owner).unwrap());
    let agent = domain::AgentName::parse("calendar").unwrap();
    let grants = world.store.grants().of(Some(&agent));
    // A tenant's own grants are never among them.
    assert!(
        world
            .store
            .grants()
            .list_grants(&tenant, &owner)
            .await
            .unwrap()
            .is_empty()
    );
    grants.list_grants(&tenant, &owner).await.unwrap().len()
}

#[tokio::test]
async fn each_scope_is_asked_for_once_it_is_needed_together_with_what_is_held() {
    let world = world().await;
    let task = world.ask("Am I free on Friday?").await;
    let consent = world.asked(&task).await;
    assert_eq!(consent.request.scopes, [FREE_BUSY]);
    assert!(said(&task).contains("see when you are busy"), "{task}");
    let code = world.agree(&consent, 0).await;
    assert_eq!(
        grants(&world, "acme", "ada").await,
        0,
        "nothing is granted before the code"
    );
    let done = world.told(ADA, &code, task["id"].as_str()).await;
    assert_eq!(state(&done), "TASK_STATE_COMPLETED");
    assert_eq!(grants(&world, "acme", "ada").await, 1);
    let wider = world.ask("What is on my calendar tomorrow?").await;
    let consent = world.asked(&wider).await;
    assert_eq!(consent.request.scopes, [FREE_BUSY, EVENTS]);
    let code = world.agree(&consent, 0).await;
    let done = world.told(ADA, &code, wider["id"].as_str()).await;
    data(&done);
    for question in ["What is on my calendar on Friday?", "Am I free on Friday?"] {
        data(&world.ask(question).await);
    }
    assert_eq!(grants(&world, "acme", "ada").await, 1);
}

#[tokio::test]
async fn nobody_elses_grant_is_used_and_nobody_elses_code_counts() {
    let world = world().await;
    world.connected("Am I free on Friday?").await;
    for other in [("acme", "alan"), ("globex", "ada")] {
        let task = world.told(other, "Am I free on Friday?", None).await;
        assert_eq!(state(&task), "TASK_STATE_AUTH_REQUIRED", "{other:?}");
        assert_eq!(grants(&world, other.0, other.1).await, 0);
    }
    // A code of one task is none of another's.
    let world = self::world().await;
    let (one, two) = (
        world.ask("Am I free on Friday?").await,
        world.ask("Am I free today?").await,
    );
    let code = world.agree(&world.asked(&one).await, 1).await;
    let wrong = world.told(ADA, &code, two["id"].as_str()).await;
    assert_eq!(state(&wrong), "TASK_STATE_AUTH_REQUIRED");
    assert_eq!(grants(&world, "acme", "ada").await, 0);
}

#[tokio::test]
async fn what_is_given_for_one_question_answers_every_other_that_waits_for_it() {
    let world = world().await;
    let (one, two) = (
        world.ask("Am I free on Friday?").await,
        world.ask("Am I free today?").await,
    );
    let code = world.agree(&world.asked(&one).await, 1).await;
    world.told(ADA, &code, one["id"].as_str()).await;
    world.work().await;
    for task in [one, two] {
        assert_eq!(state(&world.task(ADA, &task).await), "TASK_STATE_COMPLETED");
    }
}

#[tokio::test]
async fn the_fifth_wrong_code_voids_the_right_one() {
    let world = world().await;
    let task = world.ask("Am I free on Friday?").await;
    let consent = world.asked(&task).await;
    let code = world.agree(&consent, 0).await;
    let wrong = |end: char| format!("{}{end}", &code[..8]);
    let ends: Vec<char> = "BCDFGH".chars().filter(|end| !code.ends_with(*end)).collect();
    for end in &ends[..4] {
        let told = world.told(ADA, &wrong(*end), task["id"].as_str()).await;
        assert!(
            said(&told).starts_with("That code is not right, or too old."),
            "{told}"
        );
        assert_eq!(world.asked(&told).await.id, consent.id);
    }
    let told = world.told(ADA, &wrong(ends[4]), task["id"].as_str()).await;
    assert!(said(&told).contains("void"), "{told}");
    let fresh = world.asked(&told).await;
    assert_ne!(fresh.id, consent.id);
    let told = world.told(ADA, &code, task["id"].as_str()).await;
    assert_eq!(state(&told), "TASK_STATE_AUTH_REQUIRED");
    assert_eq!(grants(&world, "acme", "ada").await, 0);
    // Not without a new start.
    let code = world.agree(&fresh, 0).await;
    data(&world.told(ADA, &code, task["id"].as_str()).await);
}

#[tokio::test]
async fn a_wake_without_news_writes_nothing_and_words_bring_the_link_again() {
    let world = world().await;
    let task = world.ask("Am I free on Friday?").await;
    let consent = world.asked(&task).await;
    world.wake(&task).await;
    assert_eq!(world.task(ADA, &task).await, task);
    let told = world.told(ADA, "done", task["id"].as_str()).await;
    assert_eq!(world.asked(&told).await.id, consent.id);
    // Another day instead: the same consent, another question.
    let told = world.told(ADA, "no, on Thursday", task["id"].as_str()).await;
    assert_eq!(world.asked(&told).await.id, consent.id);
    let code = world.agree(&consent, 0).await;
    let done = world.told(ADA, &code, task["id"].as_str()).await;
    assert_eq!(data(&done)["days"][0]["date"], "2026-12-03");
}

#[tokio::test]
async fn a_link_that_ran_out_is_followed_by_another_and_a_refusal_ends_the_task() {
    let world = world().await;
    let task = world.ask("Am I free on Friday?").await;
    let old = world.asked(&task).await;
    world.clock.advance(Duration::from_secs(25 * 3600));
    world.wake(&task).await;
    let task = world.task(ADA, &task).await;
    let fresh = world.asked(&task).await;
    assert_ne!(fresh.id, old.id);
    world.agree(&fresh, 0).await;
    let fresh = world.asked(&task).await;
    world
        .records()
        .revise(fresh.clone(), Consent::deny)
        .await
        .unwrap();
    world.wake(&task).await;
    let task = world.task(ADA, &task).await;
    assert_eq!(state(&task), "TASK_STATE_REJECTED");
    assert!(said(&task).contains("did not agree"));
    assert_eq!(grants(&world, "acme", "ada").await, 0);
    // Whoever asks again is asked again.
    let again = world.ask("Am I free on Friday?").await;
    assert_eq!(world.asked(&again).await.stage, Stage::Open);
}

#[tokio::test]
async fn a_token_that_expired_is_renewed_once_for_two_tasks_at_once() {
    let world = world().await;
    world.connected("Am I free on Friday?").await;
    world.google.expire_access();
    let (one, two) = tokio::join!(
        world.ask("Am I free on Friday?"),
        world.ask("Am I free on Thursday?")
    );
    data(&one);
    data(&two);
    assert_eq!(world.google.refreshes(), 1);
    // The refresh token, which Google does not tell again, is still there.
    world.google.expire_access();
    data(&world.ask("Am I free on Friday?").await);
    assert_eq!(world.google.refreshes(), 2);
}

#[tokio::test]
async fn what_was_taken_back_at_google_is_asked_for_anew() {
    let world = world().await;
    world.connected("Am I free on Friday?").await;
    world.google.take_back(USERS[0].0);
    let task = world.ask("Am I free on Friday?").await;
    assert_eq!(world.asked(&task).await.request.scopes, [FREE_BUSY]);
    assert_eq!(
        grants(&world, "acme", "ada").await,
        0,
        "and nothing is kept of it"
    );
    let code = world.agree(&world.asked(&task).await, 0).await;
    data(&world.told(ADA, &code, task["id"].as_str()).await);
}

#[tokio::test]
async fn a_disconnected_calendar_is_gone_here_and_at_google() {
    let world = world().await;
    let none = world.ask("Disconnect my calendar").await;
    assert!(said(&none).contains("No calendar of yours"), "{none}");
    world.connected("Am I free on Friday?").await;
    let done = world.ask("Please disconnect my calendar").await;
    assert!(said(&done).contains("here and at Google"), "{done}");
    assert_eq!(grants(&world, "acme", "ada").await, 0);
    let refreshed = world.google.refreshes();
    let task = world.ask("Am I free on Friday?").await;
    assert_eq!(world.asked(&task).await.request.scopes, [FREE_BUSY]);
    assert_eq!(
        world.google.refreshes(),
        refreshed,
        "no token is left to be tried"
    );
}

/// Whether Google takes this as a token, to look into a calendar or to get another by.
async fn works(world: &World, token: &str) -> bool {
    let look = Request::post("/calendar/v3/freeBusy")
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", "application/json");
    let window = json!({
        "timeMin": "2026-12-01T00:00:00Z", "timeMax": "2026-12-02T00:00:00Z", "items": [{"id": "primary"}],
    });
    let renew = Request::post("/token").header("content-type", "application/x-www-form-urlencoded");
    let fields = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs([
            ("grant_type", "refresh_token"),
            ("refresh_token", token),
            ("client_id", CLIENT.0),
            ("client_secret", CLIENT.1),
        ])
        .finish();
    let mut any = false;
    for request in [
        look.body(Body::from(window.to_string())),
        renew.body(Body::from(fields)),
    ] {
        let answer = world.google.router().oneshot(request.unwrap()).await.unwrap();
        any |= answer.status().is_success();
    }
    any
}

/// Every item of the agent's tables.
fn stored(world: &World) -> Vec<String> {
    let tables = world.database.tables();
    let items = [tables.sessions, tables.tasks].map(|table| world.database.everything(&table));
    items.concat().iter().map(Value::to_string).collect()
}

#[tokio::test]
async fn of_a_deleted_connection_no_token_works_and_none_is_stored() {
    let world = world().await;
    world.connected("Am I free on Friday?").await;
    // Used, renewed, widened: everything that Google ever gave out for it is tried at the end.
    world.google.expire_access();
    data(&world.ask("Am I free on Thursday?").await);
    let wider = world.ask("What is on my calendar tomorrow?").await;
    let code = world.agree(&world.asked(&wider).await, 0).await;
    data(&world.told(ADA, &code, wider["id"].as_str()).await);
    let given: Vec<String> = world.google.secrets().into_iter().collect();
    let mut good = Vec::new();
    for secret in &given {
        if works(&world, secret).await {
            good.push(secret.clone());
        }
    }
    assert!(
        good.len() >= 2,
        "an access and a refresh token work before: {good:?}"
    );
    let sealed = |world: &World| -> Vec<String> {
        let all = stored(world).into_iter();
        all.filter(|item| item.contains("#grants\"")).collect()
    };
    assert_eq!(sealed(&world).len(), 1, "one grant is stored, sealed");

    let (status, _) = world.call(ADA, Method::DELETE, "/connections/google").await;
    assert_eq!(status, StatusCode::OK);
    for secret in &given {
        assert!(!works(&world, secret).await, "a token of before still works");
    }
    assert_eq!(sealed(&world), [] as [String; 0], "nothing of the grant is left");
    let left = stored(&world);
    for secret in &given {
        assert!(
            left.iter().all(|item| !item.contains(secret.as_str())),
            "a code or token lies in a table"
        );
    }
}

#[tokio::test]
async fn a_connection_is_listed_and_its_end_ends_what_waits_for_more_of_it() {
    let world = world().await;
    assert_eq!(world.connections(ADA).await, json!([]));
    world.connected("Am I free on Friday?").await;
    let since = world.clock.now();
    let listed = world.connections(ADA).await;
    assert_eq!(
        listed,
        json!([{
            "id": "google", "provider": "google", "account": null, "scopes": [FREE_BUSY], "agent": null, "agents": 1,
            "connectedAt": since, "lastUsedAt": since,
        }])
    );
    for stranger in [("acme", "alan"), ("globex", "ada")] {
        assert_eq!(world.connections(stranger).await, json!([]));
        let ended = world.call(stranger, Method::DELETE, "/connections/google").await;
        assert_eq!(ended.0, StatusCode::NOT_FOUND, "{stranger:?}");
    }
    // Used again days later: a token is fetched for that.
    world.clock.advance(Duration::from_secs(2 * 24 * 3600));
    data(&world.ask("Am I free on Friday?").await);
    let used = world.connections(ADA).await;
    assert_eq!(used[0]["lastUsedAt"], json!(world.clock.now()));
    assert_eq!(used[0]["connectedAt"], json!(since));

    // One waits for the wider scope, and a code for it is out; another user's waits as well.
    let waits = world.ask("What is on my calendar tomorrow?").await;
    let consent = world.asked(&waits).await;
    let code = world.agree(&consent, 0).await;
    let others = world
        .told(("acme", "alan"), "What is on my calendar tomorrow?", None)
        .await;
    let before = world.asked(&others).await;
    for rubbish in ["nobody", "Google", "%2e%2e", "a%2fb", "%00", "%ff"] {
        let path = format!("/connections/{rubbish}");
        let told = world.call(ADA, Method::DELETE, &path).await;
        assert_eq!(told.0, StatusCode::NOT_FOUND, "{rubbish}: {told:?}");
    }
    assert_eq!(grants(&world, "acme", "ada").await, 1);
    let (status, ended) = world.call(ADA, Method::DELETE, "/connections/google").await;
    assert_eq!(
        (status, ended),
        (StatusCode::OK, json!({"provider": "google", "revoked": true}))
    );
    assert_eq!(world.connections(ADA).await, json!([]));
    world.work().await;
    let over = world.task(ADA, &waits).await;
    assert_eq!(state(&over), "TASK_STATE_REJECTED", "{over}");
    assert_eq!(world.asked(&others).await, before, "another's goes on waiting");
    // The code of before is good for nothing: nothing is stored by it, here or at the task that it was for.
    let again = world.ask("Am I free on Friday?").await;
    world.told(ADA, &code, again["id"].as_str()).await;
    assert_eq!(grants(&world, "acme", "ada").await, 0);
    let twice = world.call(ADA, Method::DELETE, "/connections/google").await;
    assert_eq!(twice.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn words_that_disconnect_end_what_waits_too() {
    let world = world().await;
    world.connected("Am I free on Friday?").await;
    let waits = world.ask("What is on my calendar tomorrow?").await;
    world.asked(&waits).await;
    let done = world.ask("Please disconnect my calendar").await;
    assert!(said(&done).contains("here and at Google"), "{done}");
    let over = world.task(ADA, &waits).await;
    assert_eq!(state(&over), "TASK_STATE_REJECTED", "{over}");
}
