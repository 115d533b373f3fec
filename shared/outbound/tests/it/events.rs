//! Streams of events from servers that misbehave.

use std::time::Duration;

use domain::SecretString;
use outbound::{CallError, EventLimits, EventRefusal, EventStream, ServerEvent, Streamed};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use url::Url;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::support::{header, only_request, outbound, token};

const HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\nconnection: close\r\n\r\n";

/// What a server does after it was asked.
#[derive(Clone)]
enum Then {
    Say(Vec<u8>),
    Wait(u64),
    Hang,
}

fn say(text: impl AsRef<[u8]>) -> Then {
    Then::Say(text.as_ref().to_vec())
}

async fn server(script: Vec<Then>) -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut asked = vec![0; 4096];
        let _ = stream.read(&mut asked).await;
        for then in script {
            match then {
                Then::Say(bytes) => {
                    if stream.write_all(&bytes).await.is_err() {
                        return;
                    }
                }
                Then::Wait(millis) => tokio::time::sleep(Duration::from_millis(millis)).await,
                Then::Hang => std::future::pending().await,
            }
        }
    });
    Url::parse(&url).unwrap()
}

fn short() -> EventLimits {
    EventLimits {
        first_byte: Duration::from_millis(300),
        idle: Duration::from_millis(200),
        whole: Duration::from_secs(2),
        bytes: 10_000,
    }
}

async fn asked(url: &Url, limits: EventLimits) -> Result<Streamed, CallError> {
    outbound()
        .post_for_events(url, &json!({}), Some(&token()), limits)
        .await
}

async fn opened(script: Vec<Then>) -> EventStream {
    match asked(&server(script).await, short()).await.unwrap() {
        Streamed::Events(events) => events,
        Streamed::Refused(refusal) => unreachable!("{refusal:?}"),
    }
}

/// All data, and how it ended.
async fn read(script: Vec<Then>) -> (Vec<String>, Result<(), CallError>) {
    let mut events = opened(script).await;
    let mut data = Vec::new();
    loop {
        match events.next().await {
            Ok(Some(event)) => data.push(event.data),
            Ok(None) => return (data, Ok(())),
            Err(error) => {
                assert!(
                    matches!(events.next().await, Ok(None)),
                    "after an error it is over"
                );
                return (data, Err(error));
            }
        }
    }
}

#[tokio::test]
async fn events_come_as_they_are_sent_however_they_are_cut() {
    let text = "\u{feff}: hello\r\n\r\ndata: a\ndata: b\n\nevent: error\ndata:{\"x\":\"é\"}\r\n\r\nid: 7\n\ndata: [DONE]\n\n";
    let mut events = opened(vec![say(HEAD), say(text)]).await;
    let event = |name: Option<&str>, data: &str| ServerEvent {
        name: name.map(str::to_owned),
        data: data.to_owned(),
    };
    for expected in [
        event(None, "a\nb"),
        event(Some("error"), "{\"x\":\"é\"}"),
        event(None, "[DONE]"),
    ] {
        assert_eq!(events.next().await.unwrap(), Some(expected));
    }
    assert_eq!(events.next().await.unwrap(), None);
    // Byte by byte, in the middle of characters too.
    let mut script = vec![say(HEAD)];
    for byte in text.bytes() {
        script.extend([say([byte]), Then::Wait(1)]);
    }
    let (data, ended) = read(script).await;
    assert_eq!(data, ["a\nb", "{\"x\":\"é\"}", "[DONE]"]);
    assert!(ended.is_ok());
}

#[tokio::test]
async fn an_event_without_its_end_is_none() {
    let (data, ended) = read(vec![say(HEAD), say("data: a\n\ndata: half")]).await;
    assert_eq!((data, ended.is_ok()), (vec!["a".to_owned()], true));
}

#[tokio::test]
async fn half_a_character_is_a_bad_answer() {
    let (data, ended) = read(vec![say(HEAD), say("data: a\n\n"), say(b"data: \xc3\n\n")]).await;
    assert_eq!(data, ["a"]);
    assert!(matches!(ended, Err(CallError::BadAnswer(_))), "{ended:?}");
}

#[tokio::test]
async fn silence_ends_a_stream_wherever_it_comes() {
    let nothing = server(vec![Then::Hang]).await;
    assert!(matches!(asked(&nothing, short()).await, Err(CallError::Timeout)));
    let (data, ended) = read(vec![say(HEAD), Then::Hang]).await;
    assert!(
        data.is_empty() && matches!(ended, Err(CallError::Timeout)),
        "{ended:?}"
    );
    let (data, ended) = read(vec![say(HEAD), say("data: a\n\n"), Then::Hang]).await;
    assert_eq!(data, ["a"]);
    assert!(matches!(ended, Err(CallError::Timeout)), "{ended:?}");
    // A word now and then holds it open, up to its whole time.
    let mut script = vec![say(HEAD)];
    for _ in 0..40 {
        script.extend([say(": still here\n\n"), Then::Wait(100)]);
    }
    let (data, ended) = read(script).await;
    assert!(
        data.is_empty() && matches!(ended, Err(CallError::Timeout)),
        "{ended:?}"
    );
}

#[tokio::test]
async fn a_broken_connection_is_no_end() {
    let head = HEAD.replace("connection: close", "content-length: 1000");
    let (data, ended) = read(vec![say(head), say("data: a\n\n")]).await;
    assert_eq!(data, ["a"]);
    assert!(matches!(ended, Err(CallError::Unreachable { .. })), "{ended:?}");
}

#[tokio::test]
async fn more_than_is_wanted_is_not_read() {
    let long = format!("data: {}\n\n", "x".repeat(6_000));
    let (data, ended) = read(vec![say(HEAD), say(&long), Then::Wait(20), say(&long)]).await;
    assert_eq!(data.len(), 1);
    assert!(matches!(ended, Err(CallError::TooLarge(10_000))), "{ended:?}");
}

#[tokio::test]
async fn a_refusal_says_why_and_when_to_come_again() {
    let refused = |status: u16, wait: Option<u64>, body: Value| EventRefusal {
        status,
        retry_after: wait.map(Duration::from_secs),
        body,
    };
    let told = json!({"error": {"code": "rate_limit_exceeded"}});
    let json = |status: u16| ResponseTemplate::new(status).set_body_json(&told);
    for (answer, expected) in [
        (
            json(429).insert_header("retry-after", "3"),
            refused(429, Some(3), told.clone()),
        ),
        // A date says it too, but no model server does.
        (
            json(503).insert_header("retry-after", "Fri, 31 Dec 1999 23:59:59 GMT"),
            refused(503, None, told.clone()),
        ),
        (
            ResponseTemplate::new(500).set_body_string("<html>"),
            refused(500, None, Value::Null),
        ),
        (
            ResponseTemplate::new(400).set_body_bytes(vec![b'x'; 100_000]),
            refused(400, None, Value::Null),
        ),
        // A success that is no stream.
        (json(200), refused(200, None, told.clone())),
    ] {
        let server = MockServer::start().await;
        Mock::given(any()).respond_with(answer).mount(&server).await;
        let url = Url::parse(&server.uri()).unwrap();
        let Streamed::Refused(refusal) = asked(&url, short()).await.unwrap() else {
            panic!("no stream");
        };
        assert_eq!(refusal, expected);
        let request = only_request(&server).await;
        assert_eq!(header(&request, "accept").as_deref(), Some("text/event-stream"));
        assert_eq!(
            header(&request, "authorization").as_deref(),
            Some("Bearer the-token")
        );
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_the_key_stays() {
    let elsewhere = MockServer::start().await;
    let to_it = ResponseTemplate::new(307).insert_header("location", elsewhere.uri());
    let server = MockServer::start().await;
    Mock::given(any()).respond_with(to_it).mount(&server).await;
    let url = Url::parse(&server.uri()).unwrap();
    let Streamed::Refused(refusal) = asked(&url, short()).await.unwrap() else {
        panic!("no stream");
    };
    assert_eq!(refusal.status, 307);
    assert!(elsewhere.received_requests().await.unwrap().is_empty());
}

#[tokio::test]
async fn an_address_that_is_not_allowed_is_not_asked_and_the_key_not_told() {
    let key = SecretString::from("hunter2");
    for url in [
        "https://169.254.169.254/v1",
        "http://models.example/v1",
        "https://10.0.0.7/v1",
    ] {
        let url = Url::parse(url).unwrap();
        let told = outbound()
            .post_for_events(&url, &json!({}), Some(&key), short())
            .await;
        assert!(matches!(told, Err(CallError::NotAllowed(_))), "{url}: {told:?}");
    }
    let (line, url) = (
        SecretString::from("hunter2\nx: y"),
        "http://127.0.0.1:9/".parse().unwrap(),
    );
    let told = outbound()
        .post_for_events(&url, &json!({}), Some(&line), short())
        .await;
    assert!(!format!("{told:?}").contains("hunter2"));
}
