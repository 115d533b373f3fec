//! The whole life of a deployment, by the commands that an operator types and nothing put in by hand: deployed by the
//! templates of the last release, upgraded, its keys rotated and its agents moved, and removed without a trace.

use std::path::Path;
use std::process::Command;

use serde_json::json;
use system_testing::User;

use super::deploy_page::Operator;
use super::deployed::link;

const PLATFORM: &str = "cargo run --quiet -- platform add --aws --domain agents.example --certificate arn:aws:acm:eu-north-1:123456789012:certificate/0f1e --run";
const TENANT: &str = "cargo run --quiet -- tenant add acme --aws --silo --domain acme.example --certificate arn:aws:acm:eu-north-1:123456789012:certificate/0f1e --user ada --run";

/// A template as it was before its last change; `None` where the history is not here.
fn before(path: &str) -> Option<String> {
    let git = |words: &[&str]| {
        let told = Command::new("git")
            .args(words)
            .current_dir(system_testing::folder().join(".."))
            .output()
            .ok()?;
        let text = String::from_utf8(told.stdout).ok()?;
        told.status.success().then_some(text)
    };
    let commits = git(&["log", "-2", "--format=%H", "--", path])?;
    let now = std::fs::read_to_string(system_testing::folder().join("..").join(path)).unwrap();
    // One that is not committed yet was committed last time.
    commits
        .lines()
        .filter_map(|commit| git(&["show", &format!("{commit}:{path}")]))
        .find(|text| *text != now)
        .map(|text| with_new_secrets(text, &now))
}

/// The older template with the secrets that only this release's has: the commands that fill them are this release's.
fn with_new_secrets(older: String, now: &str) -> String {
    let starts: Vec<usize> = now
        .match_indices("\n  ")
        .map(|(at, _)| at + 1)
        .filter(|at| now[at + 2..].starts_with(|first: char| first.is_ascii_uppercase()))
        .collect();
    let ends = starts.iter().skip(1).copied().chain([now.len()]);
    let blocks = starts.iter().zip(ends).map(|(start, end)| &now[*start..end]);
    blocks
        .filter(|block| block.contains("    Type: AWS::SecretsManager::Secret\n"))
        .filter(|block| !older.contains(block.lines().next().unwrap_or_default()))
        .fold(older.clone(), |text, block| {
            text.replacen("\nResources:\n", &format!("\nResources:\n{block}"), 1)
        })
}

/// Lays out the templates of the last release; false where nobody knows them.
fn last_release(folder: &Path) -> bool {
    std::fs::create_dir(folder.join("infra")).unwrap();
    ["template.yaml", "infra/tenant.yaml"].into_iter().all(|path| {
        let text = before(path);
        text.is_some_and(|text| std::fs::write(folder.join(path), text).is_ok())
    })
}

async fn weather(user: &User) {
    let asked = user.ask("Will it rain in Oslo tomorrow?").await;
    let told = user.until(&asked.task_id(), &["completed"]).await;
    assert!(told["artifacts"].to_string().contains("Oslo"), "{told:#}");
}

/// What Horizon says to somebody with an order, and to somebody without one.
const ANSWERED: [&str; 2] = ["completed", "input-required"];

/// Asks for orders; whether consent was needed.
async fn orders(operator: &Operator, user: &User) -> bool {
    let asked = user.ask("Show my orders").await;
    let told = user
        .until(
            &asked.task_id(),
            &["auth-required", ANSWERED[0], ANSWERED[1], "failed"],
        )
        .await;
    let asks = told["status"] == "auth-required";
    if asks {
        let base = operator.cloud.stacks["acme"].output("BaseUrl");
        let path = url::Url::parse(&base).unwrap().path().to_owned();
        let mut browser = user.browser(&path);
        let page = browser.open(&link(&told)).await;
        let password = std::fs::read_to_string(operator.folder.path().join("acme-aws/password-ada")).unwrap();
        let login = [("username", "ada"), ("password", password.trim())];
        let page = browser.submit(&page, &login).await;
        let page = browser.submit(&page, &[]).await;
        assert_eq!(page.status, 200, "{page:?}\n{}", operator.cloud.logs());
    }
    let told = user.until(&asked.task_id(), &ANSWERED).await;
    assert!(told.to_string().contains("order"), "{told:#}");
    asks
}

async fn status(url: &str) -> u16 {
    let card = format!("{url}/.well-known/agent-card.json");
    system_testing::user::http()
        .get(card)
        .send()
        .await
        .unwrap()
        .status()
        .as_u16()
}

fn lines(commands: &[&str]) -> Vec<String> {
    commands.iter().map(|line| (*line).to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_is_upgraded_rotated_moved_and_removed_by_its_commands_alone() {
    let older = tempfile::tempdir().unwrap();
    let mut operator = Operator::new().await;
    if last_release(older.path()) {
        operator.cloud.release(Some(older.path()));
    } else {
        eprintln!("NOT UPGRADED FROM AN OLDER TEMPLATE: this clone has no history of it");
    }
    operator.run(&lines(&[PLATFORM, TENANT])).await;
    let base = operator.cloud.stacks["acme"].output("BaseUrl");
    let ada = operator.signs_in(&format!("{base}/signin")).await;
    weather(&ada).await;
    assert!(orders(&operator, &ada).await, "the first time she is asked");

    // This release: nothing changes for her.
    operator.cloud.release(None);
    operator
        .run(&lines(&["cargo run --quiet -- upgrade --aws"]))
        .await;
    assert_eq!(operator.cloud.stacks["acme"].output("BaseUrl"), base);
    weather(&ada).await;
    assert!(!orders(&operator, &ada).await, "what she agreed to is kept");

    // New keys, with functions that are warm: what was sealed opens, and who is signed in stays so.
    let rotations = [
        "cargo run --quiet -- keys rotate --aws --folder platform-aws --run",
        "cargo run --quiet -- keys rotate --aws --folder acme-aws --run",
    ];
    let secrets = operator.cloud.gate.secrets.lock().unwrap().clone();
    operator.run(&lines(&rotations)).await;
    let changed = |now: &std::collections::BTreeMap<String, String>| {
        now.iter().filter(|(arn, text)| secrets[*arn] != **text).count()
    };
    // All but the clients at other authorization servers: theirs, and Google's.
    assert_eq!(
        changed(&operator.cloud.gate.secrets.lock().unwrap()),
        secrets.len() - 2
    );
    weather(&ada).await;
    assert!(!orders(&operator, &ada).await, "what was sealed before is opened");
    assert_eq!(ada.get("/api/session").await.json()["username"], "ada");
    let (again, _) = operator.try_to(&lines(&rotations[..1])).await;
    let told = String::from_utf8(again.stderr).unwrap();
    assert!(
        !again.status.success() && told.contains("wait 15 minutes"),
        "{told}"
    );

    // New addresses.
    for (agent, stack, output, folder) in [
        ("weather", "platform", "WeatherAgentUrl", "platform-aws"),
        ("horizon", "acme", "HorizonAgentUrl", "acme-aws"),
    ] {
        let old = operator.cloud.stacks[stack].output(output);
        let moves = format!("cargo run --quiet -- agent move {agent} --aws --folder {folder} --run");
        operator.run(&[moves]).await;
        let new = operator.cloud.stacks[stack].output(output);
        assert_ne!(old, new, "{agent}");
        assert_eq!((status(&old).await, status(&new).await), (404, 200), "{agent}");
    }
    weather(&ada).await;
    orders(&operator, &ada).await;
    // The folder says what is deployed: the same command again changes no address.
    let address = operator.cloud.stacks["acme"].output("HorizonAgentUrl");
    operator.run(&lines(&[TENANT])).await;
    assert_eq!(operator.cloud.stacks["acme"].output("HorizonAgentUrl"), address);
    weather(&ada).await;
    assert_eq!(operator.cloud.refusals(), Vec::<String>::new());

    // The platform does not go before its tenants, and then nothing is left.
    let away = [
        "cargo run --quiet -- tenant remove acme --aws --run",
        "cargo run --quiet -- platform remove --aws --with-data --run",
    ];
    let (early, _) = operator.try_to(&lines(&away[1..])).await;
    let told = String::from_utf8(early.stderr).unwrap();
    assert!(
        !early.status.success() && told.contains("switchyard-acme"),
        "{told}"
    );
    operator.run(&lines(&away)).await;
    assert!(operator.cloud.is_bare());
    let secrets = operator.cloud.gate.secrets.lock().unwrap().clone();
    assert_eq!(secrets.len(), 0, "no secret is left");
    let tables =
        system_testing::dynamodb::call(&operator.cloud.gate.database, "ListTables", &json!({})).await;
    let names = tables["TableNames"].as_array().unwrap().iter();
    let left: Vec<&str> = names
        .filter_map(|name| name.as_str()?.strip_prefix("switchyard-prod-"))
        .collect();
    assert_eq!(left, [""; 0], "no table, and so no item");
}
