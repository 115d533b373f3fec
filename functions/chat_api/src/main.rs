//! The Lambda function of the chat route.

use chat_api::Config;
use edge::Function;
use edge::config::Env;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), edge::Error> {
    let config = Config::read(Env::process())?;
    edge::telemetry::init(&config.platform.log_filter);
    lambda::serve(config.platform.http.clone(), async move {
        let router = chat_api::router(config.state().await?);
        Ok(Function::new(router))
    })
    .await
}
