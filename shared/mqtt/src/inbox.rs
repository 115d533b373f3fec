//! What comes in, and who takes it.

use std::pin::Pin;

use a2a::mqtt::Publication;

/// Something that came in.
#[derive(Debug, Clone)]
pub struct Received {
    /// What.
    pub publication: Publication,
    /// The broker has sent it before, and got no acknowledgement.
    pub is_repeat: bool,
    /// Its packet id; 0 at QoS 0. Of two publications that wait for their acknowledgement it is not the same.
    pub packet_id: u16,
}

/// Work on something that came in.
pub type Taking = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Who takes what comes in.
pub trait Inbox: Send + Sync {
    /// Takes it. This is called in the order of receipt, and must not take long; the work that it returns goes on beside that on
    /// others. When the work is done, what came in is acknowledged, in the order of receipt again. The work is dropped with its
    /// connection: the broker then sends the same again.
    fn take(&self, received: Received) -> Taking;
}
