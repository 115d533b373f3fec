//! Large things lie in a blob store: what is read is what was written, each write is cheap, and whatever dies or lies leads to no
//! record without its bytes and to no bytes of somebody else's.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use domain::{Artifact, ChatId, Entropy as _, PartContent};
use store::{
    Added, BlobKey, BlobScope, Blobs as _, Folder, Leased, ListedBlob, Opened, StoredMessage, measured,
};
use store_testing::{Database, Fate};

use crate::*;

const CANARY: &str = "Y2FuYXJ5";

/// A folder that goes with whoever has this.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        let place = std::env::temp_dir().join(format!("switchyard-{}", SystemEntropy.uuid()));
        std::fs::create_dir(&place).unwrap();
        Self(place)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

impl std::ops::Deref for Scratch {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

async fn with_folder() -> (Store, Database, Arc<Folder>, Scratch) {
    with_folder_at(false).await
}

/// `apart`: the database has threads of its own.
pub(crate) async fn with_folder_at(apart: bool) -> (Store, Database, Arc<Folder>, Scratch) {
    let (store, database) = match apart {
        true => store_testing::start_apart(None).await,
        false => store_testing::start().await,
    };
    let directory = Scratch::new();
    let folder = Arc::new(Folder::new(directory.0.join("blobs")));
    (store.with_blobs(folder.clone()), database, folder, directory)
}

/// Base64 of a file of 700 KB, which nothing packs.
fn large() -> String {
    let mut state: u64 = 7;
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        letters[usize::try_from(state >> 58).unwrap()] as char
    };
    let noise: String = (0..933_328).map(|_| next()).collect();
    format!("{CANARY}{noise}")
}

fn with_file(mut task: Task) -> Task {
    task.history[0].parts.push(Part {
        filename: Some("a.bin".to_owned()),
        ..Part::new(PartContent::Raw(large()))
    });
    task
}

async fn listed(folder: &Folder) -> Vec<ListedBlob> {
    folder.list(&BlobScope::All, None).await.unwrap()
}

/// Every byte that is kept, packed or not, but for what DynamoDB packs: files here do not pack.
fn holds_canary(database: &Database, folder: &Path) -> (bool, bool) {
    let tables =
        ["tasks", "sessions", "tenants"].map(|table| database.everything(&format!("switchyard-{table}")));
    let in_tables = serde_json::to_string(&tables).unwrap().contains(CANARY);
    (in_tables, holds(folder))
}

fn holds(place: &Path) -> bool {
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
    entries
        .into_iter()
        .any(|entry| match entry.file_type().unwrap().is_dir() {
            true => holds(&entry.path()),
            false => String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap()).contains(CANARY),
        })
}

fn body(database: &Database, key: &TaskKey) -> Value {
    let partition = format!("{}#{}#task#{}", key.tenant.prefix(), key.agent, key.id);
    let items = database.items("switchyard-tasks", &partition);
    items.into_iter().find(|item| item["sk"]["S"] == "TASK").unwrap()
}

fn unpacked(item: &Value) -> Value {
    use base64::Engine as _;
    let text = match (&item["body"]["S"], &item["body"]["B"]) {
        (Value::String(text), _) => text.clone(),
        (_, packed) => {
            let bytes = base64::engine::general_purpose::STANDARD
                .decode(packed.as_str().unwrap())
                .unwrap();
            String::from_utf8(miniz_oxide::inflate::decompress_to_vec(&bytes).unwrap()).unwrap()
        }
    };
    serde_json::from_str(&text).unwrap()
}

#[tokio::test]
async fn a_file_comes_in_and_goes_out_by_pieces_and_without_its_end_nothing_of_it_is_there() {
    let (store, _database, folder, _directory) = with_folder().await;
    let (task, other) = (
        task_of("acme", "host", "u", now()),
        task_of("acme", "weather", "u", now()),
    );
    created(&store, &task).await;
    let key = TaskKey::from(&task);
    let bytes: Vec<u8> = large().into_bytes().repeat(13);
    let mut file = store.tasks().receive(&key, "one").await.unwrap().unwrap();
    for piece in bytes.chunks(70_001) {
        file.write(piece).await.unwrap();
    }
    assert_eq!(
        listed(&folder).await.len(),
        1,
        "an unfinished one goes with the rest of its owner"
    );
    let kept = file.end().await.unwrap();
    assert_eq!(kept.size, u64::try_from(bytes.len()).unwrap());
    let mut back = Vec::new();
    while let Some(piece) = store
        .tasks()
        .piece(&task, &kept.name, (u64::try_from(back.len()).unwrap(), 3_000_000))
        .await
        .unwrap()
        .filter(|piece| !piece.is_empty())
    {
        back.extend(piece);
    }
    assert!(back == bytes);
    let twice = store.tasks().receive(&key, "one").await.unwrap().unwrap();
    assert_eq!(twice.end().await.unwrap().name, kept.name, "by its seed");
    for (task, name) in [
        (&other, kept.name.as_str()),
        (&task, "../one"),
        (&task, &"0".repeat(64)),
    ] {
        assert_eq!(
            store.tasks().piece(task, name, (0, 9)).await.unwrap(),
            None,
            "{name}"
        );
    }

    let mut file = store.tasks().receive(&key, "two").await.unwrap().unwrap();
    file.write(&bytes).await.unwrap();
    let before = listed(&folder).await.len();
    drop(file);
    assert_eq!((before, listed(&folder).await.len()), (2, 1));
    let of_task = BlobScope::Owner(listed(&folder).await[0].key.owner().to_owned());
    assert_eq!(folder.list(&of_task, None).await.unwrap().len(), 1);
    let without = store_testing::start().await.0;
    assert!(without.tasks().receive(&key, "one").await.unwrap().is_none());
}

#[tokio::test]
async fn a_task_with_a_file_is_read_as_it_was_and_each_write_of_it_is_cheap() {
    let (store, database, folder, _directory) = with_folder().await;
    let tasks = store.tasks();
    let task = with_file(task_of("acme", "host", "user-1", now()));
    let (key, spent) = measured(Box::pin(created(&store, &task))).await;
    assert!(spent.capacity.write <= 8.0, "{}", spent.capacity.write);
    let leased = tasks.lease(&key, "w", later(1), later(31)).await.unwrap();
    let Leased::Taken(stored) = leased else {
        panic!("not leased")
    };
    assert_eq!(stored.task.history, task.history);
    assert_eq!(
        stored.task.needs,
        domain::BLOB_RECORDS,
        "an older release shows it, and acts on nothing of it"
    );

    let mut revision = Revision::of(stored.task);
    let artifact = Artifact::new("a", vec![Part::text("x".repeat(20_000)), Part::text("y")]);
    revision
        .record(EventKind::artifact(artifact.clone()), later(2))
        .unwrap();
    let (committed, spent) = measured(tasks.commit(&revision, Due::Keep, LeaseAfter::Keep)).await;
    assert_eq!(committed.unwrap(), Committed::Yes);
    assert!(spent.capacity.write <= 10.0, "{}", spent.capacity.write);
    assert_eq!(
        listed(&folder).await.len(),
        2,
        "each once, in the task and in its log"
    );
    let events = tasks.events(&key, 1, 10).await.unwrap();
    assert!(matches!(&events[0].kind, EventKind::Artifact { artifact: told, .. } if *told == artifact));
    assert_eq!(
        tasks.find(&key, now()).await.unwrap().unwrap().task.artifacts,
        std::slice::from_ref(&artifact)
    );
    assert_eq!(
        holds_canary(&database, &_directory.0.join("blobs")),
        (false, true)
    );

    // Who wants to know how it stands fetches nothing, and may write it back.
    let bare = tasks.bare().find(&key, now()).await.unwrap().unwrap().task;
    let PartContent::Raw(refers) = &bare.history[0].parts[1].content else {
        panic!("no file")
    };
    assert!(refers.len() < 200, "{refers}");
    let mut revision = Revision::of(bare);
    revision
        .record(EventKind::status(TaskState::Canceled, None), later(3))
        .unwrap();
    assert_eq!(
        tasks
            .commit(&revision, Due::Never, LeaseAfter::Keep)
            .await
            .unwrap(),
        Committed::Yes
    );
    let over = tasks.find(&key, now()).await.unwrap().unwrap().task;
    assert_eq!((&over.history, &over.artifacts), (&task.history, &vec![artifact]));
    assert_eq!(listed(&folder).await.len(), 2);

    // A task without large things is as it was.
    let small = task_of("acme", "host", "user-1", now());
    let key = created(&store, &small).await;
    assert!(unpacked(&body(&database, &key)).get("needs").is_none());
}

/// Write units of a message in a chat, its task, and three steps of that, as a delegation has them.
async fn walk(files: &[Vec<u8>]) -> f64 {
    let (store, _database, _folder, _directory) = with_folder().await;
    let (sessions, acme, user) = (store.sessions(), tenant("acme"), owner("user-1"));
    let chat = ChatId::parse("c").unwrap();
    let opened = sessions.open_chat(&acme, &user, &chat, "Files", now()).await;
    let Opened::New(chat) = opened.unwrap() else {
        panic!("there was a chat")
    };
    let message = StoredMessage {
        id: message_id("m"),
        at: now(),
        body: json!({}),
        edits: 0,
    };
    let mut task = task_of("acme", "host", "user-1", now());
    if !files.is_empty() {
        task = with_file(task);
    }
    let work = async {
        let added = sessions.add_with_files(&acme, chat.place(), (&message, true), files);
        assert_eq!(added.await.unwrap(), Added::New);
        let key = created(&store, &task).await;
        for (step, state) in (1..).zip([TaskState::Working, TaskState::Working, TaskState::Completed]) {
            let leased = store
                .tasks()
                .lease(&key, "w", later(step), later(step + 30))
                .await;
            let Leased::Taken(stored) = leased.unwrap() else {
                panic!("not leased")
            };
            let mut revision = Revision::of(stored.task);
            revision
                .record(EventKind::status(state, None), later(step))
                .unwrap();
            let after = LeaseAfter::Release { holder: "w" };
            let committed = store.tasks().commit(&revision, Due::At(later(step)), after).await;
            assert_eq!(committed.unwrap(), Committed::Yes);
        }
    };
    let ((), spent) = measured(Box::pin(work)).await;
    spent.capacity.write
}

#[tokio::test]
async fn a_file_of_700_kb_costs_a_handful_of_write_units_and_none_where_there_is_none() {
    let (with, without) = (walk(&[large().into_bytes()]).await, walk(&[]).await);
    assert!(without <= 49.0, "{without}");
    assert!(with - without <= 3.0, "{with} and {without}");
}

#[tokio::test]
async fn what_looks_like_a_reference_is_somebodys_text() {
    let (store, database, folder, _directory) = with_folder().await;
    let with = with_file(task_of("acme", "host", "user-1", now()));
    created(&store, &with).await;
    let known = listed(&folder).await[0].key.hash().to_owned();
    let mut task = task_of("acme", "host", "user-2", now());
    let texts = [
        format!("switchyard-blob:{known}:933336"),
        "switchyard-blob:".to_owned(),
        "switchyard-blob:=\"".to_owned(),
    ];
    task.history[0].parts.extend(texts.iter().map(Part::text));
    let key = created(&store, &task).await;
    assert_eq!(
        store
            .tasks()
            .find(&key, now())
            .await
            .unwrap()
            .unwrap()
            .task
            .history,
        task.history
    );
    // A store without a blob store reads and writes the same.
    let plain = database.store();
    assert_eq!(
        plain
            .tasks()
            .find(&key, now())
            .await
            .unwrap()
            .unwrap()
            .task
            .history,
        task.history
    );
    assert_eq!(listed(&folder).await.len(), 1);
}

async fn refused(store: &Store, key: &TaskKey) -> String {
    match store.tasks().find(key, now()).await {
        Err(StoreError::Inconsistent { reason, .. }) => reason,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn bytes_that_are_others_or_gone_or_nobodys_are_told_apart_from_good_ones() {
    let (store, database, folder, directory) = with_folder().await;
    let task = with_file(task_of("acme", "host", "user-1", now()));
    let key = created(&store, &task).await;
    assert!(
        refused(&database.store(), &key)
            .await
            .contains("of which this program has none")
    );

    // Another tenant's record that names it: there is no such blob of its own.
    let other = created(&store, &task_of("globex", "host", "user-1", now())).await;
    let (mut item, foreign) = (body(&database, &other), unpacked(&body(&database, &key)));
    let mut forged = unpacked(&item);
    forged["history"][0]["parts"] = foreign["history"][0]["parts"].clone();
    item["body"] = json!({ "S": forged.to_string() });
    database.put("switchyard-tasks", &item);
    assert!(refused(&store, &other).await.contains("is not in the blob store"));

    // Rubbish that only a hand could have written.
    let hash = "a".repeat(64);
    let many: Vec<Value> = (0..300)
        .map(|n| json!({"content": {"text": format!("switchyard-blob:{n:064x}:20000")}}))
        .collect();
    let one = |text: String| vec![json!({"content": {"text": text}})];
    for parts in [
        many,
        one(format!("switchyard-blob:{hash}:99999999999999")),
        one(format!("switchyard-blob:{hash}:20000")),
    ] {
        forged["history"][0]["parts"] = Value::from(parts);
        item["body"] = json!({ "S": forged.to_string() });
        database.put("switchyard-tasks", &item);
        refused(&store, &other).await;
    }

    let blob = listed(&folder).await[0].key.clone();
    let bytes = folder.get(&blob, 1_000_000).await.unwrap().unwrap();
    let mut flipped = bytes.clone();
    flipped[500_000] ^= 1;
    for wrong in [&flipped[..], &bytes[..1000], b""] {
        folder.put(&blob, wrong).await.unwrap();
        assert!(refused(&store, &key).await.contains("is not what was put there"));
    }
    folder.delete(&blob).await.unwrap();
    assert!(refused(&store, &key).await.contains("is not in the blob store"));
    // How it stands can be seen, and it can be ended, all the same.
    assert!(store.tasks().bare().find(&key, now()).await.unwrap().is_some());
    drop(directory);
}

#[tokio::test]
async fn a_death_leaves_no_record_without_its_bytes_and_what_it_leaves_is_found() {
    let (store, database, folder, _directory) = with_folder().await;
    let task = with_file(task_of("acme", "host", "user-1", now()));
    let key = TaskKey::from(&task);
    // A place that takes nothing: nothing is written.
    let file = _directory.0.join("file");
    std::fs::write(&file, "").unwrap();
    let full = database.store().with_blobs(Arc::new(Folder::new(file)));
    let id = message_id("m");
    let new = NewRecord {
        task: &task,
        message_id: &id,
        body_hash: "hash",
        push: None,
        due_at: later(5),
        retention: seconds(3600),
    };
    assert!(full.tasks().create(&new).await.is_err());
    assert!(store.tasks().find(&key, now()).await.unwrap().is_none());

    // A process that dies between the two leaves bytes without a record.
    let fate = Fate {
        requests: 0,
        does_one_more: false,
    };
    let (dying, death) = database.mortal_store(fate);
    let dying = dying.with_blobs(folder.clone());
    let tasks = dying.tasks();
    tokio::select! {
        created = tasks.create(&new) => panic!("{created:?}"),
        () = death.comes() => {}
    }
    assert!(store.tasks().find(&key, now()).await.unwrap().is_none());
    assert_eq!(listed(&folder).await.len(), 1);
    let live = with_file(task_of("acme", "weather", "user-1", now()));
    let live_key = created(&store, &live).await;

    let (orphans, put_at) = (store.orphans(), listed(&folder).await[0].put_at);
    assert_eq!(
        orphans
            .remove_some(None, put_at.after(seconds(3600)))
            .await
            .unwrap(),
        (0, None),
        "its record may come yet"
    );
    let tomorrow = put_at.after(seconds(90_000));
    assert_eq!(orphans.remove_some(None, tomorrow).await.unwrap(), (1, None));
    assert_eq!(listed(&folder).await.len(), 1);
    assert!(store.tasks().find(&live_key, now()).await.unwrap().is_some());
    // Once its retention is over, what is left of it goes as well.
    let mut revision = Revision::of(store.tasks().find(&live_key, now()).await.unwrap().unwrap().task);
    revision
        .record(EventKind::status(TaskState::Canceled, None), later(3))
        .unwrap();
    store
        .tasks()
        .commit(&revision, Due::Never, LeaseAfter::Keep)
        .await
        .unwrap();
    assert_eq!(
        orphans
            .remove_some(None, tomorrow.after(seconds(86_400 * 4000)))
            .await
            .unwrap(),
        (1, None)
    );
    assert!(listed(&folder).await.is_empty());
}

#[tokio::test]
async fn a_chat_keeps_its_files_there_and_takes_them_along() {
    let (store, database, folder, directory) = with_folder().await;
    let (sessions, acme, user) = (store.sessions(), tenant("acme"), owner("user-1"));
    let mut places = Vec::new();
    for name in ["a", "b"] {
        let chat = ChatId::parse(name).unwrap();
        let Opened::New(chat) = sessions
            .open_chat(&acme, &user, &chat, "Files", now())
            .await
            .unwrap()
        else {
            panic!("there was a chat")
        };
        places.push(chat.place().clone());
        let message = StoredMessage {
            id: message_id("m"),
            at: now(),
            body: json!({}),
            edits: 0,
        };
        let files = [large().into_bytes(), b"small".to_vec(), large().into_bytes()];
        let sizes: Vec<usize> = files.iter().map(Vec::len).collect();
        let add = Box::pin(sessions.add_with_files(&acme, chat.place(), (&message, true), &files));
        let (added, spent) = measured(add).await;
        assert_eq!(added.unwrap(), Added::New);
        assert!(spent.capacity.write <= 11.0, "{}", spent.capacity.write);
        for (number, (file, size)) in files.iter().zip(sizes).enumerate() {
            let read = sessions
                .file(&acme, chat.place(), &message.id, (number, size))
                .await
                .unwrap();
            assert_eq!(read.as_ref(), Some(file));
        }
        let shorter = sessions
            .file(&acme, chat.place(), &message.id, (0, 700_000))
            .await;
        assert!(shorter.is_err(), "another size than the message says");
    }
    let of = |place: &ChatId| BlobScope::Owner(format!("acme#chat#{place}"));
    assert_eq!(
        folder.list(&of(&places[0]), None).await.unwrap().len(),
        1,
        "the same bytes once in a chat"
    );
    assert_eq!(listed(&folder).await.len(), 2, "and once more in another");
    assert_eq!(
        store.orphans().remove_some(None, later(90_000)).await.unwrap(),
        (0, None)
    );
    assert!(
        sessions
            .delete_chat(&acme, &user, &places[0], now())
            .await
            .unwrap()
    );
    assert_eq!(listed(&folder).await.len(), 1);
    // Who had not heard of that leaves nothing either.
    let late = StoredMessage {
        id: message_id("n"),
        at: now(),
        body: json!({}),
        edits: 0,
    };
    let added = sessions
        .add_with_files(&acme, &places[0], (&late, true), &[large().into_bytes()])
        .await;
    assert_eq!(added.unwrap(), Added::NoChat);
    assert_eq!(listed(&folder).await.len(), 1);
    let erased = Box::pin(store.erasures().erase(&acme, &user, None, now()))
        .await
        .unwrap();
    assert_eq!(erased.erased.get("blobs"), Some(&1), "{erased:?}");
    assert_eq!(
        holds_canary(&database, &directory.0.join("blobs")),
        (false, false)
    );
}

#[tokio::test]
async fn nothing_is_left_of_who_is_erased_or_purged() {
    let (store, database, folder, directory) = with_folder().await;
    let blobs = directory.0.join("blobs");
    for (tenant_name, user) in [("acme", "user-1"), ("acme", "user-2"), ("globex", "user-1")] {
        for agent in ["host", "weather"] {
            created(&store, &with_file(task_of(tenant_name, agent, user, now()))).await;
        }
    }
    // What a death left while it was being written lies there too.
    let first = listed(&folder).await[0].key.path();
    let (owner_part, hash) = first.split_once('/').unwrap();
    let directory_of = std::fs::read_dir(&blobs)
        .unwrap()
        .map(|one| one.unwrap().path())
        .find(|place| place.join(hash).is_file());
    std::fs::write(directory_of.unwrap().join(format!("{hash}.1-2")), CANARY).unwrap();
    assert!(owner_part.starts_with("acme#"));

    let acme = tenant("acme");
    for user in ["user-1", "user-2"] {
        let (user, erasures) = (owner(user), store.erasures());
        let begun = Box::pin(erasures.erase(&acme, &user, None, now())).await.unwrap();
        assert_eq!(begun.waiting, 2, "whoever works on them is to hear of it");
        let done = Box::pin(erasures.erase(&acme, &user, None, later(700)))
            .await
            .unwrap();
        assert!(done.done_at.is_some(), "{done:?}");
        assert_eq!(done.certificate()["erased"]["blobs"], 2);
    }
    let left = listed(&folder).await;
    assert!(
        left.iter().all(|one| one.key.owner().starts_with("globex#")),
        "{left:?}"
    );
    assert_eq!(left.len(), 2);
    assert!(holds(&blobs));

    let globex = tenant("globex");
    let purged = store.purge().run(&globex, now()).await.unwrap();
    assert_eq!(purged.removed.get("blobs"), Some(&2), "{purged:?}");
    assert_eq!(holds_canary(&database, &blobs), (false, false));
    let key = BlobKey::parse(&first).unwrap();
    assert_eq!(folder.get(&key, 10).await.unwrap(), None);
}

/// The key of an owner's blob of five bytes.
fn key_of(owner: &str) -> BlobKey {
    let hash = "277089d91c0bdf4f2e6862ba7e4a07605119431f5d13f726dd352b06f1b206a9";
    let owner = owner.replace('%', "%25").replace('/', "%2F");
    BlobKey::parse(&format!("{owner}/{hash}")).unwrap()
}

#[tokio::test]
async fn what_is_put_is_there_and_nothing_leads_out_of_the_folder() {
    let all = Scratch::new();
    let folder = Folder::new(all.0.join("blobs"));
    let owners = [
        "acme#chat#../../x",
        "acme#chat#/etc",
        "acme#host#task#1",
        "acme.7#chat#a",
        "globex#chat#a",
    ];
    let long = format!("acme#chat#{}", "é".repeat(128));
    let owners: Vec<&str> = owners.into_iter().chain([long.as_str()]).collect();
    let keys: Vec<BlobKey> = owners.iter().map(|owner| key_of(owner)).collect();
    for key in &keys {
        assert_eq!(folder.get(key, 5).await.unwrap(), None);
        folder.put(key, b"bytes").await.unwrap();
        folder.put(key, b"bytes").await.unwrap();
        assert_eq!(folder.get(key, 5).await.unwrap().as_deref(), Some(&b"bytes"[..]));
        assert!(folder.get(key, 4).await.is_err(), "more than asked for");
    }
    let names: Vec<_> = std::fs::read_dir(&all.0)
        .unwrap()
        .map(|one| one.unwrap().file_name())
        .collect();
    assert_eq!(names, ["blobs"]);

    let listed = async |scope: BlobScope| {
        let found = folder.list(&scope, None).await.unwrap();
        found.into_iter().map(|one| one.key).collect::<Vec<_>>()
    };
    let mut sorted = keys.clone();
    sorted.sort_by_key(BlobKey::path);
    assert_eq!(listed(BlobScope::All).await, sorted);
    let acme = listed(BlobScope::Tenant(Tenant::parse("acme").unwrap())).await;
    assert!(acme.iter().all(|key| key.owner().starts_with("acme#")));
    assert_eq!(acme.len(), 4, "none of another incarnation");
    for key in &keys {
        assert_eq!(
            listed(BlobScope::Owner(key.owner().to_owned())).await,
            std::slice::from_ref(key)
        );
    }
    let after = folder.list(&BlobScope::All, sorted.get(2)).await.unwrap();
    assert_eq!(after.len(), sorted.len() - 3);
    for key in &keys {
        folder.delete(key).await.unwrap();
        folder.delete(key).await.unwrap();
    }
    assert!(listed(BlobScope::All).await.is_empty());
    assert_eq!(
        std::fs::read_dir(all.0.join("blobs")).unwrap().count(),
        0,
        "no directory is left"
    );
}
