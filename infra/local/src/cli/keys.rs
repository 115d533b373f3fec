//! `switchyard keys …`: other keys from now on, without anybody noticing.

use clap::{Args, Subcommand};
use domain::{SystemClock, SystemEntropy, Tenant};
use http::Method;
use serde_json::json;

use super::Failure;
use super::place::{RunningSystem, admin};
use super::rotating::OnAws;
use crate::client::Call;
use crate::control::Rotation;

/// Rotate keys
#[derive(Subcommand)]
pub(super) enum Keys {
    /// Rotate the keys that the authorization server signs with; with --tenant or --sealing others instead. What was
    /// signed or sealed before stays good: tokens until they end, sealed secrets as long as their key is kept
    Rotate(Rotate),
}

#[derive(Args)]
pub(super) struct Rotate {
    #[command(flatten)]
    place: RunningSystem,
    /// Rotate the key that this tenant's chat and host sign with
    #[arg(long, conflicts_with = "sealing")]
    tenant: Option<Tenant>,
    /// Rotate the keys that secrets in the tables are sealed with
    #[arg(long)]
    sealing: bool,
    /// Rotate although tokens of the key before the last still live, which ends them: for a key that leaked
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    on_aws: OnAws,
}

impl Keys {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let Self::Rotate(rotate) = self;
        rotate.run().await
    }
}

impl Rotate {
    async fn run(self) -> Result<(), Failure> {
        let force = self.force;
        if self.on_aws.aws {
            return self.on_aws.rotate(force);
        }
        let (rotation, what) = match (self.tenant, self.sealing) {
            (Some(tenant), _) => {
                let what = format!("the session key of {}", tenant.name());
                (Rotation::Session(tenant), what)
            }
            (None, true) => (Rotation::Sealing, "the sealing key".to_owned()),
            (None, false) => (
                Rotation::Idp,
                "the authorization server's signing keys".to_owned(),
            ),
        };
        match self.place.resting()? {
            Some(resting) => {
                let clock_and_rng = (
                    &SystemClock as &dyn domain::Clock,
                    &SystemEntropy as &dyn domain::Entropy,
                );
                resting.change(|stored| rotation.apply(stored, force, clock_and_rng))?;
            }
            None => {
                let body = json!({ "keys": rotation, "force": force });
                let asked = self
                    .place
                    .ask(|endpoints| Call::with_body(Method::POST, admin(endpoints, "/keys/rotate"), &body));
                asked.await?;
            }
        }
        outln!("rotated {what}");
        Ok(())
    }
}
