//! What issuers say of themselves, for their own words that arrive unasked: anybody can send a token that names an issuer, so what
//! arrives makes it be asked seldom. Whoever signs in is led by what it says at that moment, and does not come here.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use domain::Timestamp;
use outbound::Outbound;
use outbound::oauth::{OAuthError, ServerMetadata};
use tokio::sync::Mutex;

/// How long it is good: an issuer's addresses change rarely.
const AGE: Duration = Duration::from_secs(3600);
/// Shortest time between two tries where the last one failed.
const PAUSE: Duration = Duration::from_secs(60);
/// The same while nothing at all was had from it.
const FIRST_PAUSE: Duration = Duration::from_secs(5);

/// What was asked of each issuer of the list, by its name: nothing that a token says adds one.
#[derive(Clone, Default)]
pub(crate) struct ToldMetadata(Arc<Mutex<HashMap<String, Asked>>>);

struct Asked {
    at: Timestamp,
    failed: bool,
    told: Option<ServerMetadata>,
}

impl Asked {
    fn is_due(&self, now: Timestamp) -> bool {
        let pause = match (self.failed, &self.told) {
            (true, None) => FIRST_PAUSE,
            (true, Some(_)) => PAUSE,
            (false, _) => AGE,
        };
        !self.at.is_lately(pause, now)
    }
}

impl ToldMetadata {
    /// What the issuer says; `None` where it does not answer, or did not a short while ago.
    ///
    /// # Errors
    /// Why it could not be had, where it was asked now and nothing is known of before.
    pub(crate) async fn of(
        &self,
        outbound: &Outbound,
        issuer: &str,
        now: Timestamp,
    ) -> Result<Option<ServerMetadata>, OAuthError> {
        // Held while asking: who comes meanwhile waits for the same answer.
        let mut all = self.0.lock().await;
        let before = all.get(issuer);
        if let Some(asked) = before.filter(|asked| !asked.is_due(now)) {
            return Ok(asked.told.clone());
        }
        let told = before.and_then(|asked| asked.told.clone());
        // Noted before: a caller who goes away while it waits does not make the next one ask at once.
        let mut asked = |failed, told| {
            all.insert(
                issuer.to_owned(),
                Asked {
                    at: now,
                    failed,
                    told,
                },
            )
        };
        asked(true, told.clone());
        match outbound.server_metadata(issuer).await {
            Ok(found) => {
                asked(false, Some(found.clone()));
                Ok(Some(found))
            }
            Err(error) if told.is_none() => Err(error),
            Err(_) => Ok(told),
        }
    }
}

impl std::fmt::Debug for ToldMetadata {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToldMetadata").finish_non_exhaustive()
    }
}
