//! The commands of `docs/deploy.md`, run as they stand by a shell whose `aws` and `sam` speak to an empty account here.

use std::process::Output;

use serde_json::{Value, json};
use system_testing::browser::Browser;
use system_testing::cloud::{Asked, Cloud};
use system_testing::template::Template;
use system_testing::{User, oauth};

/// The commands of a document, one after the other: its blocks of shell.
fn commands(document: &str) -> Vec<String> {
    let text = std::fs::read_to_string(system_testing::folder().join("..").join(document)).unwrap();
    let blocks = text.split("```sh\n").skip(1);
    let lines = blocks.flat_map(|block| block.split("```").next().unwrap().lines());
    lines.map(str::to_owned).collect()
}

/// Somebody with an empty account and a clone of the repository.
pub(super) struct Operator {
    pub(super) cloud: Cloud,
    pub(super) folder: tempfile::TempDir,
}

impl Operator {
    pub(super) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // The folders with keys are made where the commands run.
        for link in ["infra", "template.yaml"] {
            let there = system_testing::folder().join("..").join(link);
            std::os::unix::fs::symlink(there, folder.path().join(link)).unwrap();
        }
        Self {
            cloud: Cloud::empty().await,
            folder,
        }
    }

    pub(super) async fn try_to(&mut self, lines: &[String]) -> (Output, Vec<Asked>) {
        let script = format!("set -eu\n{}", lines.join("\n"));
        self.cloud.shell(self.folder.path(), &script).await
    }

    /// What the page then says to do in a browser: ada signs in with her password, and asks.
    async fn asks_as_ada(&self, sign_in: &str) {
        let ada = self.signs_in(sign_in).await;
        let asked = ada.ask("Will it rain in Oslo tomorrow?").await;
        let told = ada.until(&asked.task_id(), &["completed"]).await;
        assert!(told.to_string().contains("Oslo"), "{told}");
        let cookie = ada.cookie().expect("a session");
        std::fs::write(self.folder.path().join("cookie"), format!("{cookie}\n")).unwrap();
    }

    /// Ada, after she has signed in in a browser.
    pub(super) async fn signs_in(&self, sign_in: &str) -> User {
        let password = std::fs::read_to_string(self.folder.path().join("acme-aws/password-ada")).unwrap();
        let login = json!({"username": "ada", "password": password.trim()});
        let mut browser = Browser::default();
        let page = oauth::agree(&mut browser, sign_in, &login).await;
        assert_eq!(page.status.as_u16(), 200, "{page:?}");
        let base = sign_in.trim_end_matches("/signin");
        let own = browser
            .cookies()
            .find(|(name, _)| name.starts_with("switchyard_"));
        let (name, value) = own.expect("a session");
        let ada = User::new(base);
        ada.resume(&format!("{name}={value}"));
        ada
    }

    /// What the commands print.
    pub(super) async fn run(&mut self, lines: &[String]) -> String {
        let (output, asked) = self.try_to(lines).await;
        assert!(
            output.status.success(),
            "{lines:#?}\n{output:?}\n{asked:#?}\n{}",
            self.cloud.logs()
        );
        String::from_utf8(output.stdout).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_on_deployment_leads_from_an_empty_account_to_an_answer_and_back() {
    let all = commands("docs/deploy.md");
    let end = all
        .iter()
        .position(|line| line.contains("tenant remove"))
        .unwrap();
    let (there, back) = all.split_at(end);
    assert!(there.len() <= 10, "ten commands are enough: {there:#?}");
    let mut operator = Operator::new().await;
    assert!(operator.cloud.is_bare());

    // A first creation that fails is taken back, and what comes next is the same again.
    let upto = there
        .iter()
        .position(|line| line.contains("platform add"))
        .unwrap();
    operator.cloud.fail_next_creation();
    let (output, _) = operator.try_to(&there[..=upto]).await;
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        !output.status.success() && told.contains("Failed to create"),
        "{told}"
    );
    assert!(operator.cloud.is_bare(), "nothing stands in the way");
    let said = operator.run(&there[upto..]).await;
    let session = said.lines().rev().find(|line| line.contains("signInRequired"));
    // Nothing ends the line behind it.
    let mut session = serde_json::Deserializer::from_str(session.expect("who is there")).into_iter::<Value>();
    let session = session.next().unwrap().unwrap();
    assert_eq!(session["who"], "nobody", "{session}");
    assert_eq!(session["signInRequired"], true, "{session}");
    operator.asks_as_ada(session["signIn"].as_str().unwrap()).await;
    // `verify` says what it cannot see, until it is told who asks.
    assert!(
        said.contains("unseen  an answer in the chat: who asks has to be signed in"),
        "{said}"
    );
    for known in [
        "the host agent refuses who brings no token",
        "document before the path",
    ] {
        let row = said.lines().find(|line| line.contains(known));
        assert!(
            row.is_some_and(|row| row.starts_with("known ")),
            "{known}: {said}"
        );
    }
    let verify = there
        .iter()
        .find(|line| line.contains("verify"))
        .expect("the page verifies");
    let said = operator.run(&[format!("{verify} --session cookie")]).await;
    assert!(
        said.contains("ok      an answer in the chat: the task is completed"),
        "{said}"
    );
    for agent in ["host", "horizon", "weather", "report", "airbnb", "calendar"] {
        assert!(
            said.contains(&format!("ok      the card of the {agent} agent")),
            "{said}"
        );
    }
    // The secrets of both templates hold something: nobody left one empty.
    let secrets = [Template::platform(), Template::tenant()];
    let secrets = secrets
        .iter()
        .map(|template| template.of_type("AWS::SecretsManager::Secret").len());
    let held = operator.cloud.gate.secrets.lock().unwrap().len();
    assert_eq!(held, secrets.sum::<usize>());

    // The page says that what broke off is simply repeated.
    let again: Vec<String> = there
        .iter()
        .filter(|line| line.contains(" add "))
        .cloned()
        .collect();
    assert_eq!(again.len(), 2);
    operator.run(&again).await;
    assert_eq!(operator.cloud.refusals(), Vec::<String>::new());

    // Everything goes that outlives its stack; before that, its names are taken.
    let stacks = back.iter().position(|line| line.contains("--with-data")).unwrap();
    operator.run(&back[..stacks]).await;
    let (output, _) = operator.try_to(&again[..1]).await;
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        !output.status.success() && told.contains("already exists"),
        "{told}"
    );
    operator.run(&back[stacks..]).await;
    assert!(operator.cloud.is_bare());
}
