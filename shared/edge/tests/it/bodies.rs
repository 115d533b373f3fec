//! The bound of request bodies, in-process and over a real connection.

use std::io::{Read as _, Write as _};

use axum::Router;
use axum::body::{Body, Bytes};
use edge::BODY_LIMIT;
use futures_util::stream;
use http::Request;
use http::header::{CONTENT_LENGTH, EXPECT};
use routes::Routes;
use serde_json::Value;

use crate::support::{ask, fronted, json};

fn router() -> Router {
    fronted(
        Routes::new()
            .post("/length", "", async |body: Bytes| body.len().to_string())
            .post("/blind", "", async || "did not look"),
    )
}

fn chunked(length: usize) -> Body {
    let chunk = Bytes::from(vec![b'x'; 64 * 1024]);
    let chunks = (0..length.div_ceil(chunk.len())).map(move |_| Ok::<_, std::io::Error>(chunk.clone()));
    Body::from_stream(stream::iter(chunks))
}

async fn check(path: &str, length_header: Option<&str>, body: Body, status: u16) {
    let mut request = Request::post(path).body(body).unwrap();
    if let Some(length) = length_header {
        request
            .headers_mut()
            .insert(CONTENT_LENGTH, length.parse().unwrap());
    }
    let response = ask(&router(), request).await;
    assert_eq!(response.status(), status, "{path} {length_header:?}");
    if status == 413 {
        assert_eq!(json(response).await["error"], "payload_too_large");
    }
}

#[tokio::test]
async fn a_body_up_to_the_limit_passes_and_one_byte_more_does_not() {
    check("/length", None, Body::from(vec![0; BODY_LIMIT]), 200).await;
    check("/length", None, Body::from(vec![0; BODY_LIMIT + 1]), 413).await;
}

#[tokio::test]
async fn a_long_body_is_refused_whatever_its_length_header_says() {
    check("/length", None, chunked(10 * BODY_LIMIT), 413).await;
    check("/length", Some("3"), chunked(10 * BODY_LIMIT), 413).await;
    check("/length", Some("rubbish"), chunked(10 * BODY_LIMIT), 413).await;
    // Endless: not even the throwing away goes on for ever.
    check("/length", None, chunked(100 * BODY_LIMIT), 413).await;
}

#[tokio::test]
async fn a_long_body_is_refused_also_where_nobody_reads_it() {
    check("/blind", None, chunked(2 * BODY_LIMIT), 413).await;
    check("/nowhere", None, chunked(2 * BODY_LIMIT), 413).await;
}

#[tokio::test]
async fn a_body_that_breaks_off_is_a_bad_request() {
    let broken = stream::iter([
        Ok(Bytes::from_static(b"half")),
        Err(std::io::Error::other("gone")),
    ]);
    check("/length", None, Body::from_stream(broken), 400).await;
}

#[tokio::test]
async fn who_asks_first_is_told_before_sending() {
    let mut request = Request::post("/length")
        .body(Body::from_stream(
            stream::pending::<Result<Bytes, std::io::Error>>(),
        ))
        .unwrap();
    request
        .headers_mut()
        .insert(CONTENT_LENGTH, "10000000".parse().unwrap());
    request
        .headers_mut()
        .insert(EXPECT, "100-continue".parse().unwrap());
    assert_eq!(ask(&router(), request).await.status(), 413);
}

#[tokio::test]
async fn a_client_that_sends_ten_megabytes_gets_to_read_the_refusal() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move { axum::serve(listener, router()).await });

    let client = tokio::task::spawn_blocking(move || {
        let mut connection = std::net::TcpStream::connect(address).unwrap();
        let length = 10 * BODY_LIMIT;
        let head = format!(
            "POST /length HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
        );
        connection.write_all(head.as_bytes()).unwrap();
        connection.write_all(&vec![b'x'; length]).unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        answer
    });
    let answer = client.await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    let body: Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    assert_eq!(body["error"], "payload_too_large");
    server.abort();
}
