//! The state machine of a consent.
//!
//! ```text
//! Open ──start──► Started ──give──► Done
//!                  ▲   │ └──deny──► Denied
//!            start │   └──hold────► AwaitingCode ──give──► Done
//!                  └──────────────────┘    └──fifth wrong code──► Ended
//! Open, Started, AwaitingCode ──end, once their time is over──► Ended
//! Open, Started, AwaitingCode, Ended ──withdraw──► Denied
//! ```
//!
//! An answer that was on its way when the link ended still counts, so `give` and `deny` also leave `Ended`; but a
//! consent that is done or denied stays so.

use std::collections::{BTreeMap, BTreeSet};

use domain::{AgentName, MessageId, Owner, RECORDS, TaskId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How many wrong codes may be typed back. Seven letters cannot be guessed in five tries, and a user who mistyped that
/// often gets a fresh link.
const WRONG_CODES_MAX: usize = 5;
/// How many proofs of a browser are remembered at once. Each lives for a minute, and a person presses a button once or twice.
const PROOFS_MAX: usize = 16;

/// What a user is asked to consent to, and for which task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsentRequest {
    /// Who is asked.
    pub owner: Owner,
    /// The agent whose task waits.
    pub agent: AgentName,
    /// The task that waits.
    pub task_id: TaskId,
    /// The number of the job that needs the grant.
    pub job: u32,
    /// The id of the authorization server in our configuration, such as `idp`.
    pub provider: String,
    /// That server's issuer. The callback refuses to call any other.
    pub issuer: String,
    /// The resource (RFC 8707): the audience of the tokens.
    pub resource: String,
    /// The scopes that are asked for.
    pub scopes: Vec<String>,
}

/// A user's consent, from the link in the chat to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consent {
    /// Its id, the last part of the link: the text of a UUID.
    pub id: String,
    /// What is asked of whom.
    pub request: ConsentRequest,
    /// How far it is.
    pub stage: Stage,
    /// When it was requested.
    pub created_at: Timestamp,
    /// The end of the link; while a code is awaited, the end of the code.
    pub expires_at: Timestamp,
    /// The messages in which a wrong code was typed back. They are counted over all codes of one link, so that starting
    /// anew brings no further tries.
    pub(crate) wrong_codes: BTreeSet<MessageId>,
    /// The proofs of a browser that were used, by their marks, each until it ends by itself.
    pub(crate) used_proofs: BTreeMap<String, Timestamp>,
    /// 1 at first; grows by one with every write.
    pub(crate) version: u64,
    /// The version of its record, at least ours.
    pub(crate) v: u32,
    /// Fields that a newer release wrote; written back unchanged.
    pub(crate) more: Map<String, Value>,
}

/// How far a consent is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// Nobody has followed the link.
    Open,
    /// A browser was sent to the authorization server.
    Started(Started),
    /// Granted in a browser without the user's session; it counts once the user types the code back.
    AwaitingCode {
        /// The hash of the code.
        code_hash: String,
        /// What was granted, sealed.
        sealed_grant: String,
    },
    /// The user has consented.
    Done,
    /// The user has refused.
    Denied,
    /// Its time ran out, or too many wrong codes were typed back.
    Ended,
    /// A stage of a newer release. It is shown as waiting; nothing here moves it.
    Newer(Newer),
}

/// A proof that a browser has the session of the user who started the task. Whoever makes one has verified it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedProof {
    /// By what it is known again.
    pub mark: String,
    /// When it ends by itself.
    pub until: Timestamp,
}

/// A browser on its way through the authorization server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// The hash of the `state` parameter; an answer with another one is refused.
    pub state_hash: String,
    /// The hash of the cookie that the browser got.
    pub browser_hash: String,
    /// What the callback needs to take the answer ([`auth::ConsentSecrets`]), sealed.
    pub sealed: String,
}

/// The whole record of a newer release, kept as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Newer(pub(crate) Value);

/// Why a consent cannot make a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidMove {
    /// It is done.
    #[error("the user has consented already")]
    Done,
    /// It is denied.
    #[error("the user has refused")]
    Denied,
    /// It was ended.
    #[error("the link has been ended")]
    Ended,
    /// Its time is over, and nobody has written that down yet.
    #[error("the link has run out")]
    RanOut,
    /// Its time is not over.
    #[error("the link is still good")]
    StillGood,
    /// The authorization server was not asked.
    #[error("nobody has followed the link")]
    NotStarted,
    /// It was started anew: another answer is awaited.
    #[error("this answer is not awaited")]
    OtherAnswer,
    /// The proof was used before.
    #[error("the proof has been used")]
    ProofUsed,
    /// No code was shown, or it is void.
    #[error("no code is awaited")]
    NoCode,
    /// A newer release wrote it.
    #[error("only a newer release knows this stage")]
    Newer,
}

impl Consent {
    /// A new consent, whose link is good until `until`.
    #[must_use]
    pub fn new(id: String, request: ConsentRequest, now: Timestamp, until: Timestamp) -> Self {
        Self {
            id,
            request,
            stage: Stage::Open,
            created_at: now,
            expires_at: until,
            wrong_codes: BTreeSet::new(),
            used_proofs: BTreeMap::new(),
            version: 1,
            v: RECORDS,
            more: Map::new(),
        }
    }

    /// How many wrong codes were typed back.
    #[must_use]
    pub fn wrong_codes(&self) -> usize {
        self.wrong_codes.len()
    }

    /// Checks that the user can still answer.
    ///
    /// # Errors
    /// [`InvalidMove`] says why not.
    pub fn running(&self, now: Timestamp) -> Result<(), InvalidMove> {
        match self.stage {
            Stage::Open | Stage::Started(_) | Stage::AwaitingCode { .. } if self.expires_at > now => Ok(()),
            Stage::Open | Stage::Started(_) | Stage::AwaitingCode { .. } => Err(InvalidMove::RanOut),
            Stage::Done => Err(InvalidMove::Done),
            Stage::Denied => Err(InvalidMove::Denied),
            Stage::Ended => Err(InvalidMove::Ended),
            Stage::Newer(_) => Err(InvalidMove::Newer),
        }
    }

    /// A browser is sent to the authorization server. What was started before, or waits for its code, is void.
    ///
    /// # Errors
    /// [`InvalidMove`] where the user cannot answer any more.
    pub fn start(self, started: Started, now: Timestamp) -> Result<Self, InvalidMove> {
        self.running(now)?;
        Ok(self.at(Stage::Started(started)))
    }

    /// The same, in a browser that has proved itself; a proof counts once.
    ///
    /// # Errors
    /// As [`Consent::start`], and [`InvalidMove::ProofUsed`].
    pub fn start_proved(
        mut self,
        started: Started,
        proof: UsedProof,
        now: Timestamp,
    ) -> Result<Self, InvalidMove> {
        self.running(now)?;
        self.used_proofs.retain(|_, until| *until > now);
        if self.used_proofs.contains_key(&proof.mark) || self.used_proofs.len() >= PROOFS_MAX {
            return Err(InvalidMove::ProofUsed);
        }
        self.used_proofs.insert(proof.mark, proof.until);
        self.start(started, now)
    }

    /// The answer to the state with this hash came in a browser without the user's session: the code must be typed back
    /// before `until`.
    ///
    /// # Errors
    /// [`InvalidMove`] where another answer is awaited, or none.
    pub fn hold(
        self,
        state_hash: &str,
        code_hash: String,
        sealed_grant: String,
        until: Timestamp,
    ) -> Result<Self, InvalidMove> {
        match &self.stage {
            Stage::Started(started) if started.state_hash == state_hash => {}
            Stage::Started(_) | Stage::AwaitingCode { .. } => return Err(InvalidMove::OtherAnswer),
            _ => return Err(self.answerable().err().unwrap_or(InvalidMove::Ended)),
        }
        let held = Stage::AwaitingCode {
            code_hash,
            sealed_grant,
        };
        Ok(Self {
            expires_at: until,
            ..self.at(held)
        })
    }

    /// The grant is stored. A consent that is done stays so.
    ///
    /// # Errors
    /// [`InvalidMove`] where the user has refused, or was not asked.
    pub fn give(self) -> Result<Self, InvalidMove> {
        match self.answerable() {
            Ok(()) | Err(InvalidMove::Done) => Ok(self.at(Stage::Done)),
            Err(refused) => Err(refused),
        }
    }

    /// The user has refused. A consent that is denied stays so.
    ///
    /// # Errors
    /// [`InvalidMove`] where the user has consented, or was not asked.
    pub fn deny(self) -> Result<Self, InvalidMove> {
        match self.answerable() {
            Ok(()) | Err(InvalidMove::Denied) => Ok(self.at(Stage::Denied)),
            Err(refused) => Err(refused),
        }
    }

    /// The user wants none of it any more, however far it is, and also where no browser has asked yet.
    ///
    /// # Errors
    /// [`InvalidMove`] where the user has consented.
    pub fn withdraw(self) -> Result<Self, InvalidMove> {
        match self.stage {
            Stage::Done => Err(InvalidMove::Done),
            Stage::Newer(_) => Err(InvalidMove::Newer),
            _ => Ok(self.at(Stage::Denied)),
        }
    }

    /// Its time is over. A consent that was ended stays so.
    ///
    /// # Errors
    /// [`InvalidMove`] before that, and where the user has answered.
    pub fn end(self, now: Timestamp) -> Result<Self, InvalidMove> {
        match self.running(now) {
            Ok(()) => Err(InvalidMove::StillGood),
            Err(InvalidMove::RanOut | InvalidMove::Ended) => Ok(self.at(Stage::Ended)),
            Err(answered) => Err(answered),
        }
    }

    /// A wrong code was typed back in this message, which counts once however often its task is looked at. The last
    /// try that there is ends the consent.
    ///
    /// # Errors
    /// [`InvalidMove`] where no code is awaited.
    pub fn count_wrong_code(mut self, message: MessageId, now: Timestamp) -> Result<Self, InvalidMove> {
        self.running(now)?;
        if !matches!(self.stage, Stage::AwaitingCode { .. }) {
            return Err(InvalidMove::NoCode);
        }
        self.wrong_codes.insert(message);
        match self.wrong_codes.len() >= WRONG_CODES_MAX {
            true => Ok(self.at(Stage::Ended)),
            false => Ok(self),
        }
    }

    /// Checks that an answer may come from the authorization server, also after the link's end.
    fn answerable(&self) -> Result<(), InvalidMove> {
        match self.stage {
            Stage::Open => Err(InvalidMove::NotStarted),
            Stage::Started(_) | Stage::AwaitingCode { .. } | Stage::Ended => Ok(()),
            Stage::Done => Err(InvalidMove::Done),
            Stage::Denied => Err(InvalidMove::Denied),
            Stage::Newer(_) => Err(InvalidMove::Newer),
        }
    }

    fn at(self, stage: Stage) -> Self {
        Self { stage, ..self }
    }
}
