//! The host agent as a Lambda function: one per tenant.

use clap::Parser as _;
use edge::config::Env;
use host_agent::{Args, Config, build};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), edge::Error> {
    let env = Env::process().overridden("TENANT_ID", Args::parse().tenant_id);
    // In a box: its future is a large one.
    Box::pin(lambda::run_tenant(env, Config::read, build)).await
}
