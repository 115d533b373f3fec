//! `switchyard up --containers`: addresses that are the same in a container and on this machine. A second loopback address
//! stands for the bridge's here; that the bridge's own may be called is tested where the guard is.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use system_testing::User;
use system_testing::binary::{self, Up};
use system_testing::runtime_api::{Function, Reply, Spec, program};

const BRIDGE: &str = "127.0.0.2";

type Environments = BTreeMap<String, BTreeMap<String, String>>;

/// The host of every address in a text; the database's holds its access key before it.
fn hosts(text: &str) -> Vec<&str> {
    let found = text.split("http://").skip(1);
    found
        .map(|rest| {
            let authority = rest.split(['/', '"']).next().unwrap();
            let host = authority.rsplit('@').next().unwrap();
            host.split(':').next().unwrap()
        })
        .collect()
}

fn started(data: &std::path::Path) -> (Up, Environments) {
    let up = Up::start_more(data, 0, &["--containers", "--container-host", BRIDGE]);
    let file = data.join("env.json");
    let (data, file) = (data.to_str().unwrap(), file.to_str().unwrap());
    let told = binary::run(&["sam-env", "--data", data, "--out", file]);
    assert!(told.status.success(), "{told:?}");
    let text = std::fs::read_to_string(file).unwrap();
    let hosts = hosts(&text);
    assert!(
        hosts.len() > 30 && hosts.iter().all(|host| *host == BRIDGE),
        "{text}"
    );
    (up, serde_json::from_str(&text).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_system_is_at_the_bridges_address_and_people_find_it_at_the_usual_one_too() {
    let data = tempfile::tempdir().unwrap();
    let (up, _environments) = started(data.path());
    let text = up.endpoints.to_string();
    assert!(hosts(&text).iter().all(|host| *host == BRIDGE), "{text}");
    let base = up.base("acme").to_owned();
    for base in [base.clone(), base.replace(BRIDGE, "127.0.0.1")] {
        let user = User::new(&base);
        let asked = user.ask("Will it rain in Oslo tomorrow?").await;
        user.until(&asked.task_id(), &["completed"]).await;
    }
    // Consent leads to the authorization server and back by the same addresses.
    let user = User::new(&base);
    let asked = user.ask("Where is my order 1003?").await;
    let waiting = user.until(&asked.task_id(), &["auth-required"]).await;
    let mut browser = crate::consent::profile(&user, &base);
    let ada = &up.endpoints["users"]["acme"][0];
    let page = crate::consent::agree(&mut browser, &crate::consent::link(&waiting), ada).await;
    assert_eq!(page.status, 200, "{page:?}");
    user.until(&asked.task_id(), &["completed"]).await;
    assert_eq!(up.terminate(), Some(0));
}

/// What a function says to an event: the status of an HTTP answer, if it is one, and all of it.
async fn played(function: &std::sync::Arc<Function>, event: Value) -> (Option<u64>, String) {
    let reply = function.invoke(event).await;
    let status = reply.status();
    match reply {
        Reply::Answer(answer) => (status, answer.to_string()),
        other => panic!("{other:?}"),
    }
}

/// Functions that the local system has none of.
const ELSEWHERE: [&str; 3] = ["mqtt_bridge", "pool_authorizer", "wake_router"];

#[tokio::test(flavor = "multi_thread")]
async fn every_function_answers_every_event_from_outside_the_whole_chat_among_them() {
    let data = tempfile::tempdir().unwrap();
    let logs = tempfile::tempdir().unwrap();
    let (_up, environments) = started(data.path());
    let mut events = 0;
    for folder in std::fs::read_dir(system_testing::folder().join("../events")).unwrap() {
        let folder = folder.unwrap();
        let package = folder.file_name().into_string().unwrap();
        let words = package
            .split('_')
            .map(|word| word[..1].to_uppercase() + &word[1..]);
        let name: String = words.collect();
        let Some(environment) = environments.get(&format!("{name}Function")) else {
            // They answer to AWS IoT and to the pool, of which there is none here: `bootstraps::{iot, events}` play their events.
            assert!(ELSEWHERE.contains(&package.as_str()), "{package}");
            continue;
        };
        let function = Function::new(
            Spec {
                name: package.clone(),
                binary: program(&package),
                environment: environment.clone(),
                timeout: Duration::from_secs(60),
                memory: 256,
                isolated: false,
            },
            logs.path(),
        );
        let files = std::fs::read_dir(folder.path()).unwrap();
        let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
        // The first visit makes the chat that is not there for the next visitor.
        files.sort();
        for path in files {
            let event = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
            let (status, answer) = played(&function, event).await;
            let case = path.file_stem().unwrap().to_str().unwrap();
            assert!(
                status.is_none_or(|status| status < 500),
                "{package}/{case}: {answer}"
            );
            if (package.as_str(), case) == ("chat_api", "a_first_visit") {
                assert_eq!(status, Some(200), "{answer}");
                let whole = ["data-task", "Oslo", "\\\"completed\\\"", "[DONE]"];
                assert!(whole.iter().all(|part| answer.contains(part)), "{answer}");
            }
            events += 1;
        }
    }
    assert!(events > 50, "{events}");
}
