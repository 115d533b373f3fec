//! The pool deployed: two tenants in one stack, behind one API, in sandboxes that Lambda isolates. Every call to AWS is judged by the role
//! that the function acts as for its tenant, with the tags of its session.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;
use system_testing::User;
use system_testing::cloud::{Cloud, PASSWORD};
use system_testing::template::Template;
use url::Url;

use super::deployed::link;

/// The pool's isolated functions.
const ISOLATED: [&str; 5] = [
    "ChatApiFunction",
    "HorizonAgentFunction",
    "HostAgentFunction",
    "OauthCallbackFunction",
    "WebhookReceiverFunction",
];

/// Whose sandboxes were ever begun.
fn begun(cloud: &Cloud) -> Vec<String> {
    let each = ISOLATED.iter().map(|id| &cloud.functions[&format!("pool/{id}")]);
    let whose = each.flat_map(|function| function.begun());
    whose.map(|whose| whose.expect("each is a tenant's")).collect()
}

async fn consent(cloud: &Cloud, user: &User, tenant: &str, waiting: &Value) {
    let path = Url::parse(&cloud.base(tenant))
        .expect("an address")
        .path()
        .to_owned();
    let mut browser = user.browser(&path);
    let page = browser.open(&link(waiting)).await;
    let page = browser
        .submit(&page, &[("username", "ada"), ("password", PASSWORD)])
        .await;
    let page = browser.submit(&page, &[]).await;
    assert_eq!(page.status, 200, "{page:?}\n{}", cloud.logs());
}

#[tokio::test(flavor = "multi_thread")]
async fn two_tenants_work_in_one_pool_and_nothing_of_one_is_the_others() {
    let cloud = Cloud::start_pooled(&["acme.7f3a9c2e", "globex"]).await;
    let acme = cloud.signed_in("acme").await;
    let globex = cloud.signed_in("globex").await;
    *cloud.gate.heard.lock().expect("no panic under the lock") = Some(Vec::new());
    let mut tasks = Vec::new();
    for (tenant, user) in [("acme", &acme), ("globex", &globex)] {
        // A prompt, the agent of everybody, its news.
        let asked = user.chat("trip", "m1", "Will it rain in Oslo tomorrow?").await;
        assert_eq!(asked.status, 200, "{asked:?}\n{}", cloud.logs());
        let done = user.until(&asked.task_id(), &["completed"]).await;
        assert!(done["artifacts"].to_string().contains("Oslo"), "{done:#}");
        assert!(user.get("/api/chats/trip/messages").await.text.contains("Oslo"));
        // A consent, the agent of this tenant, what it keeps of it.
        let asked = user.chat("orders", "m1", "Where is my order 1001?").await;
        let waiting = user.until(&asked.task_id(), &["auth-required"]).await;
        consent(&cloud, user, tenant, &waiting).await;
        let done = user.until(&asked.task_id(), &["completed"]).await;
        let own = format!("Rocket skates of {tenant}");
        assert!(
            done["artifacts"].to_string().contains(&own),
            "{done:#}\n{}",
            cloud.logs()
        );
        tasks.push(asked.task_id());
    }

    // What led to a wake is said to Lambda with each invocation by the router, so that what goes round in circles can be told.
    let heard = cloud.gate.heard.lock().expect("no panic under the lock").take();
    let heard = heard.into_iter().flatten();
    let invoked: Vec<_> = heard
        .filter(|call| call.function == "pool-WakeRouterFunction")
        .collect();
    assert!(!invoked.is_empty());
    for call in invoked {
        let trace = call.headers["x-amzn-trace-id"].to_str().expect("text");
        let (_, hops) = trace.rsplit_once("Lineage=1:").expect("a lineage");
        assert_ne!(hops, "0", "{trace}");
    }

    // The same request from the same place, with the same cookie, to one right after the other.
    let path = format!("/api/tasks/{}", tasks[0]);
    let cookie = async || {
        assert_eq!(acme.get("/api/session").await.json()["username"], "ada");
        acme.cookie().expect("a cookie")
    };
    for _ in 0..3 {
        assert_eq!(acme.get(&path).await.status, 200);
        assert_eq!(globex.get(&path).await.status, 404);
        let stranger = cloud.user("globex");
        stranger.resume(&cookie().await);
        assert_ne!(stranger.get("/api/session").await.json()["username"], "ada");
    }

    // Whatever a client says of it, the path says whose a request is.
    let own = ["acme.7f3a9c2e", "globex"];
    let lies = async |tenant: &str, said: &str| {
        let url = format!("{}/api/session", cloud.base(tenant));
        let asked = system_testing::user::http()
            .get(url)
            .header("X-Amz-Tenant-Id", said);
        let answer = asked
            .header("cookie", cookie().await)
            .send()
            .await
            .expect("an answer");
        answer.json::<Value>().await.expect("JSON")["username"].clone()
    };
    assert_eq!(lies("acme", own[1]).await, "ada");
    assert_ne!(lies("globex", own[0]).await, "ada");

    // A name that is nobody's opens no sandbox.
    let before = begun(&cloud);
    for name in [
        "made-up",
        "acme.7f3a9c2e",
        "acme.00000001",
        "ACME",
        "acm",
        "globex%2F",
        "*",
    ] {
        let base = cloud.base("acme").replace("/t/acme", &format!("/t/{name}"));
        for path in ["", "/api/session", "/a/host/0f1e", "/signin"] {
            let asked = system_testing::user::http().get(format!("{base}{path}"));
            let answer = asked
                .header("X-Amz-Tenant-Id", own[0])
                .send()
                .await
                .expect("an answer");
            assert_eq!(answer.status(), 404, "{name}{path}");
            let told: Value = answer.json().await.expect("JSON");
            assert_eq!(told["error"], "not_found", "{name}{path}");
        }
    }
    assert_eq!(begun(&cloud), before);
    let whose: BTreeSet<&str> = before.iter().map(String::as_str).collect();
    assert_eq!(whose, BTreeSet::from(own));

    // Who is suspended is let in no more, by the second.
    let tenant = domain::Tenant::from_prefix(own[0]).expect("a tenant");
    let now = domain::Clock::now(&domain::SystemClock);
    assert!(
        cloud
            .store
            .tenants()
            .suspend(&tenant, Some(now))
            .await
            .expect("the table")
    );
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    assert_eq!(acme.get("/api/session").await.status, 404);
    assert_eq!(globex.get("/api/session").await.status, 200);
    assert!(
        cloud
            .store
            .tenants()
            .suspend(&tenant, None)
            .await
            .expect("the table")
    );

    // Nobody asked for more than the roles allow.
    for _ in 0..50 {
        if cloud.quiet() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(cloud.refusals(), Vec::<String>::new(), "{}", cloud.logs());
    let dead = cloud
        .dead_letters
        .lock()
        .expect("no panic under the lock")
        .clone();
    assert_eq!(dead, Vec::<Value>::new(), "{}", cloud.logs());

    // Each sandbox has had one session of its tenant, whatever it called, and reached nothing without.
    for id in ISOLATED {
        let usage = cloud.gate.usage.lock().expect("no panic under the lock");
        let sessions = usage[&format!("pool-{id}")].calls["sts:AssumeRole"];
        let sandboxes = cloud.functions[&format!("pool/{id}")].begun().len();
        assert_eq!(sessions, sandboxes as u64, "{id}");
        let own = &cloud.policies[&format!("pool/{id}")];
        assert_eq!(
            own.unused(),
            BTreeSet::new(),
            "{id}: its own role gives it sessions"
        );
    }
}

/// The pool's template with a chat whose answers come whole: its function's setting, its methods, and the snapshot of the API that has them.
fn buffered() -> Template {
    let mut template = Template::pool();
    let resources = template.document["Resources"].as_object_mut().expect("resources");
    resources["ChatApiFunction"]["Properties"]["Environment"]["Variables"]["ANSWERS"] = "buffered".into();
    for method in resources.values_mut() {
        let Some(integration) = method.pointer_mut("/Properties/Integration") else {
            continue;
        };
        if integration["Uri"].to_string().contains("ChatApiFunction") {
            let integration = integration.as_object_mut().expect("an integration");
            integration.remove("ResponseTransferMode");
        }
    }
    let snapshot = resources.keys().find(|id| id.starts_with("Deployment")).cloned();
    let snapshot = snapshot.expect("a snapshot");
    let told = resources.remove(&snapshot).expect("a snapshot");
    resources.insert(format!("{snapshot}Buffered"), told);
    template
}

/// Until an account has shown that streams and isolated sandboxes go together, the chat must do without them.
#[tokio::test(flavor = "multi_thread")]
async fn a_chat_in_the_pool_does_without_streams() {
    let mut cloud = Cloud::start_pooled(&["acme.7f3a9c2e"]).await;
    cloud.redeploy_pool(buffered());
    let acme = cloud.signed_in("acme").await;
    let asked = acme.chat("trip", "m1", "Will it rain in Oslo tomorrow?").await;
    assert_eq!(asked.status, 200, "{asked:?}\n{}", cloud.logs());
    // It is the same stream, told in one piece when it is over.
    assert!(
        asked.headers.contains_key("x-vercel-ai-ui-message-stream"),
        "{asked:?}"
    );
    assert!(!asked.chunks().is_empty());
    let done = acme.until(&asked.task_id(), &["completed"]).await;
    assert!(done["artifacts"].to_string().contains("Oslo"), "{done:#}");
    let messages = acme.get("/api/chats/trip/messages").await;
    assert!(messages.text.contains("Oslo"), "{messages:?}");
    assert_eq!(cloud.refusals(), Vec::<String>::new(), "{}", cloud.logs());
}
