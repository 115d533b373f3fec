//! `switchyard usage`: what tenants' language models took, by day and model, and what their tasks cost.

use std::collections::BTreeMap;

use chrono::NaiveDate;
use clap::Args;
use domain::{Tenant, price};
use serde_json::{Value, json};
use store::{USAGE_DAYS_MAX, Used};

use super::Failure;
use super::export::{self, Row};
use super::orders::operator;
use super::place::{RunningSystem, admin};
use crate::client::Call;

/// Show what tenants used: the tokens of their language models by day (UTC) and model, their limit, and what their tasks cost by list
/// prices
#[derive(Args)]
pub(super) struct Usage {
    #[command(flatten)]
    place: RunningSystem,
    /// The tenant; may be repeated. Without it, all of them
    #[arg(long, value_name = "NAME")]
    tenant: Vec<Tenant>,
    /// How many days, including today
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=i64::from(USAGE_DAYS_MAX)))]
    days: u32,
    /// What the costs of tasks are told by
    #[arg(long, value_enum, default_value = "day")]
    by: By,
    /// Print what tasks cost as CSV: a row for each day, owner and agent, and one for what belongs to no task
    #[arg(long, conflicts_with = "focus")]
    csv: bool,
    /// The same as FOCUS 1.2, for programs that read bills
    #[arg(long)]
    focus: bool,
    /// Ask the system on AWS, with this machine's AWS credentials, profile and region
    #[arg(long, conflicts_with_all = ["data", "endpoints"])]
    aws: bool,
    /// The platform's stage on AWS
    #[arg(long, default_value = "prod", requires = "aws")]
    stage: String,
    /// The name of the platform's stack there, with which those of tenants begin
    #[arg(long, default_value = "switchyard", requires = "aws")]
    platform_stack: String,
}

/// What costs are told by.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum By {
    Day,
    Month,
    Tenant,
    User,
    Agent,
}

/// What a tenant used.
struct Told {
    tenant: Tenant,
    used: Used,
}

impl Usage {
    pub(super) async fn run(mut self) -> Result<(), Failure> {
        let is_one = self.tenant.len() == 1;
        if self.tenant.is_empty() {
            self.tenant = self.everybody().await?;
        }
        let mut all = Vec::new();
        for tenant in self.tenant.clone() {
            let used = self.of(&tenant).await?;
            let used = serde_json::from_value(used).map_err(Failure::other)?;
            all.push(Told { tenant, used });
        }
        if crate::out::is_json() {
            let all = all
                .iter()
                .map(|told| (told.tenant.name().to_owned(), json!(told.used)));
            let mut all: serde_json::Map<String, Value> = all.collect();
            let one = is_one.then(|| all.values_mut().next().map(Value::take)).flatten();
            crate::out::event(&one.unwrap_or(Value::Object(all)));
            return Ok(());
        }
        let rows: Vec<Row> = all.iter().flat_map(Told::rows).collect();
        if self.csv || self.focus {
            let export = if self.focus { export::focus } else { export::csv };
            outln!("{}", export(&rows)?);
            return Ok(());
        }
        for told in &all {
            outln!("{}", told.text());
        }
        for line in costs(&rows, self.by) {
            outln!("{line}");
        }
        Ok(())
    }

    async fn of(&self, tenant: &Tenant) -> Result<Value, Failure> {
        let days = self.days.to_string();
        if self.aws {
            let arguments = [
                "usage",
                "--tenant",
                tenant.name(),
                "--stage",
                &self.stage,
                "--days",
                &days,
            ];
            let told = said(operator()?.args(arguments))?;
            return serde_json::from_slice(&told).map_err(Failure::other);
        }
        let path = format!("/tenants/{}/usage?days={days}", tenant.name());
        self.place
            .ask(|endpoints| Call::get(admin(endpoints, &path)))
            .await
    }

    /// All tenants: on AWS those whose stacks take something from the platform's, which the command `aws` reads page by page.
    async fn everybody(&self) -> Result<Vec<Tenant>, Failure> {
        let names = if self.aws {
            let begins = format!("{}-", self.platform_stack);
            let export = format!("{begins}TablePrefix");
            let imports = ["cloudformation", "list-imports", "--export-name", &export];
            let mut command = std::process::Command::new("aws");
            command
                .args(imports)
                .args(["--query", "Imports", "--output", "text"]);
            let stacks = String::from_utf8(said(&mut command)?).map_err(Failure::other)?;
            let stacks = stacks.split_whitespace();
            stacks
                .filter_map(|name| Some(json!(name.strip_prefix(&begins)?)))
                .collect()
        } else {
            let asked = self
                .place
                .ask(|endpoints| Call::get(admin(endpoints, "/tenants")));
            let told = asked.await?;
            let tenants = told
                .get("tenants")
                .and_then(Value::as_array)
                .into_iter()
                .flatten();
            tenants.filter_map(|tenant| tenant.get("name").cloned()).collect()
        };
        serde_json::from_value(Value::Array(names)).map_err(Failure::other)
    }
}

/// What a command says.
fn said(command: &mut std::process::Command) -> Result<Vec<u8>, Failure> {
    let output = command.stderr(std::process::Stdio::inherit()).output();
    let output = output.map_err(Failure::other)?;
    if !output.status.success() {
        return Err(Failure::other("the count cannot be told"));
    }
    Ok(output.stdout)
}

/// Sums of what tasks cost.
fn costs(rows: &[Row], by: By) -> Vec<String> {
    let mut sums: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for row in rows {
        let key = match (by, &row.of) {
            (By::Day, _) => row.day.to_string(),
            (By::Month, _) => row.day.format("%Y-%m").to_string(),
            (By::Tenant, _) => row.tenant.clone(),
            (By::User, Some((owner, _))) => owner.clone(),
            (By::Agent, Some((_, agent))) => agent.clone(),
            (_, None) => "shared".to_owned(),
        };
        let (tasks, cost) = sums.entry(key).or_default();
        *tasks += row.tasks;
        *cost += row.micro_dollars;
    }
    let sums = sums.into_iter();
    sums.map(|(key, (tasks, cost))| {
        let what = if tasks == 1 { "task" } else { "tasks" };
        format!(
            "{key}  {} {what}, {} dollars",
            grouped(tasks),
            export::dollars(cost)
        )
    })
    .collect()
}

impl Told {
    /// What each costs, and what belongs to no task of each of the days.
    fn rows(&self) -> Vec<Row> {
        let tenant = self.tenant.name();
        let mut days: BTreeMap<NaiveDate, u64> = BTreeMap::new();
        for spent in &self.used.spent {
            *days.entry(spent.day).or_default() += spent.tasks;
        }
        let shared = days.into_iter().map(|(day, tasks)| Row {
            tenant: tenant.to_owned(),
            day,
            of: None,
            tasks: 0,
            failed: 0,
            micro_dollars: price::shared(tasks),
        });
        self.used
            .spent
            .iter()
            .map(|spent| Row::of(tenant, spent))
            .chain(shared)
            .collect()
    }

    fn text(&self) -> String {
        let (name, Used { limit, now, days, .. }) = (self.tenant.name(), &self.used);
        let limit = limit.map_or_else(
            || "no limit of its own: what its deployment allows".to_owned(),
            |limit| format!("limit {} tokens a day (UTC)", grouped(limit)),
        );
        let mut lines = vec![
            format!("{name}: {limit}"),
            format!(
                "today {} tasks, {} at work; this month {} dollars of ended tasks; about {} MB are kept",
                grouped(now.tasks),
                grouped(now.running),
                export::dollars(now.micro_dollars),
                grouped(now.stored / 1_000_000),
            ),
        ];
        if days.is_empty() {
            lines.push("no language model was asked in these days".to_owned());
        }
        for day in days {
            let reserved = match day.reserved {
                0 => String::new(),
                reserved => format!(
                    ", {} of them reserved for calls that have not ended",
                    grouped(reserved)
                ),
            };
            lines.push(format!("{}  {} tokens{reserved}", day.day, grouped(day.used)));
            for (model, usage) in &day.models {
                let tokens = usage.tokens;
                let cached = match tokens.cached {
                    0 => String::new(),
                    cached => format!(" ({} from the cache)", grouped(cached)),
                };
                let calls = match usage.calls {
                    1 => "1 call".to_owned(),
                    calls => format!("{} calls", grouped(calls)),
                };
                let (input, output) = (grouped(tokens.input), grouped(tokens.output));
                lines.push(format!("  {model}  {calls}, {input} in{cached}, {output} out"));
            }
        }
        lines.join("\n")
    }
}

/// A number with its thousands apart.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.char_indices() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn days_and_models_are_told_with_the_limit() {
        let now = json!({ "tasks": 3, "guests": 0, "running": 1, "microDollars": 331, "stored": 2_500_000 });
        let told = |limit: Option<u64>, days: Value| Told {
            tenant: Tenant::parse("acme").unwrap(),
            used: serde_json::from_value(json!({ "limit": limit, "now": now, "days": days, "spent": [] }))
                .unwrap(),
        };
        let days = json!([
            { "day": "2026-11-23", "used": 12_345, "reserved": 4_096, "models": {
                "openai:m": { "calls": 3, "input": 8_000, "output": 249, "cached": 1_024 } } },
            { "day": "2026-11-21", "used": 7, "reserved": 0, "models": {
                "bedrock:n": { "calls": 1, "input": 3, "output": 4, "cached": 0 } } },
        ]);
        assert_eq!(
            told(Some(1_000_000), days).text(),
            "acme: limit 1,000,000 tokens a day (UTC)\n\
             today 3 tasks, 1 at work; this month 0.000331 dollars of ended tasks; about 2 MB are kept\n\
             2026-11-23  12,345 tokens, 4,096 of them reserved for calls that have not ended\n\
             \x20 openai:m  3 calls, 8,000 in (1,024 from the cache), 249 out\n\
             2026-11-21  7 tokens\n\
             \x20 bedrock:n  1 call, 3 in, 4 out"
        );
        assert_eq!(
            told(None, json!([])).text(),
            "acme: no limit of its own: what its deployment allows\n\
             today 3 tasks, 1 at work; this month 0.000331 dollars of ended tasks; about 2 MB are kept\n\
             no language model was asked in these days"
        );
    }
}
