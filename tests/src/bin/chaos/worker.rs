//! The workers: processes with the whole system in them, and what is done to them.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clap::Args;
use domain::{Clock, SystemClock, SystemEntropy, Timestamp};
use local::{Joined, Options, System, Tempo};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use serde::{Deserialize, Serialize};
use store::testing::{Faults, Injected};
use store::{Store, Tables};
use url::Url;

use crate::Arguments;
use crate::proxy::Upstreams;
use crate::tally::Tally;

/// A lease without a heartbeat; a worker is frozen for longer than that.
const LEASE: Duration = Duration::from_secs(4);

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
    place: Place,
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
}

/// Customers, two of each tenant.
const CUSTOMERS: [(&str, &str); 4] = [
    ("acme", "ann"),
    ("acme", "ben"),
    ("globex", "cleo"),
    ("globex", "dan"),
];
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

/// The newest of each customer, in the order of [`CUSTOMERS`].
pub(crate) type Accesses = Arc<Mutex<Vec<Access>>>;

/// What a worker says of itself, a line each.
#[derive(Serialize, Deserialize)]
enum Says {
    /// It answers.
    Ready,
    /// How the customers get in.
    Admits(Vec<Access>),
    /// What its database client met so far.
    Met(Injected),
}

impl Says {
    fn out(&self) {
        let line = serde_json::to_string(self).expect("plain data");
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "{line}");
        let _ = out.flush();
    }
}

/// The system's time, and somewhat more or less.
struct Skewed(i64);

impl Clock for Skewed {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(SystemClock.now().millis().saturating_add(self.0))
    }
}

/// The times of the system in a run: short, so that a run sees many of them pass.
fn tempo() -> Tempo {
    let mut tempo = Tempo::default();
    tempo.agent.lease = LEASE;
    tempo.agent.heartbeat = Duration::from_secs(1);
    tempo.agent.born_due = Duration::from_secs(2);
    // Thirty of a hundred calls fail: retries go on until the run is judged, nothing is parked.
    tempo.agent.push_schedule = agent::PushSchedule::of(vec![Duration::from_millis(500); 60]);
    tempo.agent.retries = vec![Duration::from_millis(300); 60];
    // Kills count as attempts without a word; they are many here.
    tempo.agent.max_attempts = 100;
    tempo.patience.retries = vec![Duration::from_millis(500); 60];
    tempo.patience.first_look = Duration::from_secs(3);
    tempo
}

/// The life of a worker; it ends by a signal.
pub(crate) async fn work(arguments: WorkerArguments) {
    let place = arguments.place;
    let aws = edge::aws::sdk_config(Some(&place.dynamodb), None).await;
    let tables = Tables::prefixed("switchyard-");
    let (store, injector) = Store::new_with_faults(&aws, tables, arguments.faults);
    let options = Options {
        port: arguments.port,
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
    Says::Admits(accesses(&system)).out();
    Says::Ready.out();
    let mut admitted = std::time::Instant::now();
    loop {
        tokio::time::sleep(Duration::from_millis(200)).await;
        Says::Met(injector.injected()).out();
        if admitted.elapsed() > TOKENS {
            Says::Admits(accesses(&system)).out();
            admitted = std::time::Instant::now();
        }
    }
}

fn accesses(system: &System) -> Vec<Access> {
    let endpoints = serde_json::to_value(system.endpoints()).expect("endpoints are JSON");
    CUSTOMERS
        .iter()
        .map(|(tenant, owner)| {
            let host = endpoints["tenants"][tenant]["host_agent"]
                .as_str()
                .expect("a URL");
            let host = host.trim_end_matches('/').to_owned();
            Access {
                token: system
                    .token(tenant, owner, &host)
                    .expect("a tenant of the system"),
                tenant: (*tenant).to_owned(),
                owner: (*owner).to_owned(),
                host,
            }
        })
        .collect()
}

struct Worker {
    process: Child,
    port: u16,
    frozen: bool,
}

/// All workers.
pub(crate) struct Herd {
    program: PathBuf,
    place: Place,
    calm: bool,
    seed: Mutex<ChaCha8Rng>,
    workers: Mutex<Vec<Worker>>,
    upstreams: Upstreams,
    tally: Arc<Tally>,
    healed: AtomicBool,
    pub(crate) accesses: Accesses,
}

impl Herd {
    pub(crate) async fn start(
        arguments: &Arguments,
        place: Place,
        upstreams: Upstreams,
        tally: Arc<Tally>,
    ) -> Arc<Self> {
        let herd = Arc::new(Self {
            program: std::env::current_exe().expect("a path"),
            place,
            calm: arguments.calm,
            seed: Mutex::new(ChaCha8Rng::seed_from_u64(arguments.seed ^ 0x5747)),
            workers: Mutex::default(),
            upstreams,
            tally,
            healed: AtomicBool::new(false),
            accesses: Accesses::default(),
        });
        for _ in 0..arguments.workers {
            herd.clone().hire().await;
        }
        herd
    }

    fn draw(&self, of: u64) -> u64 {
        self.seed.lock().expect("no panic under the lock").next_u64() % of.max(1)
    }

    /// Starts a worker, again where it dies in birth.
    async fn hire(self: Arc<Self>) {
        loop {
            let herd = self.clone();
            let hired = tokio::task::spawn_blocking(move || herd.start_one()).await;
            if let Some(worker) = hired.expect("no panic") {
                self.workers.lock().expect("no panic under the lock").push(worker);
                self.list();
                return;
            }
            self.tally.note("workers that did not come up");
        }
    }

    fn start_one(&self) -> Option<Worker> {
        let skew = i64::try_from(self.draw(4_001)).unwrap_or(0) - 2_000;
        let (faults, skew) = match self.calm {
            true => (Faults::default(), 0),
            false => (Faults::rough(self.draw(u64::MAX)), skew),
        };
        let port = tests::binary::free_port();
        // The first is called while it makes itself known.
        let founds = {
            let mut upstreams = self.upstreams.lock().expect("no panic under the lock");
            let founds =
                upstreams.is_empty() && self.workers.lock().expect("no panic under the lock").is_empty();
            if founds {
                upstreams.push(port);
            }
            founds
        };
        let mut process = Command::new(&self.program)
            .arg("worker")
            .args(["--port", &port.to_string()])
            .args(founds.then_some("--founds"))
            .args(["--gateway", self.place.gateway.as_str()])
            .args(["--dynamodb", self.place.dynamodb.as_str()])
            .arg("--secrets")
            .arg(&self.place.secrets)
            .args(["--skew", &skew.to_string(), "--faults", &faults.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a worker starts");
        let lines = BufReader::new(process.stdout.take().expect("its output is piped")).lines();
        let mut said = lines
            .map_while(Result::ok)
            .filter_map(|line| serde_json::from_str::<Says>(&line).ok());
        let accesses = self.accesses.clone();
        let admits = move |admitted| *accesses.lock().expect("no panic under the lock") = admitted;
        loop {
            match said.next() {
                Some(Says::Ready) => break,
                Some(Says::Admits(admitted)) => admits(admitted),
                Some(Says::Met(_)) => {}
                None => {
                    let _ = process.kill();
                    let _ = process.wait();
                    return None;
                }
            }
        }
        let (tally, id) = (self.tally.clone(), process.id());
        std::thread::spawn(move || {
            for says in said {
                match says {
                    Says::Met(injected) => tally.database(id, injected),
                    Says::Admits(admitted) => admits(admitted),
                    Says::Ready => {}
                }
            }
        });
        Some(Worker {
            process,
            port,
            frozen: false,
        })
    }

    /// Tells the network who lives.
    fn list(&self) {
        let workers = self.workers.lock().expect("no panic under the lock");
        *self.upstreams.lock().expect("no panic under the lock") =
            workers.iter().map(|worker| worker.port).collect();
    }

    /// Kills and freezes workers until all is to be well.
    pub(crate) async fn trouble(self: Arc<Self>) {
        while !self.healed.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_millis(700 + self.draw(1_300))).await;
            match self.draw(3) {
                0 => self.clone().freeze_one(),
                _ => self.clone().kill_one().await,
            }
        }
    }

    async fn kill_one(self: Arc<Self>) {
        let victim = {
            let mut workers = self.workers.lock().expect("no panic under the lock");
            match workers.len() {
                0 => return,
                count => {
                    let number = usize::try_from(self.draw(count as u64)).unwrap_or(0);
                    workers.swap_remove(number)
                }
            }
        };
        let Worker { mut process, .. } = victim;
        let _ = process.kill();
        self.tally.note("workers killed");
        // For a moment the network still sends to where nobody is.
        tokio::time::sleep(Duration::from_millis(self.draw(300))).await;
        let _ = process.wait();
        self.list();
        self.hire().await;
    }

    fn freeze_one(self: Arc<Self>) {
        let id = {
            let mut workers = self.workers.lock().expect("no panic under the lock");
            // One at least goes on.
            if workers.iter().filter(|worker| !worker.frozen).count() < 2 {
                return;
            }
            let number = usize::try_from(self.draw(workers.len() as u64)).unwrap_or(0);
            let worker = &mut workers[number];
            if worker.frozen {
                return;
            }
            worker.frozen = true;
            worker.process.id()
        };
        signal("STOP", id);
        self.tally.note("workers frozen past their leases");
        let herd = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(LEASE + Duration::from_secs(2)).await;
            herd.thaw(id);
        });
    }

    fn thaw(&self, id: u32) {
        let mut workers = self.workers.lock().expect("no panic under the lock");
        // It may have been killed in the meantime, and its id may be another's.
        if let Some(worker) = workers.iter_mut().find(|worker| worker.process.id() == id) {
            worker.frozen = false;
            signal("CONT", id);
        }
    }

    /// From now on nobody dies any more.
    pub(crate) fn heal(&self) {
        self.healed.store(true, Ordering::SeqCst);
    }

    /// Every frozen worker goes on.
    pub(crate) fn thaw_all(&self) {
        let frozen: Vec<u32> = {
            let workers = self.workers.lock().expect("no panic under the lock");
            workers.iter().map(|worker| worker.process.id()).collect()
        };
        for id in frozen {
            self.thaw(id);
        }
    }

    pub(crate) fn stop(&self) {
        let mut workers = self.workers.lock().expect("no panic under the lock");
        for mut worker in workers.drain(..) {
            let _ = worker.process.kill();
            let _ = worker.process.wait();
        }
    }
}

fn signal(name: &str, id: u32) {
    let _ = Command::new("kill")
        .args([&format!("-{name}"), &id.to_string()])
        .status();
}
