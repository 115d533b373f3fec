//! The store: every table of Switchyard, over DynamoDB and nothing else.
//!
//! One implementation serves AWS and the local system, which runs DynamoDB's API in its own process. Every key
//! begins with the tenant, there is no `Scan` but by [`Purge`], a change of state is one `TransactWriteItems` with compare-and-swap,
//! and expiry is checked against the time the caller passes in. What the stored things mean is the room `domain`.
//!
//! ```no_run
//! use domain::{EventKind, Revision, TaskState, Timestamp};
//! use store::{Committed, Due, LeaseAfter, Store, StoreError, TaskKey};
//!
//! /// Marks a task as being worked on; whoever changed it meanwhile wins, and the caller decides anew.
//! async fn begin(store: &Store, key: &TaskKey, now: Timestamp) -> Result<bool, StoreError> {
//!     let Some(stored) = store.tasks().find(key, now).await? else {
//!         return Ok(false);
//!     };
//!     let mut revision = Revision::of(stored.task);
//!     if revision.record(EventKind::status(TaskState::Working, None), now).is_err() {
//!         return Ok(false);
//!     }
//!     let committed = store.tasks().commit(&revision, Due::Keep, LeaseAfter::Keep).await?;
//!     Ok(committed == Committed::Yes)
//! }
//! ```

pub mod audit;
mod blobs;
mod cards;
mod change;
mod codec;
mod count;
mod dynamo;
mod erasure;
mod error;
mod export;
mod grants;
mod identity;
mod ledger;
mod order_import;
mod orders;
mod packed;
mod page;
mod private_types;
mod purge;
mod record;
pub mod schema;
mod seals;
mod sessions;
mod tasks;
mod tenants;
mod transact;
mod usage;
mod vectors;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use domain::{Entropy, SignInRule, SystemEntropy, Timestamp};
use tokio::sync::{Semaphore, SemaphorePermit};

pub use blobs::{
    BLOB_MAX, BlobKey, BlobScope, Blobs, Folder, Incoming, LARGE, LISTED_MAX, ListedBlob, Orphans, PART,
    Received, Receiving, file_size,
};
pub use cards::{
    CardSignature, Cards, Declared, DeclaredType, Health, PendingCard, Put, RegisteredAgent, Visibility,
};
pub use count::{Calls, Capacity, counted, measured};
pub use erasure::{Erasure, Erasures};
pub use error::StoreError;
pub use export::Export;
pub use grants::{Claim, ConsentWrite, GivenGrant, Grants, StoredGrant};
pub use identity::{
    Brake, Client, Code, Family, HOST_CLIENT, Identity, LOCKED_FOR, Login, MOST_FAILURES, MOST_SOURCES,
    ROLES, Redeemed, Rotated, SessionIssuer, Throttle, User, client_item, session_issuer_item, user_item,
    user_name_item,
};
pub use ledger::{
    Admitted, Ended, HourCounts, Lately, Ledger, OpenStream, OwnerDay, Spent, TOOK_BOUNDS, TOOK_BUCKETS,
    TenantDay, Used, next_day,
};
pub use order_import::{IMPORTED_MAX, ImportError, ImportedOrder};
pub use orders::{Order, OrderItem, OrderStatus, Orders};
pub use packed::kept_bytes;
pub use page::{Page, PageRequest};
pub use private_types::PrivateTypes;
pub use purge::{Purge, PurgeError, Purged};
pub use schema::Tables;
pub use seals::{Fault, GRACE, IsSigned, LATE, Sign, Verified};
pub use sessions::{
    Access, Added, Adopted, Chat, Conversation, GuestBefore, KnownPerson, LiveSession, MAX_SUBSCRIPTIONS,
    Member, Opened, Person, Profile, PushSubscription, Pushes, SHARES_MAX, Session, Sessions, Share,
    SharedAgent, SignedIn, StoredMessage, Verdict, person_id,
};
pub use tasks::{
    AnswerDraft, Attempts, Beat, ClaimedPush, Committed, Created, DRAFT_MAX, DUE_SHARDS, Decision, Delivery,
    DeliveryFilter, DeliveryState, Due, Head, Lease, LeaseAfter, Leased, MAX_PUSH_CONFIGS, NewRecord, Owed,
    Pointer, PointsAt, PushConfig, PushSettled, PutPush, Revised, Settled, StoredTask, TaskKey, TaskPage,
    TaskQuery, Tasks, Unfinished,
};
pub use tenants::{
    Logo, OwnSettings, Pooled, SETTINGS_TTL, SealedSecret, Standing, TenantSettings, Tenants, pooled_from,
    pooled_value,
};
pub use usage::{DayUsage, ModelUsage, TokenHold, TooFewTokens, USAGE_DAYS_MAX, Usage, day_of};
pub use vectors::Vectors;

/// The door to every table. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
    entropy: Arc<dyn Entropy>,
    /// Whom its tenant lets in now; nothing where that is nobody's business here.
    sign_in: Option<Arc<sessions::Ruled>>,
    /// Whether its records say which tenants there are.
    knows_tenants: bool,
    /// What its transactions carry into the audit.
    tells: Option<audit::Entry>,
    /// Where large things lie; with none of it they lie in the tables.
    blobs: Option<Arc<dyn Blobs>>,
}

struct Inner {
    config: aws_types::SdkConfig,
    client: OnceLock<aws_sdk_dynamodb::Client>,
    tables: Tables,
    turns: Semaphore,
    remembered: tenants::Remembered,
    paces: ledger::Paces,
}

/// How many requests are under way at once. A burst waits here for its turn, where no time-out runs, and not in the
/// queue of a database that it would only drown with repeats.
const AT_ONCE: usize = 32;

/// How long a request may take, times `patience`.
fn timeouts(patience: u32) -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(Duration::from_secs(1))
        .operation_attempt_timeout(Duration::from_secs(3) * patience)
        .operation_timeout(Duration::from_secs(9) * patience)
        .build()
}

fn client(config: &aws_types::SdkConfig) -> aws_sdk_dynamodb::Client {
    let retries = RetryConfig::standard()
        .with_max_attempts(4)
        .with_initial_backoff(Duration::from_millis(50))
        .with_max_backoff(Duration::from_secs(1));
    let mut builder = aws_sdk_dynamodb::config::Builder::from(config)
        .timeout_config(timeouts(1))
        .retry_config(retries)
        .interceptor(count::CountCalls);
    // The usual client loads the system's certificates first, which a plain local endpoint has no use for.
    let plain = config
        .endpoint_url()
        .is_some_and(|url| url.starts_with("http://"));
    if plain && config.http_client().is_none() {
        builder.set_http_client(Some(aws_smithy_http_client::Builder::new().build_http()));
    }
    aws_sdk_dynamodb::Client::from_conf(builder.build())
}

impl Store {
    /// A store over the account, region, endpoint and HTTP client of `config`. Its client is made by whoever wants it first,
    /// which a start need not wait for.
    #[must_use]
    pub fn new(config: &aws_types::SdkConfig, tables: Tables) -> Self {
        Self {
            inner: Arc::new(Inner {
                config: config.clone(),
                client: OnceLock::new(),
                tables,
                turns: Semaphore::new(AT_ONCE),
                remembered: tenants::Remembered::default(),
                paces: ledger::Paces::default(),
            }),
            entropy: Arc::new(SystemEntropy),
            sign_in: None,
            knows_tenants: true,
            tells: None,
            blobs: None,
        }
    }

    /// The same store, in which nothing counts that somebody proved whom this rule would not let in: sessions, shares,
    /// subscriptions, grants.
    #[must_use]
    pub fn admitting(self, rule: SignInRule) -> Self {
        Self {
            sign_in: Some(Arc::new(sessions::Ruled::by(rule))),
            ..self
        }
    }

    /// The same store, drawing its marks and tokens from this source: a seeded run then repeats its writes.
    #[must_use]
    pub fn with_entropy(self, entropy: Arc<dyn Entropy>) -> Self {
        Self { entropy, ..self }
    }

    /// The same store, of an agent outside the platform: no record says there which tenants there are, whoever vouches for a caller does.
    #[must_use]
    pub fn of_any_tenant(self) -> Self {
        let knows_tenants = false;
        Self {
            knows_tenants,
            ..self
        }
    }

    /// The same store, whose next transaction carries this entry into the audit: what is told of was done, or neither was.
    #[must_use]
    pub fn telling(&self, entry: &audit::Entry) -> Self {
        Self {
            tells: Some(entry.clone()),
            ..self.clone()
        }
    }

    /// The audit, as of now.
    #[must_use]
    pub fn audit(&self, now: Timestamp) -> audit::Audit<'_> {
        audit::Audit {
            store: self,
            now,
            ships_to: None,
        }
    }

    /// Creates the tables that are not there yet: for the local system and for tests.
    ///
    /// # Errors
    /// [`StoreError::Inconsistent`] where a table exists with other indexes; otherwise what the database says.
    pub async fn create_tables(&self) -> Result<(), StoreError> {
        schema::create(self).await
    }

    /// The AWS account that the tables are in.
    ///
    /// # Errors
    /// What the database says.
    pub async fn account(&self) -> Result<String, StoreError> {
        schema::account(self).await
    }

    /// Tasks, their events, what is due, and their push configurations.
    #[must_use]
    pub fn tasks(&self) -> Tasks<'_> {
        Tasks {
            store: self,
            left: blobs::Left::Nothing,
        }
    }

    /// Browser sessions, chats and their messages.
    #[must_use]
    pub fn sessions(&self) -> Sessions<'_> {
        Sessions { store: self }
    }

    /// The registry's agents and types.
    #[must_use]
    pub fn registry(&self) -> Cards<'_> {
        Cards { store: self }
    }

    /// The identity provider's users, clients, codes and refresh tokens.
    #[must_use]
    pub fn identity(&self) -> Identity<'_> {
        Identity { store: self }
    }

    /// What is known of each tenant.
    #[must_use]
    pub fn tenants(&self) -> Tenants<'_> {
        Tenants { store: self }
    }

    /// What removed tenants left behind.
    #[must_use]
    pub fn purge(&self) -> Purge<'_> {
        Purge {
            store: self,
            page: None,
        }
    }

    /// Which types of agents have asked a tenant's users for a sign-in.
    #[must_use]
    pub fn private_types(&self) -> PrivateTypes<'_> {
        PrivateTypes { store: self }
    }

    /// What of tenants' plans is used.
    #[must_use]
    pub fn ledger(&self) -> Ledger<'_> {
        Ledger { store: self }
    }

    /// What of the blob store no record leads to any more.
    #[must_use]
    pub fn orphans(&self) -> Orphans<'_> {
        Orphans { store: self }
    }

    /// Erases people.
    #[must_use]
    pub fn erasures(&self) -> Erasures<'_> {
        Erasures { store: self }
    }

    /// Writes archives of tenants.
    #[must_use]
    pub fn export(&self) -> Export<'_> {
        Export { store: self }
    }

    /// What language models took.
    #[must_use]
    pub fn usage(&self) -> Usage<'_> {
        Usage { store: self }
    }

    /// What was made of vectors of sentences.
    #[must_use]
    pub fn vectors(&self) -> Vectors<'_> {
        Vectors { store: self }
    }

    /// The order agent's data.
    #[must_use]
    pub fn orders(&self) -> Orders<'_> {
        Orders { store: self }
    }

    /// What owners have let us do elsewhere, and what they are being asked for.
    #[must_use]
    pub fn grants(&self) -> Grants<'_> {
        Grants {
            store: self,
            agent: None,
        }
    }

    /// A mark or token that nobody else has.
    pub(crate) fn mark(&self) -> String {
        self.entropy.uuid().to_string()
    }

    fn client(&self) -> &aws_sdk_dynamodb::Client {
        self.inner.client.get_or_init(|| client(&self.inner.config))
    }

    /// Held while a request is under way. The semaphore is never closed, so that this always comes.
    async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        self.inner.turns.acquire().await.ok()
    }

    fn tables(&self) -> &Tables {
        &self.inner.tables
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store")
            .field("tables", &self.inner.tables)
            .finish_non_exhaustive()
    }
}
