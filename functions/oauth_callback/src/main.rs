//! The Lambda function that leads users to consent and back.

use edge::config::Env;
use oauth_callback::{Config, build};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), edge::Error> {
    let mut env = Env::process();
    // One for an agent of the platform is no tenant's.
    match env.optional::<String>("CONSENT_AGENT")? {
        Some(_) => lambda::run(env, Config::read, build).await,
        None => lambda::run_tenant(env, Config::read, build).await,
    }
}
