//! The Lambda function that leads users to consent and back.

use edge::config::Env;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), edge::Error> {
    lambda::run(
        Env::process(),
        oauth_callback::Config::read,
        oauth_callback::build,
    )
    .await
}
