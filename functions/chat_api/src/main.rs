//! The Lambda function of the chat route.

use chat_api::Config;
use edge::Function;
use edge::config::Env;

#[tokio::main]
async fn main() -> Result<(), edge::Error> {
    let config = Config::read(Env::process())?;
    edge::telemetry::init(&config.platform.log_filter);
    edge::serve(async move {
        let router = chat_api::router(config.state().await?);
        let http = config.platform.http.clone();
        Ok(Function {
            router,
            queue: None,
            schedule: None,
            http,
        })
    })
    .await
}
