//! The weather agent as a Lambda function: HTTP and its own queue.

use std::sync::Arc;

use edge::Function;
use edge::config::Env;
use weather_agent::{Config, Worker, build, router};

#[tokio::main]
async fn main() -> Result<(), edge::Error> {
    let config = Config::read(Env::process())?;
    edge::telemetry::init(&config.agent.platform.log_filter);
    edge::serve(async move {
        let http = config.agent.platform.http.clone();
        let agent = build(config.state().await?)?;
        Ok(Function {
            router: router(&agent),
            queue: Some(Arc::new(Worker(agent))),
            schedule: None,
            http,
        })
    })
    .await
}
