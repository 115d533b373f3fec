//! How a call wants to be treated: extensions of the protocol that it declares, media types that it sends and takes.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use a2a::card::{Extension, Skill};
use agent::Access;
use domain::Terms;
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};

use crate::support::{Bench, bench, done, id_of, message, now, state};

const OPTIONAL: &str = "https://ext.example/units/v1";
const REQUIRED: &str = "https://ext.example/orders/v2";

fn extension(uri: &str, required: bool) -> Extension {
    Extension {
        uri: uri.into(),
        required,
        ..Extension::default()
    }
}

async fn extended(extensions: Vec<Extension>) -> (Bench, Arc<Mutex<Vec<Terms>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    let script = move |_, run: &mut agent::Run| {
        let asked = run.task().last_user_message().unwrap();
        noted.lock().unwrap().push(asked.terms.clone());
        Ok(done())
    };
    let mut bench = bench(Access::Secured, Box::new(script)).await;
    Arc::get_mut(&mut bench.agent).unwrap().card.extensions = extensions;
    (bench, seen)
}

/// A request with that header, where there is one.
fn post(path: &str, header: Option<(&str, &str)>) -> http::request::Builder {
    let request = Request::post(path).header("content-type", "application/json");
    match header {
        Some((name, value)) => request.header(name, value),
        None => request,
    }
}

fn send_body(id: &str, version: &str) -> String {
    let (method, said) = match version {
        "0.3" => (
            "message/send",
            json!({ "messageId": id, "role": "user", "kind": "message", "parts": [{ "kind": "text", "text": "hi" }] }),
        ),
        _ => ("SendMessage", message(id, "hi")),
    };
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": { "message": said } }).to_string()
}

#[tokio::test]
async fn a_required_extension_has_to_be_declared() {
    let (bench, seen) = extended(vec![extension(OPTIONAL, false), extension(REQUIRED, true)]).await;
    let overlong = "x".repeat(5_000);
    let many = vec!["https://ext.example/other"; 500].join(",");
    let late = (0..60)
        .map(|number| format!("urn:x:{number}"))
        .collect::<Vec<_>>()
        .join(",")
        + ","
        + REQUIRED;
    for header in [
        None,
        Some(("a2a-extensions", "")),
        Some(("a2a-extensions", OPTIONAL)),
        Some(("a2a-extensions", "https://ext.example/orders/v1")),
        Some(("a2a-extensions", "https://ext.example/orders/v22")),
        Some(("a2a-extensions", ",;=\"\\ \u{e9}")),
        Some(("a2a-extensions", overlong.as_str())),
        Some(("a2a-extensions", many.as_str())),
        Some(("a2a-extensions", late.as_str())),
    ] {
        let (status, told) = bench
            .json(
                Some("ann"),
                post("/", header).header("a2a-version", "1.0"),
                &send_body("m", "1.0"),
            )
            .await;
        assert_eq!(
            (status, &told["error"]["code"]),
            (StatusCode::OK, &json!(-32008)),
            "{header:?} {told}"
        );
        assert_eq!(told["error"]["data"][0]["reason"], "EXTENSION_SUPPORT_REQUIRED");
        let body = json!({ "message": message("m", "hi") }).to_string();
        let (status, told) = bench
            .json(Some("ann"), post("/message:send", header), &body)
            .await;
        assert_eq!(
            (status, &told["error"]["status"]),
            (StatusCode::BAD_REQUEST, &json!("FAILED_PRECONDITION")),
            "{told}"
        );
        // 0.3 has no word for it.
        let (_, told) = bench
            .json(Some("ann"), post("/", header), &send_body("m", "0.3"))
            .await;
        assert_eq!(told["error"]["code"], -32600, "{told}");
    }
    let look = json!({ "jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": { "id": "x" } }).to_string();
    let (_, told) = bench.json(Some("ann"), post("/", None), &look).await;
    assert_eq!(told["error"]["code"], -32008, "every operation: {told}");
    assert_eq!(bench.executor.runs.load(Ordering::SeqCst), 0);
    assert!(seen.lock().unwrap().is_empty());
    // Whoever does not know of it learns it from the card.
    let (_, card) = bench
        .json(None, Request::get("/.well-known/agent-card.json"), "")
        .await;
    for extensions in [
        &card["capabilities"]["extensions"],
        &bench
            .json(
                None,
                Request::get("/.well-known/agent-card.json").header("a2a-version", "0.3"),
                "",
            )
            .await
            .1["capabilities"]["extensions"],
    ] {
        assert_eq!(
            *extensions,
            json!([{ "uri": OPTIONAL }, { "uri": REQUIRED, "required": true }])
        );
    }
}

#[tokio::test]
async fn what_is_declared_is_in_use_and_said_so() {
    let (bench, seen) = extended(vec![extension(OPTIONAL, false), extension(REQUIRED, true)]).await;
    let both = format!("{REQUIRED} ,https://ext.example/unknown,{OPTIONAL},{REQUIRED}");
    let in_order = format!("{OPTIONAL}, {REQUIRED}");
    for (number, (version, asked, answered)) in [
        ("1.0", "a2a-extensions", "a2a-extensions"),
        ("0.3", "x-a2a-extensions", "x-a2a-extensions"),
        ("1.0", "x-a2a-extensions", "a2a-extensions"),
    ]
    .into_iter()
    .enumerate()
    {
        let request = post("/", Some((asked, both.as_str()))).header("a2a-version", version);
        let body = send_body(&format!("m{number}"), version);
        let response = bench.ask(Some("ann"), request, &body).await;
        assert_eq!(response.headers()[answered], in_order.as_str());
        let terms = seen.lock().unwrap().pop().unwrap();
        assert_eq!(terms.extensions, [OPTIONAL, REQUIRED]);
    }
    // Over REST, in a stream, and by a message that uses it.
    let mut said = message("m9", "hi");
    said["extensions"] = json!([REQUIRED, "https://ext.example/unknown"]);
    let body = json!({ "message": said }).to_string();
    let response = bench.ask(Some("ann"), post("/message:stream", None), &body).await;
    assert_eq!(response.headers()["a2a-extensions"], REQUIRED);
    response.into_body().collect().await.unwrap();
    assert_eq!(seen.lock().unwrap().pop().unwrap().extensions, [REQUIRED]);
    // What stood beside a message is no part of it: the same with another header is a repeat.
    let again = post("/message:send", Some(("a2a-extensions", both.as_str())));
    let (status, repeat) = bench.json(Some("ann"), again, &body).await;
    assert_eq!(status, StatusCode::OK, "{repeat}");
    assert!(seen.lock().unwrap().is_empty(), "it does not run again");
    assert!(!repeat.to_string().contains("terms"), "{repeat}");
}

#[tokio::test]
async fn an_agent_without_extensions_ignores_them() {
    let (bench, seen) = extended(Vec::new()).await;
    let request = post("/", Some(("a2a-extensions", OPTIONAL))).header("a2a-version", "1.0");
    let response = bench.ask(Some("ann"), request, &send_body("m", "1.0")).await;
    assert!(response.headers().get("a2a-extensions").is_none());
    assert!(seen.lock().unwrap()[0].is_none());
}

fn with_part(id: &str, part: Value) -> Value {
    json!({ "messageId": id, "role": "ROLE_USER", "parts": [{ "text": "look" }, part] })
}

#[tokio::test]
async fn content_that_the_agent_cannot_read_is_refused_and_nothing_else() {
    let (mut bench, _) = extended(Vec::new()).await;
    Arc::get_mut(&mut bench.agent).unwrap().card.skills = vec![Skill {
        id: "look".into(),
        input_modes: vec!["image/*".into()],
        ..Skill::default()
    }];
    for (number, (part, taken)) in [
        (json!({ "raw": "AAAA" }), true),
        (json!({ "url": "https://a.example/x", "mediaType": "" }), true),
        (json!({ "data": { "a": 1 } }), true),
        (json!({ "text": "# hi", "mediaType": "text/markdown" }), true),
        (
            json!({ "text": "hi", "mediaType": "TEXT/PLAIN; charset=utf-8" }),
            true,
        ),
        (json!({ "raw": "AAAA", "mediaType": "image/png" }), true),
        (
            json!({ "raw": "AAAA", "mediaType": "application/x-unknown" }),
            false,
        ),
        (json!({ "data": 1, "mediaType": "application/json" }), false),
        (
            json!({ "url": "https://a.example/x", "mediaType": "video/mp4" }),
            false,
        ),
        (json!({ "raw": "AAAA", "mediaType": "no media type" }), false),
        (json!({ "raw": "AAAA", "mediaType": "/".repeat(3_000) }), false),
    ]
    .into_iter()
    .enumerate()
    {
        let answer = bench
            .send("ann", with_part(&format!("m{number}"), part.clone()), now())
            .await;
        if taken {
            assert_eq!(state(&answer), "TASK_STATE_SUBMITTED", "{part}");
        } else {
            assert_eq!(answer["error"]["code"], -32005, "{part}");
            assert_eq!(answer["error"]["data"][0]["reason"], "CONTENT_TYPE_NOT_SUPPORTED");
        }
    }
    let part = json!({ "raw": "AAAA", "mediaType": "video/mp4" });
    let body = json!({ "message": with_part("r", part.clone()) }).to_string();
    for path in ["/message:send", "/message:stream"] {
        let (status, told) = bench.json(Some("ann"), post(path, None), &body).await;
        assert_eq!(
            (status, &told["error"]["code"]),
            (StatusCode::BAD_REQUEST, &json!(400)),
            "{told}"
        );
    }
    // 0.3 over REST has the status of its SDK.
    let old = json!({ "message": { "messageId": "o", "role": "user", "kind": "message", "parts": [
        { "kind": "file", "file": { "bytes": "AAAA", "mimeType": "video/mp4" } }] } });
    let (status, _) = bench
        .json(Some("ann"), post("/v1/message:send", None), &old.to_string())
        .await;
    assert_eq!(status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    // A task that waits is not touched by a message that cannot be read.
    let id = id_of(&bench.send("ann", message("first", "hi"), now()).await);
    let mut more = with_part("second", part);
    more["taskId"] = json!(id);
    assert_eq!(bench.send("ann", more, now()).await["error"]["code"], -32005);
    assert_eq!(
        bench.act("ann", "GetTask", &id).await["result"]["history"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[tokio::test]
async fn an_answer_that_its_reader_cannot_read_is_not_begun() {
    let (mut bench, seen) = extended(Vec::new()).await;
    Arc::get_mut(&mut bench.agent).unwrap().card.default_output_modes =
        vec!["text/markdown".into(), "application/json".into()];
    let many: Vec<String> = (0..100)
        .map(|number| format!("text/x-{number}"))
        .chain(["*/*".into()])
        .collect();
    for (number, (modes, taken)) in [
        (json!([]), true),
        (json!(["text/plain"]), true),
        (json!(["text"]), true),
        (json!(["image/png", "application/json;v=1"]), true),
        (json!(["*/*"]), true),
        (json!(many), true),
        (json!(["image/png"]), false),
        (json!(["application/x-unknown", ""]), false),
    ]
    .into_iter()
    .enumerate()
    {
        let id = format!("m{number}");
        let configuration = json!({ "acceptedOutputModes": modes });
        let answer = bench.send("ann", message(&id, "hi"), configuration).await;
        if taken {
            assert_eq!(state(&answer), "TASK_STATE_COMPLETED", "{modes}");
            let told = seen.lock().unwrap().pop().unwrap().output_modes;
            assert!(told.len() <= 32, "{}", told.len());
            assert!(
                told.iter()
                    .zip(modes.as_array().unwrap())
                    .all(|(told, mode)| mode == told)
            );
        } else {
            assert_eq!(answer["error"]["code"], -32005, "{modes}: {answer}");
        }
    }
    assert!(seen.lock().unwrap().is_empty());
}
