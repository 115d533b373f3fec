//! The Lambda function that takes push notifications.

use edge::config::Env;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), edge::Error> {
    lambda::run_tenant(
        Env::process(),
        webhook_receiver::Config::read,
        webhook_receiver::build,
    )
    .await
}
