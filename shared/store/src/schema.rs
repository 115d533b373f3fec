//! The tables, in one place: what the local system creates and what the template must declare.

use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection,
    ProjectionType, ScalarAttributeType,
};

use crate::error::unavailable;
use crate::{Store, StoreError};

/// The partition key of every table.
pub const PARTITION: &str = "pk";
/// The sort key of every table.
pub const SORT: &str = "sk";
/// When an item ends, in Unix seconds. DynamoDB's own expiry (TTL) is set on it for housekeeping only; the local
/// system leaves it off, because its clock may be moved.
pub const EXPIRES_AT: &str = "expires_at";

/// A table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Table {
    /// What its name ends in.
    pub name: &'static str,
    /// Its global secondary indexes.
    pub indexes: &'static [Index],
}

/// An index; it holds only items that have both its attributes, which are text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Index {
    /// Its name.
    pub name: &'static str,
    /// The attribute it is partitioned by.
    pub partition: &'static str,
    /// The attribute it is sorted by.
    pub sort: &'static str,
    /// What it holds beside the keys, for filters; nothing else of an item is in it.
    pub beside: &'static [&'static str],
}

/// An owner's tasks of one conversation, by the time they were made; an agent's deliveries likewise.
pub const BY_CONTEXT: Index = Index {
    name: "by_context",
    partition: "context_pk",
    sort: "context_sk",
    beside: &["state", "owner_sk", EXPIRES_AT],
};
/// An owner's tasks by the time of their status; an owner's chats by the time of their last message.
pub const BY_OWNER: Index = Index {
    name: "by_owner",
    partition: "owner_pk",
    sort: "owner_sk",
    beside: &["state", EXPIRES_AT],
};
/// An agent's parked deliveries, by the time of their last try; a host's tasks that are unfinished, or ended otherwise than
/// completed, by the time of their status.
pub const BY_STATUS: Index = Index {
    name: "by_status",
    partition: "status_pk",
    sort: "status_sk",
    beside: &[],
};
/// What is due, over all tenants: readable by the sweeper only.
pub const BY_DUE: Index = Index {
    name: "by_due",
    partition: "due_shard",
    sort: "due_at",
    beside: &[],
};
/// Entries of the audit of each hour, over all tenants: readable by the sweeper only.
pub const BY_TIME: Index = Index {
    name: "by_time",
    partition: "hour",
    sort: "at",
    beside: &[],
};

/// Tasks with their events and push configurations, and the message ids they came from.
pub const TASKS: Table = Table {
    name: "tasks",
    indexes: &[BY_CONTEXT, BY_OWNER, BY_STATUS, BY_DUE],
};
/// Browser sessions, chats, messages; grants and requests for consent.
pub const SESSIONS: Table = Table {
    name: "sessions",
    indexes: &[BY_OWNER],
};
/// Agents, tags, types.
pub const REGISTRY: Table = Table {
    name: "registry",
    indexes: &[],
};
/// The identity provider's own.
pub const IDENTITY: Table = Table {
    name: "identity",
    indexes: &[],
};
/// The order agent's data.
pub const ORDERS: Table = Table {
    name: "orders",
    indexes: &[],
};
/// What is known of each tenant by its name.
pub const TENANTS: Table = Table {
    name: "tenants",
    indexes: &[],
};
/// Who did what: it is only appended to.
pub const AUDIT: Table = Table {
    name: "audit",
    indexes: &[BY_TIME],
};
/// Every table.
pub const ALL: [Table; 7] = [TASKS, SESSIONS, REGISTRY, IDENTITY, ORDERS, TENANTS, AUDIT];

/// The names of the tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tables {
    /// [`TASKS`]
    pub tasks: String,
    /// [`SESSIONS`]
    pub sessions: String,
    /// [`REGISTRY`]
    pub registry: String,
    /// [`IDENTITY`]
    pub identity: String,
    /// [`ORDERS`]
    pub orders: String,
    /// [`TENANTS`]
    pub tenants: String,
    /// [`AUDIT`]
    pub audit: String,
}

impl Tables {
    /// The usual names behind a prefix, such as `switchyard-`.
    #[must_use]
    pub fn prefixed(prefix: &str) -> Self {
        let name = |table: Table| format!("{prefix}{}", table.name);
        Self {
            tasks: name(TASKS),
            sessions: name(SESSIONS),
            registry: name(REGISTRY),
            identity: name(IDENTITY),
            orders: name(ORDERS),
            tenants: name(TENANTS),
            audit: name(AUDIT),
        }
    }

    pub(crate) fn each(&self) -> [(&str, Table); 7] {
        [
            (&self.tasks, TASKS),
            (&self.sessions, SESSIONS),
            (&self.registry, REGISTRY),
            (&self.identity, IDENTITY),
            (&self.orders, ORDERS),
            (&self.tenants, TENANTS),
            (&self.audit, AUDIT),
        ]
    }
}

pub(crate) async fn create(store: &Store) -> Result<(), StoreError> {
    for (name, table) in store.tables().each() {
        let request = store
            .client()
            .create_table()
            .table_name(name)
            .billing_mode(BillingMode::PayPerRequest)
            .set_attribute_definitions(Some(attributes(table)?))
            .set_key_schema(Some(keys(PARTITION, SORT)?))
            .set_global_secondary_indexes(indexes(table)?);
        match request.send().await {
            Ok(_) => {}
            Err(error)
                if error
                    .as_service_error()
                    .is_some_and(|e| e.is_resource_in_use_exception()) =>
            {
                compare(store, name, table).await?;
            }
            Err(error) => return Err(unavailable("CreateTable")(error)),
        }
    }
    Ok(())
}

/// A table of an older program is better refused at the start than found out by an index that is not there.
async fn compare(store: &Store, name: &str, table: Table) -> Result<(), StoreError> {
    let found = store.client().describe_table().table_name(name).send().await;
    let found = found.map_err(unavailable("DescribeTable"))?;
    let found = found.table.and_then(|table| table.global_secondary_indexes);
    let mut found: Vec<_> = found
        .iter()
        .flatten()
        .filter_map(|index| {
            let beside = index.projection().map(Projection::non_key_attributes);
            Some(described(index.index_name()?, beside.unwrap_or_default()))
        })
        .collect();
    let mut wanted: Vec<_> = table
        .indexes
        .iter()
        .map(|index| described(index.name, index.beside))
        .collect();
    found.sort();
    wanted.sort();
    if found == wanted {
        return Ok(());
    }
    Err(StoreError::Inconsistent {
        table: name.to_owned(),
        key: "schema".into(),
        reason: format!("its indexes are {found:?}, not {wanted:?}"),
    })
}

/// The account in the name of a table.
pub(crate) async fn account(store: &Store) -> Result<String, StoreError> {
    let table = &store.tables().tenants;
    let found = store.client().describe_table().table_name(table).send().await;
    let found = found.map_err(unavailable("DescribeTable"))?.table;
    let arn = found.and_then(|table| table.table_arn).unwrap_or_default();
    let account = arn.split(':').nth(4).filter(|account| !account.is_empty());
    account
        .map(str::to_owned)
        .ok_or_else(|| StoreError::Inconsistent {
            table: table.clone(),
            key: "schema".into(),
            reason: format!("{arn:?} names no account"),
        })
}

fn described(index: &str, beside: &[impl AsRef<str>]) -> String {
    let mut beside: Vec<&str> = beside.iter().map(AsRef::as_ref).collect();
    beside.sort_unstable();
    format!("{index} with {beside:?}")
}

fn attributes(table: Table) -> Result<Vec<AttributeDefinition>, StoreError> {
    let indexed = table
        .indexes
        .iter()
        .flat_map(|index| [index.partition, index.sort]);
    [PARTITION, SORT]
        .into_iter()
        .chain(indexed)
        .map(|name| {
            AttributeDefinition::builder()
                .attribute_name(name)
                .attribute_type(ScalarAttributeType::S)
                .build()
                .map_err(unavailable("CreateTable"))
        })
        .collect()
}

fn keys(partition: &str, sort: &str) -> Result<Vec<KeySchemaElement>, StoreError> {
    [(partition, KeyType::Hash), (sort, KeyType::Range)]
        .into_iter()
        .map(|(name, kind)| {
            KeySchemaElement::builder()
                .attribute_name(name)
                .key_type(kind)
                .build()
                .map_err(unavailable("CreateTable"))
        })
        .collect()
}

fn projection(index: &Index) -> Projection {
    let keys_only = Projection::builder().projection_type(ProjectionType::KeysOnly);
    if index.beside.is_empty() {
        return keys_only.build();
    }
    let beside = index.beside.iter().map(|name| (*name).to_owned()).collect();
    keys_only
        .projection_type(ProjectionType::Include)
        .set_non_key_attributes(Some(beside))
        .build()
}

fn indexes(table: Table) -> Result<Option<Vec<GlobalSecondaryIndex>>, StoreError> {
    if table.indexes.is_empty() {
        return Ok(None);
    }
    let build = |index: &Index| {
        GlobalSecondaryIndex::builder()
            .index_name(index.name)
            .set_key_schema(Some(keys(index.partition, index.sort)?))
            .projection(projection(index))
            .build()
            .map_err(unavailable("CreateTable"))
    };
    table
        .indexes
        .iter()
        .map(build)
        .collect::<Result<_, _>>()
        .map(Some)
}

/// Why items of a kind end, or do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// Each has its end from the start, by what the text says: a retention of the tenant's ([`domain::Lasting`]), or a fixed time.
    Ends(&'static str),
    /// Each gets its end when its task is over, with it; none before.
    WithTask,
    /// None has an end, for this reason.
    Stays(&'static str),
}

/// A kind of items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// What the name of its table ends in.
    pub table: &'static str,
    /// How its partition keys look; a star stands for any text.
    pub partition: &'static str,
    /// How its sort keys look, likewise.
    pub sort: &'static str,
    /// When items of it end.
    pub life: Life,
}

/// Of several kinds that fit an item, the first is meant.
macro_rules! kinds {
    ($($table:literal $partition:literal $sort:literal $life:ident $(($why:literal))?;)*) => {
        /// Every kind of items, the more special ones first.
        pub const KINDS: &[Kind] = &[$(Kind {
            table: $table, partition: $partition, sort: $sort, life: Life::$life $(($why))?,
        },)*];
    };
}

kinds! {
    "tasks" "*#task#*" "DRAFT" Ends("an hour");
    "tasks" "*#task#*" "STRAY#*" Ends("until it is called off, a day");
    "tasks" "*#task#*" "*" WithTask;
    "tasks" "*#message#*" "MESSAGE" WithTask;
    "tasks" "*#host#vectors#*" "VECTORS" Ends("400 days");
    "tasks" "*#host#private#*" "PRIVATE" Stays("says of a type of agents, not of people, that it asks for a sign-in; goes with the tenant");
    "tasks" "*#host#usage#now" "TENANT" Stays("the tenant's one item of its present day and month, written over");
    "tasks" "*#host#usage#*" "*" Ends("400 days, of a minute's pace an hour");
    "tasks" "*#streams#*" "STREAMS" Ends("a day");
    "sessions" "*#session#@@members" "*" Ends("the longest retention, after their last session");
    "sessions" "*#session#@@rules" "RULES" Stays("whom the tenant lets in, one item; goes with the tenant");
    "sessions" "*#session#@@erasures" "*" Ends("a month: a digest of whom, no name");
    "sessions" "*#session#@*" "OPEN#*" Ends("with its session");
    "sessions" "*#session#@*" "PUSH#*" Ends("subscriptions");
    "sessions" "*#session#@*" "PUSHES" Stays("a mark without words, which goes with the last subscription");
    "sessions" "*#session#@*" "SHARE#*" Ends("shares");
    "sessions" "*#session#@*" "PERSON" Stays("from when on proofs count, and whose work is theirs; goes with an erasure");
    "sessions" "*#session#@*" "ADOPTED" Stays("whose work a guest's is; goes with an erasure");
    "sessions" "*#session#*" "*" Ends("a session's, a share's, a sign-out's own time");
    "sessions" "*#chat#*" "*" Ends("chats, after the last use; a chat that was deleted a month");
    "sessions" "*#grants" "*" Ends("grants, after their tokens were last renewed");
    "sessions" "*#consent#*" "CONSENT" Ends("consents, after the end of their links");
    "sessions" "*#state#*" "STATE" Ends("with the consent's link");
    "registry" "*" "*" Stays("agents and their types, until somebody removes them");
    "identity" "*#user#*" "USER" Stays("accounts, until somebody removes them");
    "identity" "*#users" "*" Stays("the names of accounts, likewise");
    "identity" "*#subject#*" "CONSENT#*" Stays("what a user agreed to of an application; goes with the account");
    "identity" "*#client#*" "*" Stays("applications, which go with the tenant");
    "identity" "*" "*" Ends("codes, refresh tokens, sign-ins and failures, each its own time");
    "orders" "*" "*" Stays("made-up data of the order agent, imported and removed by its operator");
    "audit" "*#seals" "CURSOR" Stays("up to when everything is sealed: one item, written over");
    "audit" "*#seals" "SEAL#*" Ends("with the last of its entries");
    "audit" "*#audit" "ENTRY#*" Ends("audit, after what it tells of");
    "tenants" "*" "*" Stays("the tenant itself, and that a name was one");
}

/// The kind of an item.
#[must_use]
pub fn kind_of(table: &str, (pk, sk): (&str, &str)) -> Option<&'static Kind> {
    let of = |kind: &&Kind| table.ends_with(kind.table) && fits(kind.partition, pk) && fits(kind.sort, sk);
    KINDS.iter().find(of)
}

/// Whether a text looks so.
fn fits(pattern: &str, text: &str) -> bool {
    let Some((begins, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(text) = text.strip_prefix(begins) else {
        return false;
    };
    text.char_indices()
        .map(|(at, _)| at)
        .chain([text.len()])
        .any(|at| text.get(at..).is_some_and(|text| fits(rest, text)))
}
