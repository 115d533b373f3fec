//! `switchyard tenant export`: all that is kept of a tenant, in a file.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use clap::Args;
use domain::Tenant;
use serde_json::json;

use super::Failure;
use super::orders::operator;
use super::place::{RunningSystem, admin};
use crate::client::{Call, Client};

#[derive(Args)]
pub(super) struct Export {
    /// The tenant's name
    name: Tenant,
    #[command(flatten)]
    place: RunningSystem,
    /// The archive's file, which must not be there yet [default: NAME.tar]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Export from AWS, with this machine's AWS credentials, profile and region. They read the tables of the platform and its
    /// bucket
    #[arg(long, conflicts_with_all = ["data", "endpoints"])]
    aws: bool,
    /// The platform's stage on AWS
    #[arg(long, default_value = "prod", requires = "aws")]
    stage: String,
}

impl Export {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let name = self.name.name();
        let out = self.out.clone().unwrap_or_else(|| format!("{name}.tar").into());
        let unfinished = out.with_added_extension("part");
        if out.exists() {
            return Err(Failure::other(format!("{} is there already", out.display())));
        }
        let written = self.write(&unfinished).await;
        let kept = written.and_then(|()| std::fs::rename(&unfinished, &out).map_err(Failure::other));
        if let Err(failure) = kept {
            // A part of an archive is none.
            let _gone = std::fs::remove_file(&unfinished);
            return Err(failure);
        }
        let bytes = std::fs::metadata(&out).map_err(Failure::other)?.len();
        told!(
            json!({ "tenant": name, "file": out, "bytes": bytes }),
            "exported {name} to {} ({bytes} bytes)",
            out.display()
        );
        Ok(())
    }

    async fn write(&self, place: &Path) -> Result<(), Failure> {
        let mut file = created(place)?;
        if self.aws {
            let ended = operator()?
                .args(["export", "--tenant", self.name.name(), "--stage", &self.stage])
                .stdout(Stdio::from(file))
                .status();
            return match ended.map_err(Failure::other)?.success() {
                true => Ok(()),
                false => Err(Failure::other("nothing was exported")),
            };
        }
        let endpoints = self.place.endpoints()?;
        let path = format!("/tenants/{}/export", self.name.name());
        let call = Call {
            token: Some(&endpoints.admin_token),
            ..Call::get(admin(&endpoints, &path))
        };
        let client = Client::new().map_err(Failure::other)?;
        let mut answer = client.send(call).await?;
        while let Some(piece) = answer.piece().await? {
            file.write_all(&piece).map_err(Failure::other)?;
        }
        file.sync_all().map_err(Failure::other)
    }
}

/// A new file that only its owner reads: people's words are in it.
fn created(place: &Path) -> Result<File, Failure> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(place);
    file.map_err(|fault| Failure::other(format!("{} cannot be written: {fault}", place.display())))
}
