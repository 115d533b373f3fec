//! Where the engine is looked for: it may come while the system already serves.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout};

use crate::embed::{Embed, EmbedError};
use crate::engine::Engine;
use crate::kept::VectorStore;

/// How long whoever asks waits for a hosted model.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long a hosted model that failed is left alone.
const REST: Duration = Duration::from_secs(30);

/// A place for the engine, shared by all that look for it; empty at first.
#[derive(Clone, Default)]
pub struct Slot(Arc<Place>);

#[derive(Default)]
struct Place {
    engine: OnceCell<Engine>,
    hosted: Option<Hosted>,
}

/// What an engine is made of whose model is asked over the network.
struct Hosted {
    embed: Arc<dyn Embed>,
    kept: Arc<dyn VectorStore>,
    rests_until: Mutex<Option<Instant>>,
}

impl Hosted {
    fn rests(&self) -> bool {
        let until = self.rests_until.lock().unwrap_or_else(PoisonError::into_inner);
        until.is_some_and(|until| Instant::now() < until)
    }
}

impl Slot {
    /// A place whose engine has a hosted model. It is made once somebody asks for it: a start waits for nothing.
    #[must_use]
    pub fn hosted(embed: Arc<dyn Embed>, kept: Arc<dyn VectorStore>) -> Self {
        Self(Arc::new(Place {
            engine: OnceCell::new(),
            hosted: Some(Hosted {
                embed,
                kept,
                rests_until: Mutex::default(),
            }),
        }))
    }

    /// The engine, once it is there. A hosted one is made now, and waited for a moment; while it rests there is none.
    pub async fn ready(&self) -> Option<&Engine> {
        if let Some(hosted) = &self.0.hosted {
            if hosted.rests() {
                return None;
            }
            if self.0.engine.get().is_none() {
                self.made_or_late().await;
            }
        }
        self.0.engine.get()
    }

    /// Waits for the engine that is made now, a moment. In a box, and made in a function of its own: whoever asks for an engine stands
    /// deep in a worker's stack, most of them where there is none to be made.
    fn made_or_late(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let own = self.clone();
        Box::pin(async move {
            // It goes on when nobody waits any more: what it makes is kept. Losing it loses nothing else.
            let making = tokio::spawn(async move { own.make().await });
            let _made_or_late = timeout(PATIENCE, making).await;
        })
    }

    async fn make(&self) {
        let Some(hosted) = &self.0.hosted else { return };
        let made = || async {
            // Whoever waited for one that failed does not try at once.
            match hosted.rests() {
                true => Err(EmbedError::Unavailable),
                false => Engine::new(Arc::clone(&hosted.embed), Arc::clone(&hosted.kept)).await,
            }
        };
        if let Err(error) = self.0.engine.get_or_try_init(made).await {
            self.failed(&error);
        }
    }

    /// How long an answer of a hosted model is waited for; none where the model is in this process.
    #[must_use]
    pub fn patience(&self) -> Option<Duration> {
        self.0.hosted.as_ref().map(|_| PATIENCE)
    }

    /// Says that the engine failed, and leaves a hosted model alone for a while.
    pub fn failed(&self, error: &EmbedError) {
        match &self.0.hosted {
            None => tracing::warn!(%error, "a text is understood by its words alone"),
            Some(hosted) if hosted.rests() => {}
            Some(hosted) => {
                let model = hosted.embed.model();
                tracing::warn!(model, %error, rest_s = REST.as_secs(), "words alone decide for a while");
                let mut until = hosted.rests_until.lock().unwrap_or_else(PoisonError::into_inner);
                *until = Some(Instant::now() + REST);
            }
        }
    }

    /// Puts it there. The first one stays.
    pub fn fill(&self, engine: Engine) {
        let _another_one_is_there = self.0.engine.set(engine);
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Slot")
            .field(&self.0.engine.get().is_some())
            .finish()
    }
}
