//! The queues of the local system: one channel in this process for all agents, where AWS has an SQS queue each.
//! Delivery is at least once and a wake may be lost with the process; the tables know what is due.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use agent::{Shutdown, Wake, WakeDoor, WakeError};
use async_trait::async_trait;
use domain::trace::within;
use domain::{AgentName, PushConfigId, TaskId, Tenant};
use edge::QueueHandler;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tracing::Instrument as _;

use crate::like_aws::LikeAws;
use crate::meter::Meter;

/// Most wakes that wait to be taken from the channel.
const CAPACITY: usize = 10_000;
/// Most tasks of one agent that are worked on at once. No fewer than deliveries: all of them wait for the database most of
/// the time, and where it is busy they get their turns by their number.
const AT_ONCE: usize = 128;
/// Most deliveries of one agent on their way at once. They wait for others most of the time: the many that a receiver
/// may hold until it is known to be dead leave slots for the rest, and none takes the place of work.
const DELIVERIES_AT_ONCE: usize = 128;
/// Waits before a failed wake comes again; after the last the sweeper's next look decides.
const AGAIN: [Duration; 3] = [
    Duration::from_millis(200),
    Duration::from_secs(1),
    Duration::from_secs(5),
];

/// Puts wakes on the channel.
#[derive(Clone)]
pub(crate) struct Door {
    channel: mpsc::Sender<(Wake, Duration)>,
    waiting: Waiting,
    losing: Arc<AtomicBool>,
    lives: Lives,
    /// How many wakes there were, where they come as on AWS.
    like_aws: Option<Arc<AtomicU64>>,
}

/// Who works at the moment, and the order to drop it.
#[derive(Clone)]
struct Lives {
    working: Arc<AtomicUsize>,
    kills: Arc<watch::Sender<()>>,
}

impl Lives {
    fn new() -> Self {
        Self {
            working: Arc::default(),
            kills: Arc::new(watch::Sender::new(())),
        }
    }

    /// Does the work, unless it is killed before its end: then `None`.
    async fn unless_killed<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut kills = self.kills.subscribe();
        let _counted = Counted::new(&self.working);
        tokio::select! {
            done = work => Some(done),
            _ = kills.changed() => None,
        }
    }
}

/// Counts for as long as it is there.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn new(working: &'a AtomicUsize) -> Self {
        working.fetch_add(1, Ordering::SeqCst);
        Self(working)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Door {
    /// Drops whatever the workers do at this moment, and returns how many there were. Their wakes are lost with them, as with
    /// a machine that crashes.
    pub(crate) fn kill(&self) -> usize {
        let working = self.lives.working.load(Ordering::SeqCst);
        self.lives.kills.send_replace(());
        working
    }

    /// From now on every wake is lost, or none; see [`crate::system::System::lose_wakes`].
    pub(crate) fn lose(&self, all: bool) {
        self.losing.store(all, Ordering::SeqCst);
    }
}

/// The other end of the channel.
pub(crate) struct Queue {
    channel: mpsc::Receiver<(Wake, Duration)>,
    waiting: Waiting,
    lives: Lives,
    like_aws: Option<LikeAws>,
}

/// What is to be looked at as soon as there is slots. A second wake for it would say nothing new, and under load the
/// sweeper sends one every second.
#[derive(Clone, Default)]
struct Waiting(Arc<Mutex<HashSet<Subject>>>);

type Subject = (Tenant, AgentName, TaskId, Option<PushConfigId>);

impl Waiting {
    /// False where it waits already.
    fn enter(&self, wake: &Wake) -> bool {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(subject(wake))
    }

    fn leave(&self, wake: &Wake) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&subject(wake));
    }
}

fn subject(wake: &Wake) -> Subject {
    let key = wake.key();
    (key.tenant, key.agent, key.id, wake.delivery().cloned())
}

/// The channel is full or its reader has stopped.
#[derive(Debug, thiserror::Error)]
#[error("the queue takes no more")]
struct NoRoom;

/// The queue's two ends; wakes come as on AWS, or soon and once.
pub(crate) fn channel(like_aws: Option<LikeAws>) -> (Door, Queue) {
    let (sender, receiver) = mpsc::channel(CAPACITY);
    let (waiting, lives) = (Waiting::default(), Lives::new());
    (
        Door {
            channel: sender,
            waiting: waiting.clone(),
            losing: Arc::default(),
            lives: lives.clone(),
            like_aws: like_aws.map(|_| Arc::default()),
        },
        Queue {
            channel: receiver,
            waiting,
            lives,
            like_aws,
        },
    )
}

#[async_trait]
impl WakeDoor for Door {
    async fn wake(&self, wake: &Wake, delay: Duration) -> Result<(), WakeError> {
        if self.losing.load(Ordering::SeqCst) {
            return Ok(());
        }
        if let Some(wakes) = &self.like_aws {
            for late in LikeAws::copies(wakes.fetch_add(1, Ordering::SeqCst)) {
                let sent = self.channel.try_send((wake.clone(), delay + late));
                sent.map_err(|_| WakeError::Queue(Box::new(NoRoom)))?;
            }
            return Ok(());
        }
        if delay.is_zero() && !self.waiting.enter(wake) {
            return Ok(());
        }
        self.channel.try_send((wake.clone(), delay)).map_err(|_| {
            if delay.is_zero() {
                self.waiting.leave(wake);
            }
            WakeError::Queue(Box::new(NoRoom))
        })
    }
}

/// Resolves once the system is to stop.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _or_nobody_is_left_to_say_so = stop.wait_for(|stop| *stop).await;
}

/// Who works, by agent.
pub(crate) type Workers = HashMap<AgentName, Arc<dyn QueueHandler>>;

/// Who has the workers of now: those that serve every tenant, and a tenant's own, which are built when there is work for them.
#[async_trait]
pub(crate) trait Crew: Send + Sync {
    /// Who works on the tasks of this agent and tenant, and whether it does so for that tenant alone.
    async fn worker(&self, agent: &AgentName, tenant: &Tenant) -> Option<(Arc<dyn QueueHandler>, bool)>;
}

struct Worker {
    work: Arc<dyn QueueHandler>,
    slots: Arc<Concurrency>,
}

/// The workers of now, and how much each has in hand.
struct Workforce {
    crew: Arc<dyn Crew>,
    places: Places,
    /// The tasks of a tenant that was removed stay due; once is often enough to say so.
    told: Mutex<HashSet<(Tenant, AgentName)>>,
}

impl Workforce {
    fn of(crew: Arc<dyn Crew>) -> Self {
        let (places, told) = (Places::default(), Mutex::default());
        Self { crew, places, told }
    }

    /// Who works on what this wake is about.
    async fn find(&self, wake: &Wake) -> Option<Worker> {
        let key = wake.key();
        if let Some((work, own)) = self.crew.worker(&key.agent, &key.tenant).await {
            let slots = self.places.of((key.agent, own.then_some(key.tenant)));
            return Some(Worker { work, slots });
        }
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.insert((key.tenant.clone(), key.agent.clone())) {
            tracing::warn!(tenant.id = key.tenant.name(), agent = %key.agent, "a wake for an agent that is not here");
        }
        None
    }
}

/// How much at once.
struct Concurrency {
    tasks: Arc<Slots>,
    deliveries: Arc<Slots>,
}

impl Concurrency {
    fn new() -> Self {
        Self {
            tasks: Slots::new(AT_ONCE),
            deliveries: Slots::new(DELIVERIES_AT_ONCE),
        }
    }

    fn of(&self, wake: &Wake) -> &Arc<Slots> {
        match wake {
            Wake::Task(_) => &self.tasks,
            Wake::Push(_) => &self.deliveries,
        }
    }
}

/// Places for work. Where all are taken, the next free one goes to each tenant that waits in turn, as with SQS's fair queues.
struct Slots(Mutex<Line>);

/// The free places; who waits, tenant by tenant.
struct Line {
    free: usize,
    waiting: VecDeque<(Tenant, VecDeque<oneshot::Sender<Slot>>)>,
}

/// A place that is taken until it is dropped; none once it was given on.
struct Slot(Option<Arc<Slots>>);

impl Slots {
    fn new(free: usize) -> Arc<Self> {
        let waiting = VecDeque::new();
        Arc::new(Self(Mutex::new(Line { free, waiting })))
    }

    /// A place, now or when it is the tenant's turn.
    async fn take(self: &Arc<Self>, tenant: Tenant) -> Option<Slot> {
        let turn = {
            let mut line = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if line.free > 0 {
                line.free -= 1;
                return Some(Slot(Some(self.clone())));
            }
            let (sender, turn) = oneshot::channel();
            match line.waiting.iter_mut().find(|(known, _)| *known == tenant) {
                Some((_, own)) => own.push_back(sender),
                None => line.waiting.push_back((tenant, VecDeque::from([sender]))),
            }
            turn
        };
        turn.await.ok()
    }

    /// Who is next; where nobody waits, the place is free.
    fn next(&self) -> Option<oneshot::Sender<Slot>> {
        let mut line = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((tenant, mut own)) = line.waiting.pop_front() else {
            line.free += 1;
            return None;
        };
        let next = own.pop_front();
        if !own.is_empty() {
            line.waiting.push_back((tenant, own));
        }
        next
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let Some(slots) = self.0.take() else { return };
        // Whoever waits no longer is passed over.
        while let Some(next) = slots.next() {
            match next.send(Self(Some(slots.clone()))) {
                Ok(()) => return,
                Err(mut back) => back.0 = None,
            }
        }
    }
}

/// How much at once of each agent, and of each tenant's own, for as long as somebody works or waits there: whoever is built anew
/// in the meantime has no more slots than before.
#[derive(Default)]
struct Places(Mutex<HashMap<Place, Weak<Concurrency>>>);

/// An agent; of one tenant alone where it is its own.
type Place = (AgentName, Option<Tenant>);

/// At how many places those where nobody works are forgotten.
const PLACES: usize = 1024;

impl Places {
    fn of(&self, place: Place) -> Arc<Concurrency> {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = places.get(&place).and_then(Weak::upgrade) {
            return known;
        }
        if places.len() >= PLACES {
            places.retain(|_, slots| slots.strong_count() > 0);
        }
        let slots = Arc::new(Concurrency::new());
        places.insert(place, Arc::downgrade(&slots));
        slots
    }
}

impl Queue {
    /// Hands wakes to the workers until `stop` turns true; what is running then may end, what waits is dropped.
    pub(crate) async fn run(
        mut self,
        crew: Arc<dyn Crew>,
        meter: Option<Meter>,
        mut stop: watch::Receiver<bool>,
    ) {
        let mut running = JoinSet::new();
        let workers = Arc::new(Workforce::of(crew));
        loop {
            let next = tokio::select! {
                next = self.channel.recv() => next,
                () = stopped(&mut stop) => None,
                Some(_) = running.join_next(), if !running.is_empty() => continue,
            };
            let Some((wake, delay)) = next else { break };
            let delivery = Delivery {
                workers: Arc::clone(&workers),
                wake,
                delay,
                waiting: self.waiting.clone(),
                lives: self.lives.clone(),
                meter: meter.clone(),
                like_aws: self.like_aws,
            };
            running.spawn(delivery.run(stop.clone()));
        }
        while running.join_next().await.is_some() {}
    }
}

/// One wake on its way to its agent.
struct Delivery {
    workers: Arc<Workforce>,
    wake: Wake,
    delay: Duration,
    waiting: Waiting,
    lives: Lives,
    meter: Option<Meter>,
    like_aws: Option<LikeAws>,
}

impl Delivery {
    /// The waits before the times that it may come again.
    fn again(&self) -> Vec<Duration> {
        match self.like_aws {
            Some(like) => vec![like.visibility; like.receives.saturating_sub(1)],
            None => AGAIN.to_vec(),
        }
    }

    async fn run(self, mut stop: watch::Receiver<bool>) {
        let again = self.again();
        let Self {
            workers,
            wake,
            delay,
            waiting,
            lives,
            meter,
            like_aws,
        } = self;
        for (wait, attempt) in std::iter::once(delay).chain(again).zip(1_u32..) {
            if !wait.is_zero() {
                tokio::select! {
                    () = tokio::time::sleep(wait) => {}
                    () = stopped(&mut stop) => return,
                }
            }
            // Only now, since a wait is long: functions that nobody asks for need not be kept for it.
            let Some(worker) = workers.find(&wake).await else {
                waiting.leave(&wake);
                return;
            };
            let Some(_slot) = worker.slots.of(&wake).take(wake.key().tenant).await else {
                return;
            };
            // From here on news are news again.
            waiting.leave(&wake);
            if *stop.borrow() {
                return;
            }
            // The same words as on AWS.
            let words = wake.to_json();
            // At the end of the process, work in hand is handed over and not broken off.
            let work = Shutdown::on(stop.clone()).scope(worker.work.handle(&words));
            let work = within(wake.trace().cloned(), async {
                work.instrument(span(&wake)).await
            });
            let work = async {
                match &meter {
                    Some(meter) => meter.wake(work).await,
                    None => work.await,
                }
            };
            match lives.unless_killed(work).await {
                Some(Ok(())) => return,
                // A queue of AWS has not heard that it is done.
                None if like_aws.is_some() => {}
                None => return,
                Some(Err(error)) => {
                    let task = wake.key().id;
                    tracing::warn!(task.id = %task, attempt, error = &error as &dyn std::error::Error, "a wake failed");
                }
            }
        }
    }
}

/// What the log lines of the work on a wake have in common: the same as on AWS.
fn span(wake: &Wake) -> tracing::Span {
    tracing::info_span!(
        "local.wake.handle",
        agent = %wake.key().agent,
        tenant.id = tracing::field::Empty,
        task.id = tracing::field::Empty,
        trace_id = tracing::field::Empty,
    )
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use domain::SystemEntropy;
    use edge::QueueError;
    use store::TaskKey;
    use tokio::time::Instant;

    use super::*;

    struct Flaky {
        failures: usize,
        calls: AtomicUsize,
        at_once: AtomicUsize,
        most: AtomicUsize,
        pause: Duration,
    }

    impl Flaky {
        fn new(failures: usize, pause: Duration) -> Arc<Self> {
            let zero = AtomicUsize::default;
            Arc::new(Self {
                failures,
                calls: zero(),
                at_once: zero(),
                most: zero(),
                pause,
            })
        }
    }

    #[async_trait]
    impl QueueHandler for Flaky {
        async fn handle(&self, _: &str) -> Result<(), QueueError> {
            let now = self.at_once.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(now, Ordering::SeqCst);
            tokio::time::sleep(self.pause).await;
            self.at_once.fetch_sub(1, Ordering::SeqCst);
            let call = self.calls.fetch_add(1, Ordering::SeqCst);
            if call < self.failures {
                Err(QueueError::Failed("not yet".into()))
            } else {
                Ok(())
            }
        }
    }

    fn wake(tenant: &str, agent: &str) -> Wake {
        let key = TaskKey {
            tenant: Tenant::parse(tenant).unwrap(),
            agent: AgentName::parse(agent).unwrap(),
            id: TaskId::random(&SystemEntropy),
        };
        Wake::task(&key)
    }

    type Fixed = HashMap<Place, Arc<dyn QueueHandler>>;

    #[async_trait]
    impl Crew for Fixed {
        async fn worker(&self, agent: &AgentName, tenant: &Tenant) -> Option<(Arc<dyn QueueHandler>, bool)> {
            let shared = self.get(&(agent.clone(), None)).map(|work| (work.clone(), false));
            let own = self.get(&(agent.clone(), Some(tenant.clone())));
            shared.or_else(|| own.map(|work| (work.clone(), true)))
        }
    }

    fn key(agent: &str, tenant: Option<&str>) -> Place {
        (
            AgentName::parse(agent).unwrap(),
            tenant.map(|name| Tenant::parse(name).unwrap()),
        )
    }

    async fn until(calls: &AtomicUsize, expect: usize) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while calls.load(Ordering::SeqCst) < expect && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(calls.load(Ordering::SeqCst), expect);
    }

    #[tokio::test]
    async fn wakes_reach_their_own_agent_after_their_delay_and_again_after_a_failure() {
        let (acme, globex, weather) = (
            Flaky::new(1, Duration::ZERO),
            Flaky::new(0, Duration::ZERO),
            Flaky::new(0, Duration::ZERO),
        );
        let (door, queue) = channel(None);
        let (stop, stopped) = watch::channel(false);
        let mut workers = Fixed::new();
        workers.insert(key("host", Some("acme")), acme.clone());
        workers.insert(key("host", Some("globex")), globex.clone());
        workers.insert(key("weather", None), weather.clone());
        let running = tokio::spawn(queue.run(Arc::new(workers), None, stopped));

        let begun = Instant::now();
        door.wake(&wake("acme", "host"), Duration::ZERO).await.unwrap();
        door.wake(&wake("acme", "weather"), Duration::from_millis(300))
            .await
            .unwrap();
        door.wake(&wake("initech", "host"), Duration::ZERO).await.unwrap();
        until(&acme.calls, 2).await;
        until(&weather.calls, 1).await;
        assert!(
            begun.elapsed() >= Duration::from_millis(300),
            "not before its delay"
        );
        assert_eq!(
            globex.calls.load(Ordering::SeqCst),
            0,
            "another tenant's host is never woken"
        );

        door.wake(&wake("acme", "weather"), Duration::from_secs(60))
            .await
            .unwrap();
        stop.send(true).unwrap();
        running.await.unwrap();
        assert_eq!(weather.calls.load(Ordering::SeqCst), 1, "what waits is dropped");
        assert!(door.wake(&wake("acme", "host"), Duration::ZERO).await.is_err());
    }

    #[tokio::test]
    async fn who_is_killed_does_nothing_more_and_its_place_is_free() {
        let weather = Flaky::new(0, Duration::from_secs(60));
        let (door, queue) = channel(None);
        let (_stop, stopped) = watch::channel(false);
        let workers: Fixed = [(key("weather", None), weather.clone() as Arc<dyn QueueHandler>)].into();
        let running = tokio::spawn(queue.run(Arc::new(workers), None, stopped));
        assert_eq!(door.kill(), 0, "nobody works");
        let two = [wake("acme", "weather"), wake("acme", "weather")];
        for wake in &two {
            door.wake(wake, Duration::ZERO).await.unwrap();
        }
        let deadline = Instant::now() + Duration::from_secs(10);
        while weather.at_once.load(Ordering::SeqCst) < 2 && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(door.kill(), 2);
        while door.kill() > 0 && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(door.kill(), 0);
        assert_eq!(weather.calls.load(Ordering::SeqCst), 0, "none came to its end");
        // The same wakes are news again, and are taken.
        for wake in &two {
            door.wake(wake, Duration::ZERO).await.unwrap();
        }
        while weather.at_once.load(Ordering::SeqCst) < 4 && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(door.kill(), 2);
        running.abort();
    }

    #[tokio::test]
    async fn tenants_get_free_places_in_turn_however_many_of_one_wait() {
        let slots = Slots::new(1);
        let tenant = |name| Tenant::parse(name).unwrap();
        let mut held = slots.take(tenant("acme")).await;
        let mut waiting = Vec::new();
        for name in ["acme", "acme", "acme", "globex", "hooli", "globex", "acme"] {
            let mut turn = Box::pin(slots.take(tenant(name)));
            assert!(futures_util::poll!(&mut turn).is_pending());
            waiting.push((name, turn));
        }
        // Whoever waits no longer is passed over.
        drop(waiting.pop());
        let mut served = Vec::new();
        while !waiting.is_empty() {
            drop(held.take());
            let mut later = Vec::new();
            for (name, mut turn) in waiting {
                match futures_util::poll!(&mut turn) {
                    std::task::Poll::Ready(slot) => {
                        held = slot;
                        served.push(name);
                    }
                    std::task::Poll::Pending => later.push((name, turn)),
                }
            }
            waiting = later;
        }
        assert_eq!(served, ["acme", "globex", "hooli", "acme", "globex", "acme"]);
        drop(held);
        assert_eq!(slots.0.lock().unwrap().free, 1);
    }

    #[tokio::test]
    async fn deliveries_never_take_the_place_of_work() {
        let weather = Flaky::new(0, Duration::from_secs(60));
        let (door, queue) = channel(None);
        let (_stop, stopped) = watch::channel(false);
        let workers: Fixed = [(key("weather", None), weather.clone() as Arc<dyn QueueHandler>)].into();
        let running = tokio::spawn(queue.run(Arc::new(workers), None, stopped));
        let most = async |expect: usize| {
            let deadline = Instant::now() + Duration::from_secs(10);
            while weather.most.load(Ordering::SeqCst) < expect && Instant::now() < deadline {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            assert_eq!(weather.most.load(Ordering::SeqCst), expect);
        };
        // Each hangs; so many more than there is slots for.
        for _ in 0..2 * DELIVERIES_AT_ONCE {
            let task = wake("acme", "weather").key();
            let push = Wake::push(&task, PushConfigId::parse("p").unwrap());
            door.wake(&push, Duration::ZERO).await.unwrap();
        }
        most(DELIVERIES_AT_ONCE).await;
        for _ in 0..2 * AT_ONCE {
            door.wake(&wake("acme", "weather"), Duration::ZERO).await.unwrap();
        }
        most(DELIVERIES_AT_ONCE + AT_ONCE).await;
        running.abort();
    }

    #[tokio::test]
    async fn an_agent_works_on_a_bounded_number_at_once_and_is_woken_once_for_the_same_news() {
        let weather = Flaky::new(0, Duration::from_millis(50));
        let (door, queue) = channel(None);
        let (_stop, stopped) = watch::channel(false);
        let workers: Fixed = [(key("weather", None), weather.clone() as Arc<dyn QueueHandler>)].into();
        let running = tokio::spawn(queue.run(Arc::new(workers), None, stopped));
        let many = 3 * AT_ONCE;
        for _ in 0..many {
            door.wake(&wake("acme", "weather"), Duration::ZERO).await.unwrap();
        }
        until(&weather.calls, many).await;
        assert_eq!(weather.most.load(Ordering::SeqCst), AT_ONCE);

        let same = wake("acme", "weather");
        for _ in 0..100 {
            door.wake(&same, Duration::ZERO).await.unwrap();
        }
        until(&weather.calls, many + 1).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(
            weather.calls.load(Ordering::SeqCst),
            many + 1,
            "waiting once is enough"
        );
        door.wake(&same, Duration::ZERO).await.unwrap();
        until(&weather.calls, many + 2).await;
        running.abort();
    }

    #[tokio::test]
    async fn a_wake_comes_as_on_aws_when_it_is_to() {
        let like = LikeAws {
            visibility: Duration::from_millis(400),
            ..LikeAws::default()
        };
        let begin = |failures, pause| {
            let weather = Flaky::new(failures, pause);
            let (door, queue) = channel(Some(like));
            let (stop, stopped) = watch::channel(false);
            let workers: Fixed = [(key("weather", None), weather.clone() as Arc<dyn QueueHandler>)].into();
            let running = tokio::spawn(queue.run(Arc::new(workers), None, stopped));
            (weather, door, stop, running)
        };
        let same = wake("acme", "weather");

        // Each of the same news is a message, and every fourth is two.
        let (weather, door, _stop, _running) = begin(0, Duration::ZERO);
        for _ in 0..8 {
            door.wake(&same, Duration::ZERO).await.unwrap();
        }
        until(&weather.calls, 10).await;

        // What fails comes again when its visibility timeout has passed, five times in all.
        let (weather, door, _stop, _running) = begin(usize::MAX, Duration::ZERO);
        door.like_aws.as_ref().unwrap().store(1, Ordering::SeqCst);
        let begun = Instant::now();
        door.wake(&same, Duration::ZERO).await.unwrap();
        until(&weather.calls, like.receives).await;
        assert!(begun.elapsed() >= 4 * like.visibility, "not before");
        tokio::time::sleep(2 * like.visibility).await;
        until(&weather.calls, like.receives).await;

        // What dies with its worker comes again too.
        let (weather, door, _stop, _running) = begin(0, Duration::from_millis(600));
        door.like_aws.as_ref().unwrap().store(1, Ordering::SeqCst);
        door.wake(&same, Duration::ZERO).await.unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        while door.kill() == 0 && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(weather.calls.load(Ordering::SeqCst), 0);
        until(&weather.calls, 1).await;
    }
}
