//! Audit events: who did what, to what, from where, with which result. One entry of a table that is only appended to, and one line
//! of the log under the target [`TARGET`], whatever level the rest is logged at.
//!
//! An event holds no secret and nothing that people wrote: actors are ids, objects are ids and names of things. It is
//! told after the write that it tells of, by the function that made it, once. Where that write is a transaction the entry is in it
//! ([`Store::telling`]); nothing is logged that was not to be kept.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::{Lasting, Owner, Retention, Tenant, Timestamp};
use serde::Serialize;

use crate::change::{Change, number, text};
use crate::codec::{Item, encode, keyed, text_of};
use crate::dynamo::Query;
use crate::schema::{BY_TIME, EXPIRES_AT, PARTITION, SORT};
use crate::{Blobs, Page, Store, StoreError};

/// What the lines are logged under.
pub const TARGET: &str = "audit";

tokio::task_local! {
    static SOURCE: Option<IpAddr>;
}

macro_rules! actions {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// What was done.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Action {
            $($(#[$doc])* $name,)*
        }

        impl Action {
            /// Every action.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// As it stands in the log.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

actions! {
    /// Somebody signed in to a chat, or did not succeed.
    ChatSignIn = "chat.sign_in",
    /// Somebody signed out of a chat.
    ChatSignOut = "chat.sign_out",
    /// An issuer ended sessions of somebody who has signed out there, or its word was refused.
    ChatBackchannelLogout = "chat.backchannel_logout",
    /// Somebody who has signed in took over a guest's work.
    ChatTakeOver = "chat.take_over",
    /// A guest came: there is a session of theirs now.
    ChatGuest = "chat.guest",
    /// A user agreed to a plan.
    PlanApprove = "plan.approve",
    /// A user agreed that steps of a plan are sent, which are with their word alone.
    EffectRelease = "effect.release",
    /// Somebody was erased with all that was kept of them.
    PersonErase = "person.erase",
    /// Somebody shared a finished task by a link.
    ShareMake = "share.make",
    /// Somebody ended a share of theirs.
    ShareEnd = "share.end",
    /// Somebody signed in at the authorization server, or did not succeed.
    IdpSignIn = "idp.sign_in",
    /// Somebody signed out at the authorization server.
    IdpSignOut = "idp.sign_out",
    /// A user allowed an application access, or did not.
    IdpAuthorize = "idp.authorize",
    /// A code was exchanged for tokens, or refused.
    TokenIssue = "token.issue",
    /// A refresh token was used, or refused.
    TokenRefresh = "token.refresh",
    /// A refresh token was revoked.
    TokenRevoke = "token.revoke",
    /// A user is asked for a consent.
    ConsentAsk = "consent.ask",
    /// A user consented: there is a grant now.
    ConsentGive = "consent.give",
    /// A user consented in another browser than the starter's: a code was shown.
    ConsentHold = "consent.hold",
    /// A wrong consent code was typed.
    ConsentCode = "consent.code",
    /// A user did not consent.
    ConsentRefuse = "consent.refuse",
    /// A grant was renewed at its provider, or refused there.
    GrantRenew = "grant.renew",
    /// A user ended a connection.
    GrantEnd = "grant.end",
    /// Keys were rotated.
    KeysRotate = "keys.rotate",
    /// An agent was registered, or registered again.
    AgentRegister = "registry.register",
    /// An agent was removed.
    AgentRemove = "registry.remove",
    /// An agent was switched on.
    AgentEnable = "registry.enable",
    /// An agent was switched off.
    AgentDisable = "registry.disable",
    /// An agent's card says something else than what was registered, and waits for a word.
    AgentChange = "registry.change",
    /// An agent's changed card was approved.
    AgentApprove = "registry.approve",
    /// The scope of a type of agents was declared.
    TypeDeclare = "registry.type",
    /// A type was removed.
    TypeRemove = "registry.type_remove",
    /// An operator changed an agent from the page.
    OpsAgent = "ops.agent",
    /// An operator had a delivery tried again from the page.
    OpsReplay = "ops.replay",
    /// An admin changed a user from the page.
    AdminUser = "admin.user",
    /// An admin ended what leads somebody in, from the page.
    AdminAccess = "admin.access",
    /// A tenant was added.
    TenantAdd = "tenant.add",
    /// A tenant was removed.
    TenantRemove = "tenant.remove",
    /// A tenant was suspended.
    TenantSuspend = "tenant.suspend",
    /// A tenant was resumed.
    TenantResume = "tenant.resume",
    /// A tenant's settings were changed.
    TenantSet = "tenant.set",
    /// All that is kept of a tenant was exported.
    TenantExport = "tenant.export",
    /// What a removed tenant left was deleted.
    TenantPurge = "tenant.purge",
    /// A user was added.
    UserAdd = "user.add",
    /// A user was removed.
    UserRemove = "user.remove",
    /// A user's name or roles were changed.
    UserChange = "user.change",
    /// A user's password was replaced.
    UserReset = "user.reset",
    /// Every sign-in of a person was ended.
    UserEnd = "user.end",
}

/// Who did it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Actor<'a> {
    /// A person or guest, by the id that owns their things.
    Owner(&'a Owner),
    /// An application, by its client id.
    Client(&'a str),
    /// An issuer that people sign in at, by its id on the tenant's list.
    Issuer(&'a str),
    /// Whoever runs the platform.
    Operator,
    /// Nobody who is known.
    Unknown,
}

impl fmt::Display for Actor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owner(owner) => f.write_str(owner.as_str()),
            Self::Client(id) => write!(f, "client:{id}"),
            Self::Issuer(id) => write!(f, "issuer:{id}"),
            Self::Operator => f.write_str("operator"),
            Self::Unknown => f.write_str("unknown"),
        }
    }
}

/// The result of what succeeded.
pub const DONE: &str = "done";

/// What the sort keys of entries begin with.
pub(crate) const ENTRY: &str = "ENTRY#";

/// The parts that the entries of an hour lie in, so that no place takes all of a moment's.
pub(crate) const PARTS: std::ops::Range<u8> = 0..4;

/// Most bytes of an actor and of an object.
const ID_MAX: usize = 512;

/// The audit, as of now.
#[derive(Clone, Copy)]
pub struct Audit<'s> {
    pub(crate) store: &'s Store,
    pub(crate) now: Timestamp,
    /// Where sealed entries go beside the table.
    pub(crate) ships_to: Option<&'s dyn Blobs>,
}

impl<'s> Audit<'s> {
    /// The same, whose seals go there with their entries before they are in the table: a place where nobody changes anything.
    #[must_use]
    pub fn shipping_to(self, place: Option<&'s dyn Blobs>) -> Self {
        Self {
            ships_to: place,
            ..self
        }
    }

    /// What was done: whose things it was done with (none for the platform's own), who did it, to what, and `done` or why it was not. Its
    /// source is that of the request that is being answered ([`from`]).
    #[must_use]
    pub fn entry(
        &self,
        action: Action,
        tenant: Option<&Tenant>,
        actor: Actor<'_>,
        object: &str,
        result: &str,
    ) -> Entry {
        let source = SOURCE.try_with(|source| *source).ok().flatten();
        Entry(Arc::new(EntryFields {
            tenant: tenant.cloned(),
            action,
            actor: bounded(&actor.to_string()),
            object: bounded(object),
            source,
            result: result.to_owned(),
            at: self.now,
            id: self.store.mark(),
            is_kept: AtomicBool::new(false),
        }))
    }

    /// Keeps and logs what was done where nothing else is written with it.
    pub async fn tell(
        &self,
        action: Action,
        tenant: Option<&Tenant>,
        actor: Actor<'_>,
        object: &str,
        result: &str,
    ) {
        self.entry(action, tenant, actor, object, result)
            .tell(self.store)
            .await;
    }
}

fn bounded(text: &str) -> String {
    text.get(..text.floor_char_boundary(ID_MAX))
        .unwrap_or_default()
        .to_owned()
}

/// What somebody did, as it is kept and logged.
#[derive(Debug, Clone)]
pub struct Entry(Arc<EntryFields>);

#[derive(Debug)]
struct EntryFields {
    tenant: Option<Tenant>,
    action: Action,
    actor: String,
    object: String,
    source: Option<IpAddr>,
    result: String,
    at: Timestamp,
    id: String,
    is_kept: AtomicBool,
}

/// The partition of a tenant's entries, or of the platform's own.
pub(crate) fn partition(tenant: Option<&Tenant>) -> String {
    format!("{}#audit", tenant.map_or("global", Tenant::prefix))
}

impl Entry {
    /// Whether it is in the table.
    pub(crate) fn is_kept(&self) -> bool {
        self.0.is_kept.load(Ordering::Relaxed)
    }

    pub(crate) fn keep(&self) {
        self.0.is_kept.store(true, Ordering::Relaxed);
    }

    pub(crate) fn item(&self, store: &Store) -> Result<Item, StoreError> {
        let told = &*self.0;
        let retention = match &told.tenant {
            Some(tenant) => store.tenants().retention(tenant),
            None => Retention::default(),
        };
        let at = told.at.to_string();
        let mut item = encode(&serde_json::json!({
            PARTITION: partition(told.tenant.as_ref()),
            SORT: format!("{ENTRY}{at}#{}", told.id),
            "action": told.action.name(),
            "actor": told.actor,
            "object": told.object,
            "result": told.result,
        }))?;
        item.extend(told.source.map(|source| ("source".to_owned(), text(source))));
        let ends = told.at.after(retention.of(Lasting::Audit)).seconds() + 1;
        item.insert(EXPIRES_AT.to_owned(), number(ends));
        let part = told.id.bytes().next().unwrap_or_default() % PARTS.end;
        let hour = format!("{}#{part}", at.get(..13).unwrap_or_default());
        item.insert(BY_TIME.partition.to_owned(), text(hour));
        item.insert(BY_TIME.sort.to_owned(), text(at));
        Ok(item)
    }

    /// Keeps it, unless a transaction has, and logs it. What was done is done: an entry that could not be kept fails nothing, and its
    /// line says so.
    pub async fn tell(self, store: &Store) {
        if let Err(error) = self.append(store).await {
            let error = &error as &dyn std::error::Error;
            tracing::error!(error, "an audit entry was not kept, its line alone tells of it");
        }
        self.log();
    }

    async fn append(&self, store: &Store) -> Result<(), StoreError> {
        // Who knows no tenants has the tables of an agent outside the platform, and no audit among them.
        if self.is_kept() || !store.knows_tenants {
            return Ok(());
        }
        let item = self.item(store)?;
        store.put(&store.tables().audit, item, Change::new()).await?;
        self.keep();
        Ok(())
    }

    fn log(&self) {
        let told = &*self.0;
        tracing::event!(
            target: TARGET,
            tracing::Level::INFO,
            audit.action = told.action.name(),
            audit.actor = told.actor,
            audit.object = told.object,
            audit.source = told.source.map(tracing::field::display),
            audit.result = told.result,
            audit.id = told.id,
            audit.kept = self.is_kept(),
            tenant.id = told.tenant.as_ref().map(Tenant::name),
            tenant.prefix = told.tenant.as_ref().map(Tenant::prefix),
            "audit"
        );
    }
}

/// An entry, as it is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditEntry {
    /// When, by its writer's clock.
    pub at: Timestamp,
    /// Its id.
    pub id: String,
    /// What was done: an [`Action`]'s name.
    pub action: String,
    /// Who did it.
    pub actor: String,
    /// To what.
    pub object: String,
    /// [`DONE`], or why not.
    pub result: String,
    /// From where.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// Which entries are asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct AuditQuery<'a> {
    /// Of this action.
    pub action: Option<&'a str>,
    /// By this actor.
    pub actor: Option<&'a str>,
    /// Not before.
    pub from: Option<Timestamp>,
    /// Before.
    pub to: Option<Timestamp>,
    /// Older than the page before.
    pub cursor: Option<&'a str>,
    /// At most so many.
    pub most: usize,
}

/// Most pages of a query in one answer: of what few entries are asked for, the next cursor goes on.
const LOOKS: usize = 10;

impl Audit<'_> {
    /// A tenant's entries, or the platform's own, the newest first.
    ///
    /// # Errors
    /// [`StoreError::BadCursor`] for a cursor that is none; otherwise what the database says.
    pub async fn list(
        &self,
        tenant: Option<&Tenant>,
        asked: &AuditQuery<'_>,
    ) -> Result<Page<AuditEntry>, StoreError> {
        let table = &self.store.tables().audit;
        let pk = partition(tenant);
        let bad = || StoreError::BadCursor;
        let start = asked.cursor.map(|cursor| {
            let sk = URL_SAFE_NO_PAD
                .decode(cursor)
                .ok()
                .and_then(|sk| String::from_utf8(sk).ok());
            let sk = sk.filter(|sk| sk.starts_with(ENTRY) && sk.len() <= ID_MAX);
            sk.map(|sk| keyed(&(pk.clone(), sk))).ok_or_else(bad)
        });
        let mut start = start.transpose()?;
        let end = |time: Option<Timestamp>, open: &str| time.map_or(open.to_owned(), |time| time.to_string());
        let mut values = vec![
            (":pk", text(&pk)),
            (":from", text(format!("{ENTRY}{}", end(asked.from, "0")))),
            (":to", text(format!("{ENTRY}{}", end(asked.to, "~")))),
            (":now", number(self.now.seconds())),
        ];
        let mut filter = "#expires_at > :now".to_owned();
        if let Some(action) = asked.action {
            values.push((":action", text(action)));
            filter += " AND #action = :action";
        }
        if let Some(actor) = asked.actor {
            values.push((":actor", text(actor)));
            filter += " AND #actor = :actor";
        }
        let mut items = Vec::new();
        for _ in 0..LOOKS {
            let left = asked.most.saturating_sub(items.len());
            let query = Query {
                table,
                condition: "#pk = :pk AND #sk BETWEEN :from AND :to",
                filter: Some(&filter),
                values: values.clone(),
                limit: u32::try_from(left).ok(),
                backwards: true,
                start,
                ..Query::default()
            };
            let (found, next) = self.store.query(query).await?;
            items.extend(found.iter().filter_map(kept));
            start = next;
            if start.is_none() || items.len() >= asked.most {
                break;
            }
        }
        let next = start.as_ref().and_then(|last| text_of(last, SORT));
        Ok(Page {
            items,
            next: next.map(|sk| URL_SAFE_NO_PAD.encode(sk)),
        })
    }
}

fn kept(item: &Item) -> Option<AuditEntry> {
    let field = |name: &str| text_of(item, name).map(str::to_owned);
    Some(AuditEntry {
        at: Timestamp::parse(&field("at")?)?,
        id: field(SORT)?.rsplit('#').next()?.to_owned(),
        action: field("action")?,
        actor: field("actor")?,
        object: field("object")?,
        result: field("result")?,
        source: field("source"),
    })
}

/// Does the work of a request that came from this address, as the gateway saw it.
pub async fn from<F: Future>(source: Option<IpAddr>, work: F) -> F::Output {
    SOURCE.scope(source, work).await
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_action_has_a_name_of_its_own() {
        let names: BTreeSet<&str> = Action::ALL.iter().map(|action| action.name()).collect();
        assert_eq!(names.len(), Action::ALL.len());
        for name in names {
            let fits = |c: char| c.is_ascii_lowercase() || c == '.' || c == '_';
            assert!(name.contains('.') && name.chars().all(fits), "{name}");
        }
    }
}
