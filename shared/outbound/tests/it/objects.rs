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
