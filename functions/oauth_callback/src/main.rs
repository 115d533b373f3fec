//! The Lambda function that leads users to consent and back.

use edge::Function;
use edge::config::Env;
use oauth_callback::Config;

#[tokio::main]
async fn main() -> Result<(), edge::Error> {
    let config = Config::read(Env::process())?;
    edge::telemetry::init(&config.platform.log_filter);
    edge::serve(async move {
        let router = oauth_callback::router(config.state().await?);
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
