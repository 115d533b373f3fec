//! `switchyard tenant …`: tenants come and go, while the system runs or while it does not; on AWS with `--aws`.

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use domain::{InvalidSetting, SettingChange, SystemEntropy, Tenant};
use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Failure;
use super::brand::Brand;
use super::orders::operator;
use super::place::{RunningSystem, admin};
use super::plan::Plan;
use super::pooled::{PooledRecord, PooledSecret};
use super::tenant_at::At;
use super::tenant_aws::{MovedTenant, NewTenant, OldTenant};
use super::tenant_export::Export;
use crate::client::Call;
use local::data::endpoints::{DemoUser, TenantEndpoints};
use local::functions::identity;

/// Add, list, change and remove tenants
#[derive(Subcommand)]
pub(super) enum TenantCommand {
    /// Add a tenant: host agent, chat, Horizon with demo orders, authorization server with users
    Add(Added),
    /// List the tenants
    List(List),
    /// Remove a tenant: nothing of it is served any more
    Remove(Removed),
    /// Move a tenant on AWS into the pool, or into a stack of its own; its data, sessions and address stay
    Move(MovedTenant),
    /// Delete from the tables what removed tenants of this name left there; if interrupted, run it again
    Purge(Purge),
    /// Write all that is kept of a tenant into an archive: tasks, chats, files, agents, grants, audit; no secrets
    Export(Export),
    /// Suspend a tenant: nobody is let in, running work is parked and kept
    Suspend(Held),
    /// Resume a suspended tenant
    Resume(Held),
    /// Change a tenant's settings
    ///
    /// Settings: `locale` (such as en-GB) and `timeZone` (such as Europe/Oslo), for users who do not say theirs; `tokens_per_day`,
    /// the limit for language models; `brand`, `accent` and `accentDark`, as in `tenant brand`; `share` (on or off), whether who has
    /// signed in may share a finished task by a link; `start`, the types of agents that an empty chat begins with. Each change of
    /// `share` ends the links of before.
    ///
    /// Settings of its deployment, in place of what its functions were deployed with: MODELS, EMBED, PLAN_APPROVAL, REQUIRE_SIGN_IN,
    /// SIGN_IN_ISSUERS, REQUIRE_ACR, PUSH_SERVICES, CHAT_GRACE, A2A_AGENT_URL, A2A_ENABLED, A2A_TASK_TIMEOUT, A2A_WEBHOOK_TOKEN_TTL,
    /// A2A_PUSH_SCHEDULE, A2A_RETRY_SCHEDULE.
    Set(Set),
    /// Remove settings of a tenant
    Unset(Unset),
    /// Show or change a tenant's brand: its page's name, accent colours and logo
    Brand(Brand),
    /// Show or change what a tenant may use: its plan, and what is set otherwise for it alone
    Plan(Plan),
    #[command(name = "pooled", hide = true)]
    PooledRecord(PooledRecord),
    #[command(name = "pooled-secret", hide = true)]
    PooledSecret(PooledSecret),
}

#[derive(Args)]
pub(super) struct Set {
    /// The tenant's name
    name: Tenant,
    /// A setting and its value; of several, all are set or none
    #[arg(required = true, value_name = "KEY=VALUE", value_parser = change)]
    changes: Vec<SettingChange>,
    #[command(flatten)]
    at: At,
}

#[derive(Args)]
pub(super) struct Unset {
    /// The tenant's name
    name: Tenant,
    /// A setting
    #[arg(required = true, value_name = "KEY", value_parser = removal)]
    changes: Vec<SettingChange>,
    #[command(flatten)]
    at: At,
}

fn change(text: &str) -> Result<SettingChange, String> {
    let (key, value) = text.split_once('=').ok_or("write it as KEY=VALUE")?;
    let change = SettingChange::parse(key, Some(value)).map_err(|error| error.to_string())?;
    if change.key() == domain::TIME_ZONE {
        local::zone::known(value)?;
    }
    if change.is_of_deployment() {
        local::functions::readable(&change).map_err(|error| error.to_string())?;
    }
    Ok(change)
}

fn removal(key: &str) -> Result<SettingChange, InvalidSetting> {
    SettingChange::parse(key, None)
}

#[derive(Args)]
pub(super) struct Held {
    /// The tenant's name
    name: Tenant,
    #[command(flatten)]
    at: At,
}

#[derive(Args)]
pub(super) struct Purge {
    /// The name of the removed tenants
    name: Tenant,
    #[command(flatten)]
    place: RunningSystem,
    /// Purge on AWS, with this machine's AWS credentials, profile and region. They need the rights of the role PurgeRole of the
    /// platform's stack
    #[arg(long, conflicts_with_all = ["data", "endpoints"])]
    aws: bool,
    /// The platform's stage on AWS
    #[arg(long, default_value = "prod", requires = "aws")]
    stage: String,
}

#[derive(Args)]
pub(super) struct Added {
    #[command(flatten)]
    place: RunningSystem,
    /// The tenant's name: lower-case letters, digits and dashes
    name: Tenant,
    #[command(flatten)]
    aws: NewTenant,
}

#[derive(Args)]
pub(super) struct Removed {
    #[command(flatten)]
    place: RunningSystem,
    /// The tenant's name
    name: Tenant,
    #[command(flatten)]
    aws: OldTenant,
}

#[derive(Args)]
pub(super) struct List {
    #[command(flatten)]
    place: RunningSystem,
}

/// A tenant as the system tells it.
#[derive(Deserialize)]
struct Described {
    name: Tenant,
    /// Absent where the system does not run: its addresses depend on its port.
    endpoints: Option<TenantEndpoints>,
    #[serde(default)]
    users: Vec<DemoUser>,
    /// Absent where the system does not run: they lie in its database.
    #[serde(default)]
    settings: Option<BTreeMap<String, String>>,
    #[serde(default)]
    suspended: bool,
}

impl TenantCommand {
    pub(super) async fn run(self) -> Result<(), Failure> {
        match self {
            Self::Add(added) if added.aws.is_asked() => added.aws.add(added.name),
            Self::Add(added) => added.run().await,
            Self::List(list) => list.run().await,
            Self::Remove(removed) if removed.aws.is_asked() => removed.aws.remove(removed.name),
            Self::Remove(removed) => removed.run().await,
            Self::Purge(purge) => purge.run().await,
            Self::Export(export) => export.run().await,
            Self::Suspend(Held { name, at }) => at.hold(&name, true).await,
            Self::Resume(Held { name, at }) => at.hold(&name, false).await,
            Self::Set(Set { name, changes, at }) | Self::Unset(Unset { name, changes, at }) => {
                at.change(&name, &changes).await
            }
            Self::Brand(brand) => brand.run().await,
            Self::Plan(plan) => plan.run().await,
            Self::Move(moved) => moved.run(),
            Self::PooledRecord(record) => record.run(),
            Self::PooledSecret(secret) => secret.run(),
        }
    }
}

impl Added {
    async fn run(self) -> Result<(), Failure> {
        let name = self.name;
        let added = match self.place.resting()? {
            Some(resting) => {
                let tenant = name.incarnated(&SystemEntropy);
                let secrets = resting.change(|stored| stored.add_tenant(&tenant))?;
                let users = secrets.tenants.get(&tenant).map(|own| identity::listed(own));
                Described {
                    name,
                    endpoints: None,
                    users: users.unwrap_or_default(),
                    settings: None,
                    suspended: false,
                }
            }
            None => {
                let body = json!({ "name": name });
                let asked = self
                    .place
                    .ask(|endpoints| Call::with_body(Method::POST, admin(endpoints, "/tenants"), &body));
                serde_json::from_value(asked.await?).map_err(Failure::other)?
            }
        };
        told!(added.told(), "added {}", added.line());
        for user in &added.users {
            let (name, password) = (&user.username, &user.password);
            told!(
                json!({ "username": name, "password": password }),
                "  sign in as {name} with {password}"
            );
        }
        Ok(())
    }
}

impl Removed {
    async fn run(self) -> Result<(), Failure> {
        let name = self.name;
        match self.place.resting()? {
            Some(resting) => {
                resting.change(|stored| stored.remove_tenant(&name))?;
            }
            None => {
                let path = format!("/tenants/{}", name.name());
                let asked = self.place.ask(|endpoints| Call {
                    method: Method::DELETE,
                    ..Call::get(admin(endpoints, &path))
                });
                asked.await?;
            }
        }
        told!(json!({ "removed": name.name() }), "removed {}", name.name());
        Ok(())
    }
}

/// What was removed of one incarnation of a tenant.
#[derive(Deserialize, Serialize)]
struct Purged {
    prefix: String,
    removed: BTreeMap<String, u64>,
    settled: bool,
}

impl Purged {
    fn line(&self) -> String {
        let all: u64 = self.removed.values().sum();
        let tables = self.removed.iter().filter(|(_, many)| **many > 0);
        let tables: Vec<String> = tables.map(|(table, many)| format!("{many} of {table}")).collect();
        let which = match tables.as_slice() {
            [] => String::new(),
            tables => format!(" ({})", tables.join(", ")),
        };
        let rest = match self.settled {
            true => "nothing is left",
            false => {
                "nothing is left now. Run it again in an hour: what was under way may still have written something"
            }
        };
        format!("{}: {all} items removed{which}; {rest}", self.prefix)
    }
}

impl Purge {
    async fn run(self) -> Result<(), Failure> {
        let name = &self.name;
        let told = if self.aws {
            let output = operator()?
                .args(["purge", "--tenant", name.name(), "--stage", &self.stage])
                .stderr(std::process::Stdio::inherit())
                .output()
                .map_err(Failure::other)?;
            if !output.status.success() {
                return Err(Failure::other("not everything is removed; run it again"));
            }
            serde_json::from_slice(&output.stdout).map_err(Failure::other)?
        } else if self.place.resting()?.is_some() {
            return Err(Failure::other(
                "what is left lies in the database: start the system with `switchyard up`, then purge it",
            ));
        } else {
            let path = format!("/tenants/{}/purge", name.name());
            let asked = self.place.ask(|endpoints| Call {
                method: Method::POST,
                ..Call::get(admin(endpoints, &path))
            });
            asked.await?
        };
        let told = told.get("purged").cloned().unwrap_or_default();
        let purged: Vec<Purged> = serde_json::from_value(told).map_err(Failure::other)?;
        for each in purged {
            told!(json!(each), "{}", each.line());
        }
        Ok(())
    }
}

impl List {
    async fn run(self) -> Result<(), Failure> {
        let tenants: Vec<Described> = match self.place.resting()? {
            Some(resting) => {
                let tenants = resting.secrets.tenants.into_keys();
                let alone = |name| Described {
                    name,
                    endpoints: None,
                    users: Vec::new(),
                    settings: None,
                    suspended: false,
                };
                tenants.map(alone).collect()
            }
            None => {
                let asked = self
                    .place
                    .ask(|endpoints| Call::get(admin(endpoints, "/tenants")));
                let mut told = asked.await?;
                let tenants = told.get_mut("tenants").map(serde_json::Value::take);
                serde_json::from_value(tenants.unwrap_or_default()).map_err(Failure::other)?
            }
        };
        for tenant in tenants {
            told!(tenant.told(), "{}", tenant.line());
        }
        Ok(())
    }
}

impl Described {
    fn told(&self) -> serde_json::Value {
        let base = self.endpoints.as_ref().map(|endpoints| endpoints.base.as_str());
        json!({ "name": self.name.name(), "url": base, "suspended": self.suspended, "settings": self.settings })
    }

    fn line(&self) -> String {
        let name = self.name.name();
        match &self.endpoints {
            Some(endpoints) => {
                let settings = self.settings.iter().flatten();
                let settings: String = settings.map(|(key, value)| format!("  {key}={value}")).collect();
                let suspended = if self.suspended { "  suspended" } else { "" };
                format!("{name}  {}{suspended}{settings}", endpoints.base)
            }
            None => format!("{name}  (not running; `switchyard up` serves it below /t/{name})"),
        }
    }
}
