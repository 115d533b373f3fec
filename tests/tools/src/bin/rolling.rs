//! Two releases beside each other over one table: the programs of an older commit and this one's, each function of one of
//! them, then the other way round. The weather is asked, and an order, which needs the user's consent; both must come to
//! their end, whoever wrote the records that the others read.
//!
//! ```sh
//! cargo build --workspace --bins
//! cargo run -p tools --bin rolling -- --older 75ac982    # built in a work tree below target/rolling
//! cargo run -p tools --bin rolling -- --programs FOLDER  # the older programs are there already
//! ```

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Parser;
use serde_json::Value;
use system_testing::cloud::{Cloud, PASSWORD};
use system_testing::{User, runtime_api};
use url::Url;

#[derive(Parser)]
struct Options {
    /// The older release, as a commit: its programs are built first.
    #[arg(long, required_unless_present = "programs")]
    older: Option<String>,
    /// Where the older release's programs are.
    #[arg(long)]
    programs: Option<PathBuf>,
}

/// The functions that are of the older release in the first round, and of this one in the second: neighbours in each walk
/// are of different releases.
const FIRST: [&str; 5] = [
    "host_agent",
    "oauth_callback",
    "registry",
    "horizon_agent",
    "task_sweeper",
];

/// Builds the programs of a commit; where they are.
fn build(commit: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/rolling");
    let tree = target.join(commit);
    let run = |command: &mut Command| {
        let status = command.status().expect("the command starts");
        assert!(status.success(), "{command:?}");
    };
    if !tree.exists() {
        run(Command::new("git")
            .args(["worktree", "add", "--detach"])
            .arg(&tree)
            .arg(commit));
    }
    let programs = target.join("build");
    let mut cargo = Command::new("cargo");
    cargo
        .args(["build", "--workspace", "--target-dir"])
        .arg(&programs);
    for function in std::fs::read_dir(tree.join("functions")).expect("functions") {
        cargo.arg("--bin").arg(function.expect("a folder").file_name());
    }
    // It is built once, and lies beside this one's.
    run(cargo.env("CARGO_INCREMENTAL", "0").current_dir(&tree));
    programs.join("debug")
}

fn link(task: &Value) -> String {
    let text = task.to_string();
    let start = text.find("/connect/").expect("a consent link");
    let begin = text[..start].rfind("http").expect("an address");
    let mut rest = text[begin..].split(|c: char| c.is_whitespace() || "\"\\),".contains(c));
    rest.next().expect("an address").trim_end_matches('.').to_owned()
}

async fn consent(cloud: &Cloud, user: &User, waiting: &Value) {
    let base = cloud.stacks["acme"].output("BaseUrl");
    let path = Url::parse(&base).expect("an address").path().to_owned();
    let mut browser = user.browser(&path);
    let page = browser.open(&link(waiting)).await;
    let fields = [("username", "ada"), ("password", PASSWORD)];
    let page = browser.submit(&page, &fields).await;
    let page = browser.submit(&page, &[]).await;
    assert_eq!(page.status, 200, "{page:?}\n{}", cloud.logs());
}

async fn walks(cloud: &Cloud) {
    let user = cloud.user("acme");
    let asked = user.ask("Will it rain in Oslo tomorrow?").await;
    let done = user.until(&asked.task_id(), &["completed"]).await;
    println!("  weather: {}", done["statusMessage"]);
    let asked = user.ask("Where is my order 1001?").await;
    let waiting = user.until(&asked.task_id(), &["auth-required"]).await;
    consent(cloud, &user, &waiting).await;
    let done = user.until(&asked.task_id(), &["completed"]).await;
    println!("  consent: {}", done["statusMessage"]);
}

#[tokio::main]
async fn main() {
    let options = Options::parse();
    let older = match (&options.programs, &options.older) {
        (Some(programs), _) => programs.clone(),
        (None, Some(commit)) => build(commit),
        (None, None) => return,
    };
    for first_is_older in [true, false] {
        let of = |package: &str| match FIRST.contains(&package) == first_is_older {
            true => older.join(package),
            false => runtime_api::program(package),
        };
        println!(
            "older: {}",
            if first_is_older {
                "the first half"
            } else {
                "the second half"
            }
        );
        let cloud = Cloud::start_with(&["acme"], &of).await;
        walks(&cloud).await;
    }
    println!("both walks came to their end, both ways");
}
