//! Where a tenant is set: in the running system, or on AWS, where the commands print what does it.

use std::collections::BTreeMap;

use clap::Args;
use domain::{SettingChange, Tenant};
use http::Method;
use serde_json::{Map, Value, json};

use super::Failure;
use super::place::{RunningSystem, admin};
use crate::client::Call;
use crate::out;
use local::functions::sam_env::quoted;

/// Where a tenant is set.
#[derive(Args)]
pub(super) struct At {
    #[command(flatten)]
    place: RunningSystem,
    /// Do it on AWS: print the call of infra/deploy.sh, to be run at the root of the repository
    #[arg(long)]
    aws: bool,
    /// The platform's stage
    #[arg(long, default_value = "prod", requires = "aws")]
    stage: String,
}

fn said(change: &SettingChange) -> String {
    format!("{}={}", change.key(), change.value().unwrap_or_default())
}

impl At {
    pub(super) async fn hold(self, name: &Tenant, suspended: bool) -> Result<(), Failure> {
        let (word, done) = if suspended {
            ("suspend", "suspended")
        } else {
            ("resume", "resumed")
        };
        if self.aws {
            outln!("infra/deploy.sh {word} {} {}", name.name(), quoted(&self.stage));
            return Ok(());
        }
        if self.place.resting()?.is_some() {
            return Err(Failure::other(
                "how a tenant stands lies in the database: start the system with `switchyard up`, then say it",
            ));
        }
        let path = format!("/tenants/{}/status", name.name());
        let body = json!({ "suspended": suspended });
        let asked = self
            .place
            .ask(|endpoints| Call::with_body(Method::PUT, admin(endpoints, &path), &body));
        asked.await?;
        told!(
            json!({ "name": name.name(), "suspended": suspended }),
            "{done} {}, everywhere within ten seconds",
            name.name()
        );
        Ok(())
    }

    pub(super) fn aws(&self) -> bool {
        self.aws
    }

    pub(super) fn stage(&self) -> &str {
        &self.stage
    }

    pub(super) fn place(&self) -> &RunningSystem {
        &self.place
    }

    pub(super) fn needs_running(&self) -> Result<(), Failure> {
        match self.place.resting()? {
            None => Ok(()),
            Some(_) => Err(Failure::other(
                "settings lie in the database: start the system with `switchyard up`, then set them",
            )),
        }
    }

    /// What is set of a tenant of the running system.
    pub(super) async fn settings(&self, name: &Tenant) -> Result<Map<String, Value>, Failure> {
        if self.aws {
            return Err(Failure::other(
                "what is set on AWS is not told here: say what to set",
            ));
        }
        self.needs_running()?;
        self.place.settings(name).await
    }

    /// Prints how it is done on AWS.
    pub(super) fn tell_settings(&self, name: &Tenant, changes: &[SettingChange]) {
        let said: Vec<String> = changes.iter().map(|change| quoted(&said(change))).collect();
        let stage = quoted(&self.stage);
        outln!(
            "infra/deploy.sh settings {} {stage} {}",
            name.name(),
            said.join(" ")
        );
    }

    pub(super) async fn change(&self, name: &Tenant, changes: &[SettingChange]) -> Result<(), Failure> {
        if self.aws {
            self.tell_settings(name, changes);
            return Ok(());
        }
        self.needs_running()?;
        let body: BTreeMap<&str, Option<&str>> = changes
            .iter()
            .map(|change| (change.key(), change.value()))
            .collect();
        let path = format!("/tenants/{}/settings", name.name());
        let asked = self
            .place
            .ask(|endpoints| Call::with_body(Method::PATCH, admin(endpoints, &path), &json!(body)));
        asked.await?;
        if out::is_json() {
            out::event(&json!({ "name": name.name(), "settings": body }));
            return Ok(());
        }
        for change in changes {
            match change.value() {
                Some(_) => outln!(
                    "{}: {} from now on, within ten seconds",
                    name.name(),
                    said(change)
                ),
                None => outln!("{}: {} is not set any more", name.name(), change.key()),
            }
        }
        Ok(())
    }
}
