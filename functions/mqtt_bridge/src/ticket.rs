//! What the bridge would have to remember of a request until its last reply: sealed, and kept by the agent as the token of a
//! push configuration.

use a2a::jsonrpc::RpcId;
use a2a::mqtt::{AgentAddress, ArtifactMode, ReplyPath};
use auth::Sealer;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::{Entropy, ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};

/// What a sealed ticket is bound to.
const PLACE: &str = "mqtt/reply";

/// Where the replies to a request go, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ticket {
    /// Who answers.
    pub(crate) responder: AgentAddress,
    /// The responder is named in each reply: its requester asked a pool.
    pub(crate) names_responder: bool,
    pub(crate) reply: ReplyPath,
    pub(crate) id: RpcId,
    pub(crate) artifacts: ArtifactMode,
    pub(crate) mode: Mode,
}

/// What a request is answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mode {
    /// The settled task.
    Settled,
    /// Each event.
    Stream,
}

#[derive(Serialize, Deserialize)]
struct Sealed {
    r: String,
    p: bool,
    t: String,
    c: String,
    i: RpcId,
    b: bool,
    m: Mode,
}

impl Ticket {
    pub(crate) fn seal(&self, sealer: &Sealer, entropy: &dyn Entropy) -> SecretString {
        let sealed = Sealed {
            r: self.responder.to_string(),
            p: self.names_responder,
            t: self.reply.topic.clone(),
            c: URL_SAFE_NO_PAD.encode(&self.reply.correlation),
            i: self.id.clone(),
            b: self.artifacts == ArtifactMode::Binary,
            m: self.mode,
        };
        // Text and flags alone cannot fail to be written.
        let plain = serde_json::to_vec(&sealed).unwrap_or_default();
        sealer.seal(&plain, PLACE, entropy).into()
    }

    /// Opens what was sealed here; `None` for anything else.
    pub(crate) fn open(token: &SecretString, sealer: &Sealer) -> Option<Self> {
        let plain = sealer.open(token.expose_secret(), PLACE).ok()?;
        let sealed: Sealed = serde_json::from_slice(&plain).ok()?;
        Some(Self {
            responder: sealed.r.parse().ok()?,
            names_responder: sealed.p,
            reply: ReplyPath {
                topic: sealed.t,
                correlation: URL_SAFE_NO_PAD.decode(sealed.c).ok()?.into(),
            },
            id: sealed.i,
            artifacts: if sealed.b {
                ArtifactMode::Binary
            } else {
                ArtifactMode::Json
            },
            mode: sealed.m,
        })
    }
}

#[cfg(test)]
mod tests {
    use domain::SystemEntropy;

    use super::*;

    #[test]
    fn a_ticket_opens_where_it_was_sealed_and_nowhere_else() {
        let sealer = || Sealer::new(vec![("k".to_owned(), Sealer::generate_key(&SystemEntropy))]).unwrap();
        let (own, other) = (sealer(), sealer());
        let ticket = Ticket {
            responder: "acme/platform/weather".parse().unwrap(),
            names_responder: true,
            reply: ReplyPath {
                topic: "$a2a/v1/reply/acme/lab/asker/s".to_owned(),
                correlation: vec![0, 0xff, 1].into(),
            },
            id: RpcId::default(),
            artifacts: ArtifactMode::Binary,
            mode: Mode::Stream,
        };
        let sealed = ticket.seal(&own, &SystemEntropy);
        assert_eq!(Ticket::open(&sealed, &own), Some(ticket.clone()));
        assert_eq!(Ticket::open(&sealed, &other), None);
        assert_eq!(Ticket::open(&"rubbish".into(), &own), None);
        let elsewhere = own.seal(b"{}", "grant/x", &SystemEntropy);
        assert_eq!(Ticket::open(&elsewhere.into(), &own), None);
        let longest = Ticket {
            reply: ReplyPath {
                correlation: vec![7; a2a::mqtt::CORRELATION_MAX].into(),
                ..ticket.reply.clone()
            },
            ..ticket
        };
        // It travels in two headers.
        assert!(longest.seal(&own, &SystemEntropy).expose_secret().len() < 3_000);
    }
}
