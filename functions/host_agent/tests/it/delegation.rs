//! Delegating: stored before it is sent, sent once, settled by whatever comes first.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::{Entropy as _, JobState, PartContent, SystemEntropy, TaskId, TaskState};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use store::Folder;

use crate::world::{Reply, URL, WEBHOOK, remote, status, world, world_with};

#[tokio::test]
async fn a_job_is_stored_sent_without_waiting_and_linked() {
    let (world, weather) = world().await;
    let task = world.ask("Will it rain in Oslo tomorrow?").await;

    assert_eq!(
        status(&task),
        (TaskState::Working, "Weather Agent is working on it.".into())
    );
    let JobState::Linked { remote_task_id, .. } = &task.jobs[0].state else {
        panic!("{:?}", task.jobs)
    };
    assert_eq!(remote_task_id.as_str(), "r-1");
    assert!(
        task.history
            .iter()
            .any(|said| said.text() == "Asking Weather Agent …"),
        "the user is told at once"
    );

    let calls = weather.calls("SendMessage");
    assert_eq!(calls.len(), 1);
    let params = &calls[0]["params"];
    let message = &params["message"];
    assert_eq!(message["parts"][0]["text"], "Will it rain in Oslo tomorrow?");
    assert_eq!(message["messageId"], json!(task.jobs[0].message_id.as_str()));
    assert_eq!(message["contextId"], json!(task.context_id.as_str()));
    assert!(message.get("taskId").is_none(), "the agent makes its own task");
    let settings = &params["configuration"];
    assert_eq!(settings["returnImmediately"], json!(true));
    assert!(
        settings["acceptedOutputModes"]
            .as_array()
            .unwrap()
            .contains(&json!("text/plain"))
    );
    let push = &settings["taskPushNotificationConfig"];
    assert_eq!(push["url"], json!(WEBHOOK));
    let token = push["token"].as_str().unwrap();
    assert!(auth::token::matches(&task.jobs[0].webhook.hash, token));
    assert_eq!(auth::token::webhook_task(token), Some(task.id));
    assert!(
        !serde_json::to_string(&task).unwrap().contains(token),
        "only its hash, and sealed"
    );
    assert!(weather.tokens()[0].starts_with("Bearer ey"));
}

#[tokio::test]
async fn a_notification_completes_the_task_with_the_agents_artifacts() {
    let (world, weather) = world().await;
    let task = world.ask("Will it rain in Oslo tomorrow?").await;
    world
        .notified(task.id, 0, remote("r-1", "COMPLETED", None, &["Rain, 4 °C."]))
        .await;
    let task = world.wake(task.id).await;
    assert_eq!(status(&task), (TaskState::Completed, "Rain, 4 °C.".into()));
    assert_eq!(task.artifacts.len(), 1);
    assert_eq!(task.artifacts[0].name.as_deref(), Some("Forecast"));
    assert_eq!(weather.asked.lock().unwrap().len(), 1, "nothing else was asked");
    // A doubled wake changes nothing.
    let rev = task.rev;
    assert_eq!(world.wake(task.id).await.rev, rev);
}

#[tokio::test]
async fn an_agent_that_is_done_at_once_needs_no_webhook() {
    let (world, weather) = world().await;
    weather.then(
        "SendMessage",
        Reply::Result(json!({"task": remote("r-1", "COMPLETED", None, &["Dry."])})),
    );
    let task = world.ask("Will it rain in Oslo tomorrow?").await;
    assert_eq!(status(&task), (TaskState::Completed, "Dry.".into()));

    let message = json!({"messageId": "x", "role": "ROLE_AGENT", "parts": [{"text": "Snow."}]});
    weather.then("SendMessage", Reply::Result(json!({"message": message})));
    let task = world.ask("Will it rain in Bergen tomorrow?").await;
    assert_eq!(status(&task), (TaskState::Completed, "Snow.".into()));
    assert_eq!(task.artifacts[0].text(), "Snow.");
}

#[tokio::test]
async fn a_result_is_kept_whole_or_named_and_what_cannot_even_be_read_has_failed_too() {
    for (bytes, state, told) in [
        (1_400_000, TaskState::Completed, "xxx"),
        (
            3_000_000,
            TaskState::Failed,
            "too large to keep here: Forecast (3.0 MB)",
        ),
        (
            4_300_000,
            TaskState::Failed,
            "Its result is too large: I take up to 4 MB.",
        ),
    ] {
        let (world, weather) = world().await;
        let task = world.ask("Will it rain in Oslo tomorrow?").await;
        let file = "x".repeat(bytes);
        let said = Some("Here it is.");
        weather.then(
            "GetTask",
            Reply::Result(remote("r-1", "COMPLETED", said, &[&file])),
        );
        world
            .notified(task.id, 0, remote("r-1", "COMPLETED", said, &[]))
            .await;
        let task = world.wake(task.id).await;
        let (found, text) = status(&task);
        assert_eq!(found, state, "{bytes}");
        assert!(
            text.contains(told) && text.len() < 9_000,
            "{bytes}: {}",
            text.len()
        );
        assert_eq!(task.artifacts.len(), usize::from(state == TaskState::Completed));
        assert_eq!(
            text.contains("Here it is."),
            state == TaskState::Failed,
            "{bytes}"
        );
    }
}

#[tokio::test]
async fn large_files_of_a_result_lie_beside_the_task_and_without_a_place_for_them_the_rest_is_kept() {
    let noise: Vec<u8> = (0..1_200_000_u32).map(|at| at.to_le_bytes()[1]).collect();
    for has_blobs in [true, false] {
        let place = std::env::temp_dir().join(SystemEntropy.uuid().to_string());
        let world = world_with(|parts, _| {
            if has_blobs {
                let folder = Arc::new(Folder::new(&place));
                parts.store = parts.store.clone().with_blobs(folder);
            }
        });
        let world = world.await;
        let weather = world.peer("weather").await;
        world.registered(json!([world.weather()]), json!({"weather": "global"}));
        let task = world.ask("Will it rain in Oslo tomorrow?").await;
        let mut answer = remote("r-1", "COMPLETED", None, &["Rain."]);
        answer["artifacts"][0]["parts"] = json!([
            {"raw": STANDARD.encode(&noise), "filename": "map.bin", "mediaType": "application/octet-stream"},
            {"raw": STANDARD.encode(&noise[..900_000]), "filename": "other.bin"},
            {"raw": "QUJD", "filename": "small.bin"},
            {"text": "Rain."},
        ]);
        weather.then("GetTask", Reply::Result(answer));
        world
            .notified(task.id, 0, remote("r-1", "COMPLETED", None, &[]))
            .await;
        let task = world.wake(task.id).await;
        let (state, text) = status(&task);
        let parts = &task
            .artifacts
            .iter()
            .chain(&task.jobs[0].artifacts)
            .next()
            .unwrap()
            .parts;
        if !has_blobs {
            assert_eq!(state, TaskState::Failed, "{text}");
            assert!(text.contains("map.bin (1.2 MB), other.bin (900 KB)"), "{text}");
            assert_eq!(
                (parts.len(), &parts[0].content),
                (2, &PartContent::Raw("QUJD".to_owned()))
            );
            continue;
        }
        assert_eq!(state, TaskState::Completed, "{text}");
        assert_eq!(
            (parts.len(), parts[0].detached(), parts[1].detached()),
            (4, Some(1_200_000), Some(900_000))
        );
        let PartContent::Url(url) = &parts[0].content else {
            panic!("{:?}", parts[0].content)
        };
        let begin = format!("{URL}/tasks/{}/files/", task.id);
        let name = url.strip_prefix(&begin).unwrap_or_else(|| panic!("{url}"));
        let store = world.store.clone().with_blobs(Arc::new(Folder::new(&place)));
        let kept = store.tasks().piece(&task, name, (0, 2_000_000)).await.unwrap();
        assert_eq!(kept.as_deref(), Some(noise.as_slice()));
        let told = parts[0].metadata["switchyard"]["sha256"].as_str().unwrap();
        let hash: String = Sha256::digest(&noise)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(
            (told, &parts[2].content),
            (hash.as_str(), &PartContent::Raw("QUJD".to_owned()))
        );
        std::fs::remove_dir_all(&place).unwrap();
    }
}

#[tokio::test]
async fn a_task_that_ends_otherwise_keeps_what_was_brought() {
    for (said, state) in [
        ("FAILED", TaskState::Failed),
        ("CANCELED", TaskState::Canceled),
        ("REJECTED", TaskState::Rejected),
    ] {
        let (world, _weather) = world().await;
        let task = world.ask("Will it rain in Oslo tomorrow?").await;
        let told = remote("r-1", said, Some("no more of it"), &["Rain until noon."]);
        world.notified(task.id, 0, told).await;
        let task = world.wake(task.id).await;
        let kept: Vec<String> = task.artifacts.iter().map(domain::Artifact::text).collect();
        assert_eq!(
            (task.status.state, kept),
            (state, vec!["Rain until noon.".to_owned()])
        );
    }
    // Its user calls it off.
    let (world, weather) = world().await;
    let task = world.ask("Will it rain in Oslo tomorrow?").await;
    let told = remote("r-1", "WORKING", None, &["Rain until noon."]);
    world.notified(task.id, 0, told).await;
    weather.then("CancelTask", Reply::Result(remote("r-1", "CANCELED", None, &[])));
    let cancel = json!({"jsonrpc": "2.0", "id": 1, "method": "CancelTask", "params": {"id": task.id}});
    world.post("user-1", "/jsonrpc", &cancel).await;
    let task = world.task(task.id).await;
    assert_eq!(
        (task.status.state, task.artifacts.len()),
        (TaskState::Canceled, 1)
    );
}

#[tokio::test]
async fn of_many_results_the_first_are_kept_and_the_rest_is_counted() {
    let (world, weather) = world().await;
    let artifact = |number: u32| json!({"artifactId": format!("a-{number}"), "parts": [{"text": "x"}]});
    let mut told = remote("r-1", "COMPLETED", Some("All of it."), &[]);
    told["artifacts"] = (0..20_000).map(artifact).collect();
    weather.then("SendMessage", Reply::Result(json!({ "task": told })));
    let task = world.ask("Will it rain in Oslo tomorrow?").await;
    let (state, text) = status(&task);
    assert_eq!((state, task.artifacts.len()), (TaskState::Failed, 200));
    assert!(text.contains("19800 are left out"), "{text}");
}

#[tokio::test]
async fn a_result_that_came_without_artifacts_is_fetched() {
    let (world, weather) = world().await;
    let task = world.ask("Will it rain in Oslo tomorrow?").await;
    world
        .notified(task.id, 0, remote("r-1", "COMPLETED", None, &[]))
        .await;
    weather.then("GetTask", Reply::Status(503));
    let waiting = world.wake(task.id).await;
    assert_eq!(waiting.status.state, TaskState::Working, "tried again later");
    world.clock.advance(std::time::Duration::from_secs(2));
    weather.then(
        "GetTask",
        Reply::Result(remote("r-1", "COMPLETED", None, &["Rain."])),
    );
    let task = world.wake(task.id).await;
    assert_eq!(status(&task), (TaskState::Completed, "Rain.".into()));
    assert_eq!(weather.calls("GetTask")[1]["params"]["id"], json!("r-1"));
}

#[tokio::test]
async fn the_parts_of_a_prompt_go_out_together_and_come_back_as_paragraphs() {
    let (world, weather) = world().await;
    let flats = world.peer("flats").await;
    world.registered(
        json!([world.weather(), world.flats()]),
        json!({"weather": "global", "flats": "global"}),
    );
    flats.then(
        "SendMessage",
        Reply::Result(json!({"task": remote("r-2", "SUBMITTED", None, &[])})),
    );
    let task = world.ask("weather in Oslo and a flat for two in Oslo").await;
    assert_eq!(task.jobs.len(), 2);
    assert_eq!(
        weather.calls("SendMessage")[0]["params"]["message"]["parts"][0]["text"],
        "weather in Oslo"
    );
    assert_eq!(
        flats.calls("SendMessage")[0]["params"]["message"]["parts"][0]["text"],
        "a flat for two in Oslo"
    );
    assert!(
        task.history
            .iter()
            .any(|said| said.text() == "Asking Weather Agent and Flat Finder …")
    );

    world
        .notified(task.id, 0, remote("r-1", "COMPLETED", None, &["Rain."]))
        .await;
    let half = world.wake(task.id).await;
    assert_eq!(half.status.state, TaskState::Working);
    world
        .notified(task.id, 1, remote("r-2", "FAILED", Some("all taken"), &[]))
        .await;
    let task = world.wake(task.id).await;
    let expected = "Weather Agent: Rain.\n\nFlat Finder could not do it: all taken\n\n1 of 2 done.";
    assert_eq!(status(&task), (TaskState::Completed, expected.into()));
    assert_eq!(task.artifacts[0].artifact_id, "0-forecast");
}

#[tokio::test]
async fn what_every_agent_failed_or_refused_ends_so_with_the_reason() {
    let (world, weather) = world().await;
    weather.then(
        "SendMessage",
        Reply::Result(json!({"task": remote("r-1", "FAILED", Some("no such place"), &[])})),
    );
    let task = world.ask("Will it rain in Xyzzy?").await;
    assert_eq!(
        status(&task),
        (
            TaskState::Failed,
            "Weather Agent could not do it: no such place".into()
        )
    );

    weather.then(
        "SendMessage",
        Reply::Result(json!({"task": remote("r-2", "REJECTED", Some("not me"), &[])})),
    );
    let task = world.ask("Will it rain in Oslo?").await;
    assert_eq!(
        status(&task),
        (
            TaskState::Rejected,
            "Weather Agent could not do it: not me".into()
        )
    );

    weather.then("SendMessage", Reply::Error(-32005, "Incompatible content types"));
    let task = world.ask("Will it rain in Rome?").await;
    assert_eq!(task.status.state, TaskState::Rejected);
}

#[tokio::test]
async fn an_agent_that_does_not_push_is_asked_without() {
    let (world, weather) = world().await;
    weather.then(
        "SendMessage",
        Reply::Error(-32003, "Push Notification is not supported"),
    );
    let task = world.ask("Will it rain in Oslo?").await;
    assert_eq!(task.status.state, TaskState::Working);
    let calls = weather.calls("SendMessage");
    assert!(
        calls[1]["params"]["configuration"]
            .get("taskPushNotificationConfig")
            .is_none()
    );
    assert_eq!(calls[0]["params"]["message"], calls[1]["params"]["message"]);
}

#[tokio::test]
async fn an_agent_that_cannot_read_what_is_attached_gets_the_words_alone() {
    let (world, weather) = world().await;
    weather.then("SendMessage", Reply::Error(-32005, "Incompatible content types"));
    let said = json!({"messageId": "m-1", "role": "ROLE_USER", "contextId": "trip", "parts": [
        {"text": "Will it rain in Oslo?"}, {"raw": "AAAA", "mediaType": "image/png"}]});
    let params = json!({"message": said, "configuration": {"returnImmediately": true}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
    let (_, answer) = world.post("user-1", "/jsonrpc", &body).await;
    let id = answer["result"]["task"]["id"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer}"));
    let task = world.wake(id.parse().unwrap()).await;
    assert_eq!(task.status.state, TaskState::Working);
    let calls = weather.calls("SendMessage");
    let parts = |call: usize| {
        calls[call]["params"]["message"]["parts"]
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!((calls.len(), parts(0), parts(1)), (2, 2, 1));
    assert_eq!(
        calls[0]["params"]["message"]["messageId"],
        calls[1]["params"]["message"]["messageId"]
    );
}

#[tokio::test]
async fn what_an_agent_did_not_take_is_named_in_the_answer() {
    let (world, weather) = world().await;
    weather.then("SendMessage", Reply::Error(-32005, "Incompatible content types"));
    let dry = json!({"task": remote("r-1", "COMPLETED", None, &["Dry."])});
    weather.then("SendMessage", Reply::Result(dry));
    let said = json!({"messageId": "m-1", "role": "ROLE_USER", "contextId": "trip", "parts": [
        {"text": "Will it rain in Oslo?"}, {"raw": "AAAA", "mediaType": "image/png", "filename": "sky.png"},
        {"raw": "BBBB", "mediaType": "image/png", "filename": "sea.png"}]});
    let params = json!({"message": said, "configuration": {"returnImmediately": true}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
    let (_, answer) = world.post("user-1", "/jsonrpc", &body).await;
    let id = answer["result"]["task"]["id"].as_str().unwrap().parse().unwrap();
    let task = world.wake(id).await;
    let (state, text) = status(&task);
    assert_eq!(state, TaskState::Completed);
    assert!(
        text.contains("Dry.") && text.contains("takes no such files: sky.png and sea.png left out."),
        "{text}"
    );
}

#[tokio::test]
async fn what_fits_nobody_is_answered_here() {
    let (world, weather) = world().await;
    let task = world.ask("Write a poem about love").await;
    let (state, text) = status(&task);
    assert_eq!(state, TaskState::Completed);
    assert!(text.contains("Weather Agent"), "{text}");
    assert!(task.jobs.is_empty() && weather.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_switched_off_host_delegates_nothing() {
    let world = world_with(|parts, _| parts.enabled = false).await;
    let task = world.ask("Will it rain in Oslo?").await;
    assert_eq!(task.status.state, TaskState::Rejected);
}

#[tokio::test]
async fn no_agent_is_asked_twice_because_a_push_overtook_an_acknowledgement() {
    let (world, weather) = world().await;
    let flats = world.peer("flats").await;
    world.registered(
        json!([world.weather(), world.flats()]),
        json!({"weather": "global", "flats": "global"}),
    );
    let late = json!({"task": remote("r-1", "SUBMITTED", None, &[])});
    weather.then("SendMessage", Reply::Slow(300, late));
    flats.then(
        "SendMessage",
        Reply::Result(json!({"task": remote("r-2", "SUBMITTED", None, &[])})),
    );
    let id = world
        .say(
            "user-1",
            "m-1",
            "weather in Oslo and a flat for two in Oslo",
            None,
        )
        .await;
    let push = async {
        while weather.calls("SendMessage").is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
        world
            .notified(id, 0, remote("r-1", "WORKING", Some("On it"), &[]))
            .await;
    };
    let (task, ()) = tokio::join!(world.wake(id), push);
    assert_eq!(weather.calls("SendMessage").len(), 1);
    assert_eq!(
        flats.calls("SendMessage").len(),
        1,
        "its acknowledgement was not lost"
    );
    let linked: Vec<_> = task
        .jobs
        .iter()
        .map(|job| job.remote_task_id().unwrap().as_str())
        .collect();
    assert_eq!(linked, ["r-1", "r-2"]);
    assert_eq!(task.jobs[0].remote().unwrap().text.as_deref(), Some("On it"));
}

#[tokio::test]
async fn the_agent_hears_the_users_language_and_clock() {
    let (world, weather) = world().await;
    let said = json!({"switchyard/timeZone": "Europe/Oslo", "switchyard/locale": "en-GB"});
    let mut metadata = said.clone();
    metadata["authUrl"] = json!("https://example.org/"); // is the host's own affair
    let message = json!({
        "messageId": "m-1", "role": "ROLE_USER", "contextId": "trip", "metadata": metadata,
        "parts": [{"text": "Will it rain in Oslo on 3/12?"}],
    });
    let params = json!({"message": message, "configuration": {"returnImmediately": true}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
    let (_, answer) = world.post("user-1", "/jsonrpc", &body).await;
    world
        .wake(TaskId::parse(answer["result"]["task"]["id"].as_str().unwrap()).unwrap())
        .await;
    let calls = weather.calls("SendMessage");
    assert_eq!(calls[0]["params"]["message"]["metadata"], said);
}

#[tokio::test]
async fn a_registry_is_told_once_a_minute_of_an_agent_that_cannot_be_reached() {
    let (world, weather) = world().await;
    wiremock::Mock::given(wiremock::matchers::path_regex("^/registry/agents/.*/unreached$"))
        .respond_with(wiremock::ResponseTemplate::new(202))
        .mount(&world.server)
        .await;
    let told = async || {
        let all = world.server.received_requests().await.unwrap();
        let told = all
            .iter()
            .filter(|asked| asked.url.path().ends_with("/unreached"));
        told.filter(|asked| asked.headers.contains_key("authorization"))
            .count()
    };
    weather.then("SendMessage", Reply::Status(503));
    world.ask("Rain in Oslo?").await;
    assert_eq!(told().await, 1);
    weather.then("SendMessage", Reply::Status(503));
    world.ask("Rain in Bergen?").await;
    assert_eq!(told().await, 1, "it was told a moment ago");
    world.clock.advance(std::time::Duration::from_secs(61));
    weather.then("SendMessage", Reply::Status(503));
    world.ask("Rain in Turin?").await;
    assert_eq!(told().await, 2);
    // An agent that answers is none of its business.
    world.clock.advance(std::time::Duration::from_secs(61));
    weather.then(
        "SendMessage",
        Reply::Result(json!({"task": remote("r-1", "WORKING", None, &[])})),
    );
    world.ask("Rain in Lisbon?").await;
    assert_eq!(told().await, 2);
}
