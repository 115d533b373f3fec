//! `switchyard tenant …`: tenants come and go, while the system runs or while it does not; on AWS with `--aws`.

use clap::{Args, Subcommand};
use domain::Tenant;
use http::Method;
use serde::Deserialize;
use serde_json::json;

use super::Failure;
use super::place::{RunningSystem, admin};
use super::tenant_aws::Aws;
use crate::client::Call;
use crate::endpoints::{DemoUser, TenantEndpoints};
use crate::identity;

/// Add, list and remove tenants
#[derive(Subcommand)]
pub(super) enum TenantCommand {
    /// Add a tenant: host agent, chat, Horizon with demo orders, an authorization server with users
    Add(Named),
    /// List the tenants
    List(List),
    /// Take a tenant away: nothing of it is served any more
    Remove(Named),
}

#[derive(Args)]
pub(super) struct Named {
    #[command(flatten)]
    place: RunningSystem,
    /// The tenant's name: lower-case letters, digits and dashes
    name: Tenant,
    #[command(flatten)]
    aws: Aws,
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
}

impl TenantCommand {
    pub(super) async fn run(self) -> Result<(), Failure> {
        match self {
            Self::Add(named) if named.aws.aws => named.aws.add(named.name),
            Self::Add(named) => named.add().await,
            Self::List(list) => list.run().await,
            Self::Remove(named) if named.aws.aws => named.aws.remove(named.name),
            Self::Remove(named) => named.remove().await,
        }
    }
}

impl Named {
    async fn add(self) -> Result<(), Failure> {
        let name = self.name;
        let added = match self.place.resting()? {
            Some(resting) => {
                let secrets = resting.change(|stored| stored.add_tenant(&name))?;
                let users = secrets.tenants.get(&name).map(|own| identity::listed(&own.users));
                Described {
                    name,
                    endpoints: None,
                    users: users.unwrap_or_default(),
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
        println!("added {}", added.line());
        for user in &added.users {
            println!("  sign in as {} with {}", user.username, user.password);
        }
        Ok(())
    }

    async fn remove(self) -> Result<(), Failure> {
        let name = self.name;
        match self.place.resting()? {
            Some(resting) => {
                resting.change(|stored| stored.remove_tenant(&name))?;
            }
            None => {
                let path = format!("/tenants/{}", name.prefix());
                let asked = self.place.ask(|endpoints| Call {
                    method: Method::DELETE,
                    ..Call::get(admin(endpoints, &path))
                });
                asked.await?;
            }
        }
        println!("removed {}", name.name());
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
            println!("{}", tenant.line());
        }
        Ok(())
    }
}

impl Described {
    fn line(&self) -> String {
        let name = self.name.name();
        match &self.endpoints {
            Some(endpoints) => format!("{name}  {}", endpoints.base),
            None => format!("{name}  (not running; `switchyard up` serves it below /t/{name})"),
        }
    }
}
