//! The Horizon agent as a Lambda function: HTTP and its own queue.

use edge::config::Env;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), edge::Error> {
    lambda::run_tenant(Env::process(), horizon_agent::Config::read, horizon_agent::build).await
}
