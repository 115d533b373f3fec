//! A worker: a process with the whole system in it, on the tables and behind the address that all of them share.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clap::Args;
use domain::{Clock, SystemClock, SystemEntropy, Tenant, Timestamp};
use edge::config::Env;
use local::{Joined, LikeAws, Models, Options, System, Tempo};
use serde::{Deserialize, Serialize};
use store::Tables;
use store_testing::{Faults, Injected};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use url::Url;

/// A lease without a heartbeat; a worker is frozen for longer than that.
pub(crate) const LEASE: Duration = Duration::from_secs(4);

/// Where the system is.
#[derive(Clone, Args)]
pub(crate) struct Place {
    /// The system's address.
    #[arg(long)]
    pub(crate) gateway: Url,
    /// The database.
    #[arg(long)]
    pub(crate) dynamodb: Url,
    /// The system's secrets.
    #[arg(long)]
    pub(crate) secrets: PathBuf,
}

/// What a worker is told.
#[derive(Args)]
pub(crate) struct WorkerArguments {
    #[command(flatten)]
    pub(crate) place: Place,
    /// The port it listens on.
    #[arg(long)]
    port: u16,
    /// It is the first, and makes the agents known.
    #[arg(long)]
    founds: bool,
    /// How far its clock is off, in milliseconds.
    #[arg(long, allow_hyphen_values = true)]
    skew: i64,
    /// What its database client meets.
    #[arg(long)]
    faults: Faults,
    /// The language model that its hosts ask, as `switchyard up` takes it; the rules otherwise.
    #[arg(long)]
    model: Option<String>,
    /// Which plans wait for their user's word.
    #[arg(long, default_value_t)]
    plan_approval: host_agent::PlanApproval,
    /// Queues, sweeper and gateway are as unkind as on AWS.
    #[arg(long)]
    like_aws: bool,
    /// How many tenants there are.
    #[arg(long, default_value_t = 2)]
    tenants: usize,
    /// Where it writes down the system's addresses.
    #[arg(long)]
    endpoints: Option<PathBuf>,
}

/// More tokens than any run takes.
const TOKENS_PER_DAY: u64 = 1_000_000_000_000;

/// The names of so many tenants.
fn tenants(count: usize) -> Vec<Tenant> {
    let name = |number: usize| match number {
        0 => "acme".to_owned(),
        1 => "globex".to_owned(),
        more => format!("tenant-{more}"),
    };
    let parsed = (0..count).map(|number| Tenant::parse(&name(number)).expect("a tenant"));
    parsed.collect()
}

/// Customers, two of each tenant.
const OWNERS: [&str; 2] = ["ann", "ben"];
/// How often a worker gives out new tokens; they live five minutes.
const TOKENS: Duration = Duration::from_secs(60);

/// How a customer gets at the host of its tenant.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Access {
    pub(crate) tenant: String,
    pub(crate) owner: String,
    pub(crate) host: String,
    pub(crate) token: String,
}

/// The newest of each customer, always in the same order.
pub(crate) type Accesses = Arc<Mutex<Vec<Access>>>;

/// What a worker says of itself, a line each.
#[derive(Serialize, Deserialize)]
pub(crate) enum Says {
    /// It answers.
    Ready,
    /// How the customers get in.
    Admits(Vec<Access>),
    /// What its database client met, and what its agents counted, so far.
    Met(Injected, BTreeMap<String, u64>),
}

impl Says {
    fn out(&self) {
        let line = serde_json::to_string(self).expect("plain data");
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "{line}");
        let _ = out.flush();
    }
}

/// Adds up what the agents count: attempts, deliveries, tasks that somebody else went on with.
#[derive(Clone, Default)]
struct Counts(Arc<Mutex<BTreeMap<String, u64>>>);

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Counts {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == agent::measure::METRICS {
            let mut measured = Measured::default();
            event.record(&mut measured);
            if measured.counts {
                let mut counts = self.0.lock().expect("no panic under the lock");
                *counts.entry(measured.metric).or_default() += measured.value;
            }
        }
    }
}

/// The fields of one measurement.
#[derive(Default)]
struct Measured {
    metric: String,
    value: u64,
    counts: bool,
}

impl tracing::field::Visit for Measured {
    fn record_u64(&mut self, field: &tracing::field::Field, value: u64) {
        if field.name() == "value" {
            self.value = value;
        }
    }

    fn record_str(&mut self, field: &tracing::field::Field, value: &str) {
        match field.name() {
            "metric" => value.clone_into(&mut self.metric),
            "unit" => self.counts = value == "Count",
            _ => {}
        }
    }

    fn record_debug(&mut self, _: &tracing::field::Field, _: &dyn std::fmt::Debug) {}
}

/// The system's time, and somewhat more or less.
struct Skewed(i64);

impl Clock for Skewed {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(SystemClock.now().millis().saturating_add(self.0))
    }
}

/// AWS's times beside the short ones of a run: a minute is a second.
const HURRIED: u32 = 60;

/// The times of the system in a run: short, so that a run sees many of them pass.
fn tempo() -> Tempo {
    let mut tempo = Tempo::default();
    tempo.agent.lease = LEASE;
    tempo.agent.heartbeat = Duration::from_secs(1);
    tempo.agent.born_due = Duration::from_secs(2);
    // Thirty of a hundred calls fail: retries go on until the run is judged, nothing is parked.
    tempo.agent.push_schedule = agent::PushSchedule::of(vec![Duration::from_millis(500); 60]);
    // Of so many lost calls some make a receiver look dead; its rest must not outlast the run.
    tempo.rest = Duration::from_millis(500);
    tempo.agent.retries = vec![Duration::from_millis(300); 60];
    tempo.agent.tell_again = vec![Duration::from_millis(500); 60];
    // Kills count as attempts without a word; they are many here.
    tempo.agent.max_attempts = 100;
    // As long as a run may take: a send that used its schedule up leaves its task `unknown`, which waits for its user.
    tempo.patience.retries = vec![Duration::from_millis(500); 1_800];
    tempo.patience.first_look = Duration::from_secs(3);
    tempo.patience.next_looks = Duration::from_secs(3);
    tempo
}

/// The life of a worker; it ends by a signal.
pub(crate) async fn work(arguments: WorkerArguments) {
    let counts = Counts::default();
    tracing_subscriber::registry().with(counts.clone()).init();
    let place = arguments.place;
    let aws = edge::aws::sdk_config(Some(&place.dynamodb), None);
    let tables = Tables::prefixed("switchyard-");
    let (store, injector) = store_testing::faulty_store(aws, tables, arguments.faults);
    let models = arguments.model.map(|name| Models {
        tokens_per_day: TOKENS_PER_DAY,
        ..Models::named(&[name], &mut Env::process()).expect("a model that can be read")
    });
    let options = Options {
        port: arguments.port,
        endpoints: arguments.endpoints,
        tenants: tenants(arguments.tenants),
        models,
        plan_approval: arguments.plan_approval,
        joined: Some(Joined {
            gateway: place.gateway,
            dynamodb: place.dynamodb,
            secrets: place.secrets,
            founds: arguments.founds,
            store,
        }),
        clock: Arc::new(Skewed(arguments.skew)),
        entropy: Arc::new(SystemEntropy),
        sweep_every: Some(Duration::from_secs(1)),
        tempo: tempo(),
        like_aws: arguments.like_aws.then(|| LikeAws::default().hurried(HURRIED)),
        ..Options::default()
    };
    let system = match System::start(options).await {
        Ok(system) => system,
        // The database is as rough at the start as later; who starts workers starts another.
        Err(error) => {
            eprintln!("worker: {error}");
            return;
        }
    };
    // Whoever started this process is gone when nobody can write to it any more.
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(0);
    });
    Says::Admits(accesses(&system, arguments.tenants)).out();
    Says::Ready.out();
    let mut admitted = std::time::Instant::now();
    loop {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let counted = counts.0.lock().expect("no panic under the lock").clone();
        Says::Met(injector.injected(), counted).out();
        if admitted.elapsed() > TOKENS {
            Says::Admits(accesses(&system, arguments.tenants)).out();
            admitted = std::time::Instant::now();
        }
    }
}

fn accesses(system: &System, count: usize) -> Vec<Access> {
    let endpoints = serde_json::to_value(system.endpoints()).expect("endpoints are JSON");
    let tenants = tenants(count);
    let customers = tenants
        .iter()
        .flat_map(|tenant| OWNERS.map(|owner| (tenant.name(), owner)));
    let access = |(tenant, owner): (&str, &str)| {
        let host = endpoints["tenants"][tenant]["host_agent"]
            .as_str()
            .expect("a URL");
        let host = host.trim_end_matches('/').to_owned();
        Access {
            token: system
                .token(tenant, owner, &host)
                .expect("a tenant of the system"),
            tenant: tenant.to_owned(),
            owner: owner.to_owned(),
            host,
        }
    };
    customers.map(access).collect()
}
