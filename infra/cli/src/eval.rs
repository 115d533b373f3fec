//! `switchyard eval`: labelled prompts, held against whatever decides for a tenant. Its host says what it would make of each; no task is
//! made, and no agent is asked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use agent::{Rehearsal, Rehearsed};
use clap::Args;
use domain::{AgentType, Tenant, Timestamp};
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use url::Url;

use super::Failure;
use super::agents::{printable, text};
use super::place::{self, RunningSystem, admin};
use crate::client::{Call, Client, ClientError};

/// Most rows of a file.
const ROWS_MAX: usize = 1_000;
/// A token lives for five minutes, so that another one is made for so many rows, which a slow model may take a minute each for.
const ROWS_A_TOKEN: usize = 4;

#[derive(Args)]
#[command(after_help = "A row of the file is a JSON object:\n  \
    {\"prompt\": \"Rain in Oslo tomorrow?\", \"agents\": [\"weather\"], \"acts\": [\"send\"], \"data\": {\"weather\": {\"place\": \"Oslo\"}}}\n\n\
    Exit code 1: fewer prompts than --least are right.")]
pub(super) struct Eval {
    #[command(flatten)]
    place: RunningSystem,
    /// The labelled prompts, one JSON object a line
    file: PathBuf,
    /// Whose host decides
    #[arg(long, value_name = "NAME")]
    tenant: Tenant,
    /// How many of a hundred prompts must be right
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=100))]
    least: u32,
}

/// A prompt, with what should become of it. What is not said is not judged; other fields are left alone.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    prompt: String,
    /// The types that should be given something, and no others.
    #[serde(alias = "right")]
    agents: BTreeSet<AgentType>,
    /// Types that may be given something too.
    #[serde(default, alias = "also_fine")]
    also_fine: BTreeSet<AgentType>,
    /// What may be done. Without it: something is sent or planned where there are agents, and otherwise not.
    #[serde(default)]
    acts: BTreeSet<String>,
    /// Fields that an agent should get.
    #[serde(default)]
    data: BTreeMap<AgentType, Map<String, Value>>,
    at: Option<Timestamp>,
    time_zone: Option<String>,
}

/// How a prompt is judged; `data` where the row has any.
struct Verdict {
    act: bool,
    agents: bool,
    data: Option<bool>,
    asked: bool,
    /// Somebody would be given something who should not.
    wrong: bool,
}

impl Row {
    fn rehearsal(&self) -> Rehearsal {
        Rehearsal {
            say: self.prompt.clone(),
            at: self.at,
            time_zone: self.time_zone.clone(),
        }
    }

    fn judge(&self, got: &Rehearsed) -> Verdict {
        let sent: BTreeSet<&AgentType> = got.sends.iter().map(|send| &send.agent).collect();
        let wanted = |agent: &AgentType| self.agents.contains(agent);
        let is_fine = |agent: &AgentType| wanted(agent) || self.also_fine.contains(agent);
        let has = |(agent, fields): (&AgentType, &Map<String, Value>)| {
            let mut sends = got.sends.iter().filter(|send| send.agent == *agent);
            sends.any(|send| {
                let same = |(name, wanted): (&String, &Value)| {
                    send.data
                        .get(name)
                        .is_some_and(|value| plain(value) == plain(wanted))
                };
                fields.iter().all(same)
            })
        };
        // Where asking is right, whoever is offered is reached.
        let is_offered =
            self.acts.contains("ask") && self.agents.iter().all(|agent| got.asked.contains(agent));
        let instead = sent.iter().any(|agent| self.also_fine.contains(*agent));
        Verdict {
            act: match self.acts.is_empty() {
                true => sent.is_empty() == self.agents.is_empty(),
                false => self.acts.contains(&got.act),
            },
            agents: sent.iter().all(|agent| is_fine(agent))
                && (instead || is_offered || self.agents.iter().all(|agent| sent.contains(agent))),
            data: (!self.data.is_empty()).then(|| self.data.iter().all(has)),
            asked: !got.asked.is_empty(),
            wrong: !sent.iter().all(|agent| is_fine(agent)),
        }
    }
}

/// A value to compare: capitals of a text count for nothing.
fn plain(value: &Value) -> String {
    value.to_string().to_lowercase()
}

impl Verdict {
    fn is_right(&self) -> bool {
        self.act && self.agents && self.data != Some(false)
    }
}

/// What became of a set.
#[derive(Default)]
struct Figures {
    rows: u32,
    right: u32,
    acts: u32,
    agents: u32,
    /// Of those that name data.
    data: (u32, u32),
    asked: u32,
    wrong: u32,
    /// The host could not say.
    failed: u32,
    millis: u64,
    tokens: u64,
    models: BTreeSet<String>,
}

impl Figures {
    fn add(&mut self, verdict: &Verdict, got: &Rehearsed) {
        self.right += u32::from(verdict.is_right());
        self.acts += u32::from(verdict.act);
        self.agents += u32::from(verdict.agents);
        self.data.0 += u32::from(verdict.data == Some(true));
        self.data.1 += u32::from(verdict.data.is_some());
        self.asked += u32::from(verdict.asked);
        self.wrong += u32::from(verdict.wrong);
        self.millis += got.millis;
        self.tokens += got.tokens;
        self.models
            .extend(Some(got.model.clone()).filter(|model| !model.is_empty()));
    }

    fn percent(&self) -> u32 {
        100 * self.right / self.rows.max(1)
    }

    fn table(&self) -> String {
        let of = |count: u32, all: u32| format!("{count}/{all}");
        let [rows, answered] = [self.rows, self.rows - self.failed];
        #[expect(clippy::cast_precision_loss, reason = "figures to read")]
        let each = |sum: u64| sum as f64 / f64::from(answered.max(1));
        let lines = [
            (
                "right",
                format!("{} ({} %)", of(self.right, rows), self.percent()),
            ),
            ("right acts", of(self.acts, rows)),
            ("right agents", of(self.agents, rows)),
            ("right data", of(self.data.0, self.data.1)),
            ("asked", of(self.asked, rows)),
            ("wrong", of(self.wrong, rows)),
            ("no answer", of(self.failed, rows)),
            ("seconds each", format!("{:.2}", each(self.millis) / 1_000.0)),
            ("tokens each", format!("{:.0}", each(self.tokens))),
            (
                "decided by",
                self.models
                    .iter()
                    .map(|model| printable(model))
                    .collect::<Vec<_>>()
                    .join(", "),
            ),
        ];
        let line = |(name, value): &(&str, String)| format!("{name:14}{value}");
        lines.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    fn json(&self, rows: Vec<Value>) -> Value {
        json!({
            "rows": self.rows, "right": self.right, "rightActs": self.acts, "rightAgents": self.agents,
            "rightData": self.data.0, "withData": self.data.1, "asked": self.asked, "wrong": self.wrong,
            "failed": self.failed, "millis": self.millis, "tokens": self.tokens, "models": self.models, "prompts": rows,
        })
    }
}

impl Eval {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let file = std::fs::read_to_string(&self.file)
            .map_err(|fault| Failure::other(format!("{} cannot be read: {fault}", self.file.display())))?;
        let rows =
            rows(&file).map_err(|fault| Failure::other(format!("{}: {fault}", self.file.display())))?;
        let client = Client::new().map_err(Failure::other)?;
        let (mut figures, mut told) = (Figures::default(), Vec::new());
        for rows in rows.chunks(ROWS_A_TOKEN) {
            let (host, token) = self.host().await?;
            for row in rows {
                figures.rows += 1;
                let call = Call {
                    token: Some(&token),
                    ..Call::with_body(Method::POST, host.clone(), &row.rehearsal())
                };
                let got: Rehearsed = match client.json(call).await {
                    Ok(got) => serde_json::from_value(got).map_err(Failure::other)?,
                    Err(ClientError::Refused { status, body })
                        if status == StatusCode::SERVICE_UNAVAILABLE =>
                    {
                        figures.failed += 1;
                        let why = printable(text(&body, "/message").unwrap_or_default());
                        self.tell(&format!("! {}: {why}", printable(&row.prompt)));
                        told.push(json!({ "prompt": row.prompt, "right": false }));
                        continue;
                    }
                    Err(fault) => return Err(fault.into()),
                };
                let verdict = row.judge(&got);
                figures.add(&verdict, &got);
                if !verdict.is_right() {
                    self.tell(&format!("✗ {}: {}", printable(&row.prompt), in_words(&got)));
                }
                told.push(json!({ "prompt": row.prompt, "right": verdict.is_right(), "got": got }));
            }
        }
        match crate::out::is_json() {
            true => crate::out::event(&figures.json(told)),
            false => outln!("{}", figures.table()),
        }
        match figures.percent() >= self.least {
            true => Ok(()),
            false => Err(Failure::other(format!(
                "{} % are right, fewer than {} %",
                figures.percent(),
                self.least
            ))),
        }
    }

    fn tell(&self, line: &str) {
        if !crate::out::is_json() {
            outln!("{line}");
        }
    }

    /// Where the host says what it would make of a text, and a token for that.
    async fn host(&self) -> Result<(Url, String), Failure> {
        let endpoints = self.place.endpoints()?;
        let host = &place::tenant(&endpoints, &self.tenant)?.host_agent;
        let path = format!("/tenants/{}/token", self.tenant.name());
        let body = json!({ "owner": "terminal", "audience": host, "scope": auth::scope::REHEARSE });
        let asked = self
            .place
            .ask(|endpoints| Call::with_body(Method::POST, admin(endpoints, &path), &body));
        let told = asked.await?;
        Ok((
            local::address::below(host, "/rehearsal"),
            text(&told, "/token").unwrap_or_default().to_owned(),
        ))
    }
}

/// What would become of a prompt, in a line.
fn in_words(got: &Rehearsed) -> String {
    let asked: Vec<&str> = got.asked.iter().map(AgentType::as_str).collect();
    let sends = got.sends.iter().map(|send| match send.data.is_null() {
        true => format!("{} “{}”", send.agent, printable(&send.request)),
        false => format!("{} {}", send.agent, printable(&send.data.to_string())),
    });
    let sends: Vec<String> = sends.collect();
    format!("{} {}{}", printable(&got.act), sends.join(", "), asked.join(", "))
}

fn rows(text: &str) -> Result<Vec<Row>, String> {
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    let rows: Vec<Row> = lines
        .map(|(at, line)| serde_json::from_str(line).map_err(|fault| format!("line {}: {fault}", at + 1)))
        .collect::<Result<_, _>>()?;
    match rows.len() {
        0 => Err("it has no rows".to_owned()),
        1..=ROWS_MAX => Ok(rows),
        _ => Err(format!("it has more than {ROWS_MAX} rows")),
    }
}
