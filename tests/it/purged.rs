//! What a removed tenant left is purged by a process that is killed, again and again: by the system itself, whose command it is here,
//! and by the operator's program. Nothing is left then, nobody else's is touched, and the report is right.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use system_testing::binary::{self, Up};
use system_testing::dynamodb::call;
use url::Url;

/// How many tenants there were, each of which has a seed of its own.
const SEEDS: u64 = 20;
/// Kills of the whole system, whose start is what takes the time; and most kills of a program, which must not take them all.
const KILLS_OF_SYSTEM: u64 = 3;
const KILLS: u32 = 200;
const TABLES: [&str; 5] = ["tasks", "sessions", "registry", "identity", "orders"];

/// The tables of a database at this address.
struct Database {
    url: String,
    tables: String,
}

/// A number that follows from a seed (a linear congruential generator).
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

fn name(seed: u64) -> String {
    format!("gone-{seed}")
}

fn prefix(seed: u64) -> String {
    format!("gone-{seed}.{seed:08x}")
}

impl Database {
    /// Puts items, 25 at once as DynamoDB takes them.
    async fn put(&self, table: &str, items: &[Value]) {
        for some in items.chunks(25) {
            let puts: Vec<Value> = some
                .iter()
                .map(|item| json!({ "PutRequest": { "Item": item } }))
                .collect();
            let body = json!({ "RequestItems": { format!("{}{table}", self.tables): puts } });
            let told = call(&self.url, "BatchWriteItem", &body).await;
            assert_eq!(told["UnprocessedItems"], json!({}), "{told}");
        }
    }

    async fn items(&self, table: &str) -> Vec<Value> {
        let mut items = Vec::new();
        let mut start = Value::Null;
        loop {
            let body = json!({ "TableName": format!("{}{table}", self.tables), "ExclusiveStartKey": start });
            let mut told = call(&self.url, "Scan", &body).await;
            if let Value::Array(page) = told["Items"].take() {
                items.extend(page);
            }
            start = told["LastEvaluatedKey"].take();
            if start.is_null() {
                return items;
            }
        }
    }

    /// A tenant that was removed, and what it left: so much of each table.
    async fn leave(&self, seed: u64, many: u64) -> BTreeMap<String, u64> {
        let (name, prefix) = (name(seed), prefix(seed));
        let record = json!({ "pk": { "S": name }, "sk": { "S": "TENANT" }, "prefix": { "S": prefix },
            "status": { "S": "removed" } });
        let gone = json!({ "pk": { "S": name }, "sk": { "S": format!("GONE#{prefix}") } });
        self.put("tenants", &[record, gone]).await;
        let mut left = BTreeMap::new();
        for table in TABLES {
            let mut items: Vec<Value> = (0..many)
                .map(|n| item(&format!("{prefix}#host#thing#{n}"), "THING"))
                .collect();
            if table == "registry" {
                items.push(item("global#every", &format!("{prefix}#agent")));
            }
            self.put(table, &items).await;
            left.insert(table.to_owned(), items.len() as u64);
        }
        left
    }

    /// Items that look like a removed tenant's, and are others'.
    async fn bystanders(&self) {
        for table in TABLES {
            let beside = (1..=SEEDS).flat_map(|seed| {
                let prefix = prefix(seed);
                [
                    item(&format!("{prefix}0#host#thing#1"), "THING"),
                    item(&format!("x{prefix}#host#thing#1"), "THING"),
                    item(&format!("{}#host#thing#1", name(seed)), &format!("{prefix}#")),
                    item(&format!("{}.ffffffff#host#thing#1", name(seed)), "THING"),
                ]
            });
            self.put(table, &beside.collect::<Vec<_>>()).await;
        }
    }

    /// What each of the removed tenants has left, and everything that is nobody's of them.
    async fn look(&self) -> (BTreeMap<u64, u64>, BTreeSet<String>) {
        let (mut left, mut others) = (BTreeMap::new(), BTreeSet::new());
        let of: BTreeMap<String, u64> = (1..=SEEDS)
            .map(|seed| (format!("{}#", prefix(seed)), seed))
            .collect();
        for table in TABLES {
            for item in self.items(table).await {
                let text = |name: &str| item[name]["S"].as_str().unwrap_or_default();
                let key = if text("pk") == "global#every" {
                    text("sk")
                } else {
                    text("pk")
                };
                let whose = of.iter().find(|(prefix, _)| key.starts_with(prefix.as_str()));
                match whose {
                    Some((_, seed)) => *left.entry(*seed).or_default() += 1,
                    // The system writes while it runs: only what these tests put is theirs to compare.
                    None if item["body"]["S"] == "kept" => _ = others.insert(format!("{table} {item}")),
                    None => {}
                }
            }
        }
        (left, others)
    }
}

/// The address of a running system's tables, with their access key.
fn database_of(endpoints: &Value) -> String {
    let text = |pointer: &str| {
        endpoints
            .pointer(pointer)
            .and_then(Value::as_str)
            .expect("an endpoint")
    };
    let mut url = Url::parse(text("/dynamodb")).expect("an address");
    url.set_username(text("/dynamodb_key/access_key_id"))
        .expect("a key");
    url.into()
}

fn item(pk: &str, sk: &str) -> Value {
    json!({ "pk": { "S": pk }, "sk": { "S": sk }, "body": { "S": "kept" } })
}

/// How many items the report of a purge says, by table.
fn reported(report: &Value) -> BTreeMap<String, u64> {
    let [purged] = report["purged"].as_array().map(Vec::as_slice).unwrap_or_default() else {
        panic!("not one: {report}")
    };
    let removed = purged["removed"].as_object().expect("counts").iter();
    removed
        .map(|(table, many)| (table.clone(), many.as_u64().expect("a number")))
        .collect()
}

/// By `switchyard tenant purge`, which has the running system do it: each kill of that strikes the purges of all twenty.
#[tokio::test(flavor = "multi_thread")]
async fn by_a_system_that_is_killed_again_and_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let port = binary::free_port();
    let mut up = Up::start(folder.path(), port);
    let database = |up: &Up| Database {
        url: database_of(&up.endpoints),
        tables: "switchyard-".to_owned(),
    };
    let tables = database(&up);
    tables.bystanders().await;
    let mut left = BTreeMap::new();
    for seed in 1..=SEEDS {
        left.insert(seed, tables.leave(seed, 6).await);
    }
    let (_, others) = tables.look().await;
    let all = |left: &BTreeMap<u64, u64>| left.values().sum::<u64>();
    let (begun, mut struck) = (all(&tables.look().await.0), BTreeSet::new());
    for kill in 0..KILLS_OF_SYSTEM {
        let purges = purges(folder.path());
        // In the middle, wherever that is on this machine: once a part of them is gone.
        let until = begun / KILLS_OF_SYSTEM * (KILLS_OF_SYSTEM - 1 - kill) + Dice(kill).below(begun / 8);
        let tables = database(&up);
        let deadline = Instant::now() + Duration::from_secs(60);
        while all(&tables.look().await.0) > until && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        up.kill();
        for mut purge in purges {
            let _told = purge.wait().expect("it ends with the system");
        }
        up = Up::start(folder.path(), port);
        let (left_now, others_now) = database(&up).look().await;
        assert_eq!(others_now, others, "kill {kill} touched somebody else's");
        struck.extend(
            left_now
                .iter()
                .filter(|(seed, many)| **many < all_of(&left[*seed]))
                .map(|(seed, _)| *seed),
        );
    }
    assert!(struck.len() > 5, "only {struck:?} were struck in the middle");
    for (purge, (seed, left)) in purges(folder.path()).into_iter().zip(&left) {
        let told = purge.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&told.stdout).into_owned();
        let wanted = format!("{}: {} items removed", prefix(*seed), all_of(left));
        assert!(
            told.status.success() && said.starts_with(&wanted),
            "{wanted}: {told:?}"
        );
    }
    let tables = database(&up);
    let (nothing, others_now) = tables.look().await;
    assert_eq!((nothing, others_now), (BTreeMap::new(), others));
    assert_eq!(up.terminate(), Some(0));
}

/// A command for each tenant, all at once.
fn purges(folder: &Path) -> Vec<Child> {
    let purge = |seed| {
        Command::new(binary::path("switchyard"))
            .args(["tenant", "purge", &name(seed), "--data", text(folder)])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the command starts")
    };
    (1..=SEEDS).map(purge).collect()
}

/// By the operator's program, which is killed itself; [`crate::operator`] has the test, where that program is built.
pub(crate) async fn by_a_program_that_is_killed(database: &str, program: impl Fn(&str) -> Command) {
    let tables = Database {
        url: database.to_owned(),
        tables: "switchyard-prod-".to_owned(),
    };
    tables.bystanders().await;
    let (_, others) = tables.look().await;
    let (mut kills, mut struck) = (0, 0);
    for seed in 1..=SEEDS {
        let left = tables.leave(seed, 30).await;
        let mut dice = Dice(seed);
        let told = loop {
            let mut purge = program(&name(seed))
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .expect("the program starts");
            // Longer each time: it comes to an end on a slow machine too.
            let pause = 5 + dice.below(60 + 20 * u64::from(kills));
            tokio::time::sleep(Duration::from_millis(pause)).await;
            if purge.try_wait().expect("a process has a state").is_some() {
                break purge.wait_with_output().expect("what it said");
            }
            purge.kill().expect("SIGKILL");
            purge.wait().expect("it ends");
            kills += 1;
            assert!(kills < KILLS, "{seed}: it does not get on");
            let (left_now, others_now) = tables.look().await;
            assert_eq!(others_now, others, "{seed}: a kill touched somebody else's");
            let many = left_now.get(&seed).copied().unwrap_or_default();
            struck += u32::from(many > 0 && many < all_of(&left));
        };
        let report: Value = serde_json::from_slice(&told.stdout).unwrap_or_else(|_| panic!("{told:?}"));
        assert_eq!(reported(&report), left, "{seed}: what it reports");
        assert_eq!(tables.look().await, (BTreeMap::new(), others.clone()), "{seed}");
    }
    println!("{kills} kills, {struck} of them with a part of the items gone");
    assert!(struck >= 10, "{kills} kills, {struck} in the middle");
}

fn all_of(left: &BTreeMap<String, u64>) -> u64 {
    left.values().sum()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}
