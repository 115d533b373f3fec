//! One request, and what is looked at in its answer.

use std::time::{Duration, Instant};

use http::{HeaderMap, StatusCode};
use serde_json::Value;
use url::Url;

use crate::client::{Call, Client, ClientError};

/// Asks as anybody may.
pub(super) struct Look(pub(super) Client);

/// What came.
pub(super) struct Looked {
    pub(super) status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
    /// Until all of it was there.
    pub(super) took: Duration,
}

impl Looked {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Its JSON; null where it is none.
    pub(super) fn as_json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

impl Look {
    /// Whatever is answered; a sentence where nothing is.
    pub(super) async fn at(&self, call: Call<'_>) -> Result<Looked, String> {
        let began = Instant::now();
        let looked = self.0.look(call).await.map_err(|fault| match fault {
            ClientError::NotRunning(url) => format!("nobody answers at {url}"),
            other => other.to_string(),
        });
        let (status, headers, body) = looked?;
        Ok(Looked {
            status,
            headers,
            body,
            took: began.elapsed(),
        })
    }

    /// The JSON of an answer that is 200.
    pub(super) async fn json(&self, call: Call<'_>) -> Result<Value, String> {
        let looked = self.at(call).await?;
        if looked.status != StatusCode::OK {
            return Err(looked.status.to_string());
        }
        serde_json::from_slice(&looked.body).map_err(|_| "it is no JSON".to_owned())
    }

    pub(super) async fn good(&self, url: Url) -> Result<Value, String> {
        self.json(Call::get(url)).await
    }
}
