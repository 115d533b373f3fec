//! The HTTP client under the guarded one.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use http::header::ACCEPT_ENCODING;
use http::{HeaderMap, HeaderValue};

use crate::Policy;
use crate::guard::GuardedDns;

/// A client that is made once, by whoever wants it first. It loads the system's certificates, which a function's start
/// need not wait for.
pub(crate) struct Http {
    made: OnceLock<reqwest::Client>,
    making: Mutex<()>,
    policy: Policy,
    dns: Arc<GuardedDns>,
}

impl Http {
    pub(crate) fn new(policy: Policy, dns: Arc<GuardedDns>) -> Self {
        Self {
            made: OnceLock::new(),
            making: Mutex::default(),
            policy,
            dns,
        }
    }

    /// The client; who comes while it is made waits, some milliseconds. An error is where TLS cannot be set up; the next
    /// call tries again.
    pub(crate) fn client(&self) -> Result<&reqwest::Client, reqwest::Error> {
        if let Some(client) = self.made.get() {
            return Ok(client);
        }
        let _one_at_a_time = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = self.made.get() {
            return Ok(client);
        }
        // Whoever is told nothing may pack an answer in any way (RFC 9110 §12.5.3).
        let as_it_is = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static("identity"))]);
        #[expect(clippy::disallowed_methods, reason = "this is the guarded client")]
        let client = reqwest::Client::builder()
            .default_headers(as_it_is)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .referer(false)
            .tcp_nodelay(true)
            .timeout(self.policy.timeout)
            .connect_timeout(self.policy.connect_timeout)
            .pool_idle_timeout(self.policy.idle_timeout)
            .user_agent(concat!("switchyard/", env!("CARGO_PKG_VERSION")))
            .dns_resolver(Arc::clone(&self.dns))
            .build()?;
        Ok(self.made.get_or_init(|| client))
    }
}
