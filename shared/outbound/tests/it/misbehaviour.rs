//! Peers that hang, break off, or never stop.

use std::io::Write as _;
use std::time::{Duration, Instant};

use outbound::{CallError, Outbound};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use url::Url;
use wiremock::matchers::{any, header};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::support::with;

async fn get(out: &Outbound, url: &str) -> CallError {
    out.get_json::<Value>(&Url::parse(url).unwrap(), None)
        .await
        .unwrap_err()
}

/// A raw peer: reads the request, then does this with the connection.
async fn peer<F>(then: impl Fn(TcpStream) -> F + Send + 'static) -> String
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 1024];
            let _ = stream.read(&mut request).await;
            tokio::spawn(then(stream));
        }
    });
    format!("http://{address}/")
}

#[tokio::test]
async fn a_server_that_hangs_is_given_up() {
    let short = with(|policy| policy.timeout = Duration::from_millis(200));
    let silent = peer(|stream| async move {
        std::future::pending::<()>().await;
        drop(stream);
    })
    .await;
    let dripping = peer(|mut stream| async move {
        let _ = stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n")
            .await;
        while stream.write_all(b" ").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    for url in [silent, dripping] {
        let started = Instant::now();
        let told = get(&short, &url).await;
        assert!(matches!(told, CallError::Timeout), "{told:?}");
        assert!(told.is_retryable());
        assert!(started.elapsed() < Duration::from_secs(3));
    }
}

#[tokio::test]
async fn a_body_too_large_is_not_read() {
    let small = with(|policy| policy.max_body = 1000);
    let server = MockServer::start().await;
    let large = ResponseTemplate::new(200).set_body_string(format!("\"{}\"", "x".repeat(5000)));
    Mock::given(any()).respond_with(large).mount(&server).await;
    let told = get(&small, &server.uri()).await;
    assert!(matches!(told, CallError::TooLarge(1000)), "{told:?}");

    // One that does not say how long it is, and never ends.
    let endless = peer(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
        while stream.write_all(&[b' '; 512]).await.is_ok() {}
    })
    .await;
    let told = get(&small, &endless).await;
    assert!(matches!(told, CallError::TooLarge(1000)), "{told:?}");

    // A refusal is told by its status, however much it says.
    let server = MockServer::start().await;
    let large = ResponseTemplate::new(503).set_body_string("x".repeat(5000));
    Mock::given(any()).respond_with(large).mount(&server).await;
    assert!(matches!(get(&small, &server.uri()).await, CallError::Status(503)));
}

/// What servers that pack their answers unasked send; the bound is one of what comes out.
#[tokio::test]
async fn an_answer_that_is_packed_unasked_is_read_up_to_the_bound_of_what_comes_out() {
    let small = with(|policy| policy.max_body = 1000);
    let packed = |text: &[u8]| {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        packed.write_all(text).unwrap();
        packed.finish().unwrap()
    };
    let good = packed(b"{\"rain\": 4}");
    let bomb = packed(&[b' '; 1 << 20]);
    assert!(bomb.len() < 2000, "it looks harmless");
    let twice = packed(&good);
    let cut = good.get(..good.len() - 9).unwrap().to_vec();
    let hollow = packed(b"").repeat(40);
    for (name, body, read) in [
        ("good", good.clone(), Some(r#"{"rain":4}"#)),
        (
            "in two members",
            [packed(b"{\"rain\":"), packed(b" 4}")].concat(),
            Some(r#"{"rain":4}"#),
        ),
        ("said by nobody", good, Some(r#"{"rain":4}"#)),
        ("nothing", hollow, Some("null")),
        ("a bomb", bomb, None),
        ("packed twice", twice, None),
        ("cut", cut, None),
        ("said and not done", b"{}".to_vec(), Some("{}")),
    ] {
        let server = MockServer::start().await;
        let answer = ResponseTemplate::new(200).set_body_bytes(body);
        let answer = match name {
            "said by nobody" => answer,
            _ => answer.insert_header("content-encoding", "gzip"),
        };
        let asked = Mock::given(header("accept-encoding", "identity"));
        asked.respond_with(answer).mount(&server).await;
        let url = Url::parse(&server.uri()).unwrap();
        let told = small.get_json::<Value>(&url, None).await;
        assert_eq!(
            told.as_ref().ok().map(Value::to_string).as_deref(),
            read,
            "{name}: {told:?}"
        );
        let as_it_should = match name {
            "a bomb" => matches!(told, Err(CallError::TooLarge(1000))),
            // It came, so that nothing is asked again for it.
            _ => matches!(told, Ok(_) | Err(CallError::BadAnswer(_))),
        };
        assert!(as_it_should, "{name}: {told:?}");
    }
}

#[tokio::test]
async fn connections_that_break_are_unreachable() {
    let out = with(|_| {});
    let cut = peer(|mut stream| async move {
        let _ = stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{")
            .await;
    })
    .await;
    let rude = peer(|stream| async move { drop(stream) }).await;
    let gibberish = peer(|mut stream| async move {
        let _ = stream.write_all(b"\x00\x01\x02 nonsense \r\n\r\n").await;
    })
    .await;
    let nobody = {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        format!("http://{}/", listener.local_addr().unwrap())
    };
    for url in [cut, rude, gibberish, nobody] {
        let told = get(&out, &url).await;
        assert!(matches!(told, CallError::Unreachable { .. }), "{told:?}");
        assert!(told.is_retryable() && !told.may_have_arrived());
    }
}

#[tokio::test]
async fn a_connection_that_breaks_after_a_while_was_in_use() {
    let out = with(|_| {});
    let works = peer(|stream| async move {
        tokio::time::sleep(Duration::from_millis(2_300)).await;
        drop(stream);
    })
    .await;
    let told = get(&out, &works).await;
    assert!(
        matches!(told, CallError::Timeout) && told.may_have_arrived(),
        "{told:?}"
    );
}
