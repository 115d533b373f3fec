//! The weather agent as a Lambda function: HTTP and its own queue.

use edge::Function;
use edge::config::Env;
use edge::queue::Wakes;
use weather_agent::{Config, router};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), edge::Error> {
    let config = Config::read(Env::process())?;
    edge::telemetry::init(&config.agent.platform.log_filter);
    let http = config.agent.platform.http.clone();
    lambda::serve(http, async move {
        let agent = config.build().await?;
        Ok(Function::new(router(&agent)).with_queue(Wakes(agent)))
    })
    .await
}
