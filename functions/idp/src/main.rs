//! The authorization server as a Lambda function.

use edge::Function;
use edge::config::Env;
use idp::{Config, router};

#[tokio::main]
async fn main() -> Result<(), edge::Error> {
    let config = Config::read(Env::process())?;
    edge::telemetry::init(&config.platform.log_filter);
    edge::serve(async move {
        Ok(Function {
            router: router(config.state().await?),
            queue: None,
            schedule: None,
            http: config.platform.http,
        })
    })
    .await
}
