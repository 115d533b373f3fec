//! A delegation for tests of other rooms.

use crate::{
    AgentId, AgentType, Endpoint, Generation, Job, MessageId, NewJob, SealedToken, Timestamp, Transport,
};

/// Job 0 of a task: the weather in Oslo, asked of an agent at `https://agents.example/x` over JSON-RPC.
///
/// # Panics
/// Never: what it parses is right.
#[must_use]
#[expect(clippy::unwrap_used, reason = "constants")]
pub fn new_job() -> NewJob {
    NewJob {
        number: 0,
        agent_type: AgentType::parse("weather").unwrap(),
        agent_id: AgentId::from_bytes([1; 16]),
        agent_name: "Weather".into(),
        endpoint: Endpoint {
            url: "https://agents.example/x".parse().unwrap(),
            generation: Generation::V1_0,
            transport: Transport::JsonRpc,
            tenant: None,
            resource: None,
        },
        instruction: "Oslo".into(),
        message_id: MessageId::derived("1"),
        webhook: SealedToken {
            hash: "h".into(),
            sealed: Some("s".into()),
        },
        step: 0,
    }
}

/// The same, stored at this time, before its message leaves.
#[must_use]
pub fn job(now: Timestamp) -> Job {
    Job::prepare(new_job(), now)
}
