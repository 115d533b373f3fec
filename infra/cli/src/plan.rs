//! `switchyard tenant plan` and `switchyard user share`: what a tenant may use, and how much of it one user.

use clap::Args;
use domain::{ServicePlan, SettingChange, Tenant, quota_of};
use http::Method;
use serde_json::{Value, json};

use super::Failure;
use super::place::Whose;
use super::tenant_at::At;
use crate::out;

/// Show or change what a tenant may use: its plan, and what is set otherwise for it alone
#[derive(Args)]
pub(super) struct Plan {
    /// The tenant's name
    tenant: Tenant,
    /// The plan: starter, team or business
    plan: Option<String>,
    /// Tasks that begin in a day (UTC)
    #[arg(long, value_name = "N")]
    tasks_a_day: Option<u64>,
    /// Tasks at work at once
    #[arg(long, value_name = "N")]
    tasks_at_once: Option<u64>,
    /// Streams that one owner has open at once (5 at most)
    #[arg(long, value_name = "N")]
    streams: Option<u64>,
    /// Tokens of language models in a day (UTC)
    #[arg(long, value_name = "N")]
    tokens_a_day: Option<u64>,
    /// Push notifications that leave its tasks in a minute; those beyond it leave later
    #[arg(long, value_name = "N")]
    deliveries_a_minute: Option<u64>,
    /// Millions of bytes that its tasks, chats and files take, by estimate
    #[arg(long, value_name = "N")]
    storage_mb: Option<u64>,
    /// What its tasks may cost in a month (UTC), by list prices
    #[arg(long, value_name = "N")]
    dollars_a_month: Option<u64>,
    /// Remove what was set otherwise first
    #[arg(long)]
    reset: bool,
    #[command(flatten)]
    at: At,
}

impl Plan {
    /// The settings that single limits are.
    fn single(&self) -> [(&'static str, Option<u64>); 7] {
        [
            ("tasks_per_day", self.tasks_a_day),
            ("tasks_at_once", self.tasks_at_once),
            ("streams", self.streams),
            ("tokens_per_day", self.tokens_a_day),
            ("deliveries_per_minute", self.deliveries_a_minute),
            ("storage_mb", self.storage_mb),
            ("dollars_per_month", self.dollars_a_month),
        ]
    }

    pub(super) async fn run(self) -> Result<(), Failure> {
        let plan = self.plan.as_deref().map(|plan| ("plan", Some(plan.to_owned())));
        let single = self.single().into_iter();
        let single = single.filter(|(_, limit)| limit.is_some() || self.reset);
        let single = single.map(|(key, limit)| (key, limit.map(|limit| limit.to_string())));
        let changes = plan.into_iter().chain(single);
        let changes = changes.map(|(key, value)| SettingChange::parse(key, value.as_deref()));
        let changes: Vec<_> = changes.collect::<Result<_, _>>().map_err(Failure::other)?;
        if !changes.is_empty() {
            return self.at.change(&self.tenant, &changes).await;
        }
        let own = self.at.settings(&self.tenant).await?;
        let said = |key: &str| own.get(key).and_then(Value::as_str);
        let plan = said("plan").and_then(ServicePlan::parse).map(|plan| plan.name);
        let told = serde_json::to_value(quota_of(said)).map_err(Failure::other)?;
        let shares = said(domain::SHARES).filter(|shares| !shares.is_empty());
        if out::is_json() {
            let alone = self.single().map(|(key, _)| key).into_iter();
            let alone: Vec<&str> = alone.filter(|key| said(key).is_some()).collect();
            out::event(
                &json!({ "name": self.tenant.name(), "plan": plan, "limits": told, "alone": alone, "shares": shares }),
            );
            return Ok(());
        }
        outln!("plan: {}", plan.unwrap_or("none"));
        for (key, limit) in told.as_object().into_iter().flatten() {
            let alone = if said(key).is_some() {
                "  (set for it alone)"
            } else {
                ""
            };
            outln!("{key}: {limit}{alone}");
        }
        outln!(
            "a user's share: a tenth{}",
            shares.map_or_else(String::new, |own| format!("; in hundredths {own}"))
        );
        Ok(())
    }
}

/// Let a user use more, or less, of the tenant's plan than a tenth
#[derive(Args)]
pub(super) struct Share {
    /// The name to sign in with
    username: String,
    /// Hundredths of the plan, 1 to 100; without it, a tenth as everybody
    #[arg(value_parser = clap::value_parser!(u64).range(1..=100))]
    percent: Option<u64>,
    #[command(flatten)]
    whose: Whose,
}

impl Share {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let users = self.whose.ask(Method::GET, "/users", None).await?;
        let users = users.get("users").and_then(Value::as_array);
        let text = |user: &Value, name: &str| user.get(name).and_then(Value::as_str).map(str::to_owned);
        let named = |user: &&Value| text(user, "username").as_deref() == Some(self.username.as_str());
        let user = users.into_iter().flatten().find(named);
        let owner = user.and_then(|user| text(user, "owner"));
        let owner = owner.ok_or_else(|| Failure::other(format!("there is no user {}", self.username)))?;
        let own = self.whose.place.settings(&self.whose.tenant).await?;
        let shares = own
            .get(domain::SHARES)
            .and_then(Value::as_str)
            .unwrap_or_default();
        let begins = format!("{owner}=");
        let mut shares: Vec<String> = shares
            .split_ascii_whitespace()
            .filter(|share| !share.starts_with(&begins))
            .map(str::to_owned)
            .collect();
        shares.extend(self.percent.map(|percent| format!("{begins}{percent}")));
        let shares = (!shares.is_empty()).then(|| shares.join(" "));
        let body = json!({ domain::SHARES: shares });
        self.whose.ask(Method::PATCH, "/settings", Some(&body)).await?;
        let percent = self.percent.unwrap_or(10);
        told!(
            json!({ "username": self.username, "percent": percent }),
            "{} may use {percent} hundredths of the plan, within ten seconds",
            self.username
        );
        Ok(())
    }
}
