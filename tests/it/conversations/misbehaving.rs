//! What a user reads of an agent that misbehaves, and when: the table of `docs/retries.md`, row by row.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use domain::{Clock as _, ManualClock, Timestamp};
use futures_util::future::join_all;
use local::Data;
use serde_json::Value;
use system_testing::{Local, User};

use super::agents::Agent;
use super::play;

/// What each of them is asked. Those of a line are there together: no two of one type.
const ASKED: [&[(&str, &str)]; 2] = [
    &[
        ("dead", "Convert 20 dollars to pounds"),
        ("crashes", "Translate good morning into French"),
        ("exception", "Find me a recipe with leeks"),
        ("large-result:1.4MB", "Fetch the minutes of May from the archive"),
        ("empty", "Tell me some trivia"),
    ],
    &[
        ("hangs", "Convert 20 dollars to pounds"),
        ("trickles", "Tell me some trivia"),
        ("slow-report", "Write a report about electric cars"),
        ("large-result:3MB", "Fetch the minutes of May from the archive"),
    ],
];
/// How long each is looked at while the clock goes by itself.
const BY_ITSELF: Duration = Duration::from_millis(5_200);
/// When it is looked at after that, in seconds since the message: behind each attempt at a send, and each look.
const LATER: [u64; 10] = [6, 16, 37, 60, 157, 300, 457, 1058, 1400, 1860];
/// Most looks behind each.
const ROUNDS: u32 = 30;

/// A row: the agent, after how many seconds at most, the words.
struct Row {
    kind: String,
    within: u64,
    words: String,
}

fn rows() -> Vec<Row> {
    let page =
        std::fs::read_to_string(system_testing::folder().join("../docs/retries.md")).expect("the page");
    let (_, table) = page
        .split_once("## An agent that misbehaves")
        .expect("the section");
    let lines = table.lines().filter_map(|line| line.strip_prefix("| `"));
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_end_matches('|').split('|').map(str::trim).collect();
        let [kind, within, words] = cells.as_slice() else {
            panic!("{line}")
        };
        let (number, unit) = within.split_once(' ').expect("a time");
        let seconds = match unit {
            "s" => 1,
            "min" => 60,
            other => panic!("{other}"),
        };
        Row {
            kind: kind.split('`').next().expect("a kind").to_owned(),
            within: number.parse::<u64>().expect("a number") * seconds,
            words: words.trim_start_matches('“').trim_end_matches('”').to_owned(),
        }
    };
    lines.map(row).collect()
}

/// What one user has seen so far, each once, with the seconds since the message.
struct Watched {
    kind: &'static str,
    user: User,
    clock: Arc<ManualClock>,
    begun: Timestamp,
    known: BTreeSet<String>,
    seen: Vec<(f64, String)>,
}

impl Watched {
    fn note(&mut self, text: &str) {
        if self.known.insert(text.to_owned()) {
            let after = self.clock.now().millis() - self.begun.millis();
            #[expect(clippy::cast_precision_loss, reason = "seconds of a test")]
            self.seen.push((after as f64 / 1000.0, text.to_owned()));
        }
    }

    /// Everything that the chat and its task's card show now.
    async fn look(&mut self) {
        if self.user.cookie().is_none() {
            return;
        }
        let tasks = self.user.get("/api/tasks?limit=5").await.json();
        let mut shown: Vec<String> = Vec::new();
        for task in tasks["tasks"].as_array().into_iter().flatten() {
            let text = |name: &str| task[name].as_str().unwrap_or_default().to_owned();
            shown.push(format!("[{}] {}", text("status"), text("statusMessage")));
        }
        let chat = self.user.get("/api/chats/c/messages").await;
        if chat.status == 200 {
            let answers = chat.json()["messages"].as_array().cloned().unwrap_or_default();
            let parts = answers.iter().filter(|message| message["role"] == "assistant");
            let parts = parts.flat_map(|message| message["parts"].as_array().into_iter().flatten());
            shown.extend(parts.filter_map(|part| part["text"].as_str().map(str::to_owned)));
        }
        for text in shown {
            self.note(&text);
        }
    }

    fn says(&self, row: &Row) -> bool {
        #[expect(clippy::cast_precision_loss, reason = "seconds of a test")]
        let within = row.within as f64;
        let mut seen = self.seen.iter();
        let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        // How many seconds it was silent depends on when it fell silent.
        let says = |text: &str| row.words.split('…').all(|part| plain(text).contains(part.trim()));
        seen.any(|(after, text)| *after <= within && says(text))
    }
}

/// Asks one agent as a page does, and looks at what is shown until the time is over.
async fn watch(local: &Local, (kind, asked): (&'static str, &str)) -> Watched {
    let user = local.user("acme");
    let other = local.user("acme");
    let mut watched = Watched {
        kind,
        user: other,
        clock: Arc::clone(&local.clock),
        begun: local.clock.now(),
        known: BTreeSet::new(),
        seen: Vec::new(),
    };
    let begun = Instant::now();
    // Also of a stream that is left before its end.
    let told = Mutex::new(Vec::<(f64, String)>::new());
    let keep = |chunk: &Value| {
        let text = chunk["data"]["text"].as_str().or(chunk["delta"].as_str());
        let mut told = told.lock().expect("no panic under the lock");
        if let Some(text) = text
            && !told.iter().any(|(_, known)| known == text)
        {
            told.push((begun.elapsed().as_secs_f64(), text.to_owned()));
        }
        false
    };
    let streaming = tokio::time::timeout(BY_ITSELF, user.chat_as_it_comes(("c", "m1", asked), keep));
    let looking = async {
        while begun.elapsed() < BY_ITSELF {
            if let Some(cookie) = user.cookie() {
                watched.user.resume(&cookie);
            }
            watched.look().await;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        watched
    };
    let (_, mut watched) = tokio::join!(streaming, looking);
    watched
        .seen
        .extend(told.into_inner().expect("no panic under the lock"));
    watched
}

async fn evening(asked: &'static [(&'static str, &'static str)], rows: &[Row]) -> Vec<Watched> {
    let clock = Arc::new(ManualClock::new(
        Timestamp::parse(play::BEGINS).expect("a moment"),
    ));
    let local = Local::resume((0, Data::Memory), Arc::clone(&clock), play::tenants()).await;
    for (kind, _) in asked {
        Agent::start(&local, kind).await;
    }
    // Seconds are counted below, of agents: whoever asks first here waits until every card has been read.
    let first = ("first", "m0", "Paint the fence green");
    local.user("acme").chat_as_it_comes(first, |_| false).await;
    let ticker = play::tick(clock);
    let begun = local.clock.now();
    let mut all = join_all(asked.iter().map(|asked| watch(&local, *asked))).await;
    ticker.abort();
    for after in LATER {
        let wanted = begun.millis() + i64::try_from(after).expect("seconds") * 1000;
        let ahead = u64::try_from(wanted - local.clock.now().millis()).unwrap_or_default();
        local.advance(Duration::from_millis(ahead)).await;
        // Twice at least, and on a busy machine until what is due has been said.
        for round in 1..=ROUNDS {
            tokio::time::sleep(Duration::from_millis(150)).await;
            local.system.sweep().await;
            join_all(all.iter_mut().map(Watched::look)).await;
            let is_said = |one: &Watched| {
                let mut due = rows
                    .iter()
                    .filter(|row| row.kind == one.kind && row.within <= after + 1);
                due.all(|row| one.says(row))
            };
            if round > 1 && all.iter().all(is_said) {
                break;
            }
        }
    }
    local.system.stop().await;
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_is_read_of_each_misbehaving_agent_and_when() {
    let rows = rows();
    let watched: Vec<Watched> = join_all(ASKED.map(|asked| evening(asked, &rows)))
        .await
        .into_iter()
        .flatten()
        .collect();
    for one in &watched {
        println!("== {}", one.kind);
        for (after, text) in &one.seen {
            println!("{after:8.2} s  {}", domain::clean(text, 300));
        }
    }
    for one in &watched {
        let mut own = rows.iter().filter(|row| row.kind == one.kind).peekable();
        assert!(own.peek().is_some(), "{} has no row", one.kind);
        for row in own {
            assert!(
                one.says(row),
                "{}: not within {} s: {}: {:#?}",
                one.kind,
                row.within,
                row.words,
                one.seen
            );
        }
    }
    let kinds: BTreeSet<&str> = watched.iter().map(|one| one.kind).collect();
    let known = rows
        .iter()
        .map(|row| row.kind.as_str())
        .filter(|kind| *kind != "python");
    assert!(
        known.into_iter().all(|kind| kinds.contains(kind)),
        "a row is of nobody"
    );
}
