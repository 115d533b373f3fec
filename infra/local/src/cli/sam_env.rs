//! `switchyard sam-env`: what the functions' environments are to hold, so that they run outside of the system.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use domain::Tenant;

use super::Failure;
use super::place::{self, RunningSystem, admin};
use crate::client::Call;
use crate::{folder, sam_env};

/// Write the settings with which functions run outside of the system, against it
#[derive(Args)]
#[command(
    after_help = "For `sam local invoke NAME --event events/… --env-vars FILE`; with --function for `cargo lambda \
                  watch --env-file FILE`. The settings hold the address that opens the system's secrets."
)]
pub(super) struct SamEnv {
    #[command(flatten)]
    place: RunningSystem,
    /// Whose functions, where a function is one tenant's; the first there is
    #[arg(long)]
    tenant: Option<Tenant>,
    /// This function alone, as NAME=VALUE lines: its logical id, or its package such as host_agent
    #[arg(long, value_name = "NAME")]
    function: Option<String>,
    /// Write to this file, which only its owner can read; without it to the standard output
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
            None => out!("{text}"),
        }
        Ok(())
    }
}
