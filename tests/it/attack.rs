//! The attack table: every route of every function, with every kind of credentials that are not good enough.
//!
//! A row is one operation of one route. Its cells say what each attack is answered with, or why the attack does not
//! apply; the last column is the same request with good credentials, which must be answered differently, or the row
//! would prove nothing. `attack_coverage` fails when a route of the sources is in no row.
//!
//! The rows stand in `agents`, `bridge`, `services` (registry, chat, webhooks), `identity` (authorization server,
//! consent) and `sign_in`; what an attack is for each kind of credentials, in `world`.

mod agents;
mod bridge;
mod elsewhere;
mod identity;
mod services;
mod sign_in;
mod suspended;
mod world;

use futures_util::{StreamExt as _, stream};
use reqwest::StatusCode;
use serde_json::Value;

use world::World;
pub(crate) use world::{shapes, silent_agent};

/// What is wrong with a caller's credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Attack {
    /// There are none.
    None,
    /// They are no credentials at all.
    Rubbish,
    /// They were good once.
    Expired,
    /// Somebody else made them: a foreign issuer, and forgeries in a trusted one's name.
    WrongIssuer,
    /// They are good somewhere else.
    WrongAudience,
    /// They are good for the same service of another tenant.
    WrongTenant,
    /// They are another user's or client's of the same tenant.
    WrongOwner,
    /// They allow something else.
    SmallScope,
}

/// Every attack, in the order of the cells.
pub(crate) const ATTACKS: [Attack; 8] = [
    Attack::None,
    Attack::Rubbish,
    Attack::Expired,
    Attack::WrongIssuer,
    Attack::WrongAudience,
    Attack::WrongTenant,
    Attack::WrongOwner,
    Attack::SmallScope,
];

/// What a request must be answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cell {
    /// This HTTP status.
    Is(u16),
    /// HTTP 200 with this JSON-RPC error.
    Rpc(i64),
    /// HTTP 200 with a JSON-RPC result.
    Result,
    /// This HTTP status, and nothing of the victim's in the answer.
    Hidden(u16),
    /// The attack does not apply, because …
    Na(&'static str),
}

/// One operation of one route, and its answers.
pub(crate) struct Row {
    /// The function, or `agent` for what every agent serves.
    pub function: &'static str,
    /// The deployed one that is called, such as `weather`.
    pub at: &'static str,
    /// The method.
    pub method: &'static str,
    /// The route as it stands in the source.
    pub route: &'static str,
    /// The operation, where the route has several.
    pub operation: &'static str,
    /// Answers to [`ATTACKS`].
    pub cells: [Cell; 8],
    /// The answer to good credentials.
    pub good: Cell,
}

/// The whole table.
pub(crate) fn table() -> Vec<Row> {
    let mut rows = agents::rows();
    rows.extend(identity::rows());
    rows.extend(sign_in::rows());
    rows.extend(bridge::rows());
    // Last, as good credentials take an agent out of the registry.
    rows.extend(services::rows());
    rows
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Told {
    pub status: StatusCode,
    pub media: String,
    pub text: String,
}

impl Told {
    fn json(&self) -> Value {
        let text = self.text.lines().find_map(|line| line.strip_prefix("data:"));
        serde_json::from_str(text.unwrap_or(&self.text)).unwrap_or_default()
    }

    /// The cell that this answer is, seen from the one that is expected.
    fn matches(&self, wanted: Cell, secrets: &[String]) -> Result<(), String> {
        let status = self.status.as_u16();
        let code = self.json()["error"]["code"].as_i64();
        let fits = match wanted {
            Cell::Is(wanted) => status == wanted,
            Cell::Rpc(wanted) => status == 200 && code == Some(wanted),
            Cell::Result => status == 200 && self.json().get("result").is_some(),
            Cell::Hidden(wanted) => {
                status == wanted && secrets.iter().all(|secret| !self.text.contains(secret.as_str()))
            }
            Cell::Na(_) => true,
        };
        let shown: String = self.text.chars().take(300).collect();
        if fits {
            Ok(())
        } else {
            Err(format!("{status} {shown}"))
        }
    }
}

/// How many rows are tried at once.
const AT_ONCE: usize = 8;

impl Row {
    fn name(&self) -> String {
        format!("{} {} {} {}", self.at, self.method, self.route, self.operation)
    }

    /// True where the attack needs days to pass: what waits for its user is not what it was then.
    fn takes_days(&self, attack: Attack) -> bool {
        let lasts = matches!(self.function, "idp" | "oauth_callback" | "webhook_receiver");
        attack == Attack::Expired && (lasts || self.route == "/share/{token}")
    }

    /// True where the attack needs seconds to pass: a report goes on by itself then.
    fn takes_seconds(&self) -> bool {
        self.function == "webhook_receiver"
    }
}

/// What is wrong with the answers to an attack.
async fn attacked(world: &World, row: &Row, attack: Attack, cell: Cell) -> Vec<String> {
    let name = row.name();
    if let Cell::Na(reason) = cell {
        assert!(reason.len() > 10, "{name}: a reason that says something");
        return Vec::new();
    }
    let mut wrong = Vec::new();
    for told in world.attack(row, attack).await {
        world.note(row, &told);
        if let Err(fault) = told.matches(cell, &world.secrets) {
            wrong.push(format!("{name}, {attack:?}: wanted {cell:?}, was {fault}"));
        }
        if told.status.is_server_error() {
            wrong.push(format!("{name}, {attack:?}: the server failed: {told:?}"));
        }
    }
    wrong
}

/// What is wrong with the answer to good credentials, which is no attack's.
async fn welcomed(world: &World, row: &Row) -> Vec<String> {
    let name = row.name();
    let mut wrong = Vec::new();
    for told in world.good(row).await {
        world.note(row, &told);
        if let Err(fault) = told.matches(row.good, &[]) {
            wrong.push(format!("{name}, good: wanted {:?}, was {fault}", row.good));
        }
    }
    let is_answered_like = |cell: &Cell| match (*cell, row.good) {
        (Cell::Hidden(_) | Cell::Na(_), _) => false,
        (cell, good) => cell == good,
    };
    let same = ATTACKS
        .iter()
        .zip(&row.cells)
        .find(|(_, cell)| is_answered_like(cell));
    if let Some((attack, cell)) = same {
        wrong.push(format!(
            "{name}: {attack:?} is answered as good credentials are, {cell:?}"
        ));
    }
    wrong
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_refuses_every_kind_of_bad_credentials() {
    let world = World::start().await;
    let rows = table();
    let before = world.victims().await;
    let cells = || {
        rows.iter().flat_map(|row| {
            ATTACKS
                .into_iter()
                .zip(row.cells)
                .map(move |(attack, cell)| (row, attack, cell))
        })
    };
    let (days, soon): (Vec<_>, Vec<_>) = cells().partition(|(row, attack, _)| row.takes_days(*attack));
    let (seconds, now): (Vec<_>, Vec<_>) = soon.into_iter().partition(|(row, ..)| row.takes_seconds());
    let mut wrong: Vec<String> = stream::iter(now)
        .map(|(row, attack, cell)| attacked(&world, row, attack, cell))
        .buffer_unordered(AT_ONCE)
        .concat()
        .await;
    let in_browsers = |row: &&Row| {
        row.function == "chat_api" && row.route.starts_with("/api/")
            || (row.method, row.route) == ("POST", "/signout")
    };
    wrong.extend(
        stream::iter(rows.iter().filter(in_browsers))
            .map(|row| services::from_another_site(&world, row))
            .buffer_unordered(AT_ONCE)
            .concat()
            .await,
    );
    assert_eq!(
        world.victims().await,
        before,
        "an attack changed what it must not reach"
    );
    for (row, attack, cell) in seconds {
        wrong.extend(attacked(&world, row, attack, cell).await);
    }
    let (mut before, mut after) = (before, world.victims().await);
    let reports = (before.remove("report"), after.remove("report"));
    assert!(reports.0.is_some() && reports.1.is_some());
    assert_eq!(after, before, "a notification changed what it must not reach");
    for (row, attack, cell) in days {
        wrong.extend(attacked(&world, row, attack, cell).await);
    }
    // What is attacked is really there: with good credentials each request does what it says. The last rows of a
    // service are those that end what the others need.
    let (agents, others): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.function == "agent");
    let welcome = stream::iter(agents)
        .map(async |row| (row, suspended::noted(welcomed(&world, row)).await))
        .buffer_unordered(AT_ONCE);
    let mut sent = Vec::new();
    for (row, (faults, requests)) in welcome.collect::<Vec<_>>().await {
        wrong.extend(faults);
        sent.push((row, requests));
    }
    for row in others {
        let (faults, requests) = suspended::noted(welcomed(&world, row)).await;
        wrong.extend(faults);
        sent.push((row, requests));
    }
    wrong.extend(suspended::all_refused(&world, sent).await);
    wrong.sort();
    assert!(
        wrong.is_empty(),
        "{} cells are wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    println!("{} rows, {} attacks each", rows.len(), ATTACKS.len());
    println!("{}", system_testing::openapi::check(world.noted()));
    world.local.system.stop().await;
}
