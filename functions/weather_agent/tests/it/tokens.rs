//! Who may call: anybody without a token; with one, only who has a good one.

use crate::over_http::{URL, world_with};

agent_testing::token_suite! {
    url: URL,
    says: "Will it rain in Oslo?",
    world: world_with,
}
