//! What the functions weigh and how fast they start: one table, from the programs that `sam build` made
//! (`SWITCHYARD_FUNCTIONS`), each in sandboxes of a Lambda of our own against an embedded DynamoDB, beside a `lambda_http`
//! function that does nothing, on the same machine in the same run.
//!
//! Fails where a program is too heavy or starts too slowly. With names of functions as arguments it looks at these alone. With a
//! control group (`LAMBDA_SHARE`, the group's folder, whose limit is set already) a sandbox is put there once it asks for its
//! first event, as Lambda gives it a whole processor until then and a share afterwards; a start may cost what it costs then.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use system_testing::cloud::Cloud;
use system_testing::runtime_api::{Reply, Sandbox, Spec, program};

/// How many sandboxes are started of each function, each right after one of the empty function, so that a slow moment of the
/// machine is both's; the one in the middle counts.
const STARTS: usize = 31;
/// Events that a warm sandbox gets.
const WARM: usize = 200;
/// Most bytes of a zip file, in MiB, as Lambda counts, with those that may have more: the host has clients of language models, the
/// agent for stays one of MCP.
const ZIP: u64 = 5 << 20;
const ZIP_OF: [(&str, u64); 2] = [("host_agent", 8 << 20), ("airbnb_agent", 6 << 20)];
/// What a start may cost on top of the warm answer to the same event, and the host's.
const OVERHEAD: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(6));
/// What each function is asked: something that reaches its tables, where that needs no token.
const ASKED: [(&str, &str); 12] = [
    ("registry", "agents_by_tags"),
    ("idp", "token_client_credentials"),
    ("weather_agent", "send_message"),
    ("airbnb_agent", "send_message"),
    ("calendar_agent", "send_message"),
    ("report_agent", "card"),
    ("task_sweeper", "schedule"),
    ("host_agent", "wakes"),
    ("chat_api", "tasks_of_context"),
    ("oauth_callback", "connect_unknown"),
    ("webhook_receiver", "completed"),
    ("horizon_agent", "wakes"),
];

struct Row {
    name: String,
    binary: u64,
    zip: u64,
    /// To the first request for an event.
    init: Duration,
    /// The same of the empty function, beside it.
    empty: Duration,
    first: Duration,
    p50: Duration,
    p99: Duration,
    memory_kib: u64,
}

impl Row {
    /// What building it costs, before it asks for its first event: Lambda gives it a whole processor for that.
    fn building(&self) -> Duration {
        self.init.saturating_sub(self.empty)
    }

    /// What is left for the first answer, in which it has the processor that its memory buys.
    fn answering(&self) -> Duration {
        self.first.saturating_sub(self.p50)
    }

    /// What a start costs.
    fn overhead(&self) -> Duration {
        self.building() + self.answering()
    }
}

/// A function with what it is asked.
struct Asked {
    spec: Spec,
    event: Value,
}

impl Asked {
    fn new(name: &str, environment: BTreeMap<String, String>, event: Value) -> Self {
        let spec = Spec {
            name: name.to_owned(),
            binary: program(name.trim_matches(['(', ')'])),
            environment,
            timeout: Duration::from_secs(30),
            memory: 256,
            isolated: false,
        };
        Self { spec, event }
    }

    fn empty() -> Self {
        Self::new("(empty)", BTreeMap::new(), read("host_agent", "card"))
    }
}

#[tokio::main]
async fn main() {
    let cloud = Cloud::start(&["acme"]).await;
    let place = tempfile::tempdir().expect("a folder");
    let mut functions = vec![Asked::empty()];
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    for (package, event) in ASKED {
        if !wanted.is_empty() && !wanted.iter().any(|name| name == package) {
            continue;
        }
        let camel: String = package
            .split('_')
            .map(|word| word[..1].to_uppercase() + &word[1..])
            .collect();
        let full = cloud
            .environments
            .keys()
            .find(|name| name.ends_with(&format!("/{camel}Function")));
        let mut environment = cloud.environments[full.expect("a function")].clone();
        environment.remove("BASE_PATH");
        environment.insert("ANSWERS".to_owned(), "buffered".to_owned());
        environment.insert("PUBLIC_AGENTS".to_owned(), "true".to_owned());
        functions.push(Asked::new(package, environment, read(package, event)));
    }
    let mut rows = Vec::new();
    for function in functions {
        rows.push(measure(function, place.path()).await);
    }
    print(&rows);
    let faults = faults(&rows);
    for fault in &faults {
        eprintln!("{fault}");
    }
    std::process::exit(i32::from(!faults.is_empty()));
}

fn read(function: &str, event: &str) -> Value {
    let path = system_testing::folder().join(format!("../events/{function}/{event}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("JSON")
}

/// Starts a sandbox: how long it took to its first request for an event, and to answer that.
async fn start(Asked { spec, event }: &Asked, place: &Path) -> (Duration, Duration) {
    let sandbox = Sandbox::start(spec, place).await;
    let init = sandbox.ready().await;
    if let Some(group) = share() {
        sandbox.limit(&group);
    }
    let asked = Instant::now();
    answered(&spec.name, &sandbox, event).await;
    (init, asked.elapsed())
}

/// The control group of a sandbox that has asked for its first event.
#[expect(clippy::disallowed_methods, reason = "a tool may look at its environment")]
fn share() -> Option<PathBuf> {
    std::env::var_os("LAMBDA_SHARE").map(PathBuf::from)
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Starts sandboxes, and asks a warm one again and again.
async fn measure(function: Asked, place: &Path) -> Row {
    let nothing = Asked::empty();
    let (mut empty, mut init, mut first) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..STARTS {
        empty.push(start(&nothing, place).await.0);
        let (asks, answers) = start(&function, place).await;
        init.push(asks);
        first.push(answers);
    }
    let Asked { spec, event } = function;
    let sandbox = Sandbox::start(&spec, place).await;
    sandbox.ready().await;
    if let Some(group) = share() {
        sandbox.limit(&group);
    }
    answered(&spec.name, &sandbox, &event).await;
    let mut warm = Vec::new();
    for _ in 0..WARM {
        sandbox.free().await;
        let asked = Instant::now();
        answered(&spec.name, &sandbox, &event).await;
        warm.push(asked.elapsed());
    }
    warm.sort();
    Row {
        binary: std::fs::metadata(&spec.binary).expect("a file").len(),
        zip: zipped(&spec.binary, place),
        name: spec.name,
        init: middle(init),
        empty: middle(empty),
        first: middle(first),
        p50: warm[WARM / 2],
        p99: warm[WARM * 99 / 100],
        memory_kib: sandbox.peak_kib(),
    }
}

async fn answered(name: &str, sandbox: &Sandbox, event: &Value) {
    match sandbox.invoke(event.clone()).await {
        Reply::Answer(_) => {}
        other => panic!("{name} gave {other:?}\n{}", sandbox.log()),
    }
}

/// The size of the zip file that is uploaded.
fn zipped(binary: &Path, place: &Path) -> u64 {
    let zip = place.join("bootstrap.zip");
    let _none = std::fs::remove_file(&zip);
    let done = Command::new("python3")
        .args(["-m", "zipfile", "-c"])
        .arg(&zip)
        .arg(binary)
        .status();
    assert!(done.expect("python3 runs").success());
    std::fs::metadata(&zip).expect("a file").len()
}

fn print(rows: &[Row]) {
    println!(
        "| function | binary (MB) | zip (MB) | cold overhead (ms) | of it built (ms) | first answer (ms) | warm p50 (ms) | warm p99 (ms) | memory (MB) |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let ms = |time: Duration| format!("{:.1}", time.as_secs_f64() * 1e3);
    for row in rows {
        println!(
            "| {} | {:.1} | {:.1} | {} | {} | {} | {} | {} | {:.0} |",
            row.name,
            row.binary as f64 / 1e6,
            row.zip as f64 / 1e6,
            ms(row.overhead()),
            ms(row.building()),
            ms(row.first),
            ms(row.p50),
            ms(row.p99),
            row.memory_kib as f64 / 1024.0,
        );
    }
}

fn faults(rows: &[Row]) -> Vec<String> {
    let mut faults = Vec::new();
    for row in rows {
        let is_host = row.name == "host_agent";
        let own = ZIP_OF.iter().find(|(name, _)| *name == row.name);
        let most = own.map_or(ZIP, |(_, most)| *most);
        let overhead = if is_host { OVERHEAD.1 } else { OVERHEAD.0 };
        if share().is_none() && row.overhead() > overhead {
            faults.push(format!(
                "{}: a start costs {:?} on top of a warm answer; {overhead:?} is the most",
                row.name,
                row.overhead()
            ));
        }
        if row.zip > most {
            faults.push(format!(
                "{}: a zip file of {} bytes, of {most}",
                row.name, row.zip
            ));
        }
    }
    faults
}
