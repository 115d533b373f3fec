//! Signatures of requests to AWS (Signature Version 4), for the few calls whose SDK would be a minute of each build and a megabyte of each
//! program.

use std::time::{Duration, UNIX_EPOCH};

use aws_credential_types::provider::{ProvideCredentials as _, SharedCredentialsProvider};
use aws_sigv4::http_request::{
    PayloadChecksumKind, PercentEncodingMode, SignableBody, SignableRequest, SigningSettings,
    UriPathNormalizationMode, sign,
};
use aws_sigv4::sign::v4;
use domain::Timestamp;
use http::header::HOST;
use http::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

use crate::CallError;

/// Who asks a service of AWS, and which.
#[derive(Debug, Clone)]
pub struct Signer {
    /// The service, as signatures call it, such as `kms`.
    pub service: &'static str,
    /// Its region.
    pub region: String,
    /// Whose credentials sign; without any nothing is signed, and AWS refuses.
    pub credentials: Option<SharedCredentialsProvider>,
}

impl Signer {
    /// These headers with the signature over them, the method, the address and the body.
    ///
    /// # Errors
    /// [`CallError::NotAllowed`] where there are no credentials, or the request cannot be signed.
    pub async fn headers(
        &self,
        (method, url): (&str, &Url),
        headers: &[(&str, &str)],
        body: &[u8],
        now: Timestamp,
    ) -> Result<HeaderMap, CallError> {
        let refused = |what: &str| {
            let service = self.service;
            CallError::NotAllowed(format!("a request to {service} cannot be signed: {what}"))
        };
        let mut all = HeaderMap::new();
        for (name, value) in headers {
            let name = HeaderName::try_from(*name).map_err(|_| refused("a header"))?;
            all.insert(
                name,
                HeaderValue::try_from(*value).map_err(|_| refused("a header"))?,
            );
        }
        let Some(credentials) = &self.credentials else {
            return Ok(all);
        };
        let credentials = credentials.provide_credentials().await;
        let credentials = credentials.map_err(|error| refused(&with_causes(&error)))?;
        let mut settings = SigningSettings::default();
        if self.service == "s3" {
            // S3 alone takes a path as it is written.
            settings.percent_encoding_mode = PercentEncodingMode::Single;
            settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
            settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
        }
        let identity = credentials.into();
        let millis = u64::try_from(now.millis()).unwrap_or_default();
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name(self.service)
            .time(UNIX_EPOCH + Duration::from_millis(millis))
            .settings(settings)
            .build()
            .map_err(|_| refused("settings"))?;
        let host = [(HOST.as_str(), url.authority())];
        let signed = host.into_iter().chain(headers.iter().copied());
        let request = SignableRequest::new(method, url.as_str(), signed, SignableBody::Bytes(body))
            .map_err(|_| refused("request"))?;
        let (instructions, _) = sign(request, &params.into())
            .map_err(|_| refused("signature"))?
            .into_parts();
        for (name, value) in instructions.headers() {
            let name = HeaderName::try_from(name).map_err(|_| refused("a header"))?;
            let mut value = HeaderValue::from_str(value).map_err(|_| refused("a header"))?;
            value.set_sensitive(true);
            all.insert(name, value);
        }
        Ok(all)
    }
}

/// An error and what led to it: the SDK's own text names only the outermost.
fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use aws_credential_types::Credentials;

    use super::*;

    /// An example of AWS's own documentation ("Authenticating Requests: Using the Authorization Header", Signature Version 4).
    #[tokio::test]
    async fn requests_are_signed_as_aws_documents_it() {
        let key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
        let credentials = Credentials::new("AKIAIOSFODNN7EXAMPLE", key, None, None, "test");
        let signer = Signer {
            service: "s3",
            region: "us-east-1".to_owned(),
            credentials: Some(SharedCredentialsProvider::new(credentials)),
        };
        let at = Timestamp::parse("2013-05-24T00:00:00.000Z").unwrap();
        let url = Url::parse("https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J").unwrap();
        let headers = signer.headers(("GET", &url), &[], b"", at).await.unwrap();
        let told = headers["authorization"].to_str().unwrap();
        assert_eq!(
            told,
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, \
             SignedHeaders=host;x-amz-content-sha256;x-amz-date, \
             Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
        );
    }
}
