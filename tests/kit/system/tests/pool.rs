//! The account around the pool: who is let in and into whose sandbox, whose sessions are given, what opens, who is invoked. Its functions
//! are a script here, so that what is tested is the account.

use std::path::PathBuf;

use http::StatusCode;
use serde_json::{Value, json};
use system_testing::cloud::Cloud;
use system_testing::runtime_api::{Function, Spec};

const AUTHORIZER: &str = "pool/PoolAuthorizerFunction";
const CHAT: &str = "pool/ChatApiFunction";

async fn pool() -> Cloud {
    Cloud::start_pool(&|_| PathBuf::from(env!("CARGO_BIN_EXE_scripted_function"))).await
}

/// What the API answers to a path below the stage.
async fn get(cloud: &Cloud, path: &str, headers: &[(&str, &str)]) -> (StatusCode, Value) {
    let base = cloud.stacks["pool"].output("BaseUrl");
    let asked = system_testing::user::http().get(format!("{base}{path}"));
    let asked = headers
        .iter()
        .fold(asked, |asked, (name, value)| asked.header(*name, *value));
    let answer = asked.send().await.expect("an answer");
    let status = answer.status();
    let text = answer.text().await.expect("a text");
    (
        status,
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}")),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn the_authorizer_says_whose_sandbox_a_request_comes_to() {
    let cloud = pool().await;
    // What a client says of it counts nowhere.
    let lies = [("x-amz-tenant-id", "globex.1"), ("X-AMZ-TENANT-ID", "globex.1")];
    for (path, tenant, resource, proxy) in [
        ("/t/acme", "acme.1", "/t/{tenant}", None),
        (
            "/t/acme/chats/7",
            "acme.1",
            "/t/{tenant}/{proxy+}",
            Some("chats/7"),
        ),
        (
            "/t/acme/api/chat",
            "acme.1",
            "/t/{tenant}/api/{proxy+}",
            Some("chat"),
        ),
        (
            "/t/acme/api/webhookery",
            "acme.1",
            "/t/{tenant}/api/{proxy+}",
            Some("webhookery"),
        ),
        (
            "/t/globex/api/webhook/tasks",
            "globex.1",
            "/t/{tenant}/api/webhook/{proxy+}",
            Some("tasks"),
        ),
        (
            "/t/globex/signin/callback",
            "globex.1",
            "/t/{tenant}/signin/callback",
            None,
        ),
        (
            "/t/acme/a/host/0f1e/message:send",
            "acme.1",
            "/t/{tenant}/a/host/{proxy+}",
            Some("0f1e/message:send"),
        ),
        (
            "/.well-known/oauth-protected-resource/t/acme/a/host/0f1e",
            "acme.1",
            "/.well-known/oauth-protected-resource/t/{tenant}/a/host/{proxy+}",
            Some("0f1e"),
        ),
    ] {
        let (status, told) = get(&cloud, path, &lies).await;
        assert_eq!(status, 200, "{path}: {told}\n{}", cloud.logs());
        let event = &told["event"];
        assert_eq!(
            (&told["tenant"], &event["resource"]),
            (&json!(tenant), &json!(resource)),
            "{path}"
        );
        let name = tenant.trim_end_matches(".1");
        let mut parameters = json!({ "tenant": name });
        if let Some(proxy) = proxy {
            parameters["proxy"] = proxy.into();
        }
        assert_eq!(event["pathParameters"], parameters, "{path}");
        assert_eq!(event["path"], path);
        let said = json!({ "principalId": name, "prefix": tenant });
        assert_eq!(event["requestContext"]["authorizer"], said, "{path}");
        for (list, value) in [("headers", json!(tenant)), ("multiValueHeaders", json!([tenant]))] {
            let mut named = event[list].as_object().expect("headers").iter();
            let named: Vec<_> = named
                .by_ref()
                .filter(|(name, _)| name.eq_ignore_ascii_case("x-amz-tenant-id"))
                .map(|(_, value)| value.clone())
                .collect();
            assert_eq!(named, [value], "{path}");
        }
    }

    // Whom it lets through nowhere opens no sandbox, and neither does anybody at a path that is none.
    let begun = || {
        let others = cloud.functions.iter();
        let others = others.filter(|(name, _)| *name != AUTHORIZER);
        others.map(|(_, function)| function.begun().len()).sum::<usize>()
    };
    let of_the_chat = cloud.functions[CHAT].begun();
    let before = begun();
    for (path, status, error) in [
        ("/t/nobody/api/chat", 404, "not_found"),
        ("/t/elsewhere/api/chat", 404, "not_found"),
        ("/t", 404, "not_found"),
        ("/a/host/acme/0f1e", 404, "not_found"),
        ("/.well-known/oauth-protected-resource/t/acme", 404, "not_found"),
        ("/t/unknown", 401, "bad_request"),
        ("/t/broken", 500, "unavailable"),
        ("/t/odd", 500, "unavailable"),
        ("/t/slow", 500, "unavailable"),
        ("/t/nameless", 502, "unavailable"),
    ] {
        let (got, told) = get(&cloud, path, &lies).await;
        assert_eq!(
            (got.as_u16(), &told["error"]),
            (status, &json!(error)),
            "{path}: {told}"
        );
        assert!(told["message"].is_string(), "{path}: {told}");
    }
    assert_eq!(cloud.functions[CHAT].begun(), of_the_chat);
    assert_eq!(begun(), before);
    // The authorizer that was too late was ended, and another answers; whose sandbox is still on its way back when the next request comes is
    // joined by a second one.
    let authorizers = cloud.functions[AUTHORIZER].begun();
    assert!(
        authorizers.len() >= 2 && authorizers.iter().all(Option::is_none),
        "{authorizers:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_is_one_tenants_for_its_life_and_those_that_wait_are_few() {
    let logs = tempfile::tempdir().expect("a folder");
    let spec = |isolated| Spec {
        name: "echo".to_owned(),
        binary: env!("CARGO_BIN_EXE_scripted_function").into(),
        environment: [("ANSWERS".to_owned(), "buffered".to_owned())].into(),
        timeout: std::time::Duration::from_secs(20),
        memory: 128,
        isolated,
    };
    let function = Function::new(spec(true), logs.path());
    let process = async |tenant: &str| {
        let reply = function.invoke_for(Some(tenant), json!({})).await;
        let system_testing::runtime_api::Reply::Answer(answer) = reply else {
            panic!("{reply:?}")
        };
        while !function.is_quiet() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        let told: Value = serde_json::from_str(answer["body"].as_str().expect("text")).expect("JSON");
        assert_eq!(told["tenant"], tenant);
        told["process"].as_u64().expect("a process")
    };
    let (acme, globex) = (process("acme.1").await, process("globex").await);
    assert_ne!(acme, globex);
    assert_eq!((process("acme.1").await, process("globex").await), (acme, globex));
    assert_eq!(
        function.begun(),
        [Some("acme.1".to_owned()), Some("globex".to_owned())]
    );
    // Eight wait at most: the one that was not asked for the longest ends.
    for other in 0..7 {
        process(&format!("t{other}")).await;
    }
    assert_eq!(process("globex").await, globex);
    assert_ne!(process("acme.1").await, acme);

    for (isolated, tenant) in [
        (true, None),
        (true, Some("")),
        (true, Some("a\u{e9}")),
        (true, Some("a,b")),
        (false, Some("acme.1")),
    ] {
        let function = Function::new(spec(isolated), logs.path());
        let reply = function.invoke_for(tenant, json!({})).await;
        let refused = format!("{reply:?}").contains("InvalidParameterValueException");
        assert!(refused && function.begun().is_empty(), "{tenant:?}: {reply:?}");
    }
}

/// A call of one of the pool's functions to a service of AWS; signed by a session where there is one.
async fn call(
    cloud: &Cloud,
    (function, service): (&str, &str),
    session: Option<&Session>,
    asked: impl FnOnce(reqwest::RequestBuilder) -> reqwest::RequestBuilder,
) -> (StatusCode, String) {
    let environment = &cloud.environments[&format!("pool/{function}")];
    let place = &environment[&format!("AWS_ENDPOINT_URL_{service}")];
    let key = session.map_or("local", |session| session.key.as_str());
    let signed = format!(
        "AWS4-HMAC-SHA256 Credential={key}/20260101/eu-north-1/x/aws4_request, SignedHeaders=host, Signature=0"
    );
    let mut request = system_testing::user::http()
        .post(place)
        .header("authorization", signed);
    if let Some(session) = session {
        request = request.header("x-amz-security-token", &session.token);
    }
    let answer = asked(request).send().await.expect("an answer");
    (answer.status(), answer.text().await.expect("a text"))
}

struct Session {
    key: String,
    token: String,
    ends: domain::Timestamp,
}

const BOTH: [(&str, &str); 2] = [("tenant", "acme.1"), ("tenant_name", "acme")];

/// Asks for a session of a role; the code of the refusal where there is none.
async fn assume(
    cloud: &Cloud,
    function: &str,
    role: &str,
    tags: &[(&str, &str)],
    seconds: Option<&str>,
) -> Result<Session, String> {
    let mut form = vec![
        ("Action".to_owned(), "AssumeRole".to_owned()),
        ("Version".to_owned(), "2011-06-15".to_owned()),
        ("RoleArn".to_owned(), role.to_owned()),
        ("RoleSessionName".to_owned(), "acme".to_owned()),
    ];
    form.extend(seconds.map(|seconds| ("DurationSeconds".to_owned(), seconds.to_owned())));
    for (at, (name, value)) in tags.iter().enumerate() {
        form.push((format!("Tags.member.{}.Key", at + 1), (*name).to_owned()));
        form.push((format!("Tags.member.{}.Value", at + 1), (*value).to_owned()));
    }
    let form = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(form)
        .finish();
    let (status, text) = call(cloud, (function, "STS"), None, |request| {
        request
            .header("content-type", "application/x-www-form-urlencoded")
            .body(form)
    })
    .await;
    let between = |name: &str| {
        let (_, rest) = text.split_once(&format!("<{name}>"))?;
        Some(rest.split_once(&format!("</{name}>"))?.0.to_owned())
    };
    match status {
        StatusCode::OK => Ok(Session {
            key: between("AccessKeyId").expect("a key"),
            token: between("SessionToken").expect("a token"),
            ends: domain::Timestamp::parse(&between("Expiration").expect("an end")).expect("a time"),
        }),
        _ => Err(format!("{} {}", status.as_u16(), between("Code").unwrap_or(text))),
    }
}

fn role(cloud: &Cloud, function: &str) -> String {
    cloud.environments[&format!("pool/{function}")]["TENANT_ROLE"].clone()
}

/// Reads an item of the tenants' tasks, or of another table's.
async fn read(
    cloud: &Cloud,
    function: &str,
    session: Option<&Session>,
    table: &str,
    key: &str,
) -> StatusCode {
    let body = json!({
        "TableName": format!("switchyard-prod-{table}"), "Key": { "pk": { "S": key }, "sk": { "S": "x" } },
    });
    let (status, text) = call(cloud, (function, "DYNAMODB"), session, |request| {
        request
            .header("x-amz-target", "DynamoDB_20120810.GetItem")
            .header("x-amz-date", "20260101T000000Z")
            .header("content-type", "application/x-amz-json-1.0")
            .body(body.to_string())
    })
    .await;
    assert!(
        status.is_success() || text.contains("AccessDenied") || text.contains("UnrecognizedClient"),
        "{text}"
    );
    status
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_reaches_what_its_role_and_its_tags_say() {
    let cloud = pool().await;
    let (host, chat) = ("HostAgentFunction", "ChatApiFunction");
    let own = role(&cloud, host);
    let before = domain::Clock::now(&domain::SystemClock);
    let session = assume(&cloud, host, &own, &BOTH, Some("900")).await;
    let session = session.unwrap_or_else(|code| panic!("{code}"));
    assert!(session.key.starts_with("ASIA"));
    let lasts = session.ends.since(before).as_secs();
    assert!((900..930).contains(&lasts), "{lasts}");
    let another = assume(&cloud, host, &own, &BOTH, None).await;
    assert_ne!(another.unwrap_or_else(|code| panic!("{code}")).key, session.key);

    for (key, expect) in [
        ("acme.1#host#task#1", 200),
        ("acme#host#task#1", 400),
        ("globex#host#task#1", 400),
        ("acme.1#horizon#task#1", 400),
    ] {
        assert_eq!(
            read(&cloud, host, Some(&session), "tasks", key).await,
            expect,
            "{key}"
        );
        // Without the session the function reaches nothing, whatever it signs with.
        assert_eq!(read(&cloud, host, None, "tasks", key).await, 400, "{key}");
    }
    assert_eq!(read(&cloud, host, Some(&session), "tenants", "acme").await, 200);
    assert_eq!(read(&cloud, host, Some(&session), "tenants", "globex").await, 400);
    // Half of the credentials, or made-up ones, are nobody's.
    let halves = [
        Session {
            key: session.key.clone(),
            token: "x".to_owned(),
            ends: session.ends,
        },
        Session {
            key: "ASIA00".to_owned(),
            token: session.token.clone(),
            ends: session.ends,
        },
    ];
    for half in &halves {
        assert_eq!(
            read(&cloud, host, Some(half), "tasks", "acme.1#host#task#1").await,
            400
        );
    }
    // The role counts, and not from where it is used.
    let of_the_chat = assume(&cloud, chat, &role(&cloud, chat), &BOTH, None).await;
    let of_the_chat = of_the_chat.unwrap_or_else(|code| panic!("{code}"));
    assert_eq!(
        read(&cloud, host, Some(&of_the_chat), "sessions", "acme.1#chat#1").await,
        200
    );
    assert_eq!(
        read(&cloud, chat, Some(&session), "sessions", "acme.1#chat#1").await,
        400
    );

    let denied = "403 AccessDenied";
    let invalid = "400 ValidationError";
    let nobodys = "arn:aws:iam::123456789012:role/nobodys";
    for (function, role, tags, seconds, code) in [
        (host, own.as_str(), &[][..], None, denied),
        (host, &own, &BOTH[..1], None, denied),
        (host, &own, &[BOTH[0], BOTH[1], ("team", "x")], None, denied),
        (host, &own, &[("tenant", ""), BOTH[1]], None, denied),
        (chat, &own, &BOTH, None, denied),
        (host, nobodys, &BOTH, None, denied),
        (host, &own, &[("tenant", "a*"), BOTH[1]], None, invalid),
        (host, &own, &[BOTH[0], BOTH[0]], None, invalid),
        (host, &own, &BOTH, Some("899"), invalid),
        (host, &own, &BOTH, Some("3601"), invalid),
        (host, &own, &BOTH, Some("soon"), invalid),
    ] {
        let told = assume(&cloud, function, role, tags, seconds).await;
        assert_eq!(
            told.err().as_deref(),
            Some(code),
            "{function} {role} {tags:?} {seconds:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_opens_with_its_context_for_who_may() {
    let cloud = pool().await;
    let key = cloud.stacks["pool"].output("KeysOfTenants");
    let context = |tenant: &str, secret: &str| json!({ "tenant": tenant, "secret": secret });
    let made = |context: &Value| {
        let request = json!({ "KeyId": key, "KeySpec": "AES_256", "EncryptionContext": context });
        cloud
            .gate
            .kms
            .answer("GenerateDataKey", &request)
            .unwrap_or_else(|told| panic!("{told:?}"))
    };
    let (acme, globex) = (context("acme.1", "session-key"), context("globex", "session-key"));
    let sealing = context("acme.1", "sealing-keys");
    let (of_acme, of_globex, of_sealing) = (made(&acme), made(&globex), made(&sealing));
    assert_ne!(
        of_acme["Plaintext"],
        made(&acme)["Plaintext"],
        "each is a new one"
    );
    let session = assume(
        &cloud,
        "ChatApiFunction",
        &role(&cloud, "ChatApiFunction"),
        &BOTH,
        None,
    )
    .await;
    let session = session.unwrap_or_else(|code| panic!("{code}"));
    let open = async |session: Option<&Session>, operation: &str, body: Value| {
        let target = format!("TrentService.{operation}");
        let (status, text) = call(&cloud, ("ChatApiFunction", "KMS"), session, |request| {
            request
                .header("x-amz-target", target)
                .header("content-type", "application/x-amz-json-1.1")
                .body(body.to_string())
        })
        .await;
        let told: Value = serde_json::from_str(&text).expect("JSON");
        match status {
            StatusCode::OK => told["Plaintext"].clone(),
            _ => told["__type"].clone(),
        }
    };
    let asked = |made: &Value, context: &Value| json!({ "CiphertextBlob": made["CiphertextBlob"], "EncryptionContext": context });
    let denied = json!("AccessDeniedException");
    let unopened = json!("InvalidCiphertextException");
    for (body, expect) in [
        (asked(&of_acme, &acme), &of_acme["Plaintext"]),
        // The policy lets this context pass; it is not the one that it was sealed with.
        (asked(&of_globex, &acme), &unopened),
        (asked(&of_sealing, &acme), &unopened),
        (asked(&of_globex, &globex), &denied),
        // The chat has no use for them.
        (asked(&of_sealing, &sealing), &denied),
        (json!({ "CiphertextBlob": of_acme["CiphertextBlob"] }), &denied),
        (
            json!({ "CiphertextBlob": "AAAA", "EncryptionContext": acme }),
            &unopened,
        ),
    ] {
        assert_eq!(
            open(Some(&session), "Decrypt", body.clone()).await,
            *expect,
            "{body}"
        );
    }
    assert_eq!(open(None, "Decrypt", asked(&of_acme, &acme)).await, denied);
    let new = json!({ "KeyId": key, "KeySpec": "AES_256", "EncryptionContext": acme });
    assert_eq!(
        open(Some(&session), "GenerateDataKey", new).await,
        denied,
        "no function seals"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_router_hands_events_to_the_agents_of_a_tenant() {
    let cloud = pool().await;
    let arn = |function: &str| {
        let told = json!({ "Fn::GetAtt": [function, "Arn"] });
        cloud.stacks["pool"].text(&told)
    };
    let place = cloud.environments["pool/WakeRouterFunction"]["AWS_ENDPOINT_URL_LAMBDA"].clone();
    let invoke = async |function: &str, tenant: Option<&str>, kind: &str| {
        let function = arn(function).replace(':', "%3A");
        let mut request = system_testing::user::http()
            .post(format!("{place}/2015-03-31/functions/{function}/invocations"))
            .header("x-amz-invocation-type", kind)
            .body(json!({ "Records": [] }).to_string());
        if let Some(tenant) = tenant {
            request = request.header("x-amz-tenant-id", tenant);
        }
        let answer = request.send().await.expect("an answer");
        let told = answer
            .headers()
            .get("x-amzn-errortype")
            .map(|told| told.to_str().expect("text").to_owned());
        (answer.status().as_u16(), told.unwrap_or_default())
    };
    let host = "HostAgentFunction";
    for (function, tenant, kind, expect) in [
        (host, Some("acme.1"), "Event", (202, "")),
        (host, None, "Event", (400, "InvalidParameterValueException")),
        (
            host,
            Some("a,b"),
            "Event",
            (400, "InvalidParameterValueException"),
        ),
        (
            host,
            Some("acme.1"),
            "RequestResponse",
            (400, "InvalidParameterValueException"),
        ),
        (
            "ChatApiFunction",
            Some("acme.1"),
            "Event",
            (403, "AccessDeniedException"),
        ),
        (
            "WakeRouterFunction",
            None,
            "Event",
            (403, "AccessDeniedException"),
        ),
    ] {
        let (status, told) = invoke(function, tenant, kind).await;
        assert_eq!((status, told.as_str()), expect, "{function} {tenant:?} {kind}");
    }
    let begun = || cloud.functions[&format!("pool/{host}")].begun();
    for _ in 0..200 {
        if !begun().is_empty() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(begun(), [Some("acme.1".to_owned())]);
    // What is not of a tenant takes none: the gate asks the function, whoever may invoke it.
    let router = &cloud.functions["pool/WakeRouterFunction"];
    assert!(router.refuses(Some("acme.1")).is_some() && router.refuses(None).is_none());
}
