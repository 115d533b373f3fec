//! `switchyard sam-env`: what the functions' environments are to hold, so that they run outside of the system.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use domain::Tenant;

use super::Failure;
use super::place::{self, RunningSystem, admin};
use crate::client::Call;
use local::{data::folder, functions::sam_env};

/// Write the settings to run single functions outside of the system, against it
#[derive(Args)]
#[command(
    after_help = "The file is for `sam local invoke NAME --event events/… --env-vars FILE`, with --function for `cargo lambda \
                  watch --env-file FILE`. Keep it secret: it leads to the system's keys and database."
)]
pub(super) struct SamEnv {
    #[command(flatten)]
    place: RunningSystem,
    /// The tenant of functions that serve one tenant [default: the first]
    #[arg(long, value_name = "NAME")]
    tenant: Option<Tenant>,
    /// Only this function, as NAME=VALUE lines: its logical id in the template, or its package, such as host_agent
    #[arg(long, value_name = "NAME")]
    function: Option<String>,
    /// Write to this file, readable by its owner alone, instead of the standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl SamEnv {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let endpoints = self.place.endpoints()?;
        let tenant = match &self.tenant {
            Some(name) => place::tenant(&endpoints, name).map(|_| name.clone())?,
            None => {
                let first = endpoints.tenants.keys().next();
                first
                    .cloned()
                    .ok_or_else(|| Failure::other("there is no tenant"))?
            }
        };
        let path = format!("/environments/{}", tenant.name());
        let told = self
            .place
            .ask(|endpoints| Call::get(admin(endpoints, &path)))
            .await?;
        let all: BTreeMap<String, BTreeMap<String, String>> =
            serde_json::from_value(told).map_err(Failure::other)?;
        let text = match &self.function {
            None => sam_env::sam(&all),
            Some(name) => {
                let found = all.get(&sam_env::logical_id(name)).ok_or_else(|| {
                    let known: Vec<&str> = all.keys().map(String::as_str).collect();
                    Failure::other(format!(
                        "there is no function {name}; there are {}",
                        known.join(", ")
                    ))
                })?;
                sam_env::dotenv(found)
            }
        };
        match &self.out {
            Some(file) => folder::write(file, &text)?,
            None if crate::out::is_json() => crate::out::event(&serde_json::json!(all)),
            None => out!("{text}"),
        }
        Ok(())
    }
}
