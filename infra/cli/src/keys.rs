//! `switchyard keys …`: other keys from now on, without anybody noticing.

use clap::{Args, Subcommand};
use domain::{SystemClock, SystemEntropy, Tenant};
use http::Method;
use serde_json::json;

use super::Failure;
use super::place::{RunningSystem, admin};
use super::rotating::OnAws;
use crate::client::Call;
use local::control::Rotation;

/// Rotate keys
#[derive(Subcommand)]
pub(super) enum Keys {
    /// Rotate the authorization server's signing keys, or others with --tenant or --sealing
    ///
    /// What was signed or sealed with the older key stays valid: tokens until they expire, sealed secrets as long as their key
    /// is kept.
    Rotate(Rotate),
}

#[derive(Args)]
pub(super) struct Rotate {
    #[command(flatten)]
    place: RunningSystem,
    /// Rotate the key with which this tenant's chat and host sign
    #[arg(long, value_name = "NAME", conflicts_with = "sealing")]
    tenant: Option<Tenant>,
    /// Rotate the keys with which secrets in the tables are sealed
    #[arg(long)]
    sealing: bool,
    /// Rotate even though tokens of the key before the last are still valid, which ends them: for a key that leaked
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
        told!(json!({ "rotated": what }), "rotated {what}");
        Ok(())
    }
}
