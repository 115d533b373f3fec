//! OAuth consents of users: an agent that only takes tokens of its user makes a task wait until that user has consented.
//!
//! | module | |
//! |---|---|
//! | `stage` | the state machine of a [`Consent`]: pure moves, without IO |
//! | `record` | its stored form, which other releases read as well |
//! | `records` | [`ConsentStore`]: finding, and the one loop that changes a stored consent |
//! | `consents` | [`Consents`]: what a consent leads to: a grant, a code to type back, a refusal |
//! | `connections` | where a user is connected, and the end of that: gone here, then revoked at the provider |
//! | `token` | [`Consents::with_token`]: a call with the granted token, renewed where it has expired |
//!
//! The room knows nothing of HTTP endpoints, pages or chat texts: `oauth_callback` moves a consent on when a browser
//! comes, `host_agent` when its task is looked at, and both by the same moves.

mod connections;
mod consents;
mod record;
mod records;
mod reference;
mod scopes;
mod stage;
#[cfg(test)]
mod tests;
mod token;

pub use connections::{Ended, Waiting};
pub use consents::{Consents, Redeemed, TypedCode};
pub use records::{ConsentStore, Unrevised};
pub use reference::{read_reference, reference};
pub use scopes::{covers, union};
pub use stage::{Consent, ConsentRequest, InvalidMove, Newer, Stage, Started, UsedProof};
pub use token::{GrantNeed, Obstacle};
