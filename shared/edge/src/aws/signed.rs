//! Calls to AWS without an SDK: signed here (Signature Version 4), and sent through `outbound`. For services of which one operation is
//! wanted, and whose SDK would be a minute of each build.

use aws_credential_types::provider::ProvideCredentials as _;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use outbound::{CallError, Outbound};
use url::Url;

use super::{Caller, SOMEWHERE, is_emulator, now, without_credentials};

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
    /// There are no credentials to sign with.
    #[error("there are no credentials: {0}")]
    Credentials(String),
    /// It cannot be signed.
    #[error("the call cannot be signed: {0}")]
    Signature(String),
    /// No answer came.
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
        let provider = caller.credentials(Some(&self.endpoint));
        let provider = provider.ok_or_else(|| SignedCallError::Credentials("none are set".to_owned()))?;
        let credentials = provider.provide_credentials().await;
        let credentials = credentials.map_err(|error| SignedCallError::Credentials(chain(&error)))?;
        let unsigned = |error: &dyn std::error::Error| SignedCallError::Signature(chain(error));

        let endpoint = without_credentials(&self.endpoint);
        let url = format!("{}{path}", endpoint.trim_end_matches('/'));
        let region = self.region.as_deref();
        let region = region.or(is_emulator(Some(&self.endpoint)).then_some(SOMEWHERE));
        let identity = credentials.into();
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region(region.unwrap_or_default())
            .name(self.name)
            .time(now())
            .settings(SigningSettings::default())
            .build()
            .map_err(|error| unsigned(&error))?;
        let all = headers.iter().map(|(name, value)| (*name, *value));
        let request = SignableRequest::new("POST", &url, all.clone(), SignableBody::Bytes(&body))
            .map_err(|error| unsigned(&error))?;
        let signed = sign(request, &params.into()).map_err(|error| unsigned(&error))?;
        let (signature, _) = signed.into_parts();

        let mut sent = HeaderMap::new();
        for (name, value) in all.chain(signature.headers()) {
            let name = HeaderName::try_from(name).map_err(|error| unsigned(&error))?;
            sent.insert(
                name,
                HeaderValue::try_from(value).map_err(|error| unsigned(&error))?,
            );
        }
        let url = Url::parse(&url).map_err(|error| unsigned(&error))?;
        let (status, answer) = outbound.request_bytes(Method::POST, &url, sent, body).await?;
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

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    aws_sdk_sqs::error::DisplayErrorContext(error).to_string()
}
