//! The router of wakes as a Lambda.

use edge::config::Env;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), edge::Error> {
    lambda::run(Env::process(), wake_router::Config::read, wake_router::build).await
}
