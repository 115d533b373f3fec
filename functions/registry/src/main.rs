//! The registry as a Lambda function.

use edge::Function;
use edge::config::Env;
use registry::{Config, router};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), edge::Error> {
    let config = Config::read(Env::process())?;
    edge::telemetry::init(&config.platform.log_filter);
    lambda::serve(config.platform.http.clone(), async move {
        Ok(Function::new(router(config.state()?)))
    })
    .await
}
