//! A plan's walk that is killed (`SIGKILL`) in every wait, and before and after every write, with the rules and with models of both
//! dialects. It always comes to its one end: nobody is asked twice, no model more often than there are turns and kills.
//!
//! `./tests/run kills` strikes at every write; the runs of every day at a few of them.

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use system_testing::User;
use system_testing::models::{BOTH, Piece};

use super::phoenix::{Phoenix, Strike};
use super::*;
use crate::scripted::{News, Scripted};

const ROOFS: &str = "Which rooftops are there in Oslo?";
const FREE: &str = "What does the wall planner say?";
const BOUND: &str = "Make a booklet on it";
const SUMMARY: &str = "The booklet on your trip is there.";
/// The model is asked what to do, and what to say.
const TURNS: usize = 2;

/// Who decides.
#[derive(Debug, Clone, Copy)]
enum Choice {
    Rules,
    Hosted(Dialect),
}

const CHOICES: [Choice; 3] = [Choice::Rules, Choice::Hosted(BOTH[0]), Choice::Hosted(BOTH[1])];

/// The walk, at any time.
struct Walk {
    choice: Choice,
    phoenix: Phoenix,
    server: ModelServer,
    user: User,
    /// What the model was asked before the walk began.
    before: usize,
    /// Rooftops, planner, booklets.
    agents: [Scripted; 3],
}

impl Walk {
    /// `pause` is how long the model takes.
    async fn start(choice: Choice, pause: Duration) -> Self {
        let server = match choice {
            Choice::Rules => ModelServer::start([]).await,
            Choice::Hosted(dialect) => {
                ModelServer::thinking(move |asked| slowly(decides(dialect, asked.has_results()), pause)).await
            }
        };
        let (model, bedrock) = match choice {
            Choice::Rules => (None, None),
            Choice::Hosted(Dialect::OpenAi) => (Some(format!("openai:{}v1,scripted", server.url())), None),
            Choice::Hosted(Dialect::Bedrock) => {
                (Some("bedrock:scripted".to_owned()), Some(server.url().clone()))
            }
        };
        let phoenix = Phoenix::start(model.as_deref(), bedrock).await;
        let text = |pointer: &str| {
            phoenix
                .endpoints
                .pointer(pointer)
                .and_then(Value::as_str)
                .expect("an address")
                .to_owned()
        };
        let registry = (text("/registry"), text("/registry_token"));
        let user = User::new(&text("/tenants/acme/base"));
        let agents = [
            Scripted::registered(&registry, ("rooftops", "Rooftops"), ROOFS).await,
            Scripted::registered(&registry, ("planner", "Planner"), FREE).await,
            Scripted::with_json(&registry, ("booklets", "Booklets"), BOUND).await,
        ];
        // Who has no session yet would be another user after a kill.
        user.ask("hello").await;
        Self {
            choice,
            phoenix,
            before: server.asked().len(),
            server,
            user,
            agents,
        }
    }

    /// What each agent does with a message: the planner waits for a consent of its own, until it is [`Walk::allow`]ed.
    fn tell(&self, pause: Duration) {
        let asks = News {
            after: pause,
            state: "TASK_STATE_AUTH_REQUIRED",
            text: Some("Please allow it: https://accounts.example/allow"),
            artifact: None,
        };
        self.agents[0].works(vec![done(pause, "By the park")]);
        self.agents[1].works(vec![asks]);
        self.agents[2].works(vec![done(pause, "A booklet on Oslo")]);
    }

    /// The user agrees to the planner's consent.
    fn allow(&self) {
        self.agents[1].goes_on(vec![done(Duration::from_millis(50), "Free on Monday")]);
    }

    /// What the user wants.
    async fn ask(&self) -> String {
        let prompt = format!(
            "Will it rain in Oslo tomorrow? {ROOFS} {FREE} Then {}",
            BOUND.to_lowercase()
        );
        let message = json!({ "id": "m", "role": "user", "parts": [{ "type": "text", "text": prompt }] });
        let body =
            json!({ "id": "c", "messages": [message], "trigger": "submit-message", "messageId": null });
        loop {
            let answer = self
                .user
                .insist(Method::POST, "/api/chat", Some(body.clone()))
                .await;
            assert_eq!(answer.status, 200, "{answer:?}");
            // A stream that broke off may have told of no task: it is asked for once more.
            let data = answer.text.lines().filter_map(|line| line.strip_prefix("data: "));
            let mut chunks = data.filter_map(|chunk| serde_json::from_str::<Value>(chunk).ok());
            if let Some(card) = chunks.find(|chunk| chunk["type"] == "data-task") {
                return card["data"]["taskId"].as_str().expect("an id").to_owned();
            }
        }
    }

    async fn task(&self, id: &str) -> Value {
        let answer = self
            .user
            .insist(Method::GET, &format!("/api/tasks/{id}"), None)
            .await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    async fn until(&self, id: &str, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        for _ in 0..900 {
            last = self.task(id).await;
            if fits(&last) {
                return last;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!(
            "{:?}: never {what}, {:?}: {last:#}",
            self.choice,
            self.phoenix.counted()
        )
    }

    async fn until_state(&self, id: &str, state: &str) -> Value {
        self.until(id, state, |task| task["status"] == state).await
    }

    /// The user presses the button.
    async fn press(&self, task: &Value) {
        let path = format!("/api/tasks/{}/start", task["id"].as_str().expect("an id"));
        let body = json!({ "plan": task["plan"]["hash"] });
        let answer = self.user.insist(Method::POST, &path, Some(body)).await;
        assert_eq!(answer.status, 200, "{:?}: {answer:?}", self.choice);
    }

    /// From the prompt to the end, wherever it is struck.
    async fn whole(&self) {
        self.tell(Duration::from_millis(50));
        let id = self.ask().await;
        let shown = self
            .until(&id, "waits for its user", |task| {
                task["status"] != "submitted" && task["plan"].is_object()
            })
            .await;
        let shown = match shown["status"].as_str() {
            Some("input-required") => shown,
            _ => self.until_state(&id, "input-required").await,
        };
        self.press(&shown).await;
        self.until_state(&id, "auth-required").await;
        self.allow();
        self.until_state(&id, "completed").await;
        self.judge(&id).await;
    }

    /// What must be true in the end.
    async fn judge(&self, id: &str) {
        let at = format!("{:?}, {:?}", self.choice, self.phoenix.counted());
        let task = self.task(id).await;
        let (_, kills) = self.phoenix.counted();
        for agent in &self.agents {
            let sent: Vec<String> = agent.sent().into_iter().map(|sent| sent.id).collect();
            assert_eq!(
                sent.len(),
                1,
                "{at}: each message went out once: {sent:?}\n{task:#}"
            );
        }
        let jobs = task["jobs"].as_array().expect("jobs");
        let states: Vec<&Value> = jobs.iter().map(|job| &job["state"]).collect();
        assert_eq!(states, ["completed"; 4], "{at}: {task:#}");
        let (asked, most) = (self.server.asked().len() - self.before, TURNS + kills);
        match self.choice {
            Choice::Rules => assert_eq!(asked, 0),
            Choice::Hosted(_) => assert!(
                (TURNS..=most).contains(&asked),
                "{at}: {asked} model calls of {most}"
            ),
        }
        let history = task["history"].as_array().expect("a history");
        let ends = history
            .iter()
            .filter(|entry| entry["state"] == "completed")
            .count();
        assert_eq!(ends, 1, "{at}: one end: {task:#}");
        let context = format!(
            "/api/tasks?contextId={}",
            task["contextId"].as_str().expect("a context")
        );
        let listed = self.user.insist(Method::GET, &context, None).await.json();
        assert_eq!(
            listed["tasks"].as_array().map(Vec::len),
            Some(1),
            "{at}: one task: {listed:#}"
        );
        let booklets = self.agents[2].sent();
        let results = booklets[0].parts[1]["data"]["results"].as_array();
        assert_eq!(results.map(Vec::len), Some(3), "{at}: {booklets:#?}");
        // The stored answer is what the chat shows, once.
        let shown = self
            .user
            .insist(Method::GET, "/api/chats/c/messages", None)
            .await
            .json();
        let answer = shown.as_array().expect("messages").last().expect("an answer");
        let texts = answer["parts"].as_array().expect("parts").iter();
        let texts: Vec<&str> = texts.filter_map(|part| part["text"].as_str()).collect();
        let said = task["statusMessage"].as_str().expect("an answer").trim();
        assert_eq!(texts, [said], "{at}: {shown:#}");
        if let Choice::Hosted(_) = self.choice {
            assert_eq!(said, SUMMARY, "{at}");
        }
    }
}

/// An agent has done its part.
fn done(after: Duration, artifact: &'static str) -> News {
    News {
        after,
        state: "TASK_STATE_COMPLETED",
        text: None,
        artifact: Some(artifact),
    }
}

/// The scripted model: the same prompt, the same answer.
fn decides(dialect: Dialect, has_results: bool) -> Reply {
    match has_results {
        true => dialect.says(SUMMARY),
        false => dialect.plans(&[
            ("weather", "Will it rain in Oslo tomorrow?", &[]),
            ("rooftops", ROOFS, &[]),
            ("planner", FREE, &[]),
            ("booklets", BOUND, &[0, 1, 2]),
        ]),
    }
}

/// The same, and a pause before its end.
fn slowly(reply: Reply, pause: Duration) -> Reply {
    match reply {
        Reply::Stream {
            content_type,
            mut pieces,
        } => {
            pieces.insert(pieces.len().min(1), Piece::Pause(pause));
            Reply::Stream { content_type, pieces }
        }
        other => other,
    }
}

/// The n-th choice of a seed, below `of`.
fn chosen(seed: u64, number: usize, of: usize) -> usize {
    let id = domain::MessageId::derived(&format!("{seed}/{number}")).to_string();
    let digits: String = id.chars().filter(char::is_ascii_hexdigit).take(12).collect();
    usize::from_str_radix(&digits, 16).unwrap_or_default() % of.max(1)
}

/// Each wait of the walk: for the model, for its user's word, for agents, for a consent, for the last agent.
#[tokio::test(flavor = "multi_thread")]
async fn killed_in_every_wait_the_walk_comes_to_its_one_end() {
    join_all(CHOICES.map(|choice| async move {
        let walk = Walk::start(choice, Duration::from_millis(300)).await;
        let asking = walk.ask();
        let is_hosted = matches!(choice, Choice::Hosted(_));
        let strike = async {
            while is_hosted && walk.server.asked().is_empty() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            walk.phoenix.strike().await;
        };
        let (id, ()) = tokio::join!(asking, strike);
        let shown = walk.until_state(&id, "input-required").await;
        walk.phoenix.strike().await;
        walk.tell(Duration::from_secs(2));
        walk.press(&shown).await;
        walk.until(&id, "handed over", |task| linked(task) == 3).await;
        walk.phoenix.strike().await;
        walk.until_state(&id, "auth-required").await;
        walk.phoenix.strike().await;
        walk.allow();
        walk.until(&id, "at the last agent", |task| linked(task) == 4)
            .await;
        walk.phoenix.strike().await;
        walk.until_state(&id, "completed").await;
        walk.judge(&id).await;
    }))
    .await;
}

/// How many jobs of a task their agents have.
fn linked(task: &Value) -> usize {
    let jobs = task["jobs"].as_array().map_or(&[][..], Vec::as_slice);
    jobs.iter().filter(|job| job["remoteTaskId"].is_string()).count()
}

/// Two writes of each walk, by this seed; `./tests/run kills` takes them all.
const SEED: u64 = 1;
/// About how many writes a walk has.
const WRITES: usize = 40;

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_a_few_writes_the_walk_comes_to_its_one_end() {
    join_all(CHOICES.into_iter().enumerate().map(|(place, choice)| async move {
        let walk = Walk::start(choice, Duration::ZERO).await;
        let write = |number: usize| 1 + chosen(SEED, 4 * place + number, WRITES);
        walk.phoenix
            .arm([Strike::Before(write(0)), Strike::After(write(1))]);
        walk.whole().await;
    }))
    .await;
}

/// As long as there is such a write.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes many minutes: ./tests/run kills"]
async fn killed_before_and_after_each_write_the_walk_comes_to_its_one_end() {
    for choice in CHOICES {
        let mut write = 0;
        loop {
            write += 1;
            let walks = [Strike::Before(write), Strike::After(write)].map(|strike| async move {
                let walk = Walk::start(choice, Duration::ZERO).await;
                walk.phoenix.arm([strike]);
                walk.whole().await;
                let (writes, kills) = walk.phoenix.counted();
                println!("{choice:?} {strike:?}: {writes} writes, {kills} kills");
                kills
            });
            if join_all(walks).await == [0, 0] {
                break;
            }
        }
        assert!(write > 20, "{choice:?} has only {write} writes");
    }
}
