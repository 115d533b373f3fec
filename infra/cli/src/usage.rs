//! `switchyard usage`: what a tenant's language models took, by day and model, and what its tasks cost.

use std::collections::BTreeMap;

use chrono::NaiveDate;
use clap::Args;
use domain::{Tenant, price};
use serde::Deserialize;
use store::{DayUsage, Spent, USAGE_DAYS_MAX};

use super::Failure;
use super::export::{self, Row};
use super::orders::operator;
use super::place::{RunningSystem, admin};
use crate::client::Call;

/// Show what a tenant used: the tokens of its language models by day (UTC) and model, their limit, and what its tasks cost by list
/// prices
#[derive(Args)]
pub(super) struct Usage {
    #[command(flatten)]
    place: RunningSystem,
    /// The tenant
    #[arg(long, value_name = "NAME")]
    tenant: Tenant,
    /// How many days, including today
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=i64::from(USAGE_DAYS_MAX)))]
    days: u32,
    /// What the costs of tasks are told by
    #[arg(long, value_enum, default_value = "day")]
    by: By,
    /// Print JSON
    #[arg(long, conflicts_with_all = ["csv", "focus"])]
    json: bool,
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
}

/// What costs are told by.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum By {
    Day,
    Month,
    User,
    Agent,
}

/// What there is to tell.
#[derive(Deserialize)]
struct Told {
    /// What tasks cost, by day, owner and agent.
    #[serde(default)]
    spent: Vec<Spent>,
    /// The tenant's own, or that of its deployment where it is known.
    limit: Option<u64>,
    /// The newest first.
    days: Vec<DayUsage>,
}

impl Usage {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let name = self.tenant.name();
        let told = if self.aws {
            self.on_aws()?
        } else {
            let path = format!("/tenants/{name}/usage?days={}", self.days);
            let asked = self.place.ask(|endpoints| Call::get(admin(endpoints, &path)));
            asked.await?
        };
        if self.json {
            outln!("{told}");
            return Ok(());
        }
        let told: Told = serde_json::from_value(told).map_err(Failure::other)?;
        if self.csv || self.focus {
            let rows = told.rows();
            let export = if self.focus { export::focus } else { export::csv };
            outln!("{}", export(name, &rows)?);
            return Ok(());
        }
        outln!("{}", told.text(name));
        for line in told.costs(self.by) {
            outln!("{line}");
        }
        Ok(())
    }

    fn on_aws(&self) -> Result<serde_json::Value, Failure> {
        let days = self.days.to_string();
        let mut command = operator()?;
        let arguments = [
            "usage",
            "--tenant",
            self.tenant.name(),
            "--stage",
            &self.stage,
            "--days",
            &days,
        ];
        let output = command
            .args(arguments)
            .stderr(std::process::Stdio::inherit())
            .output()
            .map_err(Failure::other)?;
        if !output.status.success() {
            return Err(Failure::other("the count cannot be told"));
        }
        serde_json::from_slice(&output.stdout).map_err(Failure::other)
    }
}

impl Told {
    /// What each costs, and what belongs to no task of each of the days.
    fn rows(&self) -> Vec<Row> {
        let mut days: BTreeMap<NaiveDate, u64> = BTreeMap::new();
        for spent in &self.spent {
            *days.entry(spent.day).or_default() += spent.tasks;
        }
        let shared = days.into_iter().map(|(day, tasks)| Row {
            day,
            of: None,
            tasks: 0,
            failed: 0,
            micro_dollars: price::shared(tasks),
        });
        self.spent.iter().map(Row::of).chain(shared).collect()
    }

    /// Sums of what tasks cost.
    fn costs(&self, by: By) -> Vec<String> {
        let mut sums: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for row in self.rows() {
            let key = match (by, &row.of) {
                (By::Day, _) => row.day.to_string(),
                (By::Month, _) => row.day.format("%Y-%m").to_string(),
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

    fn text(&self, name: &str) -> String {
        let limit = self.limit.map_or_else(
            || "no limit of its own: what its deployment allows".to_owned(),
            |limit| format!("limit {} tokens a day (UTC)", grouped(limit)),
        );
        let mut lines = vec![format!("{name}: {limit}")];
        if self.days.is_empty() {
            lines.push("no language model was asked in these days".to_owned());
        }
        for day in &self.days {
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
        let told = json!({ "limit": 1_000_000, "days": [
            { "day": "2026-11-23", "used": 12_345, "reserved": 4_096, "models": {
                "openai:m": { "calls": 3, "input": 8_000, "output": 249, "cached": 1_024 } } },
            { "day": "2026-11-21", "used": 7, "reserved": 0, "models": {
                "bedrock:n": { "calls": 1, "input": 3, "output": 4, "cached": 0 } } },
        ] });
        let told: Told = serde_json::from_value(told).unwrap();
        assert_eq!(
            told.text("acme"),
            "acme: limit 1,000,000 tokens a day (UTC)\n\
             2026-11-23  12,345 tokens, 4,096 of them reserved for calls that have not ended\n\
             \x20 openai:m  3 calls, 8,000 in (1,024 from the cache), 249 out\n\
             2026-11-21  7 tokens\n\
             \x20 bedrock:n  1 call, 3 in, 4 out"
        );
        let none = Told {
            spent: Vec::new(),
            limit: None,
            days: Vec::new(),
        };
        assert_eq!(
            none.text("acme"),
            "acme: no limit of its own: what its deployment allows\nno language model was asked in these days"
        );
    }
}
