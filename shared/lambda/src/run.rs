//! From the environment to a function that serves: what every `main.rs` does.

use edge::config::{self, Env, Platform};
use edge::{Error, Function, Ground};

use crate::serve;

/// Reads the settings, starts the log, and serves the function that `build` makes of them.
///
/// # Errors
/// What is missing or wrong of the settings; what `build` says; when the runtime API cannot be reached.
pub async fn run<C, E, F>(
    env: Env,
    read: impl FnOnce(&mut Env) -> Result<C, E>,
    build: impl FnOnce(Ground, C) -> F + Send + 'static,
) -> Result<(), Error>
where
    C: Send + 'static,
    E: Into<Error>,
    F: Future<Output = Result<Function, Error>> + Send + 'static,
{
    let (platform, config) = begun(env, read)?;
    let http = platform.http.clone();
    serve(http, async move { build(Ground::aws(platform), config).await }).await
}

/// Reads the settings, and starts the log by them.
pub(crate) fn begun<C, E: Into<Error>>(
    env: Env,
    read: impl FnOnce(&mut Env) -> Result<C, E>,
) -> Result<(Platform, C), Error> {
    let (platform, config) = config::read(env, read)?;
    log_by(&platform);
    Ok((platform, config))
}

pub(crate) fn log_by(platform: &Platform) {
    edge::telemetry::init(
        &platform.log_filter,
        &platform.metrics_namespace,
        platform.collector().as_ref(),
    );
}
