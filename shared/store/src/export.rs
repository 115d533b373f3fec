//! All that is kept of a tenant, as one archive (tar): lines of JSON, cards, files, and last a manifest with the SHA-256 of each.
//!
//! It goes by keys and indexes: people from the list of who has signed in and from the days on which somebody began a task, and what each of
//! them has from there. What is written says what is meant to be in it, field by field: no password, token, key or session is. At most a part
//! of [`PART`] bytes, or one record, is held at once.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_dynamodb::types::AttributeValue;
use chrono::Days;
use domain::{AgentName, ChatId, OWN_AGENTS, Owner, PartContent, Task, Tenant, Timestamp};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tar::Header;
use tokio::sync::mpsc::Sender;

use crate::audit::AuditQuery;
use crate::blobs::{BLOB_MAX, hash_of, hex};
use crate::change::text;
use crate::codec::{Key, key_of, text_of};
use crate::dynamo::Query;
use crate::error::unavailable;
use crate::ledger::OWNER;
use crate::sessions::{BLOB, BYTES, PIECE, chat_place};
use crate::usage::{KEPT, day_of, key as day_key};
use crate::{Chat, PageRequest, Store, StoreError, StoredMessage, USAGE_DAYS_MAX, Visibility};

/// From so many bytes on, lines go into the archive as a part.
const PART: usize = 4 * 1024 * 1024;
/// Bytes of a block of an archive.
const BLOCK: usize = 512;
/// Records of a page: tasks may be large, other things are small.
const TASKS: u32 = 10;
const OTHERS: u32 = 100;
const ENTRIES: usize = 1000;

/// Writes archives of tenants.
#[derive(Clone, Copy)]
pub struct Export<'s> {
    pub(crate) store: &'s Store,
}

/// An archive under way.
struct Archive {
    out: Sender<Vec<u8>>,
    at: Timestamp,
    /// What is in it: lengths and hashes by names.
    entries: BTreeMap<String, Value>,
    /// Lines that are in no part yet, and how many parts there were, by what they tell of.
    lines: BTreeMap<&'static str, (Vec<u8>, u32)>,
}

impl Archive {
    async fn add(&mut self, name: String, bytes: &[u8]) -> Result<(), StoreError> {
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.begin(&name, size).await?;
        self.send(bytes.to_vec()).await?;
        self.filled(name, size, &hash_of(bytes)).await
    }

    /// Begins an entry, behind which so many bytes are sent.
    async fn begin(&mut self, name: &str, size: u64) -> Result<(), StoreError> {
        let mut header = Header::new_ustar();
        header.set_path(name).map_err(unavailable("Export"))?;
        header.set_size(size);
        header.set_mode(0o600);
        header.set_mtime(u64::try_from(self.at.seconds()).unwrap_or_default());
        header.set_cksum();
        self.send(header.as_bytes().to_vec()).await
    }

    /// Ends an entry whose bytes were sent: to whole blocks, and named in the manifest.
    async fn filled(&mut self, name: String, size: u64, sha256: &str) -> Result<(), StoreError> {
        let over = usize::try_from(size).unwrap_or_default() % BLOCK;
        let told = json!({ "bytes": size, "sha256": sha256 });
        self.entries.insert(name, told);
        match over {
            0 => Ok(()),
            over => self.send(vec![0; BLOCK - over]).await,
        }
    }

    async fn send(&mut self, bytes: Vec<u8>) -> Result<(), StoreError> {
        self.out.send(bytes).await.map_err(unavailable("Export"))
    }

    async fn line(&mut self, of: &'static str, line: &Value) -> Result<(), StoreError> {
        let (lines, _) = self.lines.entry(of).or_default();
        lines.extend_from_slice(line.to_string().as_bytes());
        lines.push(b'\n');
        match lines.len() < PART {
            true => Ok(()),
            false => self.part(of).await,
        }
    }

    async fn part(&mut self, of: &'static str) -> Result<(), StoreError> {
        let (lines, number) = self.lines.entry(of).or_default();
        let (lines, name) = (std::mem::take(lines), format!("{of}/{number:05}.jsonl"));
        *number += 1;
        self.add(name, &lines).await
    }

    /// Ends it with what is in it.
    async fn end(mut self, tenant: &Tenant) -> Result<(), StoreError> {
        for of in self.lines.keys().copied().collect::<Vec<_>>() {
            self.part(of).await?;
        }
        let manifest = json!({
            "tenant": tenant.name(), "prefix": tenant.prefix(), "at": self.at, "format": 1, "entries": self.entries,
        });
        self.add("manifest.json".to_owned(), manifest.to_string().as_bytes())
            .await?;
        // Two blocks of nothing are its end.
        self.send(vec![0; 2 * BLOCK]).await
    }
}

impl Export<'_> {
    /// Sends the archive of a tenant piece by piece. Who does not get its end has none.
    ///
    /// # Errors
    /// What database and blob store say, or that nobody reads on.
    pub async fn send(
        &self,
        tenant: &Tenant,
        now: Timestamp,
        out: Sender<Vec<u8>>,
    ) -> Result<(), StoreError> {
        let mut archive = Archive {
            out,
            at: now,
            entries: BTreeMap::new(),
            lines: BTreeMap::new(),
        };
        self.tenant(&mut archive, tenant).await?;
        for owner in self.owners(&mut archive, tenant).await? {
            self.chats(&mut archive, tenant, &owner).await?;
            self.tasks(&mut archive, tenant, &owner).await?;
            self.allowed(&mut archive, tenant, &owner).await?;
        }
        self.audit(&mut archive, tenant).await?;
        archive.end(tenant).await
    }

    /// The tenant's own: settings, logo, accounts, agents, and what it used.
    async fn tenant(&self, archive: &mut Archive, tenant: &Tenant) -> Result<(), StoreError> {
        let (tenants, now) = (self.store.tenants(), archive.at);
        let settings = tenants.settings(tenant).await?.unwrap_or_default();
        let own = json!({ "name": tenant.name(), "prefix": tenant.prefix(), "settings": settings });
        archive
            .add("tenant.json".to_owned(), own.to_string().as_bytes())
            .await?;
        if let Some(logo) = tenants.logo(tenant).await? {
            archive.add("logo".to_owned(), &logo.bytes).await?;
        }
        for user in self.store.identity().list_users(tenant).await? {
            let told = json!({
                "username": user.username, "subject": user.subject, "displayName": user.display_name, "roles": user.roles,
            });
            archive.line("users", &told).await?;
        }
        for agent in self.store.registry().all(Visibility::Tenant(tenant)).await? {
            let name = format!("cards/{}.json", agent.id);
            archive.add(name, json!(agent).to_string().as_bytes()).await?;
        }
        let used = self.store.ledger().used(tenant, now, USAGE_DAYS_MAX).await?;
        archive
            .add("usage.json".to_owned(), json!(used).to_string().as_bytes())
            .await
    }

    /// Under which ids things lie: of those who have signed in, of the guests whose work they took over, and of whoever began a task.
    async fn owners(&self, archive: &mut Archive, tenant: &Tenant) -> Result<BTreeSet<Owner>, StoreError> {
        let (mut owners, sessions) = (BTreeSet::new(), self.store.sessions());
        let mut page = page_of(OTHERS);
        loop {
            let members = sessions.members(tenant, &page).await?;
            for member in members.items {
                let (owner, person) = (member.owner, member.person);
                let told = json!({
                    "owner": owner, "issuer": person.issuer, "subject": person.subject, "username": person.username,
                    "signedInAt": member.at,
                });
                archive.line("people", &told).await?;
                let same = sessions.same_as(tenant, &owner).await?;
                owners.extend(same.iter().filter_map(|one| Owner::parse(one).ok()));
            }
            page.cursor = members.next;
            if page.cursor.is_none() {
                break;
            }
        }
        let today = day_of(archive.at);
        let days = (0..=KEPT.as_secs() / 86_400).filter_map(|ago| today.checked_sub_days(Days::new(ago)));
        for day in days {
            let query = Query {
                table: &self.store.tables().tasks,
                condition: "#pk = :pk AND begins_with(#sk, :owner)",
                only: Some("#pk, #sk"),
                values: vec![(":pk", text(day_key(tenant, day).0)), (":owner", text(OWNER))],
                ..Query::default()
            };
            let items = self.store.query_all(query).await?;
            let found = items
                .iter()
                .filter_map(|item| text_of(item, "sk")?.strip_prefix(OWNER));
            owners.extend(found.filter_map(|owner| Owner::parse(owner).ok()));
        }
        Ok(owners)
    }

    async fn chats(&self, archive: &mut Archive, tenant: &Tenant, owner: &Owner) -> Result<(), StoreError> {
        let (sessions, mut page) = (self.store.sessions(), page_of(OTHERS));
        loop {
            let chats = sessions.chats_of(tenant, owner, page.clone(), archive.at).await?;
            for chat in chats.items {
                self.chat(archive, tenant, &chat).await?;
            }
            page.cursor = chats.next;
            if page.cursor.is_none() {
                return Ok(());
            }
        }
    }

    async fn chat(&self, archive: &mut Archive, tenant: &Tenant, chat: &Chat) -> Result<(), StoreError> {
        archive.line("chats", &json!(chat)).await?;
        let (sessions, place) = (self.store.sessions(), chat.place());
        let said = sessions.conversation(tenant, place, archive.at).await?;
        for (kind, messages) in [("message", said.messages), ("answer", said.answers)] {
            for StoredMessage { id, at, body, edits } in messages {
                let told =
                    json!({ "chat": place, "kind": kind, "id": id, "at": at, "edits": edits, "body": body });
                archive.line("messages", &told).await?;
            }
        }
        for (task, verdict) in said.feedback {
            let told = json!({ "chat": place, "task": task, "verdict": verdict });
            archive.line("feedback", &told).await?;
        }
        self.files(archive, tenant, place).await
    }

    /// The files of a chat's messages, each once by its hash, and which message has which.
    async fn files(&self, archive: &mut Archive, tenant: &Tenant, chat: &ChatId) -> Result<(), StoreError> {
        let table = self.store.tables().sessions.as_str();
        let query = Query {
            table,
            condition: "#pk = :pk AND begins_with(#sk, :piece)",
            only: Some("#pk, #sk"),
            values: vec![(":pk", text(chat_place(tenant, chat))), (":piece", text(PIECE))],
            ..Query::default()
        };
        let mut files: BTreeMap<(String, usize), BTreeMap<usize, Key>> = BTreeMap::new();
        for item in self.store.query_all(query).await? {
            let key = key_of(table, &item)?;
            let mut parts = key.1.strip_prefix(PIECE).unwrap_or_default().splitn(3, '#');
            let mut number = || parts.next().and_then(|number| number.parse().ok());
            if let (Some(file), Some(piece)) = (number(), number()) {
                let message = parts.next().unwrap_or_default().to_owned();
                files.entry((message, file)).or_default().insert(piece, key);
            }
        }
        for ((message, number), pieces) in files {
            // Where it went meanwhile, with its chat, there is none.
            let bytes = self.file(table, pieces.into_values().collect()).await?;
            let hash = bytes.as_deref().map(hash_of);
            let told = json!({ "chat": chat, "message": message, "number": number, "file": hash });
            archive.line("files-of-messages", &told).await?;
            if let Some((bytes, hash)) = bytes.zip(hash) {
                let name = format!("files/{hash}");
                if !archive.entries.contains_key(&name) {
                    archive.add(name, &bytes).await?;
                }
            }
        }
        Ok(())
    }

    async fn file(&self, table: &str, pieces: Vec<Key>) -> Result<Option<Vec<u8>>, StoreError> {
        let mut found = self.store.items(table, &pieces).await?;
        let mut whole = Vec::new();
        for key in pieces {
            let Some(item) = found.remove(&key) else {
                return Ok(None);
            };
            if let Some(hash) = text_of(&item, BLOB) {
                return self.store.whole_blob(table, &key, (hash, BLOB_MAX)).await;
            }
            if let Some(AttributeValue::B(bytes)) = item.get(BYTES) {
                whole.extend_from_slice(bytes.as_ref());
            }
        }
        Ok(Some(whole))
    }

    async fn tasks(&self, archive: &mut Archive, tenant: &Tenant, owner: &Owner) -> Result<(), StoreError> {
        for agent in own_agents() {
            let mut page = page_of(TASKS);
            loop {
                let tasks = self.store.tasks();
                let listed = tasks.by_owner(tenant, &agent, owner, page.clone(), archive.at);
                let listed = Box::pin(listed).await?;
                for task in &listed.items {
                    archive.line("tasks", &told(task)).await?;
                    self.results(archive, task).await?;
                }
                page.cursor = listed.next;
                if page.cursor.is_none() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// The files of a task's results that lie beside it, each by pieces.
    async fn results(&self, archive: &mut Archive, task: &Task) -> Result<(), StoreError> {
        for part in task.artifacts.iter().flat_map(|artifact| &artifact.parts) {
            let PartContent::Url(url) = &part.content else {
                continue;
            };
            let Some((size, (_, name))) = part.detached().zip(url.rsplit_once('/')) else {
                continue;
            };
            let path = format!("results/{}/{name}", task.id);
            let tasks = self.store.tasks();
            let piece = |from| tasks.piece(task, name, (from, PART));
            // Where it went meanwhile, with its task, there is none.
            let Some(mut bytes) = piece(0).await?.filter(|_| !archive.entries.contains_key(&path)) else {
                continue;
            };
            archive.begin(&path, size).await?;
            let (mut hash, mut at) = (Sha256::new(), 0);
            loop {
                hash.update(&bytes);
                at += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
                archive.send(std::mem::take(&mut bytes)).await?;
                if at >= size {
                    break;
                }
                bytes = piece(at).await?.filter(|more| !more.is_empty()).ok_or_else(|| {
                    unavailable("Export")(std::io::Error::from(std::io::ErrorKind::UnexpectedEof))
                })?;
            }
            archive.filled(path, size, &hex(&hash.finalize())).await?;
        }
        Ok(())
    }

    /// What somebody has let agents do elsewhere, and what they share; no tokens and no links.
    async fn allowed(&self, archive: &mut Archive, tenant: &Tenant, owner: &Owner) -> Result<(), StoreError> {
        let agents: Vec<AgentName> = own_agents().collect();
        for agent in std::iter::once(None).chain(agents.iter().map(Some)) {
            for grant in self.store.grants().of(agent).list_grants(tenant, owner).await? {
                let told = json!({
                    "owner": owner, "agent": agent, "provider": grant.provider, "resource": grant.resource, "scopes": grant.scopes,
                    "createdAt": grant.created_at, "updatedAt": grant.updated_at,
                });
                archive.line("grants", &told).await?;
            }
        }
        let sessions = self.store.sessions();
        for share in sessions.shares_of(tenant, owner, archive.at).await? {
            let told = json!({ "owner": owner, "task": share.task, "createdAt": share.created_at, "endsAt": share.ends_at });
            archive.line("shares", &told).await?;
        }
        Ok(())
    }

    async fn audit(&self, archive: &mut Archive, tenant: &Tenant) -> Result<(), StoreError> {
        let mut cursor: Option<String> = None;
        loop {
            let asked = AuditQuery {
                cursor: cursor.as_deref(),
                most: ENTRIES,
                ..AuditQuery::default()
            };
            let page = self.store.audit(archive.at).list(Some(tenant), &asked).await?;
            for entry in &page.items {
                archive.line("audit", &json!(entry)).await?;
            }
            cursor = page.next;
            if cursor.is_none() {
                return Ok(());
            }
        }
    }
}

/// A task as whoever has it may see it: not how it is worked on.
fn told(task: &Task) -> Value {
    let agents: Vec<&str> = task.jobs.iter().map(|job| job.agent_name.as_str()).collect();
    json!({
        "id": task.id, "agent": task.agent, "contextId": task.context_id, "owner": task.owner, "status": task.status,
        "history": task.history, "artifacts": task.artifacts, "plan": task.plan, "asked": agents,
        "createdAt": task.created_at, "updatedAt": task.updated_at,
    })
}

fn own_agents() -> impl Iterator<Item = AgentName> {
    OWN_AGENTS.iter().filter_map(|name| AgentName::parse(name).ok())
}

fn page_of(limit: u32) -> PageRequest {
    PageRequest { limit, cursor: None }
}
