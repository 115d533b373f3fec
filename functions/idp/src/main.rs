//! The authorization server as a Lambda function.

use edge::config::Env;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), edge::Error> {
    lambda::run(Env::process(), idp::Config::read, idp::build).await
}
