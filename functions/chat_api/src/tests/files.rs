//! Files that come with a message: what is refused before anything is stored, what is kept, and what reaches the host.

use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::Body;
use domain::PartContent;
use http::header::SET_COOKIE;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use store::{BlobKey, Blobs as _};

use super::world::{Browser, DETACHED, LARGE_SIZE, World, last_card, says};

const PNG: &str = "iVBORw0KGgo=";
const JPEG: &str = "/9j/4A==";

fn file(media: &str, base64: &str) -> Value {
    json!({"type": "file", "mediaType": media, "filename": "sky", "url": format!("data:{media};base64,{base64}")})
}

/// What a page sends with files, for the agent that takes words and PNG alone.
fn with(id: &str, files: Vec<Value>) -> Value {
    let mut said = says("c1", id, "hello");
    said["model"] = json!("echo");
    let parts = said["messages"][0]["parts"].as_array_mut().unwrap();
    parts.extend(files);
    said
}

/// The path of an address that the chat gave.
fn path(url: &Value) -> String {
    let url = url::Url::parse(url.as_str().unwrap()).unwrap();
    url.path()[url.path().find("/api/").unwrap()..].to_owned()
}

#[tokio::test]
async fn a_file_that_is_not_to_be_taken_is_refused_and_nothing_is_stored() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    // How the tenant stands, and whom a message can be for, is read once in a while, whatever is asked.
    browser.get(&app, "/api/models").await;
    let words = || file("text/plain", "aGk=");
    let large = |bytes: usize| file("text/plain", &"YWFh".repeat(bytes / 3));
    let mut named = file("image/png", PNG);
    named["url"] = json!("https://chat.example/elsewhere");
    named["providerMetadata"] = json!({"switchyard": {"size": 8, "sha256": "x"}});
    for (files, status, error) in [
        (vec![words(); 6], StatusCode::PAYLOAD_TOO_LARGE, "too_many_files"),
        (
            vec![large(350_001); 2],
            StatusCode::PAYLOAD_TOO_LARGE,
            "files_too_large",
        ),
        (
            vec![large(1_200_000)],
            StatusCode::PAYLOAD_TOO_LARGE,
            "payload_too_large",
        ),
        (
            vec![file("image/png", JPEG)],
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported_file",
        ),
        (
            vec![words(), file("text/plain", PNG)],
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported_file",
        ),
        // It is what it says, and the agent does not take it.
        (
            vec![words(), file("image/jpeg", JPEG)],
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported_file",
        ),
        (
            vec![file("image", PNG)],
            StatusCode::BAD_REQUEST,
            "invalid_message",
        ),
        (
            vec![file("image/png", "iVBORw0KGgo")],
            StatusCode::BAD_REQUEST,
            "invalid_message",
        ),
        (vec![words(), named], StatusCode::BAD_REQUEST, "invalid_message"),
    ] {
        let (answered, calls) = store::counted(browser.post(&app, "/api/chat", &with("m1", files))).await;
        assert_eq!(
            (answered.status, &answered.json()["error"]),
            (status, &json!(error))
        );
        assert!(answered.json()["message"].is_string(), "{}", answered.text);
        assert_eq!(calls.total(), 0, "{error}");
        assert!(!answered.headers.contains_key(SET_COOKIE), "{error}");
    }
}

#[tokio::test]
async fn a_file_reaches_the_host_is_kept_and_comes_back_to_its_owner_alone() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    let said = with(
        "m1/#%ü",
        vec![file("image/png", PNG), file("text/plain", "PGI+aGk8L2I+")],
    );
    let answered = browser.post(&app, "/api/chat", &said).await;
    let message = world.first_message(&answered).await;
    assert_eq!(message.parts[1].content, PartContent::Raw(PNG.to_owned()));
    let about = (
        message.parts[1].media_type.as_deref(),
        message.parts[1].filename.as_deref(),
    );
    assert_eq!(about, (Some("image/png"), Some("sky")));

    let shown = browser.get(&app, "/api/chats/c1/messages").await;
    assert!(!shown.text.contains(PNG), "{}", shown.text);
    let user = shown.json()[0].clone();
    let kept = user["parts"].as_array().unwrap();
    assert_eq!(kept[2]["providerMetadata"]["switchyard"]["size"], 9);
    let back = browser.get(&app, &path(&kept[2]["url"])).await;
    assert_eq!((back.status, back.text.as_str()), (StatusCode::OK, "<b>hi</b>"));
    assert_eq!(back.headers["content-type"], "text/plain");
    assert_eq!(
        back.headers["content-disposition"],
        "attachment; filename*=UTF-8''sky"
    );
    assert_eq!(back.headers["x-content-type-options"], "nosniff");
    let policy = back.headers["content-security-policy"].to_str().unwrap();
    assert!(
        policy.contains("sandbox") && policy.contains("default-src 'none'"),
        "{policy}"
    );

    let foreign = Browser::default();
    foreign
        .post(&app, "/api/chat", &says("c1", "m1/#%ü", "mine"))
        .await;
    for nobody in [&foreign, &Browser::default()] {
        let refused = nobody.get(&app, &path(&kept[2]["url"])).await;
        assert_eq!(refused.status, StatusCode::NOT_FOUND, "{}", refused.text);
    }
    for missing in ["/2", "/x", "/-1", "/18446744073709551616"] {
        let at = path(&kept[2]["url"])
            .replace("/1", "")
            .replace("files", &format!("files{missing}"));
        let refused = browser.get(&app, &at).await;
        assert_eq!(refused.status, StatusCode::NOT_FOUND, "{at}: {}", refused.text);
    }
}

#[tokio::test]
async fn files_of_results_are_fetched_one_at_a_time_by_whoever_asks_for_one() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    let chunks = browser
        .post(&app, "/api/chat", &says("c1", "m1", "files"))
        .await
        .chunks();
    let id = last_card(&chunks)["taskId"].as_str().unwrap().to_owned();
    world.work().await;
    world.blobs.fetched.store(0, Ordering::Relaxed);
    let log = format!("/api/tasks/{id}/events");
    let whole = format!("/api/tasks/{id}");
    for path in [
        "/api/tasks",
        "/api/chats/c1/messages",
        "/api/chats/c1/messages",
        &whole,
        &log,
    ] {
        let shown = browser.get(&app, path).await;
        assert_eq!(shown.status, StatusCode::OK, "{path}: {}", shown.text);
        assert_eq!(world.blobs.fetched.load(Ordering::Relaxed), 0, "{path}");
        assert!(!shown.text.contains("switchyard-blob"), "{path}: {}", shown.text);
    }
    let task = browser.get(&app, &whole).await.json();
    let parts = task["artifacts"][0]["parts"].as_array().unwrap();
    assert_eq!((parts.len(), &parts[3]["bytes"]), (5, &json!(18_000)));
    let file = browser.get(&app, &path(&parts[3]["url"])).await;
    assert_eq!(
        (file.status, file.text.as_bytes()),
        (StatusCode::OK, &[3; 18_000][..])
    );
    assert_eq!(world.blobs.fetched.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_file_that_lies_beside_a_task_goes_out_by_pieces_to_its_owner_alone() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    let chunks = browser
        .post(&app, "/api/chat", &says("c1", "m1", "large"))
        .await
        .chunks();
    let id = last_card(&chunks)["taskId"].as_str().unwrap().to_owned();
    world.work().await;
    let key = BlobKey::parse(&format!("acme#host#task#{id}/{DETACHED}")).unwrap();
    let size = usize::try_from(LARGE_SIZE).unwrap();
    let bytes = "0123456789".repeat(size / 10);
    world.blobs.put(&key, bytes.as_bytes()).await.unwrap();

    let task = browser.get(&app, &format!("/api/tasks/{id}")).await.json();
    let part = &task["artifacts"][0]["parts"][0];
    assert_eq!(part["bytes"], LARGE_SIZE);
    let shown = path(&part["url"]);
    assert_eq!(shown, format!("/api/tasks/{id}/files/0.0"));
    for place in [&shown, &format!("/api/tasks/{id}/files/0.0")] {
        world.blobs.fetched.store(0, Ordering::Relaxed);
        let file = browser.get(&app, place).await;
        assert_eq!(file.status, StatusCode::OK);
        assert!(file.text == bytes, "{} bytes", file.text.len());
        assert_eq!(
            world.blobs.fetched.load(Ordering::Relaxed),
            3,
            "four megabytes at once"
        );
        assert_eq!(file.headers["content-length"], "9000000");
        assert_eq!(
            file.headers["content-type"], "application/octet-stream",
            "it is no picture"
        );
        assert_eq!(file.headers["x-content-type-options"], "nosniff");
        assert_eq!(
            file.headers["content-disposition"],
            "attachment; filename*=UTF-8''0%2Ebin"
        );
        let stranger = Browser::default();
        stranger.post(&app, "/api/chat", &says("c1", "m1", "mine")).await;
        assert_eq!(stranger.get(&app, place).await.status, StatusCode::NOT_FOUND);
    }
    for (range, status, told, text) in [
        (
            "bytes=11-13",
            StatusCode::PARTIAL_CONTENT,
            "bytes 11-13/9000000",
            "123",
        ),
        (
            "bytes=-2",
            StatusCode::PARTIAL_CONTENT,
            "bytes 8999998-8999999/9000000",
            "89",
        ),
        (
            "bytes=9000000-",
            StatusCode::RANGE_NOT_SATISFIABLE,
            "bytes */9000000",
            "",
        ),
    ] {
        let request = browser.request(Method::GET, &shown).header("range", range);
        let part = browser.send(&app, request.body(Body::empty()).unwrap()).await;
        assert_eq!((part.status, part.text.as_str()), (status, text), "{range}");
        assert_eq!(part.headers["content-range"], told);
    }
    for missing in [
        format!("/api/tasks/{id}/files/{}", "0".repeat(64)),
        format!("/api/tasks/{id}/files/0.1"),
    ] {
        assert_eq!(
            browser.get(&app, &missing).await.status,
            StatusCode::NOT_FOUND,
            "{missing}"
        );
    }
    // What is not there any more breaks off, and what is gone is not found.
    world.blobs.delete(&key).await.unwrap();
    assert!(!browser.get(&app, &shown).await.status.is_success());
}

#[tokio::test]
async fn a_message_that_names_its_files_is_the_same_and_another_one_is_refused() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    let said = with("m1", vec![file("image/png", PNG)]);
    browser.post(&app, "/api/chat", &said).await;
    assert_eq!(
        browser.post(&app, "/api/chat", &said).await.status,
        StatusCode::OK
    );
    let other = with("m1", vec![file("image/png", "iVBORw0KGgoA")]);
    let refused = browser.post(&app, "/api/chat", &other).await;
    assert_eq!(
        (refused.status, &refused.json()["error"]),
        (StatusCode::CONFLICT, &json!("message_changed"))
    );

    // As a page has it from here, which asks for another answer.
    let user = browser.get(&app, "/api/chats/c1/messages").await.json()[0].clone();
    let mut again = said.clone();
    again["messages"] = json!([user]);
    again["trigger"] = json!("regenerate-message");
    let answered = browser.post(&app, "/api/chat", &again).await;
    assert_eq!(answered.status, StatusCode::OK, "{}", answered.text);
    let message = world.first_message(&answered).await;
    assert_eq!(message.parts[1].content, PartContent::Raw(PNG.to_owned()));

    // And which edits what stands beside them.
    let mut edited = again.clone();
    edited["trigger"] = json!("submit-message");
    edited["messageId"] = json!("m1");
    edited["messages"][0]["parts"][0]["text"] = json!("another text");
    let answered = browser.post(&app, "/api/chat", &edited).await;
    assert_eq!(answered.status, StatusCode::OK, "{}", answered.text);
    let message = world.first_message(&answered).await;
    assert_eq!(
        message.parts[0].content,
        PartContent::Text("another text".to_owned())
    );
    assert_eq!(message.parts[1].content, PartContent::Raw(PNG.to_owned()));
    edited["messages"][0]["parts"][1]["providerMetadata"]["switchyard"]["size"] = json!(9);
    let refused = browser.post(&app, "/api/chat", &edited).await;
    assert_eq!(refused.status, StatusCode::CONFLICT, "{}", refused.text);

    let mut elsewhere = again.clone();
    elsewhere["id"] = json!("c2");
    let refused = browser.post(&app, "/api/chat", &elsewhere).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{}", refused.text);
    let mut changed = again.clone();
    changed["messages"][0]["parts"][1]["providerMetadata"]["switchyard"]["size"] = json!(9);
    let refused = browser.post(&app, "/api/chat", &changed).await;
    assert_eq!(refused.status, StatusCode::CONFLICT, "{}", refused.text);

    let request = browser
        .request(Method::DELETE, "/api/chats/c1")
        .body(Body::empty());
    browser.send(&app, request.unwrap()).await;
    let gone = browser.get(&app, &path(&user["parts"][1]["url"])).await;
    assert_eq!(gone.status, StatusCode::GONE, "{}", gone.text);
}
