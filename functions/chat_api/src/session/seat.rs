//! A stream ends soon after the session that it was opened with: whoever has signed out, was removed or has lost their session otherwise
//! is told nothing more. So it does where the tenant is suspended.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::{ExposeSecret, Owner};
use futures_util::{Stream, StreamExt, stream};
use http::HeaderMap;
use store::{OpenStream, Standing, StoreError};
use tokio::time::Instant;

use crate::error::RouteError;
use crate::state::AppState;

/// Who sits before a stream.
pub(crate) struct Seat {
    room: Arc<AppState>,
    owner: Owner,
    /// The hash of the session's token; none where the session began with this request.
    session: Option<String>,
    /// Held for as long as the stream is open.
    _open: Option<OpenStream>,
}

/// For how much longer than a stream may be open its lease lasts: it ends in between, in any case.
const SLACK: Duration = Duration::from_secs(5);

impl Seat {
    /// Whoever came with these headers, whose things the stream tells of.
    pub(crate) fn of(room: &Arc<AppState>, headers: &HeaderMap, owner: &Owner) -> Self {
        let token = edge::session::presented(headers, &room.tenant, &room.base);
        Self {
            room: Arc::clone(room),
            owner: owner.clone(),
            session: token.map(|token| auth::token::hash(token.expose_secret())),
            _open: None,
        }
    }

    /// The same, for a stream that only tells: an owner has few of them open at once.
    pub(crate) async fn taken(self) -> Result<Self, RouteError> {
        let Self { room, owner, .. } = &self;
        let (now, lasts) = (room.clock.now(), room.settings.events_limit + SLACK);
        let ledger = room.store.ledger();
        let open = ledger.open_stream((&room.tenant, owner), (now, lasts)).await?;
        let open = open.map_err(|over| RouteError::over_quota(&over, now))?;
        Ok(Self {
            _open: Some(open),
            ..self
        })
    }

    /// A guest whose session began with this request.
    pub(crate) fn new_guests(room: &Arc<AppState>, owner: &Owner) -> Self {
        Self {
            room: Arc::clone(room),
            owner: owner.clone(),
            session: None,
            _open: None,
        }
    }

    /// The frames, for as long as the session is good.
    pub(crate) fn sees(
        self,
        frames: impl Stream<Item = Bytes> + Send + 'static,
    ) -> impl Stream<Item = Bytes> + Send + 'static {
        let shown = Shown {
            look_at: Instant::now() + self.room.settings.session_look,
            seat: self,
            frames: Box::pin(frames),
        };
        stream::unfold(Some(shown), |shown| async {
            let mut shown = shown?;
            let bytes = shown.next().await?;
            Some((bytes, Some(shown)))
        })
    }

    async fn is_taken(&self) -> bool {
        self.looked().await.unwrap_or_else(|error| {
            // What the stream itself cannot read then ends it.
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "whether a stream's session is still good is not known now");
            true
        })
    }

    async fn looked(&self) -> Result<bool, StoreError> {
        let (store, tenant, now) = (&self.room.store, &self.room.tenant, self.room.clock.now());
        if store.tenants().standing(tenant, now).await? != Standing::Active {
            return Ok(false);
        }
        let Some(session) = &self.session else {
            return Ok(true);
        };
        let found = store.sessions().live_session(tenant, session, now).await?;
        Ok(found.is_some_and(|found| found.owner == self.owner))
    }
}

struct Shown {
    seat: Seat,
    frames: Pin<Box<dyn Stream<Item = Bytes> + Send>>,
    look_at: Instant,
}

impl Shown {
    /// `None` where the frames or the session have come to their end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            tokio::select! {
                biased;
                () = tokio::time::sleep_until(self.look_at) => {
                    if !self.seat.is_taken().await {
                        return None;
                    }
                    self.look_at = Instant::now() + self.seat.room.settings.session_look;
                }
                frame = self.frames.next() => return frame,
            }
        }
    }
}
