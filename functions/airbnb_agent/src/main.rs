//! The accommodation agent as a Lambda function: HTTP and its own queue.

use edge::config::Env;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), edge::Error> {
    lambda::run(Env::process(), airbnb_agent::Config::read, airbnb_agent::build).await
}
