//! Plays conversations on local systems: a guest each, as a page would.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use domain::{Clock as _, ManualClock, Tenant, Timestamp};
use futures_util::{StreamExt as _, stream};
use local::Data;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use system_testing::binary::free_port;
use system_testing::browser::{Browser, Page};
use system_testing::{Local, User};
use tokio::sync::{RwLock, RwLockReadGuard};
use url::Url;

use super::agents::{self, Agent};
use super::judge::{self, Seen};
use super::table::{Conversation, Turn, span};

/// When a stage begins: a Thursday.
pub(super) const BEGINS: &str = "2026-01-01T10:00:00Z";

/// A conversation as it went.
pub(super) struct Played {
    pub(super) conversation: Conversation,
    /// What was not as its rows say.
    pub(super) faults: Vec<String>,
    /// What was said and shown, turn by turn.
    pub(super) transcript: Vec<String>,
}

/// The agents of a stage, and the conversations that are played on it.
type Cast = (Vec<String>, Vec<Conversation>);

/// What one system plays: its agents, and acts that follow one another.
pub(super) struct Evening {
    agents: Vec<String>,
    acts: Vec<Vec<Conversation>>,
}

impl Evening {
    /// One conversation with its own agents.
    pub(super) fn of(conversation: Conversation) -> Self {
        Self {
            agents: conversation.agents.clone(),
            acts: vec![vec![conversation]],
        }
    }

    /// Whether nothing else may happen while one of its conversations is held.
    fn alone(&self) -> bool {
        self.acts.iter().flatten().any(Conversation::alone)
    }
}

/// A system that conversations with the same agents share.
pub(super) struct Stage {
    /// Absent while it is restarted.
    local: RwLock<Option<Local>>,
    folder: Option<(tempfile::TempDir, u16)>,
    agents: Vec<Agent>,
}

impl Stage {
    /// What is played on systems of their own, the longest first.
    pub(super) fn evenings(conversations: Vec<Conversation>) -> Vec<Evening> {
        let rounds = Self::shared(conversations)
            .into_iter()
            .flat_map(|(agents, conversations)| {
                let rounds = Self::rounds(Self::acts(conversations));
                rounds.into_iter().map(move |acts| Evening {
                    agents: agents.clone(),
                    acts,
                })
            });
        let mut evenings: Vec<Evening> = rounds.collect();
        let turns = |evening: &Evening| {
            let all = evening.acts.iter().flatten();
            all.map(|conversation| conversation.turn.len()).sum::<usize>()
        };
        evenings.sort_by_key(|evening| std::cmp::Reverse((!evening.alone(), turns(evening))));
        evenings
    }

    /// The conversations by the stages that they are played on. Those at one time whose agents are of different types share one:
    /// an agent is called by nobody who does not speak of it.
    fn shared(conversations: Vec<Conversation>) -> Vec<Cast> {
        // Those that are alone share no stage with those that are not.
        let mut stages: BTreeMap<bool, Vec<Cast>> = BTreeMap::new();
        for conversation in conversations {
            let own = conversation.agents.clone();
            // Most conversations know the built-in agents alone; with others beside them they would be told of those. And what is
            // said in another language is for somebody sooner where all agents speak it.
            let by_itself = own.is_empty() || conversation.alone() || conversation.is_abroad();
            let shares = |agents: &Vec<String>| match by_itself {
                true => *agents == own,
                false => !agents.is_empty() && agents::get_along(agents, &own),
            };
            let stages = stages.entry(conversation.alone()).or_default();
            match stages.iter_mut().find(|(agents, _)| shares(agents)) {
                Some((agents, all)) => {
                    agents.extend(
                        own.iter()
                            .filter(|kind| !agents.contains(kind))
                            .cloned()
                            .collect::<Vec<_>>(),
                    );
                    all.push(conversation);
                }
                None => stages.push((own, vec![conversation])),
            }
        }
        stages.into_values().flatten().collect()
    }

    /// The acts of a stage, one after the other: its clock only goes forward, so the moments at which conversations begin are in
    /// order. Those that deny a consent come before those that agree, as where somebody agreed before nobody is asked.
    fn acts(conversations: Vec<Conversation>) -> Vec<Vec<Conversation>> {
        let mut acts: BTreeMap<(Option<String>, bool, String), Vec<Conversation>> = BTreeMap::new();
        for conversation in conversations {
            // Whoever does both is by itself.
            let both = conversation.denies() && conversation.agrees();
            let by_itself = if both {
                conversation.name.clone()
            } else {
                String::new()
            };
            let agrees = conversation.agrees() && conversation.now.is_none();
            let act = (conversation.now.clone(), agrees, by_itself);
            acts.entry(act).or_default().push(conversation);
        }
        acts.into_values().collect()
    }

    /// Acts that one system can play: the clock goes forward only, so that of those at one moment each needs a system. Those that
    /// want no moment have systems of their own, and so has each that denies and agrees.
    fn rounds(acts: Vec<Vec<Conversation>>) -> Vec<Vec<Vec<Conversation>>> {
        let moment = |act: &[Conversation]| act.first().and_then(|first| first.now.clone());
        let denies = |act: &[Conversation]| act.iter().any(|one| one.denies() && one.agrees());
        let mut rounds: Vec<Vec<Vec<Conversation>>> = Vec::new();
        for act in acts {
            let now = moment(&act);
            let takes = |round: &&mut Vec<Vec<Conversation>>| {
                let last = round.last().map(|last| (moment(last), denies(last)));
                match (last, &now) {
                    (None, _) => true,
                    (Some((before, denied)), None) => before.is_none() && !denied && !denies(&act),
                    (Some((before, _)), Some(_)) => before.is_some() && before != now,
                }
            };
            match rounds.iter_mut().find(takes) {
                Some(round) => round.push(act),
                None => rounds.push(vec![act]),
            }
        }
        rounds
    }

    /// Plays what one system can play, so many conversations at once.
    pub(super) async fn play(Evening { agents, acts }: Evening, at_once: usize) -> Vec<Played> {
        let all = || acts.iter().flatten();
        let at_once = if all().any(Conversation::alone) {
            1
        } else {
            at_once
        };
        let restarts = all().any(Conversation::restarts);
        let begun = Instant::now();
        let stage = Self::start(restarts, &agents).await;
        let up = begun.elapsed();
        let ticker = tick(stage.clock().await);
        let mut played = Vec::new();
        for act in acts {
            stage
                .goes_on_to(act.first().and_then(|first| first.now.as_deref()))
                .await;
            let ended = stream::iter(act)
                .map(|conversation| Player::play(&stage, conversation))
                .buffer_unordered(at_once)
                .collect::<Vec<Played>>()
                .await;
            played.extend(ended);
        }
        ticker.abort();
        let (count, all) = (played.len(), begun.elapsed());
        println!("{count} with {agents:?}: up after {up:.1?}, played after {all:.1?}");
        if let Some(local) = stage.local.into_inner() {
            local.system.stop().await;
        }
        played
    }

    async fn start(restarts: bool, kinds: &[String]) -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::parse(BEGINS).expect("a moment")));
        let folder = restarts.then(|| (tempfile::tempdir().expect("a folder"), free_port()));
        let local = match &folder {
            Some((folder, port)) => {
                Local::resume((*port, Data::Folder(folder.path().to_owned())), clock, tenants()).await
            }
            None => Local::resume((0, Data::Memory), clock, tenants()).await,
        };
        let mut agents = Vec::new();
        for kind in kinds {
            agents.push(Agent::start(&local, kind).await);
        }
        Self {
            local: RwLock::new(Some(local)),
            folder,
            agents,
        }
    }

    /// Moves the clock to this moment.
    async fn goes_on_to(&self, moment: Option<&str>) {
        if let Some(moment) = moment {
            let (clock, wanted) = (self.clock().await, Timestamp::parse(moment).expect("a moment"));
            let ahead = wanted.millis() - clock.now().millis();
            clock.advance(Duration::from_millis(
                u64::try_from(ahead).expect("moments lie apart"),
            ));
        }
    }

    /// Ends the system and starts it again over the same data.
    async fn restart(&self) {
        let (folder, port) = self.folder.as_ref().expect("it was started to be restarted");
        let clock = self.clock().await;
        let mut local = self.local.write().await;
        if let Some(local) = local.take() {
            local.system.stop().await;
        }
        *local = Some(Local::resume((*port, Data::Folder(folder.path().to_owned())), clock, tenants()).await);
    }

    async fn clock(&self) -> Arc<ManualClock> {
        Arc::clone(&self.up().await.clock)
    }

    /// The system, while it is up.
    async fn up(&self) -> RwLockReadGuard<'_, Local> {
        RwLockReadGuard::map(self.local.read().await, |local| local.as_ref().expect("it is up"))
    }
}

/// Lets a clock go by itself.
pub(super) fn tick(clock: Arc<ManualClock>) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        let pause = Duration::from_millis(10);
        let mut last = tokio::time::Instant::now();
        loop {
            tokio::time::sleep(pause).await;
            let now = tokio::time::Instant::now();
            clock.advance(now - last);
            last = now;
        }
    })
}

/// The one tenant that the tables speak of.
pub(super) fn tenants() -> Vec<Tenant> {
    vec![Tenant::parse("acme").expect("a name")]
}

/// One conversation that is being played.
struct Player<'a> {
    stage: &'a Stage,
    user: User,
    base: String,
    conversation: Conversation,
    /// The task of each turn so far.
    tasks: Vec<Option<String>>,
    code: String,
    seen: Seen,
    faults: Vec<String>,
    transcript: Vec<String>,
}

/// How a file of this type begins, in base64: the chat takes none that begins otherwise.
fn beginning_of(media: &str) -> &'static str {
    match media {
        "application/pdf" => "JVBERi0xLjcK",
        "image/png" => "iVBORw0KGgo=",
        "image/jpeg" => "/9j/4A==",
        other => panic!("no beginning of {other} is known here"),
    }
}

impl<'a> Player<'a> {
    async fn play(stage: &'a Stage, conversation: Conversation) -> Played {
        let (user, base) = {
            let local = stage.up().await;
            let base = local
                .endpoint(&format!("/tenants/{}/base", conversation.tenant))
                .to_owned();
            (local.user(&conversation.tenant), base)
        };
        let mut player = Self {
            stage,
            user,
            base,
            tasks: Vec::new(),
            code: String::new(),
            seen: Seen::default(),
            faults: Vec::new(),
            transcript: Vec::new(),
            conversation,
        };
        if player.conversation.signed_in.is_some() {
            let asked = player
                .user
                .chat(
                    &format!("{}-before", player.conversation.name),
                    "m0",
                    "Where is my order 1003?",
                )
                .await;
            player.consent(Some(&asked.task_id()), Page::clone).await;
            player.quiet().await;
            let (now, _) = player.look().await;
            player.seen = now;
        }
        for (number, turn) in (1..).zip(player.conversation.turn.clone()) {
            player.turn(number, &turn).await;
        }
        Played {
            conversation: player.conversation,
            faults: player.faults,
            transcript: player.transcript,
        }
    }

    async fn turn(&mut self, number: usize, turn: &Turn) {
        let before = self.seen.clone();
        if let Some(after) = &turn.after {
            self.after(after).await;
        }
        // What `after` brings is shown with this turn, but is none of its doing; without it nothing came since.
        let (started, came) = match turn.after {
            Some(_) => self.look().await,
            None => (before.clone(), before.clone()),
        };
        let mut streamed = Vec::new();
        if let Some(say) = &turn.say {
            streamed = self.say(number, turn, say).await;
        }
        let said = judge::text_of(&streamed);
        let carded: Vec<String> = judge::cards_of(&streamed);
        let task = carded.last().cloned();
        self.tasks.push(task.clone());
        let tasks = self.settles(turn, task.as_deref()).await;
        let now = Seen {
            tasks,
            messages: self.messages().await,
        };
        let chat = turn
            .say
            .as_ref()
            .map(|_| turn.chat.clone().unwrap_or_else(|| "a".to_owned()));
        let shown = [
            came.since(&before, chat.as_deref()),
            now.since(&started, chat.as_deref()),
        ]
        .concat();
        let evidence = judge::Evidence {
            number,
            turn,
            before: &before,
            started: &started,
            now: &now,
            said: &said,
            shown: &[vec![said.clone()], judge::card_texts(&streamed), shown].concat(),
            carded: &carded,
            tasks: &self.tasks,
        };
        let asked = turn.say.as_deref().or(turn.after.as_deref()).unwrap_or_default();
        let cards = evidence.shown.get(1..).unwrap_or_default().join("\n  ");
        self.transcript.push(format!("> {asked}\n{said}  {cards}"));
        let faults = judge::judge(&evidence);
        self.faults
            .extend(faults.into_iter().map(|fault| format!("turn {number}: {fault}")));
        self.seen = now;
    }

    /// Waits a while for the states that the turn wants, as a person would before they say that it did not come.
    /// Gives the tasks as they are then.
    async fn settles(&self, turn: &Turn, task: Option<&str>) -> BTreeMap<String, Value> {
        let wanted = turn.expect.state.as_deref().filter(|wanted| *wanted != "working");
        let mut left = [100, 20];
        loop {
            let now = Seen {
                tasks: self.own_tasks().await,
                ..Seen::default()
            };
            let state = task.map_or("none", |task| now.state(task));
            let own =
                task.is_none() || wanted.is_none_or(|wanted| wanted.split('|').any(|wanted| wanted == state));
            let mut others = turn.expect.others.iter();
            let other = others.all(|(turn, states)| self.is_in(&now, turn, states));
            let patience = if own { &mut left[1] } else { &mut left[0] };
            if own && other || *patience == 0 {
                return now.tasks;
            }
            *patience -= 1;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    fn is_in(&self, now: &Seen, turn: &str, states: &str) -> bool {
        let task = turn
            .parse::<usize>()
            .ok()
            .and_then(|turn| self.tasks.get(turn - 1)?.clone());
        task.is_some_and(|task| states.split('|').any(|state| state == now.state(&task)))
    }

    /// Sends the message; gives the chunks of the answer.
    async fn say(&mut self, number: usize, turn: &Turn, say: &str) -> Vec<Value> {
        let say = say
            .replace("{code:lower}", &self.code.to_lowercase())
            .replace("{code}", &self.code);
        let mut parts = vec![json!({ "type": "text", "text": say })];
        if let Some(media) = &turn.file {
            parts.push(
                json!({ "type": "file", "mediaType": media, "filename": "attached",
                "url": format!("data:{media};base64,{}", beginning_of(media)) }),
            );
        }
        let chat = turn.chat.as_deref().unwrap_or("a");
        let mut body = json!({ "id": format!("{}-{chat}", self.conversation.name),
            "message": { "id": format!("m{number}"), "role": "user", "parts": parts }, "trigger": "submit-message" });
        let about = [
            ("locale", self.conversation.locale.clone()),
            ("timeZone", self.conversation.time_zone.clone()),
            (
                "taskId",
                turn.reply_to.and_then(|turn| self.tasks.get(turn - 1)?.clone()),
            ),
        ];
        for (name, value) in about {
            if let Some(value) = value {
                body[name] = json!(value);
            }
        }
        let answer = self.user.call(Method::POST, "/api/chat", Some(body)).await;
        if answer.status != 200 {
            self.faults
                .push(format!("turn {number}: {} {}", answer.status, answer.text));
            return Vec::new();
        }
        answer.chunks()
    }

    async fn after(&mut self, after: &str) {
        match after {
            "consent given" => {
                self.consent(None, Page::clone).await;
                self.quiet().await;
            }
            "consent denied" => {
                let denied = |page: &Page| Page {
                    html: page.html.replacen("<button", "<nothing", 1),
                    ..page.clone()
                };
                self.consent(None, denied).await;
                self.quiet().await;
            }
            "code shown" => self.code_shown().await,
            "report started" => {
                let contexts = self.contexts().await;
                for _ in 0..100 {
                    if self.stage.agents.iter().any(|agent| agent.has_started(&contexts)) {
                        break;
                    }
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                self.quiet().await;
            }
            "report finished" => {
                for agent in &self.stage.agents {
                    let contexts = self.contexts().await;
                    agent.finish_reports(&contexts).await;
                }
                self.quiet().await;
            }
            "agents done" => {
                for _ in 0..300 {
                    if !self.look().await.0.works() {
                        break;
                    }
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
            "system restarted" => {
                self.stage.restart().await;
                self.quiet().await;
            }
            other => {
                let span = span(other).unwrap_or_else(|| panic!("nobody knows {other:?}"));
                let local = self.stage.up().await;
                local.advance(span).await;
                for _ in 0..5 {
                    self.quiet().await;
                    local.system.sweep().await;
                }
                self.quiet().await;
            }
        }
    }

    /// The contexts of this guest's tasks.
    async fn contexts(&self) -> BTreeSet<String> {
        let listed = self.user.get("/api/tasks?limit=100").await.json();
        let tasks = listed["tasks"].as_array().cloned().unwrap_or_default();
        tasks
            .iter()
            .filter_map(|task| task["contextId"].as_str().map(str::to_owned))
            .collect()
    }

    /// Waits until nothing moves.
    async fn quiet(&self) {
        let mut last = self.look().await.0;
        for _ in 0..40 {
            tokio::time::sleep(Duration::from_millis(250)).await;
            let now = self.look().await.0;
            if now == last {
                return;
            }
            last = now;
        }
    }

    /// The link of the last task that waits for consent, or of this one.
    async fn link(&self, task: Option<&str>) -> Option<String> {
        let tasks: Vec<&str> = match task {
            Some(task) => vec![task],
            None => self.tasks.iter().rev().flatten().map(String::as_str).collect(),
        };
        for task in tasks {
            if let Some(link) = self.user.task(task).await["authUrl"].as_str() {
                return Some(link.to_owned());
            }
        }
        None
    }

    async fn login(&self) -> (String, String) {
        let local = self.stage.up().await;
        let user = &local.endpoints()["users"][&self.conversation.tenant][0];
        let text = |name: &str| user[name].as_str().expect("a login").to_owned();
        assert_eq!(text("username"), "ada");
        (text("username"), text("password"))
    }

    /// Opens the link in the session's own browser, signs in, and answers on the page.
    async fn consent(&mut self, task: Option<&str>, answered: impl Fn(&Page) -> Page) {
        let Some(link) = self.link(task).await else {
            self.faults.push("no task waits for consent".to_owned());
            return;
        };
        let path = Url::parse(&self.base).expect("an address").path().to_owned();
        let mut browser = self.user.browser(&path);
        self.sign_in(&mut browser, &link, answered).await;
    }

    async fn sign_in(&self, browser: &mut Browser, link: &str, answered: impl Fn(&Page) -> Page) -> Page {
        let (name, password) = self.login().await;
        let form = browser.open(link).await;
        let fill = [("username", name.as_str()), ("password", password.as_str())];
        let mut page = browser.submit(&form, &fill).await;
        // Several conversations sign in as one person at once, which looks like guessing for a moment.
        for _ in 0..20 {
            if page.status != StatusCode::TOO_MANY_REQUESTS {
                break;
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
            page = browser.submit(&page, &fill).await;
        }
        // Whoever agreed before is not asked once more.
        match page.html.contains("<form") {
            true => browser.submit(&answered(&page), &[]).await,
            false => page,
        }
    }

    async fn code_shown(&mut self) {
        let Some(link) = self.link(None).await else {
            self.faults.push("no task waits for consent".to_owned());
            return;
        };
        let page = self.sign_in(&mut Browser::default(), &link, Page::clone).await;
        let words = page
            .html
            .split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
        let mut codes = words.filter(|word| {
            let plain = |c: u8| c == b'-' || c.is_ascii_uppercase();
            word.len() == 9 && word.as_bytes()[4] == b'-' && word.bytes().all(plain)
        });
        self.code = codes
            .next()
            .unwrap_or_else(|| panic!("no code in {page:?}"))
            .to_owned();
    }

    /// Everything there is to see, and the same once more.
    async fn look(&self) -> (Seen, Seen) {
        let seen = Seen {
            messages: self.messages().await,
            tasks: self.own_tasks().await,
        };
        (seen.clone(), seen)
    }

    /// The messages of each chat.
    async fn messages(&self) -> BTreeMap<String, Value> {
        let mut messages = BTreeMap::new();
        if self.user.cookie().is_none() {
            return messages;
        }
        for chat in self.conversation.chats() {
            let path = format!("/api/chats/{}-{chat}/messages", self.conversation.name);
            let answer = self.user.get(&path).await;
            if answer.status == 200 {
                messages.insert(chat, answer.json());
            }
        }
        messages
    }

    /// The tasks of this guest, by id.
    async fn own_tasks(&self) -> BTreeMap<String, Value> {
        if self.user.cookie().is_none() {
            return BTreeMap::new();
        }
        let listed = self.user.get("/api/tasks?limit=100").await.json();
        let tasks = listed["tasks"].as_array().cloned().unwrap_or_default();
        let named = tasks
            .into_iter()
            .map(|task| (task["id"].as_str().unwrap_or_default().to_owned(), task));
        named.collect()
    }
}
