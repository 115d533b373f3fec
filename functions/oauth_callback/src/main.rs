//! The Lambda function that leads users to consent and back.

use edge::Function;
use edge::config::Env;
use oauth_callback::Config;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), edge::Error> {
    let config = Config::read(Env::process())?;
    edge::telemetry::init(&config.platform.log_filter);
    lambda::serve(config.platform.http.clone(), async move {
        let router = oauth_callback::router(config.state().await?);
        Ok(Function::new(router))
    })
    .await
}
