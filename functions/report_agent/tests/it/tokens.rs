//! Who may call: anybody without a token; with one, only who has a good one.

use std::sync::Arc;

use agent_testing::World;
use auth::Verifier;
use domain::{ManualClock, Timestamp};

use crate::{STEP, URL};

async fn world(verifier: Verifier) -> World {
    let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_767_225_600_000)));
    let build = |parts| report_agent::agent(parts, STEP).unwrap();
    World::new(report_agent::NAME, URL, clock, verifier, build).await
}

agent_testing::token_suite! {
    url: URL,
    says: "A report on rain",
    world: world,
}
