//! From the environment to a function that serves: what every `main.rs` does.

use edge::config::{self, Env, Platform, Tenancy};
use edge::{Error, Function, Ground};

use crate::serve;
use crate::serve::serve_isolated;

/// Reads the settings, starts the log, and serves the function that `build` makes of them. Where Lambda isolates tenants, all that
/// is the function's own stands before the first event; what is the tenant's is read and built once that event names it.
///
/// # Errors
/// What is missing or wrong of the settings; what `build` says; when the runtime API cannot be reached.
pub async fn run<C, E, F>(
    mut env: Env,
    read: impl FnOnce(&mut Env) -> Result<C, E>,
    build: impl FnOnce(Ground, C) -> F + Send + 'static,
) -> Result<(), Error>
where
    C: Send + 'static,
    E: Into<Error>,
    F: Future<Output = Result<Function, Error>> + Send + 'static,
{
    if env.tenancy()? == Tenancy::Isolated {
        let platform = Platform::read(&mut env)?;
        log_by(&platform);
        let http = platform.http.clone();
        let ground = Ground::aws(platform);
        let built = async move |tenant: &_| {
            let (_, config) = config::read(env.isolated(tenant)?, read)?;
            build(ground, config).await
        };
        return serve_isolated(http, built).await;
    }
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

fn log_by(platform: &Platform) {
    edge::telemetry::init(
        &platform.log_filter,
        &platform.metrics_namespace,
        platform.collector().as_ref(),
    );
}
