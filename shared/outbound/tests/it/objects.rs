//! Objects of S3 at a peer that keeps them, is busy now and then, and counts.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::Timestamp;
use outbound::{CallError, Objects, ObjectsPlace, Signer};
use sha2::{Digest as _, Sha256};
use tokio::sync::Mutex;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::support::outbound;

fn now() -> Timestamp {
    Timestamp::from_millis(1_767_225_600_500)
}

async fn objects(server: &MockServer) -> Objects {
    let place = ObjectsPlace {
        bucket: "b".to_owned(),
        signer: Signer {
            service: "s3",
            region: "eu-north-1".to_owned(),
            credentials: Some(SharedCredentialsProvider::new(Credentials::new(
                "AKIA", "k", None, None, "test",
            ))),
        },
        endpoint: Some(server.uri().parse().unwrap()),
    };
    Objects::new(outbound(), place).unwrap()
}

#[tokio::test]
async fn what_is_put_comes_back_as_it_was_also_where_the_peer_is_busy_at_first() {
    let server = MockServer::start().await;
    let (kept, asked) = (
        Arc::new(Mutex::new(BTreeMap::new())),
        Arc::new(AtomicUsize::new(0)),
    );
    let (keeps, counts) = (kept.clone(), asked.clone());
    let answer = move |request: &Request| {
        let told = request.headers["authorization"].to_str().unwrap();
        assert!(told.starts_with("AWS4-HMAC-SHA256 Credential=AKIA/20260101/eu-north-1/s3/aws4_request, "));
        let hash = request.headers.get("x-amz-checksum-sha256");
        assert_eq!(
            hash.is_some(),
            request.method.as_str() == "PUT",
            "what a locked bucket wants"
        );
        assert_eq!(told.contains(";x-amz-checksum-sha256;"), hash.is_some(), "{told}");
        if let Some(hash) = hash {
            let own = STANDARD.encode(Sha256::digest(&request.body));
            assert_eq!(hash.to_str().unwrap(), own);
        }
        if counts.fetch_add(1, Ordering::SeqCst).is_multiple_of(2) {
            return ResponseTemplate::new(503);
        }
        let (key, mut kept) = (request.url.path().to_owned(), keeps.try_lock().unwrap());
        match request.method.as_str() {
            "PUT" => _ = kept.insert(key, request.body.clone()),
            "DELETE" => _ = kept.remove(&key),
            _ => {
                return kept
                    .get(&key)
                    .map_or(ResponseTemplate::new(404), |bytes: &Vec<u8>| {
                        ResponseTemplate::new(200).set_body_bytes(bytes.clone())
                    });
            }
        }
        ResponseTemplate::new(200)
    };
    Mock::given(any()).respond_with(answer).mount(&server).await;
    let objects = objects(&server).await;
    // What looks packed is not unpacked: it is somebody's file.
    let packed = [&[0x1f, 0x8b, 8][..], &[7; 1000]].concat();
    for (key, bytes) in [("acme#chat#a%2Fb/0", &packed), ("é/ü", &Vec::new())] {
        assert_eq!(objects.get(key, 2000, now()).await.unwrap(), None);
        objects.put(key, bytes, now()).await.unwrap();
        assert_eq!(objects.get(key, 2000, now()).await.unwrap().as_ref(), Some(bytes));
    }
    let names: Vec<String> = kept.lock().await.keys().cloned().collect();
    assert_eq!(names, ["/b/%C3%A9/%C3%BC", "/b/acme%23chat%23a%252Fb/0"]);
    let more = objects.get("acme#chat#a%2Fb/0", 1000, now()).await;
    assert!(matches!(more, Err(CallError::TooLarge(1000))), "{more:?}");
    objects.delete("é/ü", now()).await.unwrap();
    objects.delete("é/ü", now()).await.unwrap();
    assert_eq!(objects.get("é/ü", 1, now()).await.unwrap(), None);
    assert!(asked.load(Ordering::SeqCst) >= 18, "each was asked twice");
}

#[tokio::test]
async fn an_object_comes_in_parts_and_goes_out_by_ranges() {
    let server = MockServer::start().await;
    let parts = Arc::new(Mutex::new(BTreeMap::new()));
    let keeps = parts.clone();
    let answer = move |request: &Request| {
        let mut parts = keeps.try_lock().unwrap();
        let query: BTreeMap<String, String> = request.url.query_pairs().into_owned().collect();
        let number = query.get("partNumber");
        match (request.method.as_str(), query.get("uploadId").map(String::as_str)) {
            ("POST", None) if query.contains_key("uploads") => {
                let told = "<InitiateMultipartUploadResult><UploadId>a/b&amp;c</UploadId></InitiateMultipartUploadResult>";
                ResponseTemplate::new(200).set_body_string(told)
            }
            ("PUT", Some("a/b&c")) => {
                let number = number.unwrap().clone();
                let tag = format!("\"{number}&\"");
                parts.insert(number, request.body.clone());
                ResponseTemplate::new(200).insert_header("etag", tag.as_str())
            }
            ("POST", Some("a/b&c")) => {
                let told = String::from_utf8(request.body.clone()).unwrap();
                let wanted: String = (1..=parts.len())
                    .map(|at| format!("<Part><PartNumber>{at}</PartNumber><ETag>\"{at}&amp;\"</ETag></Part>"))
                    .collect();
                assert_eq!(
                    told,
                    format!("<CompleteMultipartUpload>{wanted}</CompleteMultipartUpload>")
                );
                let told = match parts.len() {
                    2 => "<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>",
                    // S3 has begun its answer by the time it knows.
                    _ => "<Error><Code>InternalError</Code><ETag>x</ETag></Error>",
                };
                ResponseTemplate::new(200).set_body_string(told)
            }
            ("GET", None) => {
                let range = request.headers["range"].to_str().unwrap();
                assert_eq!(range, "bytes=5-8");
                let whole: Vec<u8> = parts.values().flatten().copied().collect();
                ResponseTemplate::new(206).set_body_bytes(whole[5..whole.len().min(9)].to_vec())
            }
            other => panic!("{other:?}"),
        }
    };
    Mock::given(any()).respond_with(answer).mount(&server).await;
    let objects = objects(&server).await;
    let upload = objects.begin("k#1/0", now()).await.unwrap();
    let first = objects
        .put_part(("k#1/0", &upload, 1), b"abcdef", now())
        .await
        .unwrap();
    let broken = objects
        .end(("k#1/0", &upload), std::slice::from_ref(&first), now())
        .await;
    assert!(matches!(broken, Err(CallError::BadAnswer(_))), "{broken:?}");
    let second = objects
        .put_part(("k#1/0", &upload, 2), b"gh", now())
        .await
        .unwrap();
    objects
        .end(("k#1/0", &upload), &[first, second], now())
        .await
        .unwrap();
    let piece = objects.piece("k#1/0", (5, 4), now()).await.unwrap();
    assert_eq!(piece.as_deref(), Some(&b"fgh"[..]));
}

#[tokio::test]
async fn who_refuses_or_stays_busy_is_told_so() {
    let server = MockServer::start().await;
    let objects = objects(&server).await;
    for (status, tries) in [(403, 1), (301, 1), (503, 3)] {
        server.reset().await;
        let answers = Mock::given(any()).respond_with(ResponseTemplate::new(status));
        answers.expect(tries).mount(&server).await;
        let refused = objects.put("a", b"x", now()).await;
        assert!(
            matches!(refused, Err(CallError::Status(told)) if told == status),
            "{refused:?}"
        );
        server.verify().await;
    }
    server.reset().await;
    Mock::given(any())
        .respond_with(ResponseTemplate::new(200).set_body_string("rubbish"))
        .mount(&server)
        .await;
    let listed = objects.list("acme#", None, now()).await;
    assert!(matches!(listed, Err(CallError::BadAnswer(_))), "{listed:?}");
}
