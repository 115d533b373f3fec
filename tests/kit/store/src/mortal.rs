//! A client whose process dies: from some request on nothing is sent and no answer comes.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_types::SdkConfig;
use store::{Store, Tables};
use tokio::sync::watch;

/// When a client's process dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fate {
    /// After so many requests.
    pub requests: u64,
    /// The next one still arrives and is done; its answer never comes.
    pub does_one_more: bool,
}

/// Tells of a client's death.
#[derive(Debug, Clone)]
pub struct Death(Arc<State>);

impl Death {
    /// Resolves once the process is dead. Whoever waits for an answer drops it then, as a killed process does.
    pub async fn comes(&self) {
        let mut dead = self.0.dead.subscribe();
        let _never_closed = dead.wait_for(|dead| *dead).await;
    }

    /// Asks another place than the database for something, in the same process: it is a request as any.
    pub async fn request<T>(&self, work: impl Future<Output = T>) -> T {
        self.0.does(work).await
    }

    /// How many requests there were.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.0.requests.load(Ordering::SeqCst)
    }
}

/// A store over a plain HTTP endpoint whose process meets this fate.
pub(crate) fn mortal_store(config: SdkConfig, tables: Tables, fate: Fate) -> (Store, Death) {
    let state = Arc::new(State {
        fate,
        requests: AtomicU64::new(0),
        dead: watch::Sender::new(false),
    });
    let client = Mortal {
        inner: aws_smithy_http_client::Builder::new().build_http(),
        state: Arc::clone(&state),
    };
    let config = config.into_builder().http_client(client).build();
    (Store::new(&config, tables), Death(state))
}

#[derive(Debug)]
struct State {
    fate: Fate,
    requests: AtomicU64,
    dead: watch::Sender<bool>,
}

#[derive(Clone)]
struct Mortal {
    inner: SharedHttpClient,
    state: Arc<State>,
}

impl fmt::Debug for Mortal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mortal")
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl HttpClient for Mortal {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(Connector {
            inner: self.inner.http_connector(settings, components),
            state: Arc::clone(&self.state),
        })
    }
}

#[derive(Debug)]
struct Connector {
    inner: SharedHttpConnector,
    state: Arc<State>,
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (inner, state) = (self.inner.clone(), Arc::clone(&self.state));
        HttpConnectorFuture::new(async move { state.does(inner.call(request)).await })
    }
}

impl State {
    /// Does this, or dies.
    async fn does<T>(&self, work: impl Future<Output = T>) -> T {
        let before = self.requests.fetch_add(1, Ordering::SeqCst);
        if before < self.fate.requests {
            return work.await;
        }
        if before == self.fate.requests && self.fate.does_one_more {
            let _nobody_hears_it = work.await;
        }
        self.dead.send_replace(true);
        std::future::pending().await
    }
}
