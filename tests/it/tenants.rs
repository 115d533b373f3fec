//! A tenant that comes while everything runs, and keys that change under everybody's feet.

use std::time::Duration;

use local::{Data, Signer};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use system_testing::{Local, User};
use url::Url;

pub(crate) async fn admin(
    local: &Local,
    method: Method,
    path: &str,
    body: Option<Value>,
) -> (StatusCode, Value) {
    let token = local.endpoint("/admin_token");
    let url = format!("{}admin{path}", local.endpoint("/gateway"));
    let mut request = system_testing::user::http()
        .request(method, url)
        .bearer_auth(token);
    if let Some(body) = body {
        request = request.json(&body);
    }
    let answer = request.send().await.expect("an answer");
    let status = answer.status();
    (status, answer.json().await.unwrap_or_default())
}

pub(crate) async fn get(url: &str, token: Option<&str>) -> (StatusCode, String, String) {
    let mut request = system_testing::user::http().get(url).header("a2a-version", "1.0");
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    let answer = request.send().await.expect("an answer");
    let challenge = answer.headers().get("www-authenticate").cloned();
    let challenge = challenge.map(|value| value.to_str().unwrap_or_default().to_owned());
    let status = answer.status();
    (
        status,
        challenge.unwrap_or_default(),
        answer.text().await.expect("text"),
    )
}

/// A look at a task that is not there: 404 for whoever is let in.
pub(crate) async fn knock(agent: &str, token: Option<String>) -> StatusCode {
    let url = format!("{agent}/tasks/00000000-0000-4000-8000-000000000000");
    get(&url, token.as_deref()).await.0
}

pub(crate) fn link(task: &Value) -> String {
    let text = task["statusMessage"].to_string() + &task.to_string();
    let start = text
        .find("/connect/")
        .unwrap_or_else(|| panic!("no link in {task:#}"));
    let begin = text[..start].rfind("http").expect("an address");
    let end = text[begin..].find(|c: char| c.is_whitespace() || "\"\\),".contains(c));
    text[begin..][..end.expect("an end")]
        .trim_end_matches('.')
        .to_owned()
}

/// Asks for an order and agrees, as the first user of the tenant.
pub(crate) async fn order(user: &User, base: &str, login: &Value) -> String {
    let asked = user.ask("Where is my order 1001?").await;
    let waiting = user.until(&asked.task_id(), &["auth-required"]).await;
    let path = Url::parse(base).expect("an address").path().to_owned();
    let mut browser = user.browser(&path);
    let page = browser.open(&link(&waiting)).await;
    let name = login["username"].as_str().expect("a name");
    let password = login["password"].as_str().expect("a password");
    let page = browser
        .submit(&page, &[("username", name), ("password", password)])
        .await;
    browser.submit(&page, &[]).await;
    user.until(&asked.task_id(), &["completed"]).await["artifacts"].to_string()
}

/// Whether a tenant lets guests in.
async fn lets_guests_in(local: &Local, tenant: &str) -> bool {
    let guest = local.user(tenant);
    let told = guest.get("/api/session").await.json();
    let said = guest.chat("rain", "m1", "Hello").await;
    let is_let_in = said.status == 200;
    assert_eq!(told["signInRequired"], !is_let_in, "{told} {said:?}");
    assert!(is_let_in || said.status == 401, "{said:?}");
    is_let_in
}

#[tokio::test(flavor = "multi_thread")]
async fn a_setting_of_its_deployment_is_a_tenants_next_request_and_nobody_elses() {
    let place = tempfile::tempdir().expect("a folder");
    let data = || Data::Folder(place.path().to_owned());
    let local = Local::start_with(data()).await;
    let set = async |body: Value| admin(&local, Method::PATCH, "/tenants/acme/settings", Some(body)).await;
    assert!(lets_guests_in(&local, "acme").await && lets_guests_in(&local, "globex").await);

    let (status, _) = set(json!({ "REQUIRE_SIGN_IN": "true", "A2A_ENABLED": "false", "locale": "nb" })).await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    assert!(!lets_guests_in(&local, "acme").await, "at once");
    assert!(lets_guests_in(&local, "globex").await, "its neighbour");

    // What is wrong is told by who reads it, and nothing is changed.
    let keyed = json!([{ "kind": "openai", "url": "https://a.example/v1", "model": "m", "key": "switchyard/globex/session-key" }]);
    for (wrong, why) in [
        (("PLAN_APPROVAL", "sometimes"), "PLAN_APPROVAL is not valid"),
        (("A2A_TASK_TIMEOUT", "0"), "A2A_TASK_TIMEOUT must be between 1"),
        (("CHAT_GRACE", "61"), "CHAT_GRACE must be between 0 and 60"),
        (("A2A_PUSH_SCHEDULE", "soon"), "A2A_PUSH_SCHEDULE"),
        (
            ("MODELS", &*keyed.to_string()),
            "MODELS has a key that the function was not deployed with",
        ),
        (
            ("MODELS", r#"[{"kind":"bedrock","model":"m"}]"#),
            "TOKENS_PER_DAY is not set",
        ),
        (("SIGN_IN_ISSUERS", "nowhere"), "nowhere"),
        (("TENANT_ID", "globex"), "there is no setting \"TENANT_ID\""),
        (("TABLE_PREFIX", "other-"), "and of its deployment MODELS, EMBED"),
        (
            ("SESSION_KEY_SECRET", "switchyard/globex/session-key"),
            "there is no setting",
        ),
        (("REGISTRY_URL", "https://a.example"), "there is no setting"),
    ] {
        let (status, told) = set(json!({ "REQUIRE_SIGN_IN": null, wrong.0: wrong.1 })).await;
        assert_eq!(
            (status, &told["error"]),
            (StatusCode::BAD_REQUEST, &json!("invalid_setting")),
            "{told}"
        );
        assert!(told["message"].as_str().expect("words").contains(why), "{told}");
    }
    assert!(!lets_guests_in(&local, "acme").await);

    // Two that say the same would leave one of them without an effect.
    let idp = json!({ "SIGN_IN_ISSUERS": "idp" });
    assert_eq!(set(idp).await.0, StatusCode::NO_CONTENT);
    let offer = json!({ "offered": ["idp"] });
    let offer = async || admin(&local, Method::PUT, "/tenants/acme/issuers", Some(offer.clone())).await;
    let (status, told) = offer().await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{told}");
    assert!(
        told.to_string()
            .contains("SIGN_IN_ISSUERS is set for this tenant and wins"),
        "{told}"
    );
    assert_eq!(
        set(json!({ "SIGN_IN_ISSUERS": null })).await.0,
        StatusCode::NO_CONTENT
    );
    assert_eq!(offer().await.0, StatusCode::OK);

    let (_, listed) = admin(&local, Method::GET, "/tenants", None).await;
    let settings = |name: &str| {
        let tenants = listed["tenants"].as_array().expect("tenants");
        let own = tenants.iter().find(|own| own["name"] == name);
        own.expect("the tenant")["settings"].clone()
    };
    let expected = json!({ "REQUIRE_SIGN_IN": "true", "A2A_ENABLED": "false", "locale": "nb" });
    assert_eq!((settings("acme"), settings("globex")), (expected, json!({})));
    let (_, told) = admin(&local, Method::GET, "/tenants/acme/audit", None).await;
    let told = told.to_string();
    assert!(told.contains("A2A_ENABLED REQUIRE_SIGN_IN locale"), "{told}");
    assert!(!told.contains("PLAN_APPROVAL"), "{told}");
    local.system.stop().await;

    let local = Local::start_with(data()).await;
    assert!(!lets_guests_in(&local, "acme").await, "after a restart");
    let unset = json!({ "REQUIRE_SIGN_IN": null });
    let (status, _) = admin(&local, Method::PATCH, "/tenants/acme/settings", Some(unset)).await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    assert!(lets_guests_in(&local, "acme").await, "as it was started");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_third_tenant_comes_while_everything_runs_and_is_there_after_a_restart() {
    let place = tempfile::tempdir().expect("a folder");
    let data = || Data::Folder(place.path().to_owned());
    let local = Local::start_with(data()).await;
    let (status, added) = admin(&local, Method::POST, "/tenants", Some(json!({"name": "initech"}))).await;
    assert_eq!(status, StatusCode::CREATED, "{added}");
    let base = added["endpoints"]["base"].as_str().expect("a base").to_owned();
    let (host, horizon) = (
        added["endpoints"]["host_agent"].as_str().expect("a host"),
        added["endpoints"]["agents"]["horizon"].as_str().expect("Horizon"),
    );
    let user = User::new(&base);
    let weather = user.ask("Will it rain in Oslo tomorrow?").await;
    user.until(&weather.task_id(), &["completed"]).await;
    let said = order(&user, &base, &added["users"][0]).await;
    assert!(said.contains("Desk lamp"), "its own data: {said}");

    let signed = |signer, audience: &str, scope| {
        local
            .system
            .signed(signer, "user-x", audience, scope, Duration::ZERO)
    };
    for tenant in ["acme", "globex"] {
        let (session, idp) = (Signer::Session(tenant), Signer::Idp(tenant));
        assert_eq!(
            knock(host, signed(session, host, "tasks")).await,
            StatusCode::FORBIDDEN
        );
        assert_eq!(
            knock(host, signed(idp, host, "tasks")).await,
            StatusCode::FORBIDDEN
        );
        let token = signed(idp, horizon, "tasks orders:read");
        assert_eq!(knock(horizon, token).await, StatusCode::FORBIDDEN);
    }
    let token = signed(Signer::Idp("initech"), horizon, "tasks orders:read");
    assert_eq!(knock(horizon, token).await, StatusCode::NOT_FOUND);
    let acmes = local.endpoint("/tenants/acme/host_agent");
    let token = signed(Signer::Session("initech"), acmes, "tasks");
    assert_eq!(knock(acmes, token).await, StatusCode::FORBIDDEN);

    let file = std::fs::read_to_string(place.path().join("endpoints.json")).expect("the list");
    let listed: Value = serde_json::from_str(&file).expect("JSON");
    assert_eq!(listed["tenants"]["initech"]["base"], base.as_str());
    local.system.stop().await;

    let local = Local::start_with(data()).await;
    assert_eq!(local.endpoints()["users"]["initech"], added["users"]);
    let user = local.user("initech");
    let base = local.endpoint("/tenants/initech/base").to_owned();
    assert!(
        order(&user, &base, &added["users"][0])
            .await
            .contains("Desk lamp")
    );

    let (status, _) = admin(&local, Method::DELETE, "/tenants/initech", None).await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    let metadata = format!("{}/.well-known/openid-configuration", local.issuer("initech"));
    for gone in [
        base.as_str(),
        &metadata,
        local.endpoint("/tenants/initech/host_agent"),
    ] {
        assert_eq!(get(gone, None).await.0, StatusCode::NOT_FOUND, "{gone}");
    }
    let registry = format!(
        "{}/agents?tag=type:horizon&tenant={}",
        local.endpoint("/registry"),
        local.endpoint("/tenants/initech/prefix"),
    );
    let found = get(&registry, Some(local.endpoint("/registry_token"))).await.2;
    assert!(!found.contains("cardUrl"), "{found}");
    let acme = local.user("acme").ask("Will it rain in Oslo tomorrow?").await;
    assert!(!acme.task_id().is_empty(), "the others go on");
    local.system.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_authorization_servers_keys_are_rotated_and_nobody_notices() {
    let local = Local::start().await;
    let horizon = local.endpoint("/tenants/acme/agents/horizon");
    let issue = || {
        let signer = Signer::Idp("acme");
        local
            .system
            .signed(signer, "user-ada", horizon, "tasks orders:read", Duration::ZERO)
    };
    let kids = async || -> Vec<String> {
        let url = format!("{}/acme/jwks.json", local.endpoint("/idp"));
        let text = get(&url, None).await.2;
        let document: Value = serde_json::from_str(&text).expect("JSON");
        let keys = document["keys"].as_array().expect("keys").clone();
        keys.iter().map(|key| key["kid"].to_string()).collect()
    };
    let rotate = async |body: Value| admin(&local, Method::POST, "/keys/rotate", Some(body)).await.0;
    let (old, before) = (issue(), kids().await);
    assert_eq!(rotate(json!({"keys": "idp"})).await, StatusCode::NO_CONTENT);
    let (new, after) = (issue(), kids().await);
    assert_eq!((&after[0], &after[2]), (&before[1], &before[0]), "signs; was");
    for token in [&old, &new] {
        assert_eq!(knock(horizon, token.clone()).await, StatusCode::NOT_FOUND);
    }
    assert_eq!(rotate(json!({"keys": "idp"})).await, StatusCode::CONFLICT);
    assert_eq!(
        rotate(json!({"keys": "idp", "force": true})).await,
        StatusCode::NO_CONTENT
    );
    assert_eq!(
        knock(horizon, old).await,
        StatusCode::UNAUTHORIZED,
        "its key leaked, say"
    );
    assert_eq!(knock(horizon, new).await, StatusCode::NOT_FOUND);
    local.clock.advance(Duration::from_secs(15 * 60));
    assert_eq!(rotate(json!({"keys": "idp"})).await, StatusCode::NO_CONTENT);

    // A tenant's session key, likewise.
    let host = local.endpoint("/tenants/acme/host_agent");
    let old = local.system.token("acme", "user-ada", host);
    assert_eq!(
        rotate(json!({"keys": {"session": "acme"}})).await,
        StatusCode::NO_CONTENT
    );
    let new = local.system.token("acme", "user-ada", host);
    for token in [old, new] {
        assert_eq!(knock(host, token).await, StatusCode::NOT_FOUND);
    }
    let asked = local.user("acme").ask("Will it rain in Oslo tomorrow?").await;
    assert!(!asked.task_id().is_empty());
    local.system.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn grants_of_before_a_new_sealing_key_still_open_and_are_renewed_under_it() {
    let place = tempfile::tempdir().expect("a folder");
    let local = Local::start_with(Data::Folder(place.path().to_owned())).await;
    let user = local.user("acme");
    let base = local.endpoint("/tenants/acme/base");
    order(&user, base, &local.endpoints()["users"]["acme"][0]).await;
    let rotated = admin(
        &local,
        Method::POST,
        "/keys/rotate",
        Some(json!({"keys": "sealing"})),
    )
    .await;
    assert_eq!(rotated.0, StatusCode::NO_CONTENT);
    let states = ["completed", "auth-required", "failed"];
    let asked = user.ask("Where is my order 1001?").await;
    let task = user.until(&asked.task_id(), &states).await;
    assert_eq!(task["status"], "completed", "nobody is asked again: {task:#}");
    // The renewed grant is sealed by the new key: it opens also in a system that knows that one alone.
    local.clock.advance(Duration::from_secs(11 * 60));
    let asked = user.ask("Where is my order 1001?").await;
    let task = user.until(&asked.task_id(), &states).await;
    assert_eq!(task["status"], "completed", "{task:#}");
    local.system.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_from_outside_calls_a_host_with_a_token_of_the_authorization_server() {
    let local = Local::start().await;
    let host = local.endpoint("/tenants/acme/host_agent");
    let signed = |tenant, scope| {
        local
            .system
            .signed(Signer::Idp(tenant), "user-ada", host, scope, Duration::ZERO)
    };
    assert_eq!(
        knock(host, signed("acme", "tasks")).await,
        StatusCode::NOT_FOUND,
        "let in"
    );
    assert_eq!(
        knock(host, signed("globex", "tasks")).await,
        StatusCode::FORBIDDEN
    );
    let url = format!("{host}/tasks/00000000-0000-4000-8000-000000000000");
    let (status, challenge, _) = get(&url, signed("acme", "orders:read").as_deref()).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    for part in [
        "insufficient_scope",
        "scope=\"tasks\"",
        "/.well-known/oauth-protected-resource",
    ] {
        assert!(challenge.contains(part), "{challenge}");
    }

    // Who was never here finds the way: resource, authorization server, its metadata; at both places each.
    let issuer = format!("{}/acme", local.endpoint("/idp"));
    let gateway = local.endpoint("/gateway");
    let path = host.strip_prefix(gateway).expect("below the gateway");
    for place in [
        format!("{host}/.well-known/oauth-protected-resource"),
        format!("{gateway}.well-known/oauth-protected-resource/{path}"),
    ] {
        let metadata: Value = serde_json::from_str(&get(&place, None).await.2).expect("JSON");
        assert_eq!(metadata["resource"], host);
        assert_eq!(metadata["authorization_servers"], json!([issuer]));
    }
    for place in [
        format!("{gateway}.well-known/oauth-authorization-server/idp/acme"),
        format!("{gateway}.well-known/openid-configuration/idp/acme"),
        format!("{issuer}/.well-known/openid-configuration"),
        format!("{issuer}/.well-known/oauth-authorization-server"),
    ] {
        let metadata: Value = serde_json::from_str(&get(&place, None).await.2).expect("JSON");
        assert_eq!(metadata["issuer"], issuer.as_str(), "{place}");
    }
    for none in ["idp/nobody", "idp", "a/x", "t/acme"] {
        let place = format!("{gateway}.well-known/oauth-authorization-server/{none}");
        assert_eq!(get(&place, None).await.0, StatusCode::NOT_FOUND, "{none}");
    }
    local.system.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_takes_a_week_finds_a_fresh_link_and_the_old_one_says_so() {
    let local = Local::start().await;
    let user = local.user("acme");
    let base = local.endpoint("/tenants/acme/base").to_owned();
    let path = Url::parse(&base).expect("an address").path().to_owned();
    let asked = user.ask("Where is my order 1001?").await;
    let id = asked.task_id();
    let old = link(&user.until(&id, &["auth-required"]).await);
    // While the link is fresh, hours change nothing.
    local.advance(Duration::from_secs(23 * 3600)).await;
    assert_eq!(link(&user.task(&id).await), old);
    for _ in 0..7 {
        local.advance(Duration::from_secs(24 * 3600)).await;
    }
    let mut browser = user.browser(&path);
    let page = browser.open(&old).await;
    assert_eq!(page.status, StatusCode::GONE);
    assert!(
        page.html.contains("has run out") && page.html.contains("fresh link"),
        "{page:?}"
    );
    // On the way through the week a link may have been made that has run out too: the one that opens is the fresh one.
    let mut page = None;
    for _ in 0..200 {
        let link = link(&user.task(&id).await);
        let opened = browser.open(&link).await;
        if link != old && opened.status != StatusCode::GONE {
            page = Some(opened);
            break;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    let page = page.expect("a fresh link");
    let login = &local.endpoints()["users"]["acme"][0];
    let (name, password) = (login["username"].as_str(), login["password"].as_str());
    let fill = [
        ("username", name.expect("a name")),
        ("password", password.expect("a password")),
    ];
    let page = browser.submit(&page, &fill).await;
    browser.submit(&page, &[]).await;
    let done = user.until(&id, &["completed", "failed", "unknown"]).await;
    assert_eq!(done["status"], "completed", "{done:#}");
    local.system.stop().await;
}
