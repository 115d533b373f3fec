//! The workers from outside: started, killed, frozen, replaced.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use store_testing::Faults;

use crate::plan::{Plan, Trouble};
use crate::proxy::Upstreams;
use crate::tally::{Tally, kinds};
use crate::worker::{Accesses, LEASE, Place, Says};

/// So many tenants are made known under faults as well.
const FEW: usize = 8;
/// How long a frozen worker stays so.
const FROZEN: Duration = Duration::from_secs(LEASE.as_secs() + 2);
/// A clock that is off by more than this counts as wrong, in milliseconds.
const WRONG: u64 = 1_000;

struct Worker {
    process: Child,
    port: u16,
    frozen: bool,
}

/// However a run ends, no worker is left behind.
impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// All workers.
pub(crate) struct Herd {
    program: PathBuf,
    /// The language model of the hosts, by its name and the place of its server.
    model: Option<(String, String)>,
    /// Whether they are as unkind as AWS.
    like_aws: bool,
    /// How many tenants there are.
    tenants: usize,
    place: Place,
    plan: Plan,
    /// How many lives began.
    lives: AtomicU64,
    workers: Mutex<Vec<Worker>>,
    upstreams: Upstreams,
    tally: Arc<Tally>,
    healed: AtomicBool,
    /// How long the newest worker took to come up.
    birth: Mutex<Duration>,
    pub(crate) accesses: Accesses,
}

impl Herd {
    pub(crate) async fn start(
        (workers, model, like_aws, tenants): (usize, Option<(String, String)>, bool, usize),
        plan: Plan,
        place: Place,
        upstreams: Upstreams,
        tally: Arc<Tally>,
    ) -> Arc<Self> {
        let herd = Arc::new(Self {
            program: std::env::current_exe().expect("a path"),
            model,
            like_aws,
            tenants,
            place,
            plan,
            lives: AtomicU64::new(0),
            workers: Mutex::default(),
            upstreams,
            tally,
            healed: AtomicBool::new(false),
            birth: Mutex::default(),
            accesses: Accesses::default(),
        });
        for _ in 0..workers {
            herd.clone().hire().await;
        }
        herd
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
            self.tally.note(kinds::STILLBORN);
            // Where it was to make the system known, the next one does.
            if self.workers.lock().expect("no panic under the lock").is_empty() {
                self.upstreams.lock().expect("no panic under the lock").clear();
            }
        }
    }

    fn start_one(&self) -> Option<Worker> {
        let number = self.lives.fetch_add(1, Ordering::SeqCst);
        let life = self.plan.life(number);
        let began = Instant::now();
        let port = system_testing::binary::free_port();
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
        // Whoever makes many tenants known would have to do it all again after each fault, and never be through.
        let faults = match founds && self.tenants > FEW {
            true => Faults::default(),
            false => life.faults,
        };
        let mut process = Command::new(&self.program)
            .arg("worker")
            .args(["--port", &port.to_string()])
            .args(founds.then_some("--founds"))
            .args(self.like_aws.then_some("--like-aws"))
            .args(["--tenants", &self.tenants.to_string()])
            .args(["--gateway", self.place.gateway.as_str()])
            .args(["--dynamodb", self.place.dynamodb.as_str()])
            .arg("--secrets")
            .arg(&self.place.secrets)
            .args(["--skew", &life.skew.to_string()])
            .args(["--faults", &faults.to_string()])
            .args(self.model.iter().flat_map(|(name, _)| ["--model", name]))
            .envs(
                self.model
                    .iter()
                    .map(|(_, place)| ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", place)),
            )
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a worker starts");
        let lines = BufReader::new(process.stdout.take().expect("its output is piped")).lines();
        let mut said = lines
            .map_while(Result::ok)
            .filter_map(|line| serde_json::from_str::<Says>(&line).ok());
        let worker = Worker {
            process,
            port,
            frozen: false,
        };
        let accesses = self.accesses.clone();
        let admits = move |admitted| *accesses.lock().expect("no panic under the lock") = admitted;
        loop {
            match said.next()? {
                Says::Ready => break,
                Says::Admits(admitted) => admits(admitted),
                Says::Met(..) => {}
            }
        }
        *self.birth.lock().expect("no panic under the lock") = began.elapsed();
        let tally = self.tally.clone();
        std::thread::spawn(move || {
            for says in said {
                match says {
                    Says::Met(injected, counted) => tally.life(number, injected, counted),
                    Says::Admits(admitted) => admits(admitted),
                    Says::Ready => {}
                }
            }
        });
        if life.skew.unsigned_abs() > WRONG {
            self.tally.note(kinds::SKEWED);
        }
        Some(worker)
    }

    /// Tells the network who lives.
    fn list(&self) {
        let workers = self.workers.lock().expect("no panic under the lock");
        *self.upstreams.lock().expect("no panic under the lock") =
            workers.iter().map(|worker| worker.port).collect();
    }

    /// Kills and freezes workers until all is to be well.
    pub(crate) async fn trouble(self: Arc<Self>) {
        for number in 0.. {
            let trouble = self.plan.trouble(number);
            // Where workers come up slowly, they live longer: else none would ever work.
            let birth = *self.birth.lock().expect("no panic under the lock");
            tokio::time::sleep(trouble.pause + 2 * birth).await;
            if self.healed.load(Ordering::SeqCst) {
                return;
            }
            match trouble.freezes {
                true => self.clone().freeze_one(trouble),
                false => self.clone().kill_one(trouble).await,
            }
        }
    }

    async fn kill_one(self: Arc<Self>, trouble: Trouble) {
        let victim = {
            let mut workers = self.workers.lock().expect("no panic under the lock");
            match workers.len() {
                0 => return,
                count => workers.swap_remove(trouble.victim % count),
            }
        };
        drop(victim);
        self.tally.note(kinds::KILLED);
        // For a moment the network still sends to where nobody is.
        tokio::time::sleep(trouble.unnoticed).await;
        self.list();
        self.hire().await;
    }

    fn freeze_one(self: Arc<Self>, trouble: Trouble) {
        let id = {
            let mut workers = self.workers.lock().expect("no panic under the lock");
            let mut awake: Vec<&mut Worker> = workers.iter_mut().filter(|worker| !worker.frozen).collect();
            // One at least goes on.
            if awake.len() < 2 {
                return;
            }
            let number = trouble.victim % awake.len();
            let worker = &mut awake[number];
            worker.frozen = true;
            worker.process.id()
        };
        signal("STOP", id);
        self.tally.note(kinds::FROZEN);
        // Should this process end before it thaws the worker, the worker must still find out.
        let after = (2 * FROZEN).as_secs();
        let _ = Command::new("sh")
            .args(["-c", &format!("sleep {after}; kill -CONT {id} 2>/dev/null")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .map(|mut later| std::thread::spawn(move || later.wait()));
        let herd = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(FROZEN).await;
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
        let all: Vec<u32> = {
            let workers = self.workers.lock().expect("no panic under the lock");
            workers.iter().map(|worker| worker.process.id()).collect()
        };
        for id in all {
            self.thaw(id);
        }
    }

    /// Ends every worker.
    pub(crate) fn stop(&self) {
        self.workers.lock().expect("no panic under the lock").clear();
    }
}

fn signal(name: &str, id: u32) {
    let _ = Command::new("kill")
        .args([&format!("-{name}"), &id.to_string()])
        .stderr(Stdio::null())
        .status();
}
