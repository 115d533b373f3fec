//! The Lambda function that takes push notifications.

use edge::Function;
use edge::config::Env;
use webhook_receiver::Config;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), edge::Error> {
    let config = Config::read(Env::process())?;
    edge::telemetry::init(&config.platform.log_filter);
    lambda::serve(config.platform.http.clone(), async move {
        let router = webhook_receiver::router(config.state()?);
        Ok(Function::new(router))
    })
    .await
}
