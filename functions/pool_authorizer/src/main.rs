//! The authorizer of the pool as a Lambda.

use edge::config::Env;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), edge::Error> {
    lambda::run(
        Env::process(),
        pool_authorizer::Config::read,
        pool_authorizer::build,
    )
    .await
}
