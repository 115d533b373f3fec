//! The sweeper as a Lambda.

use edge::config::Env;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), edge::Error> {
    lambda::run(Env::process(), task_sweeper::Config::read, task_sweeper::build).await
}
