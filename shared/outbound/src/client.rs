//! The guarded client: one HTTP exchange with bounded time, bounded body, checked address and a trace.

use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use a2a::sieve::FilePiece;
use bytes::{Bytes, BytesMut};
use domain::{Entropy, ExposeSecret, SecretString, TraceParent, foreign_json};
use flate2::bufread::MultiGzDecoder;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, ETAG, LOCATION, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};
use tracing::Instrument as _;
use tracing::field::Empty;
use url::Url;

use crate::address::Blocked;
use crate::breaker::Breaker;
use crate::broker::Bridge;
use crate::guard::{self, GuardedDns, Lookup, SystemDns};
use crate::http_client::Http;
use crate::sifting::{ANSWER_MAX, Aside, COMES_IN, Sifting};
use crate::spoken::Spoken;
use crate::{CallError, Policy, TrustedOrigin};

/// How a body begins that is packed (RFC 1952).
const PACKED: &[u8] = &[0x1f, 0x8b];
/// What API Gateway makes of `WWW-Authenticate`.
const REMAPPED_CHALLENGE: &str = "x-amzn-remapped-www-authenticate";
/// The words by which an agent says that a token is no longer good.
const EXPIRY_WORDS: [&str; 2] = ["invalid_token", "token has expired"];

/// A connection that breaks after this long was in use: what was sent on it may be worked on. One that had been closed before, and
/// was taken out of the pool, breaks at once.
const BROKEN_LATE: Duration = Duration::from_secs(2);

/// The way out. Cheap to clone; all clones share their connections.
#[derive(Clone)]
pub struct Outbound {
    http: Arc<Http>,
    pub(crate) policy: Policy,
    pub(crate) breaker: Arc<Breaker>,
    pub(crate) spoken: Arc<Spoken>,
    dns: Arc<dyn Lookup>,
    entropy: Arc<dyn Entropy>,
    /// How agents are called that are on a broker.
    pub(crate) bridge: Option<Arc<Bridge>>,
    /// Where large files of answers go.
    pub(crate) aside: Option<Aside>,
}

impl std::fmt::Debug for Outbound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outbound")
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

/// One request, before it is sent.
pub(crate) struct Ask<'a> {
    pub(crate) method: Method,
    pub(crate) url: &'a Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Vec<u8>>,
    /// A shorter time than the policy's, where there is one.
    pub(crate) timeout: Option<Duration>,
    /// Most bytes of the answer, where that is not the policy's.
    pub(crate) most: Option<usize>,
}

impl<'a> Ask<'a> {
    pub(crate) fn get(url: &'a Url) -> Self {
        Self {
            method: Method::GET,
            url,
            headers: HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))]),
            body: None,
            timeout: None,
            most: None,
        }
    }

    pub(crate) fn post(url: &'a Url, body: &Value) -> Self {
        let mut ask = Self::get(url);
        ask.method = Method::POST;
        ask.headers
            .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        ask.body = Some(body.to_string().into_bytes());
        ask
    }

    pub(crate) fn bearer(self, token: Option<&SecretString>) -> Result<Self, CallError> {
        match token {
            Some(token) => self.secret(AUTHORIZATION, &format!("Bearer {}", token.expose_secret())),
            None => Ok(self),
        }
    }

    pub(crate) fn header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers
            .insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        self
    }

    /// A header that logs never show.
    pub(crate) fn secret(mut self, name: HeaderName, value: &str) -> Result<Self, CallError> {
        let mut value = HeaderValue::from_str(value)
            .map_err(|_| CallError::NotAllowed(format!("the value for {name} cannot stand in a header")))?;
        value.set_sensitive(true);
        self.headers.insert(name, value);
        Ok(self)
    }
}

/// What came back, whatever its status.
pub(crate) struct Answered {
    pub(crate) status: u16,
    /// Its entity tag (RFC 9110 §8.8.3), quotes and all.
    pub(crate) etag: Option<HeaderValue>,
    /// Of a bridge to a broker: the address of the agent that has the task.
    pub(crate) responder: Option<String>,
    challenge: Option<String>,
    /// Where it leads, of an answer that wants the same request there.
    pub(crate) location: Option<String>,
    with_token: bool,
    pub(crate) body: Bytes,
}

impl Outbound {
    /// The way out. Nothing is loaded and no connection opened before the first call.
    #[must_use]
    pub fn new(policy: Policy, entropy: Arc<dyn Entropy>) -> Self {
        Self::with_dns(policy, entropy, Arc::new(SystemDns))
    }

    /// The same with another DNS than the system's, under the same guard.
    #[must_use]
    pub fn with_dns(policy: Policy, entropy: Arc<dyn Entropy>, dns: Arc<dyn Lookup>) -> Self {
        Self {
            http: Arc::new(Http::new(
                policy.clone(),
                GuardedDns::shared(&policy, Arc::clone(&dns)),
            )),
            breaker: Arc::new(Breaker::new(policy.rest)),
            spoken: Arc::default(),
            policy,
            dns,
            entropy,
            bridge: None,
            aside: None,
        }
    }

    /// The same way out, where agents on a broker are called through this bridge.
    #[must_use]
    pub fn through(&self, bridge: Bridge) -> Self {
        Self {
            bridge: Some(Arc::new(bridge)),
            ..self.clone()
        }
    }

    /// The same way out, for messages to agents that answer only when they are done: each may take this long.
    #[must_use]
    pub fn patient(&self, longest: Duration) -> Self {
        Self {
            policy: Policy {
                answer_timeout: Some(longest),
                ..self.policy.clone()
            },
            ..self.clone()
        }
    }

    /// A way out of its own, with connections of its own, for calls to an operator's server, which may have a private
    /// address. What calls addresses that others named goes on with the first one, to which nothing is trusted.
    #[must_use]
    pub fn trusting(&self, origin: TrustedOrigin) -> Self {
        let policy = Policy {
            trusted_origins: vec![origin],
            ..self.policy.clone()
        };
        Self::with_dns(policy, Arc::clone(&self.entropy), Arc::clone(&self.dns))
    }

    /// The same way out for one call, in whose answer names stand for large files ([`a2a::sieve::placeholder`] of this mark). The files
    /// go there piece by piece; whoever takes none fails the call.
    #[must_use]
    pub fn sifting(&self, mark: &str, files: mpsc::Sender<FilePiece>) -> Self {
        let mark = mark.to_owned();
        Self {
            aside: Some(Aside { mark, files }),
            ..self.clone()
        }
    }

    /// Loads what the first call needs, some milliseconds of computing: for whoever starts once and has the time meanwhile.
    pub fn warm(&self) {
        // What goes wrong here is told to whoever calls out.
        let _client = self.http.client();
    }

    /// Checks a URL without asking DNS: what is refused here is refused for ever.
    ///
    /// # Errors
    /// [`CallError::NotAllowed`] with the reason.
    pub fn check_url(&self, url: &Url) -> Result<(), CallError> {
        guard::check(url, &self.policy).map_err(|Blocked(reason)| CallError::NotAllowed(reason.to_owned()))
    }

    /// A random id for a request.
    pub(crate) fn request_id(&self) -> String {
        self.entropy.uuid().to_string()
    }

    /// One exchange, as part of the trace of the work at hand. Each hop gets a parent id of its own.
    pub(crate) async fn exchange(&self, ask: Ask<'_>) -> Result<Answered, CallError> {
        // Literal addresses: no resolver sees them. Names are checked where they are resolved.
        self.check_url(ask.url)?;
        let span = span(&ask);
        let begun = Instant::now();
        match self.sent(ask).instrument(span).await {
            // What is known is the same as of one that stays silent: it has the call, and nothing came back.
            Err(CallError::Unreachable { source })
                if !source.is_connect() && begun.elapsed() >= BROKEN_LATE =>
            {
                Err(CallError::Timeout)
            }
            answered => answered,
        }
    }

    async fn sent(&self, ask: Ask<'_>) -> Result<Answered, CallError> {
        let with_token = ask.headers.contains_key(AUTHORIZATION);
        let most = ask.most.unwrap_or(self.policy.max_body);
        let response = self.begun(ask).await?;
        let status = response.status().as_u16();
        let challenge = [WWW_AUTHENTICATE.as_str(), REMAPPED_CHALLENGE]
            .iter()
            .find_map(|name| response.headers().get(*name)?.to_str().ok().map(str::to_owned));
        let etag = response.headers().get(ETAG).cloned();
        let location = response
            .headers()
            .get(LOCATION)
            .filter(|_| matches!(status, 307 | 308));
        let location = location.and_then(|place| place.to_str().ok().map(str::to_owned));
        let responder = response.headers().get(a2a::mqtt::property::RESPONDER);
        let responder = responder.and_then(|agent| agent.to_str().ok().map(str::to_owned));
        let body = match &self.aside {
            Some(aside) => sifted(response, aside, most).await,
            None => read(response, most).await,
        };
        let body = match body {
            Ok(body) => body,
            // A refusal is told by its status; a body too large for it is not needed.
            Err(CallError::TooLarge(_)) if status >= 400 => Bytes::new(),
            Err(error) => return Err(error),
        };
        Ok(Answered {
            status,
            etag,
            responder,
            challenge,
            location,
            with_token,
            body,
        })
    }

    /// Sends a request up to the head of the answer, whose body may take longer than that where large files go aside.
    async fn begun(&self, mut ask: Ask<'_>) -> Result<reqwest::Response, CallError> {
        if self.aside.is_none() {
            return self.opened(ask).await;
        }
        let begins = ask.timeout.unwrap_or(self.policy.timeout);
        ask.timeout = Some(begins.saturating_add(COMES_IN));
        let opened = timeout(begins, self.opened(ask)).await;
        opened.map_err(|_| CallError::Timeout)?
    }

    /// Sends a request whose address is checked, up to the head of the answer.
    pub(crate) async fn opened(&self, mut ask: Ask<'_>) -> Result<reqwest::Response, CallError> {
        if let Some(trace) = TraceParent::outgoing(self.entropy.as_ref())
            && let Ok(hop) = HeaderValue::from_str(&trace.to_string())
        {
            ask.headers.insert("traceparent", hop);
        }
        let client = self.http.client();
        let mut request = client
            .map_err(|source| CallError::Unreachable { source })?
            .request(ask.method, ask.url.clone())
            .headers(ask.headers);
        if let Some(body) = ask.body {
            request = request.body(body);
        }
        if let Some(timeout) = ask.timeout {
            request = request.timeout(timeout);
        }
        let response = Box::pin(request.send()).await.map_err(failed)?;
        let status = response.status().as_u16();
        tracing::Span::current().record("http.response.status_code", status);
        tracing::debug!(host = ask.url.host_str(), status, "call answered");
        Ok(response)
    }
}

pub(crate) fn span(ask: &Ask<'_>) -> tracing::Span {
    tracing::debug_span!(
        "outbound.http.exchange",
        http.request.method = ask.method.as_str(),
        server.address = ask.url.host_str(),
        http.response.status_code = Empty,
    )
}

pub(crate) async fn read(response: reqwest::Response, most: usize) -> Result<Bytes, CallError> {
    unpacked(whole(response, most).await?, most)
}

/// The body as it came.
pub(crate) async fn whole(mut response: reqwest::Response, most: usize) -> Result<Bytes, CallError> {
    let told = response
        .content_length()
        .and_then(|length| usize::try_from(length).ok());
    if told.is_some_and(|length| length > most) {
        return Err(CallError::TooLarge(most));
    }
    let mut body = BytesMut::new();
    while let Some(chunk) = response.chunk().await.map_err(failed)? {
        if body.len() + chunk.len() > most {
            return Err(CallError::TooLarge(most));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}

/// The body without its large files.
async fn sifted(mut response: reqwest::Response, aside: &Aside, most: usize) -> Result<Bytes, CallError> {
    let told = response.content_length();
    if told.is_some_and(|told| usize::try_from(told).is_ok_and(|told| told > ANSWER_MAX)) {
        return Err(CallError::TooLarge(ANSWER_MAX));
    }
    let mut sifting = Sifting::new(aside, most);
    let mut is_first = true;
    while let Some(chunk) = response.chunk().await.map_err(failed)? {
        if is_first && chunk.starts_with(PACKED) {
            let mut body = BytesMut::from(&*chunk);
            body.extend_from_slice(&whole(response, most.saturating_sub(chunk.len())).await?);
            return unpacked(body.freeze(), most);
        }
        is_first = false;
        sifting.take(&chunk).await?;
    }
    Ok(sifting.left().into())
}

/// What is packed though nobody asked for that (RFC 1952), told by how it begins, as headers are wrong about it. What comes out has
/// the bound of what came.
fn unpacked(body: Bytes, most: usize) -> Result<Bytes, CallError> {
    if !body.starts_with(PACKED) {
        return Ok(body);
    }
    let mut whole = Vec::new();
    let more = u64::try_from(most).map_or(u64::MAX, |most| most.saturating_add(1));
    let read = MultiGzDecoder::new(&*body).take(more).read_to_end(&mut whole);
    read.map_err(|_| CallError::BadAnswer("it is packed wrongly".to_owned()))?;
    (whole.len() <= most)
        .then(|| whole.into())
        .ok_or(CallError::TooLarge(most))
}

impl Answered {
    /// The answer where it is a success, or what its status means.
    pub(crate) fn success(self) -> Result<Self, CallError> {
        if (200..300).contains(&self.status) {
            return Ok(self);
        }
        let expired = self.with_token && self.tells_expiry();
        match self.status {
            401 => Err(CallError::Unauthorized {
                expired,
                challenge: self.challenge,
            }),
            // Some gateways answer so to a token that ran out.
            403 if expired => Err(CallError::Unauthorized {
                expired,
                challenge: self.challenge,
            }),
            403 => Err(CallError::Forbidden {
                challenge: self.challenge,
            }),
            status => Err(CallError::Status(status)),
        }
    }

    /// True where header or body say that the token is no longer good.
    fn tells_expiry(&self) -> bool {
        let body = self.body.get(..self.body.len().min(4096)).unwrap_or_default();
        let body = String::from_utf8_lossy(body);
        [self.challenge.as_deref().unwrap_or_default(), &body]
            .into_iter()
            .any(|text| {
                let text = text.to_ascii_lowercase();
                EXPIRY_WORDS.iter().any(|words| text.contains(words))
            })
    }

    /// What it says of the token that it wants: in its header, or in its body where something on the way renamed that.
    pub(crate) fn challenge_or(&self, body: Option<&Value>) -> Option<String> {
        let told = || body?.get("www_authenticate")?.as_str().map(str::to_owned);
        self.challenge.clone().or_else(told)
    }

    pub(crate) fn json(&self) -> Result<Value, CallError> {
        foreign_json::read(&self.body).map_err(|_| CallError::BadAnswer("it is not JSON".to_owned()))
    }

    /// True where a token was sent and the agent says in its own words that it has expired.
    pub(crate) fn expired_by(&self, message: &str) -> bool {
        self.with_token && message.to_ascii_lowercase().contains("token has expired")
    }
}

/// What a failed exchange means. The guard's own refusal sits somewhere in the chain of causes.
pub(crate) fn failed(error: reqwest::Error) -> CallError {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(source) = cause {
        if let Some(Blocked(reason)) = source.downcast_ref::<Blocked>() {
            return CallError::NotAllowed((*reason).to_owned());
        }
        cause = source.source();
    }
    if error.is_timeout() && !error.is_connect() {
        CallError::Timeout
    } else {
        // The URL may hold what no log should.
        CallError::Unreachable {
            source: error.without_url(),
        }
    }
}
