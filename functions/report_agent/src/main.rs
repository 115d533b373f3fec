//! The report agent as a Lambda function: HTTP and its own queue.

use edge::config::Env;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), edge::Error> {
    lambda::run(Env::process(), report_agent::Config::read, report_agent::build).await
}
