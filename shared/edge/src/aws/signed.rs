//! Calls to AWS without an SDK, through `outbound`: for services of which one operation is wanted.

use domain::{Clock as _, SystemClock};
use http::{HeaderMap, Method};
use outbound::{CallError, Outbound};
use url::Url;

use super::{Caller, without_credentials};

/// A service of AWS that is called without an SDK.
#[derive(Debug, Clone)]
pub struct Service {
    /// What signatures call it, such as `kms`.
    pub name: &'static str,
    /// Where it is; there is none without.
    pub endpoint: Url,
    /// The region, where the emulator at the endpoint has none.
    pub region: Option<String>,
}

/// Why a call came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum SignedCallError {
    /// It could not be signed, or no answer came.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The service refused.
    #[error("{service} answered {status}: {body}")]
    Refused {
        /// Which.
        service: &'static str,
        /// The status.
        status: u16,
        /// The beginning of what it said.
        body: String,
    },
}

/// Most of a refusal that is told.
const TOLD: usize = 400;

/// By what Lambda knows which invocations led to a call, and stops those that go round in circles.
const TRACE: &str = "x-amzn-trace-id";

/// What led to this invocation, as AWS's own clients hand it on.
#[expect(
    clippy::disallowed_methods,
    reason = "no setting: the runtime says it anew with each invocation, and AWS's own clients read it themselves"
)]
fn lineage() -> Option<String> {
    let of_lambda = std::env::var_os("AWS_LAMBDA_FUNCTION_NAME").is_some();
    let told = of_lambda
        .then(|| std::env::var("_X_AMZN_TRACE_ID").ok())
        .flatten();
    told.filter(|told| told.bytes().all(|byte| byte.is_ascii_graphic()))
}

impl Service {
    /// Posts a body to a path below the endpoint; what was answered.
    ///
    /// # Errors
    /// [`SignedCallError`], also for every status that is no success.
    pub async fn post(
        &self,
        (caller, outbound): (&Caller, &Outbound),
        path: &str,
        headers: &[(&'static str, &str)],
        body: Vec<u8>,
    ) -> Result<Vec<u8>, SignedCallError> {
        let url = outbound::below(&without_credentials(&self.endpoint), path.trim_start_matches('/'));
        let signer = caller.signer(self.name, Some(&self.endpoint), self.region.as_deref());
        let lineage = lineage();
        let lineage = lineage.as_deref().map(|lineage| (TRACE, lineage));
        let headers: Vec<_> = headers.iter().copied().chain(lineage).collect();
        let headers: HeaderMap = signer
            .headers(("POST", &url), &headers, &body, SystemClock.now())
            .await?;
        let (status, answer) = outbound.request_bytes(Method::POST, &url, headers, body).await?;
        match status {
            200..300 => Ok(answer),
            _ => Err(SignedCallError::Refused {
                service: self.name,
                status,
                body: String::from_utf8_lossy(&answer).chars().take(TOLD).collect(),
            }),
        }
    }
}
