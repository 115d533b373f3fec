//! The registry as a Lambda function.

use edge::Function;
use edge::config::Env;
use registry::{Config, router};

#[tokio::main]
async fn main() -> Result<(), edge::Error> {
    let config = Config::read(Env::process())?;
    edge::telemetry::init(&config.platform.log_filter);
    edge::serve(async move {
        Ok(Function {
            router: router(config.state()?),
            queue: None,
            schedule: None,
            http: config.platform.http,
        })
    })
    .await
}
