//! Credentials of one tenant, and the secrets of its record, by the real clients, against STS and KMS on loopback.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use domain::{Clock as _, ExposeSecret as _, SecretString, SystemClock, SystemEntropy, Tenant};
use edge::aws::{Caller, Service, Sessions};
use edge::secrets::{SealedSecrets, SecretSource as _, Secrets, SecretsPlace, seal};
use outbound::{Outbound, Policy};
use serde_json::{Value, json};
use url::Url;

/// STS and KMS, as far as they are asked: each call's target or action, whom it was signed by, and the body.
#[derive(Clone, Default)]
struct Aws {
    calls: Arc<Mutex<Vec<(String, String, String)>>>,
    /// For how long a session that it gives lasts.
    lasts: Arc<Mutex<Duration>>,
    /// Data keys by what they are encrypted as, with their context.
    keys: Arc<Mutex<BTreeMap<String, (String, Value)>>>,
}

impl Aws {
    async fn start() -> (Self, Url) {
        let aws = Self::default();
        *aws.lasts.lock().unwrap() = Duration::from_secs(3600);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(answer).with_state(aws.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        (aws, url.parse().unwrap())
    }

    fn called(&self, what: &str) -> Vec<(String, String)> {
        let calls = self.calls.lock().unwrap();
        let of = calls.iter().filter(|(called, ..)| called == what);
        of.map(|(_, by, body)| (by.clone(), body.clone())).collect()
    }
}

async fn answer(State(aws): State<Aws>, headers: HeaderMap, body: String) -> Response {
    let text = |name: &str| headers.get(name).map_or("", |value| value.to_str().unwrap());
    let by = text("authorization")
        .split(['=', '/'])
        .nth(1)
        .unwrap_or_default()
        .to_owned();
    let what = match text("x-amz-target") {
        "" => "AssumeRole".to_owned(),
        target => target.to_owned(),
    };
    let count = aws.called(&what).len() + 1;
    aws.calls.lock().unwrap().push((what.clone(), by, body.clone()));
    if what == "AssumeRole" {
        let end = SystemClock.now().after(*aws.lasts.lock().unwrap());
        let xml = format!(
            "<AssumeRoleResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><AssumeRoleResult><Credentials>\
             <AccessKeyId>ASIA{count}</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>\
             <Expiration>{end}</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"
        );
        return ([("content-type", "text/xml")], xml).into_response();
    }
    let asked: Value = serde_json::from_str(&body).unwrap();
    let mut keys = aws.keys.lock().unwrap();
    let known = asked["CiphertextBlob"]
        .as_str()
        .and_then(|blob| keys.get(blob).cloned());
    let said = match (what.as_str(), known) {
        ("TrentService.GenerateDataKey", _) => {
            let (open, blob) = (["QUFB"; 10].concat() + "QUE=", format!("Ymxv{count:04}"));
            keys.insert(blob.clone(), (open.clone(), asked["EncryptionContext"].clone()));
            json!({ "Plaintext": open, "CiphertextBlob": blob })
        }
        ("TrentService.Decrypt", Some((open, context))) if context == asked["EncryptionContext"] => {
            json!({ "Plaintext": open })
        }
        _ => {
            return (
                StatusCode::BAD_REQUEST,
                r#"{"__type":"InvalidCiphertextException"}"#,
            )
                .into_response();
        }
    };
    (StatusCode::OK, said.to_string()).into_response()
}

fn acme() -> Tenant {
    Tenant::from_prefix("acme.7f3a9c2e").unwrap()
}

fn session(url: &Url) -> Caller {
    let sessions = Sessions {
        role: "arn:aws:iam::123456789012:role/tenants".to_owned(),
        endpoint: Some(url.clone()),
        region: None,
    };
    Caller::of_tenant(&sessions, &acme())
}

fn way(caller: Caller) -> (Caller, Outbound) {
    let policy = Policy {
        allow_loopback: true,
        ..Policy::default()
    };
    (caller, Outbound::new(policy, Arc::new(SystemEntropy)))
}

fn kms(url: &Url) -> Service {
    Service {
        name: "kms",
        endpoint: url.clone(),
        region: None,
    }
}

#[tokio::test]
async fn all_clients_of_a_tenant_share_one_session_that_names_it_and_ask_for_another_before_its_end() {
    let (aws, url) = Aws::start().await;
    let (caller, outbound) = way(session(&url));
    let service = kms(&url);
    let call = async || {
        let body = json!({ "EncryptionContext": {} }).to_string().into_bytes();
        let target = [("x-amz-target", "TrentService.GenerateDataKey")];
        service
            .post((&caller, &outbound), "/", &target, body)
            .await
            .unwrap();
    };
    tokio::join!(call(), call(), call());
    let asked = aws.called("AssumeRole");
    assert_eq!(asked.len(), 1, "once, however many begin together");
    let (by, form) = &asked[0];
    assert_eq!(by, "local", "the function's own role asks");
    for part in [
        "RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Ftenants",
        "RoleSessionName=acme.7f3a9c2e",
        "DurationSeconds=3600",
        "Tags.member.1.Key=tenant&Tags.member.1.Value=acme.7f3a9c2e",
        "Tags.member.2.Key=tenant_name&Tags.member.2.Value=acme",
    ] {
        assert!(form.contains(part), "{part}: {form}");
    }
    let by: Vec<String> = aws
        .called("TrentService.GenerateDataKey")
        .into_iter()
        .map(|(by, _)| by)
        .collect();
    assert_eq!(by, ["ASIA1", "ASIA1", "ASIA1"]);

    // Within ten minutes of its end nothing begins with it.
    let (caller, outbound) = way(session(&url));
    *aws.lasts.lock().unwrap() = Duration::from_secs(599);
    let target = [("x-amz-target", "TrentService.GenerateDataKey")];
    for _ in 0..2 {
        let body = b"{}".to_vec();
        service
            .post((&caller, &outbound), "/", &target, body)
            .await
            .unwrap();
    }
    assert_eq!(aws.called("AssumeRole").len(), 3);
    let last = aws.called("TrentService.GenerateDataKey").pop().unwrap().0;
    assert_eq!(last, "ASIA3");
}

#[tokio::test]
async fn a_secret_of_a_record_opens_for_its_tenant_and_by_its_name_alone() {
    let (aws, url) = Aws::start().await;
    let operator = way(Caller::own());
    let secret = SecretString::from("hunter2");
    let seal_for = async |name: &str| {
        seal(
            (&kms(&url), "key"),
            &operator,
            (&acme(), name),
            &secret,
            &SystemEntropy,
        )
        .await
        .unwrap()
    };
    let sealed = seal_for("session-key").await;
    assert!(!sealed.sealed.contains("hunter2") && !format!("{sealed:?}").contains("hunter2"));
    let read = async |tenant: Tenant, name: &str| {
        let held = BTreeMap::from([(name.to_owned(), sealed.clone())]);
        let others = SecretsPlace {
            endpoint: Some(url.clone()),
            ..SecretsPlace::default()
        };
        let others = Secrets::new(others, Arc::new(SystemClock));
        let secrets = SealedSecrets::new(tenant, held, kms(&url), way(session(&url)), others);
        for _ in 0..2 {
            secrets
                .value(name)
                .await
                .map(|value| value.expose_secret().to_owned())?;
        }
        secrets
            .value(name)
            .await
            .map(|value| value.expose_secret().to_owned())
    };
    assert_eq!(read(acme(), "session-key").await.unwrap(), "hunter2");
    let opened = aws.called("TrentService.Decrypt");
    assert_eq!(opened.len(), 1, "opened once");
    assert!(
        opened[0].0.starts_with("ASIA"),
        "in the tenant's session: {opened:?}"
    );
    assert!(opened[0].1.contains(r#""tenant":"acme.7f3a9c2e""#), "{opened:?}");

    let error = read(acme(), "sealing-keys").await.unwrap_err().to_string();
    assert!(
        error.contains("sealing-keys") && error.contains("kms answered 400"),
        "{error}"
    );
    for other in ["globex", "acme", "acme.00000001"] {
        let error = read(Tenant::from_prefix(other).unwrap(), "session-key")
            .await
            .unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}
