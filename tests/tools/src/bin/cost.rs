//! Computes `docs/cost.md`: what an orchestration costs on AWS, from what it uses. The walks run through the deployed system
//! (`system_testing::cloud`), where each function's requests to AWS, DynamoDB's capacity units and milliseconds are counted; list
//! prices do the rest.
//!
//! ```sh
//! SWITCHYARD_FUNCTIONS=target/aws/lambda cargo run -p tools --bin cost > docs/cost.md
//! ```

use std::collections::BTreeMap;
use std::time::Duration;

use domain::price::{self, Units};
use domain::{AgentName, Clock as _, Entropy as _, Lasting, TaskId, Tenant};
use reqwest::Method;
use serde_json::{Value, json};
use store::{BlobScope, Blobs as _, TaskKey};
use system_testing::User;
use system_testing::cloud::{Cloud, Write};
use system_testing::dynamodb;
use system_testing::template::Template;

/// Files beside a message: how many, and the bytes of each. The last is the most that a message takes.
const ATTACHED: [(usize, usize); 2] = [(1, 99_999), (5, 139_998)];
/// Orchestrations that are counted.
const RUNS: u32 = 20;
/// What a call to the world takes longer than one to the sandbox: the weather agent makes two.
const WORLD: Duration = Duration::from_millis(300);
/// Dollars for a read of a secret, and for a gigabyte that leaves AWS for the internet: no task's price has them in it.
const SECRET_READ: f64 = 0.05 / 10_000.0;
const EGRESS_GB: f64 = 0.09;
/// Dollars of S3 for a put or a list, a get, and a gigabyte for a month.
const S3_PUT: f64 = 5e-6;
const S3_GET: f64 = 0.4e-6;
const S3_GB_MONTH: f64 = 0.023;
/// What a start of a function is taken to last on AWS, where nobody has measured one; Lambda charges for it.
const START: Duration = Duration::from_millis(200);
/// Bytes that Lambda itself logs of an invocation: its start, its end and its report, as JSON.
const LAMBDAS_LOG_BYTES: f64 = 700.0;
/// Bytes that DynamoDB bills beside each stored item, and beside each entry of an index.
const ITEM_BYTES: f64 = 100.0;
/// Hours, minutes of a month.
const MINUTES: f64 = 43_800.0;
/// Requests that Lambda's pollers make of an idle queue: five of them, each waiting 20 seconds.
const POLLS: f64 = 5.0 * 3.0 * MINUTES;

#[derive(Default, Clone)]
struct Counted {
    invocations: f64,
    milliseconds: f64,
    gb_seconds: f64,
    read_units: f64,
    write_units: f64,
    due_units: f64,
    dynamodb: f64,
    sqs: f64,
    puts: f64,
    gets: f64,
}

impl std::ops::AddAssign<&Counted> for Counted {
    fn add_assign(&mut self, other: &Counted) {
        self.invocations += other.invocations;
        self.milliseconds += other.milliseconds;
        self.gb_seconds += other.gb_seconds;
        self.read_units += other.read_units;
        self.write_units += other.write_units;
        self.due_units += other.due_units;
        self.dynamodb += other.dynamodb;
        self.sqs += other.sqs;
        self.puts += other.puts;
        self.gets += other.gets;
    }
}

/// Which builds ran: milliseconds of debug builds are several times too many.
fn programs() -> String {
    let release = system_testing::runtime_api::program("registry").ends_with("bootstrap");
    let functions = if release {
        "release builds"
    } else {
        "debug builds, so that Lambda's time is overstated"
    };
    let database = if cfg!(debug_assertions) {
        "debug"
    } else {
        "release"
    };
    format!("The functions were {functions}; the embedded DynamoDB was a {database} build.")
}

/// What each function of the deployment has used so far, both tenants' stacks alike.
fn counted(cloud: &Cloud) -> BTreeMap<String, Counted> {
    let usage = cloud.gate.usage.lock().expect("no panic under the lock").clone();
    cloud
        .functions
        .iter()
        .map(|(full, function)| {
            let billed = function.billed();
            let used = usage.get(&full.replace('/', "-")).cloned().unwrap_or_default();
            let sum = |service: &str| -> f64 {
                let calls = used
                    .calls
                    .iter()
                    .filter(|(action, _)| action.starts_with(service));
                calls.map(|(_, count)| *count as f64).sum()
            };
            let seconds = billed.time.as_secs_f64();
            let counted = Counted {
                invocations: billed.invocations as f64,
                milliseconds: seconds * 1e3,
                gb_seconds: seconds * function.memory() as f64 / 1024.0,
                read_units: used.read_units,
                write_units: used.write_units,
                due_units: used.due_units,
                dynamodb: sum("dynamodb:"),
                sqs: sum("sqs:"),
                puts: sum("s3:PutObject"),
                gets: sum("s3:GetObject"),
            };
            (full.clone(), counted)
        })
        .collect()
}

fn difference(after: &Counted, before: &Counted, runs: f64) -> Counted {
    Counted {
        invocations: (after.invocations - before.invocations) / runs,
        milliseconds: (after.milliseconds - before.milliseconds) / runs,
        gb_seconds: (after.gb_seconds - before.gb_seconds) / runs,
        read_units: (after.read_units - before.read_units) / runs,
        write_units: (after.write_units - before.write_units) / runs,
        due_units: (after.due_units - before.due_units) / runs,
        dynamodb: (after.dynamodb - before.dynamodb) / runs,
        sqs: (after.sqs - before.sqs) / runs,
        puts: (after.puts - before.puts) / runs,
        gets: (after.gets - before.gets) / runs,
    }
}

/// Bytes of the tables whose names end so, and of their indexes, as DynamoDB bills them.
async fn stored(cloud: &Cloud, ends: &str) -> f64 {
    let call =
        async |operation: &str, body: Value| dynamodb::call(&cloud.gate.database, operation, &body).await;
    let billed = |told: &Value, size: &str| {
        told[size].as_f64().expect("a size") + ITEM_BYTES * told["ItemCount"].as_f64().expect("a count")
    };
    let mut bytes = 0.0;
    let tables = call("ListTables", json!({})).await;
    let tables = tables["TableNames"].as_array().expect("tables").iter();
    for name in tables.filter(|name| name.as_str().is_some_and(|name| name.ends_with(ends))) {
        let table = call("DescribeTable", json!({ "TableName": name })).await;
        let table = &table["Table"];
        let indexes = table["GlobalSecondaryIndexes"].as_array();
        bytes += billed(table, "TableSizeBytes");
        bytes += indexes
            .into_iter()
            .flatten()
            .map(|index| billed(index, "IndexSizeBytes"))
            .sum::<f64>();
    }
    bytes
}

async fn settled(cloud: &Cloud) {
    for _ in 0..200 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        if cloud.quiet() {
            return;
        }
    }
}

#[tokio::main]
async fn main() {
    let cloud = Cloud::start(&["acme"]).await;
    let user = cloud.user("acme");
    let warm = user.ask("Will it rain in Oslo tomorrow?").await;
    user.until(&warm.task_id(), &["completed"]).await;
    settled(&cloud).await;
    let (before, logged_before, asked_before) = (counted(&cloud), cloud.logs().len(), cloud.requests());
    let mut ids = Vec::new();
    let (stored_before, chats_before) = (stored(&cloud, "").await, stored(&cloud, "-sessions").await);
    let mut known = 0;
    for run in 1..=RUNS {
        if run == RUNS {
            settled(&cloud).await;
            known = writes(&cloud).len();
        }
        // The turn's stream ends when the answer is there: nobody polls.
        let asked = user.ask("Will it rain in Oslo tomorrow?").await;
        assert!(asked.said().contains("Oslo"), "{asked:?}");
        ids.push(asked.task_id());
    }
    settled(&cloud).await;
    let (after, logs) = (counted(&cloud), cloud.logs());
    let requests = (cloud.requests() - asked_before) as f64 / f64::from(RUNS);
    let said = said(&cloud, &ids).await;
    let written = (logs.len() - logged_before) as f64 / f64::from(RUNS);
    let kept = (stored(&cloud, "").await - stored_before) / f64::from(RUNS);
    let chats = (stored(&cloud, "-sessions").await - chats_before) / f64::from(RUNS);
    let mut each: BTreeMap<String, Counted> = after
        .iter()
        .map(|(name, after)| (name.clone(), difference(after, &before[name], f64::from(RUNS))))
        .filter(|(_, used)| used.invocations > 0.0)
        .collect();
    let world = WORLD.as_secs_f64() * 2.0;
    for (name, used) in &mut each {
        // The chat's stream is open, and paid for, while the weather is asked.
        if name.contains("Weather") || name.contains("ChatApi") {
            used.milliseconds += world * 1e3;
            used.gb_seconds += world * cloud.functions[name].memory() as f64 / 1024.0;
        }
    }
    let last = writes(&cloud).split_off(known);
    let mut attached = Vec::new();
    for files in ATTACHED {
        attached.push((files, with_files(&cloud, &user, files).await));
    }
    print(
        &each,
        &last,
        (written, kept, requests, &said),
        &attached,
        metrics(&logs),
    );
    beside(&cloud, each.keys(), chats).await;
}

/// What all functions together have used so far.
fn sum(cloud: &Cloud) -> Counted {
    let mut all = Counted::default();
    counted(cloud).values().for_each(|used| all += used);
    all
}

/// What no walk above has in it: looks at cards, starts, chats that stay, and what leaves AWS.
async fn beside(cloud: &Cloud, walked: impl Iterator<Item = &String>, chats: f64) {
    // The first look writes down what it finds anew.
    cloud.check_agents().await;
    settled(cloud).await;
    let (before, asked_before, logged_before) = (sum(cloud), cloud.requests(), cloud.logs().len());
    let told = cloud.check_agents().await;
    settled(cloud).await;
    let agents = told["well"]
        .as_f64()
        .filter(|agents| *agents > 0.0)
        .expect("agents");
    let look = difference(&sum(cloud), &before, agents);
    let look = Units {
        requests: (cloud.requests() - asked_before) as f64 / agents,
        invocations: look.invocations,
        gb_seconds: look.gb_seconds,
        reads: look.read_units,
        writes: look.write_units,
        logged: (cloud.logs().len() - logged_before) as f64 / agents + look.invocations * LAMBDAS_LOG_BYTES,
        ..Units::default()
    };
    let (mut starts, mut secrets, mut gigabytes) = (0.0, 0.0, 0.0);
    for name in walked {
        let (stack, function) = name.split_once('/').expect("a stack and a function");
        let environment = cloud.stacks[stack].environment(function);
        let read = environment
            .iter()
            .filter(|(name, value)| name.ends_with("_SECRET") && !value.is_empty());
        secrets += read.count() as f64;
        gigabytes += cloud.functions[name].memory() as f64 / 1024.0;
        starts += 1.0;
    }
    let cold = 1000.0 * (secrets * SECRET_READ + START.as_secs_f64() * gigabytes * price::LAMBDA_GB_SECOND);
    let [_, days, _] = Lasting::Chats.days();
    let stay = chats * 1e6 / 1e9 * price::STORED_GB_MONTH * days as f64 * 24.0 * 60.0 / MINUTES;
    println!("\n## Beside these\n\n| what no walk above has in it | dollars |\n|---|---|");
    println!(
        "| the registry's looks at an agent's card, each five minutes, a month: {:.1} requests and {:.1} write units a look | {:.2} |",
        look.requests,
        look.writes,
        look.dollars() * MINUTES / 5.0
    );
    println!(
        "| a thousand prompts that find every function cold: {starts:.0} starts of {} ms each (assumed), {secrets:.0} secrets read | {cold:.3} |",
        START.as_millis()
    );
    println!(
        "| the chats of a million orchestrations for {days} days, as long as they stay after their last message, if nothing else is set | {stay:.2} |"
    );
    let nights = 1e3 * S3_PUT + 1e6 * price::READ_UNIT;
    println!(
        "| a million large things, a month of the sweeper's nightly looks: a list for each thousand, a read unit for each record | {:.2} |",
        nights * MINUTES / 1440.0
    );
    println!("| a gigabyte of large things, a month | {S3_GB_MONTH:.2} |");
    println!(
        "| a gigabyte that leaves AWS: answers, pushes and messages to agents elsewhere, prompts to models that are not Bedrock's | {:.2} |",
        EGRESS_GB
    );
}

/// What tasks say that they used, by their records, on the average.
async fn said(cloud: &Cloud, ids: &[String]) -> Units {
    let tenant = &cloud.stacks["acme"].environment("HostAgentFunction")["TENANT_ID"];
    let tenant = Tenant::from_prefix(tenant).expect("a tenant");
    let (mut all, many) = (Units::default(), ids.len() as f64);
    for id in ids {
        let key = TaskKey {
            tenant: tenant.clone(),
            agent: AgentName::parse("host").expect("a name"),
            id: TaskId::parse(id).expect("an id"),
        };
        let stored = cloud.store.tasks().find(&key, domain::SystemClock.now()).await;
        let task = stored.expect("a store").expect("a task").task;
        let units = price::units(&task, store::kept_bytes(&task));
        all.requests += units.requests / many;
        all.invocations += units.invocations / many;
        all.gb_seconds += units.gb_seconds / many;
        all.reads += units.reads / many;
        all.writes += units.writes / many;
        all.stored += units.stored / many;
        all.sends += units.sends / many;
        all.logged += units.logged / many;
    }
    all
}

/// What an orchestration takes of DynamoDB and S3.
struct Taken {
    read_units: f64,
    write_units: f64,
    /// Bytes that it leaves in the tables and their indexes.
    kept: f64,
    puts: f64,
    gets: f64,
    /// Bytes that it leaves in the bucket.
    blobs: f64,
}

impl Taken {
    fn dollars(&self) -> f64 {
        self.read_units * price::READ_UNIT
            + self.write_units * price::WRITE_UNIT
            + self.kept / 1e9 * price::STORED_GB_MONTH
            + self.puts * S3_PUT
            + self.gets * S3_GET
            + self.blobs / 1e9 * S3_GB_MONTH
    }
}

/// The same question once more, with so many files of so many bytes beside it, which do not pack.
async fn with_files(cloud: &Cloud, user: &User, (files, bytes): (usize, usize)) -> Taken {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let file = |number: usize| {
        let mut chosen = vec![0; bytes / 3 * 4];
        domain::SystemEntropy.fill(&mut chosen);
        let base64: String = chosen
            .iter()
            .map(|byte| char::from(LETTERS[usize::from(byte % 64)]))
            .collect();
        let url = format!("data:application/octet-stream;base64,{base64}");
        json!({"type": "file", "mediaType": "application/octet-stream", "filename": format!("{number}.bin"), "url": url})
    };
    let text = json!({"type": "text", "text": "Will it rain in Oslo tomorrow?"});
    let parts: Vec<Value> = std::iter::once(text).chain((1..=files).map(file)).collect();
    settled(cloud).await;
    let (before, stored_before, blobs_before) = (counted(cloud), stored(cloud, "").await, blobs(cloud).await);
    let id = domain::MessageId::random(&domain::SystemEntropy).to_string();
    let message = json!({"id": id, "role": "user", "parts": parts});
    let body = json!({"id": format!("chat-{id}"), "trigger": "submit-message", "message": message});
    let asked = user.call(Method::POST, "/api/chat", Some(body)).await;
    let task = asked.task_id();
    settled(cloud).await;
    let (after, kept) = (counted(cloud), stored(cloud, "").await - stored_before);
    let done = user.task(&task).await;
    assert_eq!(done["status"], "completed", "{done:#}");
    let used = after
        .iter()
        .map(|(name, after)| difference(after, &before[name], 1.0));
    let mut all = Counted::default();
    used.for_each(|used| all += &used);
    Taken {
        read_units: all.read_units,
        write_units: all.write_units,
        puts: all.puts,
        gets: all.gets,
        kept,
        blobs: blobs(cloud).await - blobs_before,
    }
}

/// Bytes in the bucket.
async fn blobs(cloud: &Cloud) -> f64 {
    let (folder, mut bytes) = (&cloud.gate.blobs, 0);
    for one in folder.list(&BlobScope::All, None).await.expect("a folder") {
        let found = folder.get(&one.key, store::BLOB_MAX).await.expect("a folder");
        bytes += found.expect("it is there").len();
    }
    bytes as f64
}

/// Every write so far, in order, with who made it.
fn writes(cloud: &Cloud) -> Vec<(String, Write)> {
    let usage = cloud.gate.usage.lock().expect("no panic under the lock").clone();
    let of = |(caller, used): (String, system_testing::cloud::Usage)| {
        let writes = used.writes.into_iter();
        writes.map(move |write| (caller.clone(), write))
    };
    let mut writes: Vec<_> = usage.into_iter().flat_map(of).collect();
    writes.sort_by_key(|(_, write)| write.number);
    writes
}

/// The name of a function in the tables, of its name in full.
fn short(name: &str, separator: char) -> &str {
    let last = name.rsplit(separator).next().unwrap_or_default();
    last.trim_end_matches("Function")
}

/// A table of the writes of one orchestration.
fn print_writes(writes: &[(String, Write)]) {
    println!("\n## Each write of the last of them\n");
    println!("By the sort keys of the items; what a transaction writes counts twice, but for its indexes.\n");
    println!("| function | what | write units | of them indexes |\n|---|---|---|---|");
    for (caller, write) in writes {
        let Write {
            what,
            units,
            index_units,
            ..
        } = write;
        println!(
            "| {} | {what} | {units:.0} | {index_units:.0} |",
            short(caller, '-')
        );
    }
}

/// The metrics of the functions' logs. Each name is paid for with each agent: that is the only dimension.
fn metrics(logs: &str) -> usize {
    let lines = logs
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let each = lines.flat_map(|line| {
        let agent = line["agent"].clone();
        let told = line["_aws"]["CloudWatchMetrics"][0]["Metrics"].clone();
        let told = told.as_array().cloned().unwrap_or_default();
        told.into_iter()
            .map(move |metric| format!("{agent} {}", metric["Name"]))
    });
    each.collect::<std::collections::BTreeSet<String>>().len()
}

fn print(
    each: &BTreeMap<String, Counted>,
    writes: &[(String, Write)],
    (written, kept, requests, said): (f64, f64, f64, &Units),
    attached: &[((usize, usize), Taken)],
    metrics: usize,
) {
    let mut all = Counted::default();
    println!("# What it costs\n");
    println!(
        "Computed by `cargo run -p tools --bin cost` from requests, capacity units and milliseconds that are counted while the"
    );
    println!(
        "deployed functions run against the embedded DynamoDB; do not edit. List prices of us-east-1, {}, in",
        price::PRICED
    );
    println!(
        "dollars, x86_64, without free tiers. Nothing here was measured on AWS: its milliseconds will differ, its requests will not.\n"
    );
    println!("{}\n", programs());
    println!("## One orchestration\n");
    println!(
        "A prompt in the chat, delegated to the weather agent, answered in the same turn; every sandbox warm; {} ms more for",
        WORLD.as_millis()
    );
    println!("each of the two calls to the world.\n");
    println!("| function | invocations | ms | DynamoDB requests | read units | write units | SQS sends |");
    println!("|---|---|---|---|---|---|---|");
    let row = |name: &str, used: &Counted| {
        println!(
            "| {name} | {:.1} | {:.0} | {:.1} | {:.1} | {:.1} | {:.1} |",
            used.invocations, used.milliseconds, used.dynamodb, used.read_units, used.write_units, used.sqs
        );
    };
    for (name, used) in each {
        row(short(name, '/'), used);
        all += used;
    }
    row("**all**", &all);
    println!(
        "\nIt leaves {:.1} KB in the tables and their indexes, as DynamoDB bills them, and {:.1} KB in the functions' own logs.",
        kept / 1e3,
        written / 1e3
    );

    print_writes(writes);

    let million = 1e6;
    let used = Units {
        requests,
        invocations: all.invocations,
        gb_seconds: all.gb_seconds,
        reads: all.read_units,
        writes: all.write_units,
        stored: kept,
        sends: all.sqs,
        logged: written + all.invocations * LAMBDAS_LOG_BYTES,
    };
    let parts = used.parts();
    println!("\n## A million orchestrations\n\n| | dollars |\n|---|---|");
    for (name, dollars) in parts {
        println!("| {name} | {:.2} |", dollars * million);
    }
    println!("| **together** | **{:.2}** |", used.dollars() * million);

    let plain = Taken {
        read_units: all.read_units,
        write_units: all.write_units,
        puts: all.puts,
        gets: all.gets,
        kept,
        blobs: 0.0,
    };
    print_said(&used, said);
    print_files(&plain, attached);
    pages();
    idle(metrics);
    open_streams();
    waiting();
    limits(&all, each);
}

/// What a task says that it cost, beside what was counted.
fn print_said(counted: &Units, said: &Units) {
    println!("\n## What a task says that it cost\n");
    println!(
        "`switchyard usage` computes a task's cost from its record (`domain::price`); what belongs to no task (the page's function, the"
    );
    println!(
        "registry, sign-in, and a tenant's idle month) is the row `shared`. A million of these tasks, in dollars:\n"
    );
    println!("| | tasks | shared | counted |\n|---|---|---|---|");
    let all = said
        .parts()
        .into_iter()
        .zip(price::BESIDE.parts())
        .zip(counted.parts());
    for (((name, task), (_, beside)), (_, counted)) in all {
        println!(
            "| {name} | {:.2} | {:.2} | {:.2} |",
            task * 1e6,
            beside * 1e6,
            counted * 1e6
        );
    }
    let sum = said.dollars() + price::BESIDE.dollars();
    println!(
        "| **together** | **{:.2}** | **{:.2}** | **{:.2}** |",
        said.dollars() * 1e6,
        price::BESIDE.dollars() * 1e6,
        counted.dollars() * 1e6
    );
    let apart = sum / counted.dollars() - 1.0;
    println!(
        "\nTasks and shared are together {:.1} % apart from what was counted.",
        apart * 100.0
    );
    if system_testing::runtime_api::program("registry").ends_with("bootstrap") {
        assert!(
            apart.abs() < 0.01,
            "what tasks say is {apart} apart from what was counted"
        );
    }
}

/// What waiting for a hosted model costs: the host waits, and the chat's stream with it.
fn waiting() {
    let memory = |template: &Template, function: &str| {
        let functions = template.functions();
        functions[function]["MemorySize"].as_f64().expect("a size") / 1024.0
    };
    let tenant = Template::tenant();
    let (host, chat) = (
        memory(&tenant, "HostAgentFunction"),
        memory(&tenant, "ChatApiFunction"),
    );
    println!("\n## Waiting for a hosted model\n");
    println!(
        "No walk above asks one. Whoever asks one waits: an execution of the host ({host:.2} GB), and one of the chat ({chat:.2} GB) as long as"
    );
    println!(
        "its turn shows the answer. Eight seconds of both are {:.2} dollars for a million tasks, and hold {:.0} of a thousand executions at ten tasks a second.",
        8.0 * (host + chat) * price::LAMBDA_GB_SECOND * 1e6,
        160.0
    );
    println!("Tokens come on top; `shared/domain/src/price.rs` has what they are counted as.");
}

/// What files beside a message cost.
fn print_files(plain: &Taken, attached: &[((usize, usize), Taken)]) {
    println!("\n## A message with files\n");
    println!(
        "The same question with files beside it, of bytes that do not pack; what it takes of DynamoDB and of S3, where they lie once for the"
    );
    println!(
        "message in its chat and once for the host's task, which gets them with each of its readings. The weather agent takes no files;"
    );
    println!("one that does keeps them once more.\n");
    println!(
        "| files | read units | write units | S3 puts | S3 gets | KB in tables | KB in S3 | dollars a thousand |\n|---|---|---|---|---|---|---|---|"
    );
    let row = |files: &str, taken: &Taken| {
        let Taken {
            read_units,
            write_units,
            puts,
            gets,
            ..
        } = taken;
        let (kept, blobs, dollars) = (taken.kept / 1e3, taken.blobs / 1e3, taken.dollars() * 1e3);
        println!(
            "| {files} | {read_units:.0} | {write_units:.0} | {puts:.0} | {gets:.0} | {kept:.0} | {blobs:.0} | {dollars:.2} |"
        );
    };
    row("none", plain);
    for ((files, bytes), taken) in attached {
        let together = (files * bytes) as f64 / 1e3;
        row(&format!("{files}, {together:.0} KB together"), taken);
    }
}

/// An hour of an open page, by what it asks (`functions/chat_api/ui/src/live/live.ts`; `tests/js/browser/counted.test.mjs` counts it).
/// However many tabs of one browser are open, one of them asks.
fn pages() {
    let template = Template::tenant();
    let functions = template.functions();
    let memory = functions["ChatApiFunction"]["MemorySize"]
        .as_f64()
        .expect("a size")
        / 1024.0;
    let request = price::REST_REQUEST + price::LAMBDA_REQUEST;
    // Document, files, what the views ask of the API (twelve at most: `tests/js/browser/perf.test.mjs`), and the service worker, for
    // which a browser asks whenever it opens the page anew. Each reads a unit, in twenty milliseconds.
    let opened = 13.0 * (request + 0.02 * memory * price::LAMBDA_GB_SECOND + price::READ_UNIT);
    // A look every half minute: session, index, revision and body, in twenty milliseconds.
    let waits = 120.0 * (request + 0.02 * memory * price::LAMBDA_GB_SECOND + 3.0 * price::READ_UNIT);
    // A stream that comes back every minute, whose looks are 0.7 seconds apart: index and revision.
    let runs = 3600.0 * memory * price::LAMBDA_GB_SECOND
        + 3600.0 / 0.7 * 1.5 * price::READ_UNIT
        + 60.0 * (request + price::READ_UNIT);
    println!("\n## An hour of an open page\n\n| the page | dollars |\n|---|---|");
    for (what, dollars) in [
        ("nobody looks at it, or nothing is unfinished", 0.0),
        ("it is opened once, `/worker.js` with it", opened),
        ("a task waits for its user", waits),
        ("a task runs all the time", runs),
    ] {
        println!("| {what} | {dollars:.5} |");
    }
}

/// How many metrics the alarms of a template look at.
fn alarm_metrics(template: &Template) -> f64 {
    let alarms = template.of_type("AWS::CloudWatch::Alarm");
    let metrics = alarms
        .values()
        .map(|alarm| alarm["Metrics"].as_array().map_or(1, |all| all.len() - 1));
    metrics.sum::<usize>() as f64
}

fn idle(metrics: usize) {
    println!("\n## Doing nothing, a month\n\n| | a tenant | the platform |\n|---|---|---|");
    let (tenant, platform) = (Template::tenant(), Template::platform());
    let count = |template: &Template, kind: &str| template.of_type(kind).len() as f64;
    let secrets = |template: &Template| count(template, "AWS::SecretsManager::Secret") * price::SECRET_MONTH;
    let alarms = |template: &Template| alarm_metrics(template) * price::ALARM_METRIC_MONTH;
    // Half of the queues hold dead letters, which nobody polls.
    let polls = |template: &Template| count(template, "AWS::SQS::Queue") / 2.0 * POLLS * price::SQS_REQUEST;
    // Ten looks in about fifty seconds: eight shards, half a unit each, as an index is read eventually consistently.
    let sweeps = MINUTES
        * (80.0 * 0.5 * price::READ_UNIT + price::LAMBDA_REQUEST + 46.0 * 0.25 * price::LAMBDA_GB_SECOND);
    let rows = [
        ("secrets", secrets(&tenant), secrets(&platform)),
        ("alarms", alarms(&tenant), alarms(&platform)),
        ("Lambda's polling of the queues", polls(&tenant), polls(&platform)),
        ("the sweeper, every five seconds", 0.0, sweeps),
        (
            "dashboard and metric",
            0.0,
            price::DASHBOARD_MONTH + price::CUSTOM_METRIC_MONTH,
        ),
        ("KMS", 0.0, 0.0),
    ];
    for (name, of_tenant, of_platform) in rows {
        println!("| {name} | {of_tenant:.2} | {of_platform:.2} |");
    }
    let shares = ["Airbnb", "Calendar"].map(|agent| idle_of(&platform, agent));
    let metrics = metrics as f64 * price::CUSTOM_METRIC_MONTH;
    let sum = |pick: fn(&(&str, f64, f64)) -> f64| rows.iter().map(pick).sum::<f64>();
    let of_tenant = sum(|row| row.1);
    assert!(
        (of_tenant / price::IDLE_MONTH - 1.0).abs() < 0.01,
        "an idle tenant is {of_tenant} a month"
    );
    println!(
        "| **together** | **{:.2}** | **{:.2}** |",
        sum(|row| row.1),
        sum(|row| row.2)
    );
    println!(
        "\nOf the platform's, the accommodation agent is {:.2}, and the calendar agent with its `oauth_callback` {:.2}.",
        shares[0], shares[1]
    );
    println!(
        "\nAn hour in which an agent worked costs its metrics' share of a month: {metrics:.2} dollars for all of them, if there is"
    );
    println!(
        "traffic in every hour. They are told apart by agent, not by tenant, so that a tenant adds none."
    );
    println!(
        "\nKMS charges nothing: tables are encrypted under DynamoDB's own key, queues under SQS's, logs under CloudWatch's, and"
    );
    println!(
        "secrets under the account's key `aws/secretsmanager`, whose use by Secrets Manager has no price. A key of your own would cost"
    );
    println!("1 dollar a month, and 0.03 for 10,000 uses.");
}

/// What of the platform's idle month is one agent's: secrets, its queue, and the metrics that alarms look at for it.
fn idle_of(platform: &Template, agent: &str) -> f64 {
    let count = |kind: &str, own: &dyn Fn(&str) -> bool| {
        let found = platform.of_type(kind);
        found.keys().filter(|name| own(name)).count() as f64
    };
    let own = |name: &str| name.starts_with(agent) || agent == "Airbnb" && name.starts_with("Mcp");
    count("AWS::SecretsManager::Secret", &own) * price::SECRET_MONTH
        + count("AWS::SQS::Queue", &own) / 2.0 * POLLS * price::SQS_REQUEST
        // The alarm on errors looks at each function.
        + (count("AWS::CloudWatch::Alarm", &own) + count("AWS::Serverless::Function", &own)) * price::ALARM_METRIC_MONTH
}

/// What an open stream of news costs: the chat's function for as long as it is open, begun anew each minute, and its looks.
fn open_streams() {
    let memory = Template::tenant().functions()["ChatApiFunction"]["MemorySize"].as_f64();
    let memory = memory.expect("memory") / 1024.0;
    let time = 3_600.0 * memory * price::LAMBDA_GB_SECOND;
    // At most one in 700 milliseconds, half a unit each, as it is read eventually consistently.
    let looks = 3_600.0 / 0.7 * 0.5 * price::READ_UNIT;
    // Each five seconds, of somebody who is signed in: the session and the person, a unit each.
    let seat = 3_600.0 / 5.0 * 2.0 * price::READ_UNIT;
    let requests = 60.0 * (price::REST_REQUEST + price::LAMBDA_REQUEST);
    println!("\n## A stream of news, an hour\n");
    println!(
        "A browser holds one while a visible tab shows work under way, and none while tasks wait for somebody; an A2A client that"
    );
    println!(
        "subscribes to a task holds one of its agent. One execution of the chat ({memory:.2} GB): {time:.4} dollars; looks at the tasks"
    );
    println!(
        "{looks:.4}, at the session {seat:.4}, a request each minute {requests:.4}: **{:.4} dollars**, a hundred of them for eight hours {:.2}.",
        time + looks + seat + requests,
        800.0 * (time + looks + seat + requests)
    );
}

fn limits(all: &Counted, each: &BTreeMap<String, Counted>) {
    let roles = |template: &Template| template.of_type("AWS::IAM::Role").len();
    let (of_tenant, of_platform) = (roles(&Template::tenant()), roles(&Template::platform()));
    let at_once = |concurrency: f64, memory_seconds: f64| concurrency / memory_seconds;
    println!("\n## What gives way first\n\n| what | limit | reached at |\n|---|---|---|");
    println!(
        "| **tenants**: IAM roles of an account, {of_tenant} a tenant | 1,000, can be raised to 5,000 | {} tenants |",
        (1000 - of_platform) / of_tenant
    );
    println!("| tenants: CloudFormation stacks of a region | 2,000, can be raised | 1,999 tenants |");
    println!("| tenants: REST APIs of a region | 600, cannot be raised | 599 tenants |");
    println!(
        "| traffic: concurrent Lambda executions of an account | 1,000, can be raised | {:.0} orchestrations a second |",
        at_once(1000.0, all.milliseconds / 1e3)
    );
    // AWS throttles each method of a stage by itself.
    let throttle = |template: &Template| {
        template.document["Parameters"]["RequestsPerSecond"]["Default"]
            .as_f64()
            .expect("a limit")
    };
    let asked = |name: &str| {
        let of = each
            .iter()
            .find(|(full, _)| full.ends_with(&format!("{name}Function")));
        of.map_or(1.0, |(_, used)| used.invocations).max(1.0)
    };
    let (own, shared) = (throttle(&Template::tenant()), throttle(&Template::platform()));
    println!(
        "| traffic of one tenant: the throttle of each method of its stage (`RequestsPerSecond`), of which `/webhook` is asked most | a parameter, {own:.0} | {:.0} orchestrations a second |",
        own / asked("WebhookReceiver").max(asked("ChatApi"))
    );
    println!(
        "| traffic of all tenants: the same of the platform's stage, whose `/registry` and `/a/weather` everybody asks | a parameter, {shared:.0}; with 200 it would be {:.0} for all together | {:.0} orchestrations a second |",
        200.0 / asked("Registry"),
        shared / asked("Registry")
    );
    println!(
        "| traffic: requests to all APIs of an account and region | 10,000 a second, can be raised | {:.0} orchestrations a second |",
        10_000.0 / (all.invocations - all.sqs).max(1.0)
    );
    println!(
        "| hosted models: Bedrock's tokens a minute, of each model and region | the account's own, often 200,000 in a new one; ask before launch | 1.7 prompts of 2,000 tokens a second |"
    );
    println!(
        "| **traffic**: write units of a new on-demand table | 4,000 a second, grows by itself | {:.0} orchestrations a second |",
        4_000.0 / all.write_units.max(1.0)
    );
    println!(
        "| traffic: write units of the index of due things, a thousand for each of its eight partitions | 8,000 a second | {:.0} orchestrations a second |",
        8_000.0 / all.due_units.max(1.0)
    );
}
