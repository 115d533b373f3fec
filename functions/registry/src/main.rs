//! The registry as a Lambda function.

use std::sync::Arc;

use auth::{JwksCache, Verifier};
use domain::{Entropy, SystemClock, SystemEntropy};
use edge::Function;
use edge::config::Env;
use outbound::{FetchedKeys, Outbound, Policy};
use registry::{Config, State, router};
use store::{Store, Tables};

#[tokio::main]
async fn main() -> Result<(), edge::Error> {
    let config = Config::read(Env::process())?;
    edge::telemetry::init(&config.platform.log_filter);
    edge::serve(async move {
        let entropy: Arc<dyn Entropy> = Arc::new(SystemEntropy);
        let platform = config.platform;
        let aws = edge::aws::sdk_config(platform.dynamodb.as_ref(), platform.region.as_deref());
        let policy = Policy {
            allow_loopback: config.allow_loopback,
            ..Policy::default()
        };
        let outbound = Outbound::new(policy, entropy.clone())?;
        let keys = JwksCache::new(Arc::new(FetchedKeys(outbound.clone())));
        let state = State {
            store: Store::new(&aws, Tables::prefixed(&platform.table_prefix)),
            outbound,
            verifier: Verifier::with_issuers(config.url.to_string(), config.issuers, &keys)?,
            clock: Arc::new(SystemClock),
            entropy,
        };
        Ok(Function {
            router: router(state),
            queue: None,
            schedule: None,
            http: platform.http,
        })
    })
    .await
}
