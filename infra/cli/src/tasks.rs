//! `switchyard tasks` and `switchyard task ID`: what was asked in this terminal, how far it is, and how it went.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;
use domain::{Clock as _, SystemClock, TaskId, Timestamp};
use serde_json::Value;

use crate::Failure;
use crate::agents::{printable, text};
use crate::client::Call;
use crate::export;
use crate::here::{AtTenant, Here};
use crate::lines::took;
use crate::place::admin;

/// How often `--watch` looks.
const LOOK: Duration = Duration::from_secs(1);
/// Tasks that are listed: the newest.
const LISTED: usize = 50;

/// List the tasks of this terminal's session, the newest first
#[derive(Args)]
pub(crate) struct Tasks {
    #[command(flatten)]
    at: AtTenant,
    /// Go on, with a line each time a task changes
    #[arg(long)]
    watch: bool,
}

/// Show a task's timeline: what happened when, and how long each agent took
#[derive(Args)]
pub(crate) struct TaskCommand {
    #[command(flatten)]
    at: AtTenant,
    /// The task's id, or its beginning
    id: String,
}

impl Tasks {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let here = self.at.open()?;
        let mut shown: BTreeMap<String, Value> = BTreeMap::new();
        loop {
            let tasks = list(&here).await?;
            for task in &tasks {
                let id = text(task, "/id").unwrap_or_default().to_owned();
                if shown.insert(id, task.clone()).as_ref() != Some(task) {
                    told!(task, "{}", line(task));
                }
            }
            if tasks.is_empty() && !crate::out::is_json() && !self.watch {
                outln!("there are no tasks of this terminal at {}", here.tenant.name());
            }
            if !self.watch {
                return Ok(());
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                _ = tokio::signal::ctrl_c() => return Ok(()),
            }
        }
    }
}

pub(crate) async fn list(here: &Here) -> Result<Vec<Value>, Failure> {
    if here.cookie().is_none() {
        return Ok(Vec::new());
    }
    let told = here.get(&format!("/api/tasks?limit={LISTED}")).await?;
    Ok(told
        .get("tasks")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default())
}

fn at(value: &Value, pointer: &str) -> Option<Timestamp> {
    text(value, pointer).and_then(Timestamp::parse)
}

/// A task in a line: id, state, agent, how long it took or has been taking, and what was asked.
pub(crate) fn line(task: &Value) -> String {
    let state = text(task, "/status").unwrap_or("unknown");
    let is_over = matches!(state, "completed" | "failed" | "canceled" | "rejected");
    let until = match is_over {
        true => at(task, "/statusAt"),
        false => Some(SystemClock.now()),
    };
    let time = until
        .zip(at(task, "/createdAt"))
        .map(|(until, from)| took(until.since(from)));
    let cell = |pointer: &str| printable(text(task, pointer).unwrap_or("-"));
    format!(
        "{}  {state:14}  {:16}  {:>10}  {}",
        cell("/id"),
        cell("/agentName"),
        time.unwrap_or_default(),
        domain::clean(text(task, "/prompt").unwrap_or_default(), 60)
    )
}

impl TaskCommand {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let here = self.at.open()?;
        let id = match TaskId::parse(&self.id) {
            Ok(id) => id.to_string(),
            Err(_) => meant(&list(&here).await?, &self.id)?,
        };
        let task = here.get(&format!("/api/tasks/{id}")).await?;
        if crate::out::is_json() {
            crate::out::event(&task);
            return Ok(());
        }
        outln!("{}\n", line(&task));
        let began = at(&task, "/createdAt").unwrap_or(Timestamp::from_millis(0));
        for (when, said) in timeline(&task) {
            outln!("{:>10}  {said}", took(when.since(began)));
        }
        let path = format!("/tenants/{}/usage?task={id}", here.tenant.name());
        let cost = self.at.place.ask(|endpoints| Call::get(admin(endpoints, &path)));
        if let Some(cost) = cost.await?.get("microDollars").and_then(Value::as_u64) {
            outln!("\n{} dollars by list prices", export::dollars(cost));
        }
        Ok(())
    }
}

/// The only task whose id begins so.
fn meant(tasks: &[Value], start: &str) -> Result<String, Failure> {
    let ids = tasks.iter().filter_map(|task| text(task, "/id"));
    match ids
        .filter(|id| id.starts_with(start))
        .collect::<Vec<_>>()
        .as_slice()
    {
        [only] => Ok((*only).to_owned()),
        [] => Err(Failure::other(format!(
            "no task of this terminal begins with {start}; `switchyard tasks` lists them"
        ))),
        several => Err(Failure::other(format!(
            "{} tasks begin with {start}",
            several.len()
        ))),
    }
}

/// What happened, in order: the task's own states, and those of each agent's part with how long that took.
fn timeline(task: &Value) -> Vec<(Timestamp, String)> {
    let entries = |value: &Value| {
        value
            .get("history")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default()
    };
    let mut told: Vec<(Timestamp, String)> = Vec::new();
    let mut say = |entry: &Value, who: &str, more: String| {
        let Some(when) = at(entry, "/at") else { return };
        let said = text(entry, "/message").unwrap_or_default();
        let said = printable(said.lines().next().unwrap_or_default());
        told.push((
            when,
            format!(
                "{who:16}  {:14}  {said}{more}",
                text(entry, "/state").unwrap_or("-")
            ),
        ));
    };
    for entry in entries(task) {
        say(&entry, "host", String::new());
    }
    for job in task.get("jobs").and_then(Value::as_array).into_iter().flatten() {
        let name = printable(text(job, "/agentName").unwrap_or("agent"));
        let history = entries(job);
        let first = history.first().and_then(|entry| at(entry, "/at"));
        for (number, entry) in history.iter().enumerate() {
            let is_last = number + 1 == history.len() && number > 0;
            let took = is_last.then(|| at(entry, "/at").zip(first)).flatten();
            let took = took
                .map(|(end, begin): (Timestamp, _)| format!(" ({})", super::lines::took(end.since(begin))));
            say(entry, &name, took.unwrap_or_default());
        }
    }
    told.sort_by_key(|(when, _)| *when);
    told.dedup();
    told
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_timeline_has_everybody_in_order_with_what_their_parts_took() {
        let entry = |second: u8, state: &str| json!({ "at": format!("2026-11-28T02:41:0{second}Z"), "state": state, "message": "m\nmore" });
        let task = json!({
            "history": [entry(0, "submitted"), entry(1, "working"), entry(5, "completed")],
            "jobs": [{ "agentName": "Weather\u{7}", "history": [entry(1, "submitted"), entry(4, "completed")] }],
        });
        let told: Vec<String> = timeline(&task).into_iter().map(|(_, said)| said).collect();
        assert_eq!(told.len(), 5);
        assert_eq!(told[0], "host              submitted       m");
        assert_eq!(told[3], "Weather           completed       m (3.0 s)");
    }

    #[test]
    fn an_id_may_be_cut_where_only_one_begins_so() {
        let tasks = [json!({ "id": "ab1" }), json!({ "id": "ac2" })];
        assert_eq!(meant(&tasks, "ab").unwrap(), "ab1");
        assert!(meant(&tasks, "a").is_err() && meant(&tasks, "x").is_err());
    }
}
