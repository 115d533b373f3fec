//! A function as a process that stays, for any host of containers: the same router over HTTP, and what runs in its background.

use std::future::IntoFuture as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use axum::serve::ListenerExt as _;
use edge::config::Env;
use edge::{Error, Function, Ground};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::run;
use crate::run::begun;

/// Where a process listens whose settings do not say.
const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::UNSPECIFIED), 8080);
/// How long what runs may take to end in order.
const LEAVE: Duration = Duration::from_secs(8);

/// In Lambda the same as [`run`]. Anywhere else the function serves HTTP where the setting `LISTEN` says (`0.0.0.0:8080`), runs
/// what it has for the background, and ends in order on SIGTERM or SIGINT.
///
/// # Errors
/// As [`run`]; where it cannot listen.
pub async fn run_anywhere<C, E, F>(
    mut env: Env,
    read: impl FnOnce(&mut Env) -> Result<C, E>,
    build: impl FnOnce(Ground, C) -> F + Send + 'static,
) -> Result<(), Error>
where
    C: Send + 'static,
    E: Into<Error>,
    F: Future<Output = Result<Function, Error>> + Send + 'static,
{
    // Lambda sets it, and nobody else.
    if env.optional::<String>("AWS_LAMBDA_RUNTIME_API")?.is_some() {
        return run(env, read, build).await;
    }
    let listen = env.or("LISTEN", LISTEN)?;
    let (platform, config) = begun(env, read)?;
    // Before anything is started, so that a signal during the start is not lost.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let function = build(Ground::aws(platform), config).await?;
    let listener = TcpListener::bind(listen).await?;
    tracing::info!(listen = %listener.local_addr()?, "serving");
    // Small answers must leave at once.
    let listener = listener.tap_io(|connection| {
        let _best_effort = connection.set_nodelay(true);
    });
    let (stop, stopped) = watch::channel(false);
    let background = function.background.clone();
    let until = stopped.clone();
    let mut background = tokio::spawn(async move {
        if let Some(background) = background {
            background.run(until).await;
        }
    });
    let mut over = stopped.clone();
    let service = function
        .router
        .into_make_service_with_connect_info::<SocketAddr>();
    let serving = axum::serve(listener, service).with_graceful_shutdown(async move {
        // Whoever could say so is gone: that is an end as well.
        let _ = over.wait_for(|stop| *stop).await;
    });
    let mut serving = tokio::spawn(serving.into_future());
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    // First what runs in the background: it still answers what is under way.
    stop.send_replace(true);
    let ended = async {
        let _ = (&mut background).await;
        let _ = (&mut serving).await;
    };
    if tokio::time::timeout(LEAVE, ended).await.is_err() {
        tracing::warn!("what was under way did not end in time");
    }
    edge::telemetry::flush().await;
    Ok(())
}
