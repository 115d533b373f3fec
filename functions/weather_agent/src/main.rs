//! The weather agent as a Lambda function: HTTP and its own queue.

use edge::config::Env;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), edge::Error> {
    lambda::run(Env::process(), weather_agent::Config::read, weather_agent::build).await
}
