//! The calendar agent as a Lambda function: HTTP and its own queue.

use edge::config::Env;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), edge::Error> {
    lambda::run(
        Env::process(),
        calendar_agent::Config::read,
        calendar_agent::build,
    )
    .await
}
