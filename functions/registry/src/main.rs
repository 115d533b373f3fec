//! The registry as a Lambda function.

use edge::config::Env;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), edge::Error> {
    lambda::run(Env::process(), registry::Config::read, registry::build).await
}
