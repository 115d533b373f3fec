//! Whether tenants of one pool are kept apart, and by more than one layer: in the tests' own cloud, by the functions' own programs.
//!
//! ```text
//! cargo build -p tools --bin isolation && ./tests/run programs && target/debug/isolation
//! ```
//!
//! First pairs of tenants, at random: whoever is signed in to one asks for the other's at every route, in three ways. Then mutants: one
//! thing at a time is wrong (a condition of a policy, a key that a function builds, a tag of a session, what the authorizer, the gateway,
//! Lambda or the router of wakes says, a variable, a part of a record), and the same is asked again. A mutant is refused where nothing of
//! the other tenant is told or changed all the same. One that never came into play counts as one that was not refused.
//!
//! Exit code: 0 where all is refused, 1 where not.

mod mutants;
mod rows;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore as _, SeedableRng as _};
use serde_json::Value;
use system_testing::cloud::Cloud;

use crate::rows::{Person, Way, play, rows};

/// What is counted of a tenant and not kept of anybody.
const COUNTED: [&str; 3] = ["#usage#", "#streams#", "#audit"];
const WAYS: [Way; 3] = [Way::Ids, Way::Credentials, Way::Place];

/// Whether tenants of one pool are kept apart, and by more than one layer.
#[derive(Parser)]
#[command(name = "isolation")]
struct Arguments {
    /// Which pairs.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many pairs of tenants.
    #[arg(long, default_value_t = 50)]
    pairs: usize,
    /// How many tenants there are.
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u64).range(2..=64))]
    tenants: u64,
    /// Pairs alone, without mutants.
    #[arg(long)]
    pairs_only: bool,
    /// Prints each mutant.
    #[arg(long)]
    each: bool,
}

/// A pool, and somebody of each of its tenants.
pub(crate) struct World {
    pub(crate) cloud: Cloud,
    people: Vec<Person>,
}

/// What came of an attack.
#[derive(Default)]
pub(crate) struct Outcome {
    /// What was told or changed of the victim's.
    pub(crate) leaks: Vec<String>,
    /// The answers by status.
    pub(crate) statuses: BTreeMap<u16, usize>,
    /// How often a policy said no.
    pub(crate) denied: usize,
    /// How often a service said no, or no function was there.
    pub(crate) rows: usize,
}

impl Outcome {
    pub(crate) fn add(&mut self, other: Self) {
        self.leaks.extend(other.leaks);
        for (status, count) in other.statuses {
            *self.statuses.entry(status).or_default() += count;
        }
        self.denied += other.denied;
        self.rows += other.rows;
    }
}

impl World {
    async fn start(names: &[String]) -> Self {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let cloud = Cloud::start_pooled(&names).await;
        let mut people = Vec::new();
        for prefix in names {
            let name = prefix.split('.').next().unwrap_or(prefix);
            people.push(Person::settle(&cloud, name).await);
        }
        let world = Self { cloud, people };
        world.rest().await;
        world
    }

    /// Waits until nothing is under way.
    pub(crate) async fn rest(&self) {
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(20) {
            if self.cloud.quiet() {
                tokio::time::sleep(Duration::from_millis(200)).await;
                if self.cloud.quiet() {
                    return;
                }
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub(crate) fn pair(&self, attacker: usize, victim: usize) -> (&Person, &Person) {
        (&self.people[attacker], &self.people[victim])
    }

    /// What is kept of a tenant.
    pub(crate) async fn kept(&self, name: &str) -> BTreeMap<String, String> {
        let tenant = self.cloud.tenant(name);
        let own = format!("{}#", tenant.prefix());
        let is_own = |item: &Value| {
            let key = item["pk"]["S"].as_str().unwrap_or_default();
            key == name || (key.starts_with(&own) && !COUNTED.iter().any(|part| key.contains(part)))
        };
        let items = self.cloud.items().await.into_iter();
        let by_key = |mut item: Value| {
            // Who looked at it last, and left it as it was.
            item.as_object_mut().expect("an item").remove("released_by");
            let key = format!("{} {}", item["pk"]["S"], item["sk"]["S"]);
            (key, item.to_string())
        };
        items.filter(is_own).map(by_key).collect()
    }

    /// Everything that is asked of the victim's, of these functions alone where some are named.
    pub(crate) async fn attack(
        &self,
        (attacker, victim): (&Person, &Person),
        ways: &[Way],
        functions: &[&str],
    ) -> Outcome {
        let prefix = self.cloud.tenant(&victim.tenant).prefix().to_owned();
        let before = self.kept(&victim.tenant).await;
        let denied = self.cloud.refusals().len();
        let mut outcome = Outcome::default();
        let http = system_testing::user::http();
        for way in ways {
            let all = rows(victim, *way).into_iter();
            for row in all.filter(|row| functions.is_empty() || functions.contains(&row.function)) {
                let told = play(&row, *way, (attacker, victim), (&http, &prefix)).await;
                outcome.rows += 1;
                *outcome.statuses.entry(told.status).or_default() += 1;
                outcome.leaks.extend(told.leaked);
            }
        }
        self.rest().await;
        let after = self.kept(&victim.tenant).await;
        for (key, item) in &before {
            if after.get(key) != Some(item) {
                let now = after.get(key).map_or("gone", String::as_str);
                outcome.leaks.push(format!("{key} was {item}\nand is {now}"));
            }
        }
        outcome.denied = self.cloud.refusals().len() - denied;
        outcome
    }
}

/// Names of tenants, half of which are known by another prefix.
fn prefixes(count: u64) -> Vec<String> {
    let name = |number| match number % 2 {
        0 => format!(
            "tenant-{number}.{:08x}",
            0x7f3a_9c2e_u32 ^ u32::try_from(number).unwrap_or_default()
        ),
        _ => format!("tenant-{number}"),
    };
    (0..count).map(name).collect()
}

/// Attacks so many pairs; whether each was refused.
async fn pairs(world: &World, count: usize, seed: u64) -> bool {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let all = world.people.len();
    let mut below = |most: usize| random.next_u32() as usize % most;
    let mut whole = Outcome::default();
    let began = Instant::now();
    for _ in 0..count {
        let attacker = below(all);
        let victim = (attacker + 1 + below(all - 1)) % all;
        let outcome = world.attack(world.pair(attacker, victim), &WAYS, &[]).await;
        whole.add(outcome);
    }
    println!(
        "{count} pairs of {all} tenants, {} requests in {} s: answers by status {:?}; {} were asked of AWS and denied; {} told or changed something",
        whole.rows,
        began.elapsed().as_secs(),
        whole.statuses,
        whole.denied,
        whole.leaks.len()
    );
    let begun = world
        .cloud
        .functions
        .values()
        .map(|function| function.begun().len());
    println!("{} sandboxes were begun", begun.sum::<usize>());
    for leak in whole.leaks.iter().take(20) {
        println!("LEAK {leak}");
    }
    whole.leaks.is_empty()
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut world = World::start(&prefixes(arguments.tenants)).await;
    let apart = pairs(&world, arguments.pairs, arguments.seed).await;
    let refused = arguments.pairs_only || mutants::play_all(&mut world, arguments.each).await;
    match apart && refused {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
