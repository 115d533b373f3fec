//! The Lambda function of the chat route.

use edge::config::Env;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), edge::Error> {
    lambda::run_tenant(Env::process(), chat_api::Config::read, chat_api::build).await
}
