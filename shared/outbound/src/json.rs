//! Plain JSON over HTTP, for services that are no agents.

use domain::{SecretString, foreign_json};
use http::{HeaderMap, Method};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use crate::client::{Answered, Ask};
use crate::{CallError, Outbound};

impl Outbound {
    /// Gets JSON.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn get_json<T: DeserializeOwned>(
        &self,
        url: &Url,
        token: Option<&SecretString>,
    ) -> Result<T, CallError> {
        read(self.exchange(Ask::get(url).bearer(token)?).await?)
    }

    /// Posts JSON and reads JSON.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn post_json<B: Serialize + Sync + ?Sized, T: DeserializeOwned>(
        &self,
        url: &Url,
        body: &B,
        token: Option<&SecretString>,
    ) -> Result<T, CallError> {
        let body = serde_json::to_value(body)
            .map_err(|_| CallError::NotAllowed("the body is not JSON".to_owned()))?;
        read(self.exchange(Ask::post(url, &body).bearer(token)?).await?)
    }

    /// Posts JSON, with headers beside the usual ones, to where only the status of the answer counts.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn post(&self, url: &Url, body: &Value, headers: &HeaderMap) -> Result<(), CallError> {
        let mut ask = Ask::post(url, body);
        ask.headers.extend(headers.clone());
        self.exchange(ask).await?.success().map(drop)
    }

    /// Any method with any JSON, for callers that read refusals themselves: status and body as they came. A body that is
    /// empty or no JSON is `null`.
    ///
    /// # Errors
    /// [`CallError`] where no answer came at all.
    pub async fn request_json(
        &self,
        method: Method,
        url: &Url,
        body: Option<&Value>,
        token: Option<&SecretString>,
    ) -> Result<(u16, Value), CallError> {
        let ask = match body {
            Some(body) => Ask::post(url, body),
            None => Ask::get(url),
        };
        let answered = self.exchange(Ask { method, ..ask }.bearer(token)?).await?;
        Ok((answered.status, answered.json().unwrap_or_default()))
    }

    /// Any method with a body as it is, for callers that signed it: status and body as they came.
    ///
    /// # Errors
    /// [`CallError`] where no answer came at all.
    pub async fn request_bytes(
        &self,
        method: Method,
        url: &Url,
        headers: HeaderMap,
        body: Vec<u8>,
    ) -> Result<(u16, Vec<u8>), CallError> {
        let ask = Ask {
            method,
            headers,
            body: Some(body),
            ..Ask::get(url)
        };
        let answered = self.exchange(ask).await?;
        Ok((answered.status, answered.body.to_vec()))
    }
}

/// The JSON of an answer that is no refusal.
pub(crate) fn read<T: DeserializeOwned>(answered: Answered) -> Result<T, CallError> {
    let answered = answered.success()?;
    let body: &[u8] = if answered.body.is_empty() {
        b"null"
    } else {
        &answered.body
    };
    // The reason names a place, not the content.
    foreign_json::read(body).map_err(|error| {
        CallError::BadAnswer(format!(
            "it is not the JSON that was expected (line {}, column {})",
            error.line(),
            error.column()
        ))
    })
}
