//! The sweeper as a Lambda.

use std::sync::Arc;

use domain::{SystemClock, SystemEntropy};
use edge::config::Env;
use edge::queue::SqsDoor;
use edge::{Front, Function};
use task_sweeper::{Config, State, Sweeper, router};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), edge::Error> {
    let Config { platform } = Config::read(Env::process())?;
    edge::telemetry::init(&platform.log_filter);
    lambda::serve(platform.http.clone(), async move {
        let clock = Arc::new(SystemClock);
        let front = Front {
            clock: clock.clone(),
            entropy: Arc::new(SystemEntropy),
            function: "task_sweeper",
        };
        let store = edge::aws::store(&platform);
        let wake = Arc::new(SqsDoor::new(platform.queues));
        Ok(Function::new(router(front)).with_schedule(Sweeper(State { store, wake, clock })))
    })
    .await
}
