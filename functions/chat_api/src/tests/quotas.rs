//! Limits: whoever has reached one is told what, until when and who can raise it; nothing that was typed is lost, and others go on.

use std::time::Duration;

use axum::body::Body;
use domain::SettingChange;
use http::header::{ACCEPT, RETRY_AFTER};
use http::{Method, StatusCode};
use tower::ServiceExt;

use super::world::{Browser, World, last_card, says};

async fn set(world: &World, key: &str, value: &str) {
    let tenants = world.store.tenants();
    tenants.add(&world.tenant).await.unwrap();
    let change = SettingChange::parse(key, Some(value)).unwrap();
    assert!(tenants.set_own(&world.tenant, &[change]).await.unwrap().is_some());
}

#[tokio::test]
async fn whoever_has_used_up_their_tasks_is_told_so_and_loses_nothing() {
    let world = World::new().await;
    let app = world.app(Duration::ZERO);
    set(&world, "tasks_per_day", "100").await;
    let browser = Browser::default();
    browser
        .post(&app, "/api/chat", &says("c", "m1", "hello"))
        .await
        .chunks();
    world.work().await;
    let refused = browser.post(&app, "/api/chat", &says("c", "m2", "bye")).await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS, "{}", refused.text);
    assert_eq!(refused.headers[RETRY_AFTER], "86400");
    let told = refused.json();
    assert_eq!(
        (&told["error"], &told["whose"]),
        (&"over_quota".into(), &"owner".into())
    );
    assert_eq!(
        told["message"],
        "You have used today's 1 task; more from 00:00 UTC, or ask your administrator"
    );
    assert!(world.queue_is_empty(), "nobody is woken");

    // What was typed is in the chat, and goes with the same message once there is room; the neighbour is served meanwhile.
    let kept = browser.get(&app, "/api/chats/c/messages").await;
    assert!(kept.text.contains("bye"), "{}", kept.text);
    let other = Browser::default();
    other
        .post(&app, "/api/chat", &says("c", "m1", "hello"))
        .await
        .chunks();
    set(&world, "tasks_per_day", "200").await;
    let answered = browser.post(&app, "/api/chat", &says("c", "m2", "bye")).await;
    assert_eq!(last_card(&answered.chunks())["state"], "submitted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_five_hundred_streams_that_a_guest_wants_five_are_open_and_the_neighbour_is_served() {
    let world = World::new().await;
    let app = world.brief_app(Duration::from_secs(60));
    let (greedy, other) = (Browser::default(), Browser::default());
    let mut streams = vec!["/api/events".to_owned()];
    for browser in [&greedy, &other] {
        let asked = browser.post(&app, "/api/chat", &says("c", "m1", "park")).await;
        let id = last_card(&asked.chunks())["taskId"].as_str().unwrap().to_owned();
        streams.push(format!("/api/tasks/{id}/events"));
    }
    let open_at = |browser: &Browser, path: &str| {
        let request = browser.request(Method::GET, path);
        let request = request.header(ACCEPT, "text/event-stream").body(Body::empty());
        app.clone().oneshot(request.unwrap())
    };
    let open = |browser: &Browser| open_at(browser, &streams[0]);
    let wanted = futures_util::future::join_all((0..500).map(|_| open(&greedy)));
    let answers: Vec<_> = wanted.await.into_iter().map(Result::unwrap).collect();
    let of = |status| answers.iter().filter(|answer| answer.status() == status).count();
    assert_eq!((of(StatusCode::OK), of(StatusCode::TOO_MANY_REQUESTS)), (5, 495));
    let refused = answers
        .iter()
        .find(|answer| !answer.status().is_success())
        .unwrap();
    assert!(refused.headers().contains_key(RETRY_AFTER));
    // Streams of tasks are of the same five, and so is another page's.
    for answer in futures_util::future::join_all((0..960).map(|_| open_at(&greedy, &streams[1]))).await {
        assert_eq!(answer.unwrap().status(), StatusCode::TOO_MANY_REQUESTS);
    }
    assert_eq!(
        open_at(&other, &streams[2]).await.unwrap().status(),
        StatusCode::OK
    );
    assert_eq!(open(&other).await.unwrap().status(), StatusCode::OK);

    // Whoever leaves makes room.
    drop(answers);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(open(&greedy).await.unwrap().status(), StatusCode::OK);
}
