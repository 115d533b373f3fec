//! The report agent as a Lambda function: HTTP and its own queue.

use edge::Function;
use edge::config::Env;
use edge::queue::Wakes;
use report_agent::{Config, router};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), edge::Error> {
    let config = Config::read(Env::process())?;
    edge::telemetry::init(&config.agent.platform.log_filter);
    edge::serve(async move {
        let http = config.agent.platform.http.clone();
        let agent = config.build().await?;
        Ok(Function::new(router(&agent), http).with_queue(Wakes(agent)))
    })
    .await
}
