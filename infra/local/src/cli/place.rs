//! Which running system a command talks to.

use std::path::{Path, PathBuf};

use clap::Args;
use domain::Tenant;

use super::Failure;
use crate::endpoints::{self, Endpoints, TenantEndpoints};
use crate::{folder, secrets};

/// Where the running system left its `endpoints.json`.
#[derive(Args)]
pub(super) struct Place {
    /// The data folder of the running system
    #[arg(long, value_name = "FOLDER", default_value = ".local")]
    data: PathBuf,
    /// Its list of endpoints, where that is not in the data folder (as with `up --memory`)
    #[arg(long, value_name = "FILE")]
    endpoints: Option<PathBuf>,
}

impl Place {
    fn endpoints_file(&self) -> PathBuf {
        self.endpoints
            .clone()
            .unwrap_or_else(|| self.data.join(endpoints::FILE))
    }

    /// Reads where everything is.
    pub(super) fn endpoints(&self) -> Result<Endpoints, Failure> {
        let file = self.endpoints_file();
        let Some(text) = folder::read(&file)? else {
            return Err(Failure::other(format!(
                "there is no {}; start the system with `switchyard up`, or say where it runs with --data or --endpoints",
                file.display()
            )));
        };
        serde_json::from_str(&text).map_err(|fault| {
            Failure::other(format!(
                "{} is not a list of endpoints (line {}, column {})",
                file.display(),
                fault.line(),
                fault.column()
            ))
        })
    }

    /// A file of the commands themselves, beside the list of endpoints.
    pub(super) fn beside(&self, name: &str) -> PathBuf {
        self.endpoints_file().with_file_name(name)
    }

    /// Where the system keeps its keys.
    pub(super) fn secrets_file(&self) -> PathBuf {
        match &self.endpoints {
            Some(file) => file.parent().unwrap_or(Path::new("")).join(secrets::FILE),
            None => self.data.join(secrets::FILE),
        }
    }
}

/// The endpoints of a tenant of the system.
pub(super) fn tenant<'e>(endpoints: &'e Endpoints, name: &Tenant) -> Result<&'e TenantEndpoints, Failure> {
    endpoints.tenants.get(name).ok_or_else(|| {
        let known: Vec<&str> = endpoints.tenants.keys().map(Tenant::as_str).collect();
        Failure::other(format!(
            "there is no tenant {name} here; there are {}",
            known.join(", ")
        ))
    })
}
