//! A tenant's bare name is in nothing that is kept or recognised: the same run through everything, by a tenant whose prefix
//! is not its name.

use std::collections::BTreeSet;

use domain::Tenant;
use local::Data;
use serde_json::Value;
use system_testing::Local;

use super::{Run, search, walked};

const NAME: &str = "acme";
const PREFIX: &str = "acme.7f3a9c2e";
/// The same name, added again after it was removed.
const NEXT: &str = "acme.00000001";
/// What people, cards and the addresses of the local system say is the name.
const SAID: [&str; 2] = ["tenant_id:", "/t/"];
/// What the keys of the run must have been of, behind the tenant, or it went by something.
const KINDS: [&str; 22] = [
    "chat",
    "client",
    "code",
    "consent",
    "family",
    "host#context",
    "host#message",
    "host#owner",
    "host#task",
    "horizon#context",
    "horizon#message",
    "horizon#owner",
    "horizon#task",
    "login",
    "orders",
    "owner",
    "session",
    "state",
    "subject",
    "tag",
    "throttle",
    "user",
];

/// Every place where the bare name stands, with what is around it.
fn bare(text: &str) -> Vec<&str> {
    let stands = |at: usize| {
        let (before, after) = (&text[..at], &text[at + NAME.len()..]);
        let word = |c: char| c.is_ascii_alphanumeric() || c == '-';
        !before.ends_with(word)
            && !after.starts_with(word)
            && !text[at..].starts_with(PREFIX)
            && !SAID.iter().any(|said| before.ends_with(said))
    };
    text.match_indices(NAME)
        .filter(|(at, _)| stands(*at))
        .map(|(at, _)| &text[at.saturating_sub(40)..text.len().min(at + 40)])
        .collect()
}

/// What the text keys of an item are of: what comes behind the tenant, the agent with it where it is an agent's.
fn kinds(item: &Value) -> impl Iterator<Item = String> {
    let texts = item.as_object().into_iter().flatten();
    texts.filter_map(|(_, value)| {
        let behind = value["S"].as_str()?.strip_prefix(PREFIX)?.strip_prefix('#')?;
        let mut parts = behind.split('#');
        let first = parts.next()?;
        Some(match first {
            "host" | "horizon" => format!("{first}#{}", parts.next()?),
            _ => first.to_owned(),
        })
    })
}

async fn is_kept_under_the_prefix(run: &Run) {
    let mut items = search::stored(run.local.system.endpoints().database().as_str()).await;
    items.extend_from_slice(&run.passing);
    // The table of tenants is asked by the names that people say.
    for item in items.iter().filter(|item| item["sk"]["S"] != "TENANT") {
        let text = item.to_string();
        assert!(bare(&text).is_empty(), "{:?} in {item:#}", bare(&text));
    }
    let found: BTreeSet<String> = items.iter().flat_map(kinds).collect();
    let missed: Vec<&str> = KINDS.into_iter().filter(|kind| !found.contains(*kind)).collect();
    assert!(missed.is_empty(), "the run made no {missed:?}, only {found:?}");
}

fn is_recognised_by_the_prefix(run: &Run) {
    let own: Vec<&String> = run.cookies.iter().filter(|name| name.contains(NAME)).collect();
    assert!(
        own.len() >= 4 && own.iter().all(|name| bare(name).is_empty()),
        "{own:?}"
    );
    let at_the_server = run.visited.iter().filter(|url| url.path().starts_with("/idp/"));
    let segments: BTreeSet<&str> = at_the_server
        .filter_map(|url| url.path_segments()?.nth(1))
        .collect();
    assert_eq!(segments, BTreeSet::from([PREFIX]));
    for token in run.secrets.of("an access token") {
        let claims = claims(token);
        if claims["tenant_id"] == "globex" {
            continue;
        }
        assert_eq!(claims["tenant_id"], NAME, "a token says the name");
        let issuer = claims["iss"].as_str().expect("an issuer");
        assert!(bare(issuer).is_empty(), "{issuer}");
    }
}

fn claims(token: &str) -> Value {
    use base64::Engine as _;
    let payload = token.split('.').nth(1).expect("a JWT");
    let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(payload);
    serde_json::from_slice(&bytes.expect("base64")).expect("claims")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenants_bare_name_is_in_nothing_that_is_kept_or_recognised() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = walked(folder.path(), Tenant::from_prefix(PREFIX).expect("a tenant")).await;
    is_kept_under_the_prefix(&run).await;
    is_recognised_by_the_prefix(&run);
    let cookie = run.user.cookie().expect("a session");
    let task = run.tasks.first().expect("a task").clone();
    run.local.system.stop().await;

    // The name again, with the very keys and addresses of the first: nothing of the first is the second's.
    let file = folder.path().join("secrets.json");
    let kept = std::fs::read_to_string(&file).expect("the secrets");
    std::fs::write(&file, kept.replace(PREFIX, NEXT)).expect("written");
    let next = Tenant::from_prefix(NEXT).expect("a tenant");
    let local = Local::start_for(Data::Folder(folder.path().to_owned()), vec![next]).await;
    let renamed = cookie.replace(PREFIX, NEXT);
    assert_ne!(renamed, cookie);
    for shown in [cookie, renamed] {
        let http = system_testing::user::http();
        let base = local
            .endpoint(&format!("/tenants/{NAME}/base"))
            .trim_end_matches('/');
        let get = async |path: &str| {
            let request = http.get(format!("{base}{path}")).header("cookie", &shown);
            request.send().await.expect("an answer")
        };
        let chats: Value = get("/api/chats").await.json().await.expect("JSON");
        assert_eq!(chats["chats"], serde_json::json!([]), "{shown}");
        assert_eq!(get(&format!("/api/tasks/{task}")).await.status(), 404, "{shown}");
    }
    local.system.stop().await;
}
