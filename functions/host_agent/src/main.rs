//! The host agent as a Lambda function: one per tenant.

use std::sync::Arc;

use clap::Parser as _;
use edge::Function;
use edge::config::Env;
use edge::queue::Wakes;
use host_agent::{Args, Config, build, router};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), edge::Error> {
    let config = Config::read(Env::process(), Args::parse())?;
    edge::telemetry::init(&config.platform.log_filter);
    let http = config.platform.http.clone();
    lambda::serve(http, async move {
        let state = build(config.parts().await?)?;
        let queue = Wakes(Arc::clone(&state.agent));
        Ok(Function::new(router(state)).with_queue(queue))
    })
    .await
}
