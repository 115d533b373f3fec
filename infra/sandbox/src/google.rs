//! Google's sign-in and calendar for two made-up users: a page of consent with boxes, the token and revocation endpoints,
//! free/busy times and events, in the real wire formats, errors included.
//!
//! Tokens say whose they are and what they allow, so that they outlive a restart; what was revoked is remembered by the
//! process alone. Codes are good once.
//!
//! Not here: other scopes than the calendar's two, writing, sync tokens, the pages of signing in.

mod calendar;
mod consent;
mod page;
mod token;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::routing::{get, post};
use domain::{Clock, Entropy};
use serde_json::Value;
use url::Url;

/// The id and the secret of the one client that it knows.
pub const CLIENT: (&str, &str) = ("switchyard-sandbox", "sandbox-secret");

/// The accounts, and the clocks of their calendars.
pub const USERS: [(&str, &str); 2] = [
    ("ines@sandbox.example", "Europe/Oslo"),
    ("ola@sandbox.example", "America/New_York"),
];

/// What the next call of the calendar's API is answered with, instead of what it asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// 403 `rateLimitExceeded`.
    RateLimit,
    /// 429.
    TooMany,
    /// 503.
    Away,
}

/// The service; clones are the same.
#[derive(Clone)]
pub struct Google {
    issuer: Url,
    redirect_uri: String,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    state: Arc<Mutex<State>>,
}

/// The parameters of a request, each once.
type Parameters = BTreeMap<String, String>;

#[derive(Default)]
struct State {
    codes: BTreeMap<String, consent::Code>,
    /// Each code that came to the token endpoint, as often as it came.
    exchanged: Vec<String>,
    refreshes: u32,
    /// What was granted up to this number is over, by account.
    ended: BTreeMap<String, i64>,
    /// Access tokens up to this number are refused.
    expired: i64,
    last_number: i64,
    failures: VecDeque<Failure>,
    planted: Vec<Value>,
    seen_tokens: BTreeSet<String>,
}

impl Google {
    /// The service at this address, which is its issuer, for a client that users come back to at this one.
    #[must_use]
    pub fn new(
        issuer: Url,
        redirect_uri: impl Into<String>,
        (clock, entropy): (Arc<dyn Clock>, Arc<dyn Entropy>),
    ) -> Self {
        Self {
            issuer,
            redirect_uri: redirect_uri.into(),
            clock,
            entropy,
            state: Arc::default(),
        }
    }

    /// What it serves, below its address.
    pub fn router(&self) -> Router {
        Router::new()
            .route("/.well-known/openid-configuration", get(consent::metadata))
            .route("/o/oauth2/v2/auth", get(consent::page).post(consent::answer))
            .route("/token", post(token::token))
            .route("/revoke", post(token::revoke))
            .route("/calendar/v3/freeBusy", post(calendar::free_busy))
            .route("/calendar/v3/calendars/primary/events", get(calendar::events))
            .with_state(self.clone())
    }

    /// The next calls of the calendar's API fail so, one after the other.
    pub fn fail(&self, failures: &[Failure]) {
        self.state().failures.extend(failures);
    }

    /// Access tokens of before are refused from now on.
    pub fn expire_access(&self) {
        let mut state = self.state();
        state.expired = state.last_number;
    }

    /// An account takes back, at Google, what it has granted.
    pub fn take_back(&self, user: &str) {
        let mut state = self.state();
        let number = state.last_number;
        state.ended.insert(user.to_owned(), number);
    }

    /// Puts an event, in the API's own words, into both calendars.
    pub fn plant(&self, event: Value) {
        self.state().planted.push(event);
    }

    /// Each code that came to the token endpoint, as often as it came.
    #[must_use]
    pub fn exchanged(&self) -> Vec<String> {
        self.state().exchanged.clone()
    }

    /// How often a token was renewed.
    #[must_use]
    pub fn refreshes(&self) -> u32 {
        self.state().refreshes
    }

    /// Every secret that it ever gave out: codes and tokens.
    #[must_use]
    pub fn secrets(&self) -> BTreeSet<String> {
        self.state().seen_tokens.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number later than all before, also than those of the process before.
    fn number(&self) -> i64 {
        let now = self.clock.now().millis();
        let mut state = self.state();
        state.last_number = now.max(state.last_number + 1);
        state.last_number
    }
}

/// The same with a field more, or another.
fn with(mut object: Value, name: &str, value: Value) -> Value {
    if let Value::Object(fields) = &mut object {
        fields.insert(name.to_owned(), value);
    }
    object
}

#[cfg(test)]
mod tests;
