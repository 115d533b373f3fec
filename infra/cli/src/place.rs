//! Which running system a command talks to.

use std::path::{Path, PathBuf};

use clap::Args;
use domain::{SystemEntropy, Tenant};
use http::Method;
use serde_json::{Map, Value};

use super::Failure;
use crate::client::{Call, Client, ClientError};
use local::data::endpoints::{self, Endpoints, TenantEndpoints};
use local::data::folder::{self, Folder};
use local::data::secrets::{self, Secrets, Stored, Vault};
use local::functions::names::Names;
use local::{ChangeError, StartError, control::admin, functions};

/// The data folder where none is named.
pub(super) const DATA: &str = ".local";

/// Where the running system left its `endpoints.json`.
#[derive(Args)]
pub(super) struct RunningSystem {
    /// The data folder of the running system
    #[arg(long, value_name = "FOLDER", default_value = DATA)]
    data: PathBuf,
    /// Its list of endpoints, if that is not in the data folder (`up --memory --endpoints FILE`)
    #[arg(long, value_name = "FILE")]
    endpoints: Option<PathBuf>,
}

impl RunningSystem {
    /// Where its list of endpoints is, or will be.
    pub(super) fn endpoints_file(&self) -> PathBuf {
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

    /// A system that does not run, held until this is dropped; `None` where it runs, and is to be asked itself.
    pub(super) fn resting(&self) -> Result<Option<Resting>, Failure> {
        if self.endpoints.is_some() {
            return Ok(None);
        }
        let file = self.data.join(secrets::FILE);
        if !file.exists() {
            // Says that nothing was ever started there.
            return self.endpoints().map(|_| None);
        }
        let folder = match Folder::open(&self.data) {
            Ok(folder) => folder,
            Err(StartError::Busy(_)) => return Ok(None),
            Err(fault) => return Err(fault.into()),
        };
        let names = Names::of(&functions(&host_agent::Patience::default(), None)).map_err(Failure::other)?;
        let (vault, secrets) = Vault::open(Some(file), &names.wanted(&[]), &SystemEntropy)?;
        Ok(Some(Resting {
            names,
            vault,
            secrets,
            _folder: folder,
        }))
    }

    /// Asks the running system for a change.
    pub(super) async fn ask(&self, call: impl FnOnce(&Endpoints) -> Call<'_>) -> Result<Value, Failure> {
        let endpoints = self.endpoints()?;
        let client = Client::new().map_err(Failure::other)?;
        let call = Call {
            token: Some(&endpoints.admin_token),
            ..call(&endpoints)
        };
        match client.json(call).await {
            // It says itself what is wrong, in a sentence.
            Err(ClientError::Refused { body, status }) => match body.get("message").and_then(Value::as_str) {
                Some(message) => Err(Failure::other(message)),
                None => Err(ClientError::Refused { body, status }.into()),
            },
            answered => Ok(answered?),
        }
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

/// Where other commands find the list of endpoints.
pub(super) enum Found {
    /// In this data folder.
    InFolder(PathBuf),
    /// In this file alone, as nothing else is kept.
    InFile(PathBuf),
}

impl Found {
    /// The list.
    pub(super) fn file(&self) -> PathBuf {
        match self {
            Self::InFolder(folder) => folder.join(endpoints::FILE),
            Self::InFile(file) => file.clone(),
        }
    }

    /// What other commands have to be told to find it; nothing where they look by themselves.
    pub(super) fn arguments(&self) -> String {
        match self {
            Self::InFolder(folder) if folder == Path::new(DATA) => String::new(),
            Self::InFolder(folder) => format!(" --data {}", quoted(folder)),
            Self::InFile(file) => format!(" --endpoints {}", quoted(file)),
        }
    }
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,=".contains(c);
    match !path.is_empty() && path.chars().all(plain) {
        true => path,
        false => format!("'{}'", path.replace('\'', "'\\''")),
    }
}

/// A data folder whose system does not run.
pub(super) struct Resting {
    names: Names,
    vault: Vault,
    pub(super) secrets: Secrets,
    _folder: Folder,
}

impl Resting {
    /// Changes what the next start finds.
    pub(super) fn change(
        mut self,
        change: impl FnOnce(&mut Stored) -> Result<(), ChangeError>,
    ) -> Result<Secrets, Failure> {
        let wanted = self.names.wanted(&[]);
        let draft = self.vault.draft(&wanted, &SystemEntropy, change)?;
        self.vault.keep(draft.kept)?;
        Ok(draft.secrets)
    }
}

/// Below the gateway's own route for changes.
pub(super) fn admin(endpoints: &Endpoints, path: &str) -> url::Url {
    local::address::below(&admin::url(&endpoints.gateway), path)
}

impl RunningSystem {
    /// What is set of a tenant.
    pub(super) async fn settings(&self, name: &Tenant) -> Result<Map<String, Value>, Failure> {
        let told = self
            .ask(|endpoints| Call::get(admin(endpoints, "/tenants")))
            .await?;
        let tenants = told.get("tenants").and_then(Value::as_array);
        let is_it = |own: &&Value| own.get("name").and_then(Value::as_str) == Some(name.name());
        let own = tenants.into_iter().flatten().find(is_it);
        let own = own.ok_or_else(|| Failure::other(format!("there is no tenant {} here", name.name())))?;
        let settings = own.get("settings").and_then(Value::as_object);
        Ok(settings.cloned().unwrap_or_default())
    }
}

/// A tenant, and where it is.
#[derive(Args)]
pub(super) struct Whose {
    #[command(flatten)]
    pub(super) place: RunningSystem,
    /// The tenant's name
    #[arg(long, value_name = "NAME")]
    pub(super) tenant: Tenant,
}

impl Whose {
    /// A call of the tenant's administration.
    pub(super) async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, Failure> {
        let path = format!("/tenants/{}{path}", self.tenant.name());
        self.place
            .ask(|endpoints| Call {
                method,
                body: body.cloned(),
                ..Call::get(admin(endpoints, &path))
            })
            .await
    }
}

/// The endpoints of a tenant of the system.
pub(super) fn tenant<'e>(endpoints: &'e Endpoints, name: &Tenant) -> Result<&'e TenantEndpoints, Failure> {
    endpoints.named(name).map(|(_, own)| own).ok_or_else(|| {
        let known: Vec<&str> = endpoints.tenants.keys().map(Tenant::name).collect();
        Failure::other(format!(
            "there is no tenant {} here; there are {}",
            name.name(),
            known.join(", ")
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_is_suggested_can_be_typed_as_it_stands() {
        for (found, expect) in [
            (Found::InFolder(".local".into()), ""),
            (Found::InFolder("elsewhere".into()), " --data elsewhere"),
            (Found::InFolder("my data".into()), " --data 'my data'"),
            (Found::InFolder("it's".into()), r" --data 'it'\''s'"),
            (
                Found::InFile("endpoints.json".into()),
                " --endpoints endpoints.json",
            ),
        ] {
            assert_eq!(found.arguments(), expect);
        }
    }
}
