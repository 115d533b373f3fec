//! The identity provider's own: users and clients, codes, refresh tokens, its browser sessions, failed sign-ins, and
//! what users have agreed to. Of every token only a hash is stored.

mod account;
mod code;
mod family;
mod login;
mod plain;
mod throttle;
mod vouched;

use domain::{Owner, Timestamp};
use serde::{Deserialize, Serialize};

use crate::Store;

pub use plain::{client_item, session_issuer_item, user_item, user_name_item};
pub use throttle::{Brake, LOCKED_FOR, MOST_FAILURES, MOST_SOURCES, Throttle};
pub use vouched::SessionIssuer;

/// What somebody may be in a tenant beside a member: an operator looks after deliveries, agents and usage, an admin after users and
/// settings too.
pub const ROLES: [&str; 2] = ["operator", "admin"];

/// The client that every tenant has: it is there once the tenant is provisioned.
pub const HOST_CLIENT: &str = "host";

/// A user of a tenant.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// What the user signs in with; unique within the tenant.
    pub username: String,
    /// The stable id that tokens carry as `sub`.
    pub subject: Owner,
    /// What to call the user.
    pub display_name: String,
    /// The password's argon2id hash in PHC form.
    pub password_hash: String,
    /// What the user may do in the tenant beside what every member may: `operator`, `admin`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// When the user came, where somebody of the same name may have been here before. Whatever is kept for a person beyond
    /// their sign-in is kept for this one of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// What was proved before this is worth nothing any more: a sign-in, and whatever follows from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
}

impl User {
    /// True where a sign-in of that time is still good.
    #[must_use]
    pub fn admits(&self, auth_time: Timestamp) -> bool {
        self.not_before.is_none_or(|from| auth_time >= from)
    }

    /// Ends what was proved before this time; a later end stays.
    pub fn end(&mut self, at: Timestamp) {
        self.not_before = self.not_before.max(Some(at));
    }

    /// Takes another password, and ends what was begun with the one before.
    pub fn reset(&mut self, password_hash: &str, at: Timestamp) {
        password_hash.clone_into(&mut self.password_hash);
        self.end(at);
    }
}

impl std::fmt::Debug for User {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("User")
            .field("username", &self.username)
            .field("subject", &self.subject)
            .finish_non_exhaustive()
    }
}

/// An OAuth client of a tenant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Client {
    /// Its `client_id`; unique within the tenant.
    pub client_id: String,
    /// What to call it on the consent page.
    pub name: String,
    /// The hash of its secret; none for a public client.
    pub secret_hash: Option<String>,
    /// Where the browser may be sent back to, exactly.
    pub redirect_uris: Vec<String>,
    /// The grant types it may use.
    pub grant_types: Vec<String>,
    /// The scopes it may ask for.
    pub scopes: Vec<String>,
    /// Where the browser may be sent back to after signing out, exactly.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signed_out_uris: Vec<String>,
    /// The audiences it may ask for; any of the tenant where there are none.
    pub resources: Vec<String>,
    /// True where it cannot keep a secret.
    pub public: bool,
}

/// What an authorization code stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Code {
    /// The client it was issued to.
    pub client_id: String,
    /// Where it was sent.
    pub redirect_uri: String,
    /// Who agreed.
    pub subject: Owner,
    /// What was agreed to, separated by blanks.
    pub scope: String,
    /// The audience of the tokens.
    pub resource: String,
    /// The PKCE S256 challenge.
    pub challenge: String,
    /// The client's `nonce` for the id token.
    pub nonce: Option<String>,
    /// When the user signed in.
    pub auth_time: Timestamp,
    /// Since when.
    pub issued_at: Timestamp,
    /// Until when.
    pub expires_at: Timestamp,
}

/// What became of redeeming a code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Redeemed {
    /// It was good, and is used up now.
    Fresh(Code),
    /// It was used before: what it issued is to be revoked.
    Replayed {
        /// The family of tokens that it was redeemed for.
        family_id: String,
    },
    /// No such code of this tenant, or it expired unused.
    Missing,
}

/// The refresh tokens that follow from one consent; one of them is good at a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Family {
    /// Its id: random, and told only within its refresh tokens.
    pub id: String,
    /// The client that holds it.
    pub client_id: String,
    /// Who agreed.
    pub subject: Owner,
    /// What was agreed to, separated by blanks.
    pub scope: String,
    /// The audience of the tokens.
    pub resource: String,
    /// The hash of the refresh token that is good now.
    pub refresh_hash: String,
    /// When who agreed had signed in; families of older releases do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth_time: Option<Timestamp>,
    /// How often it was rotated.
    pub generation: u64,
    /// Until when it can be refreshed.
    #[serde(rename = "until")]
    pub expires_at: Timestamp,
    /// True where no token of it is good any more.
    pub revoked: bool,
}

/// What became of rotating a refresh token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rotated {
    /// The next token is good now, and the presented one no more.
    Yes(Family),
    /// The presented one is not the good one, so somebody else has a copy: the family is revoked now.
    Reused,
    /// The family was revoked before.
    Revoked,
    /// No such family of this tenant, or it has expired.
    Missing,
}

/// A browser that is signed in at the identity provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Login {
    /// Who.
    pub subject: Owner,
    /// As which user.
    pub username: String,
    /// When the user signed in.
    pub auth_time: Timestamp,
    /// Until when.
    pub expires_at: Timestamp,
}

/// The identity provider's table.
#[derive(Clone, Copy)]
pub struct Identity<'s> {
    pub(crate) store: &'s Store,
}

impl Identity<'_> {
    fn table(&self) -> &str {
        &self.store.tables().identity
    }
}
