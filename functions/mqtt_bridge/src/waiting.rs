//! The calls that wait for their first reply in this process. A call that waits no longer has lost nothing: its replies go to its
//! webhook.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use a2a::mqtt::{AgentAddress, ReplyItem};
use tokio::sync::oneshot;

type Answer = oneshot::Sender<Reply>;

/// A reply to a call.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) item: ReplyItem,
    /// Who has the task, where the reply says so.
    pub(crate) responder: Option<AgentAddress>,
}

/// The calls that wait, by their correlation.
#[derive(Debug, Default, Clone)]
pub(crate) struct Waiting {
    calls: Arc<Mutex<HashMap<String, Answer>>>,
}

/// A call that waits, until it is dropped.
#[derive(Debug)]
pub(crate) struct Waits {
    correlation: String,
    answer: oneshot::Receiver<Reply>,
    waiting: Waiting,
}

impl Waiting {
    pub(crate) fn begin(&self, correlation: String) -> Waits {
        let (tell, answer) = oneshot::channel();
        self.calls().insert(correlation.clone(), tell);
        Waits {
            correlation,
            answer,
            waiting: self.clone(),
        }
    }

    /// Gives the call its first reply; gives it back where nobody waits for it any more.
    pub(crate) fn answer(&self, correlation: &str, reply: Reply) -> Result<(), Reply> {
        match self.calls().remove(correlation) {
            Some(call) => call.send(reply),
            None => Err(reply),
        }
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<String, Answer>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waits {
    /// The first reply.
    pub(crate) async fn reply(&mut self) -> Option<Reply> {
        (&mut self.answer).await.ok()
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        self.waiting.calls().remove(&self.correlation);
    }
}
