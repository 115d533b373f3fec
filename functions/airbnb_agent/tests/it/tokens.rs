//! Who may call: anybody without a token; with one, only who has a good one.

use auth::Verifier;

use crate::world::{URL, World, world_with};

async fn world(verifier: Verifier) -> World {
    world_with(verifier, |_| None).await
}

agent_testing::token_suite! {
    url: URL,
    says: "A flat in Oslo for two, Friday to Sunday",
    world: world,
}
