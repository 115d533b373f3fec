//! Somebody is erased by a process that dies at each of its requests in turn: whoever asks again goes on, nothing of theirs is left in
//! any table nor in the blob store then, and nothing of anybody else's is touched.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::{Artifact, ChatId, GrantKey, TaskState};
use miniz_oxide::inflate::decompress_to_vec;
use store::{
    Adopted, BlobKey, BlobScope, Blobs, ConsentWrite, Erasure, Folder, GivenGrant, Incoming, ListedBlob,
    Opened, Person, Profile, PushSubscription, Pushes, Session, Share, StoredMessage, Verdict, person_id,
};
use store_testing::{Database, Death, Fate};

use crate::blobs::with_folder_at;
use crate::*;

const TABLES: [&str; 6] = ["tasks", "sessions", "registry", "identity", "orders", "tenants"];
/// How many processes die.
const SEEDS: u64 = 20;
/// In how many databases.
const GROUPS: usize = 4;
/// Longer than those who work on a canceled task may take to hear of it.
const HEARD: u64 = 700;

pub(crate) fn person_of(who: &Owner, n: usize) -> Person {
    Person {
        issuer: "https://login.example".to_owned(),
        subject: who.clone(),
        username: String::new(),
        auth_time: now(),
        id: Some(who.clone()),
        sid: Some(format!("sid-{n}")),
        proof: None,
    }
}

/// Somebody who took over a guest's work, of which there is something of each kind, with these words in it; the guest's id and the
/// person's.
pub(crate) async fn lives(store: &Store, n: usize, words: &str) -> (Owner, Owner) {
    let (acme, guest) = (tenant("acme"), owner(&format!("guest-{n}")));
    let subject = owner(&format!("subject-{n}"));
    let who = person_id("https://login.example", &subject, None).unwrap();
    let (sessions, grants) = (store.sessions(), store.grants());
    let profile = Profile {
        issuer: "https://login.example".to_owned(),
        subject,
        username: words.to_owned(),
        display_name: words.to_owned(),
        roles: Vec::new(),
    };
    sessions.meet_person(&acme, &who, &profile).await.unwrap();
    assert_eq!(sessions.adopt(&acme, &guest, &who).await.unwrap(), Adopted::Yes);
    assert!(sessions.give_work(&acme, &who, &guest).await.unwrap());
    let person = person_of(&who, n);
    for hash in ["one", "two"].map(|hash| format!("{hash}-{n}")) {
        let session = Session {
            owner: guest.clone(),
            created_at: now(),
            expires_at: later(3600),
            person: Some(person.clone()),
            guest: None,
            pushes: Pushes::default(),
        };
        sessions.begin_session(&acme, &hash, &session).await.unwrap();
        let issuer = (person.issuer.as_str(), person.sid.as_deref().unwrap());
        assert!(
            sessions
                .note_sid(&acme, issuer, &hash, later(3600))
                .await
                .unwrap()
        );
    }
    let device = PushSubscription {
        id: format!("device-{n}"),
        sealed: words.to_owned(),
        person: Some(person.clone()),
        created_at: now(),
        expires_at: later(3600),
        told: None,
    };
    let here = (&guest, &*format!("one-{n}"));
    sessions.keep_subscription(&acme, here, &device).await.unwrap();

    let chat = ChatId::parse("trip").unwrap();
    let opened = sessions
        .open_chat(&acme, &guest, &chat, words, now())
        .await
        .unwrap();
    let Opened::New(chat) = opened else {
        panic!("it is known")
    };
    let said = |id: &str| StoredMessage {
        id: message_id(id),
        at: now(),
        body: json!({ "id": id, "words": words }),
        edits: 0,
    };
    let files = [words.repeat(30_000).into_bytes()];
    let first = (&said("m"), true);
    sessions
        .add_with_files(&acme, chat.place(), first, &files)
        .await
        .unwrap();
    sessions
        .keep_answer(&acme, chat.place(), &said("a"), now())
        .await
        .unwrap();
    let gone = ChatId::parse("gone").unwrap();
    sessions
        .open_chat(&acme, &guest, &gone, words, now())
        .await
        .unwrap();
    let place = gone.of_owner(&guest);
    assert!(sessions.delete_chat(&acme, &guest, &place, now()).await.unwrap());

    for agent in [None, Some(agent("calendar"))] {
        let grants = grants.of(agent.as_ref());
        let resource = format!("https://{words}.example");
        let key = GrantKey {
            tenant: &acme,
            owner: &guest,
            provider: "idp",
            resource: &resource,
        };
        let given = GivenGrant {
            key,
            scopes: &[],
            sealed: words,
            person: None,
            now: now(),
        };
        grants.put_grant(given).await.unwrap();
        let consent = ConsentWrite {
            id: &format!("consent-{n}"),
            owner: &guest,
            document: &json!({ "words": words, "owner": guest }),
            version: 1,
            expires_at: later(600),
        };
        assert!(grants.put_consent(&acme, consent).await.unwrap());
    }
    for (name, ends) in [
        ("host", true),
        ("host", false),
        ("weather", true),
        ("weather", false),
    ] {
        let new = NewTask {
            id: TaskId::random(&SystemEntropy),
            tenant: acme.clone(),
            agent: agent(name),
            context_id: chat.context_id.clone(),
            owner: guest.clone(),
            message: Message::user(
                message_id("m"),
                vec![Part::text(words), Part::text(words.repeat(1500))],
            ),
            trace: None,
        };
        let task = Task::create(new, now());
        created(store, &task).await;
        store.ledger().admit(&task).await.unwrap();
        let task = step(store, task, TaskState::Working, later(1)).await;
        if !ends {
            continue;
        }
        // What was asked, what came of it, and its log: each has large words.
        let mut over = Revision::of(task.clone());
        let result = Artifact::new("a", vec![Part::text(words.repeat(2000)), Part::text(words)]);
        over.record(EventKind::artifact(result), later(2)).unwrap();
        over.record(EventKind::status(TaskState::Completed, None), later(2))
            .unwrap();
        let committed = store.tasks().commit(&over, Due::Never, LeaseAfter::Keep).await;
        assert_eq!(committed.unwrap(), Committed::Yes);
        let thought = (task.id, Some(Verdict::Good));
        sessions
            .keep_feedback(&acme, chat.place(), thought, now())
            .await
            .unwrap();
        let share = Share {
            task: task.id,
            owner: guest.clone(),
            context: task.context_id.clone(),
            person: person.clone(),
            agents: Vec::new(),
            agreed: vec![words.to_owned()],
            epoch: 0,
            created_at: now(),
            ends_at: later(3600),
        };
        sessions
            .share(&acme, &format!("link-{}", task.id), &share)
            .await
            .unwrap();
    }
    (guest, who)
}

/// Every item but those that count for the whole tenant, as text: what is packed in it is unpacked.
fn everything(database: &Database) -> Vec<String> {
    let tables = TABLES.map(|table| format!("switchyard-{table}"));
    let items = tables.iter().flat_map(|table| database.everything(table));
    let plain = items.map(|item| {
        let mut text = item.to_string();
        for value in item.as_object().into_iter().flat_map(|item| item.values()) {
            if let Some(bytes) = value["B"].as_str().and_then(|bytes| STANDARD.decode(bytes).ok()) {
                text += &String::from_utf8_lossy(&bytes);
                text += &String::from_utf8_lossy(&decompress_to_vec(&bytes).unwrap_or_default());
            }
        }
        text
    });
    let mut plain: Vec<String> = plain.filter(|item| !item.contains("#host#usage#now\"")).collect();
    plain.sort();
    plain
}

/// Erases until it is done, as somebody does who asks again: once at once, and once more when all have heard of the cancels.
async fn erase(store: &Store, owner: &Owner, n: usize) -> Erasure {
    let (acme, session) = (tenant("acme"), format!("one-{n}"));
    let erasures = store.erasures();
    let begun = erasures
        .erase(&acme, owner, Some(&session), later(10))
        .await
        .unwrap();
    assert_eq!(begun.id.len(), 43);
    erasures
        .erase(&acme, owner, Some(&session), later(HEARD))
        .await
        .unwrap()
}

fn is_record(item: &str) -> bool {
    item.contains("#session#@@erasures")
}

/// A folder that is asked by a process that dies.
struct Mortal(Arc<Folder>, Death);

#[async_trait]
impl Blobs for Mortal {
    async fn put(&self, key: &BlobKey, bytes: &[u8]) -> Result<(), StoreError> {
        self.1.request(self.0.put(key, bytes)).await
    }

    async fn get(&self, key: &BlobKey, most: usize) -> Result<Option<Vec<u8>>, StoreError> {
        self.1.request(self.0.get(key, most)).await
    }

    async fn begin(&self, key: &BlobKey) -> Result<Box<dyn Incoming>, StoreError> {
        self.1.request(self.0.begin(key)).await
    }

    async fn piece(&self, key: &BlobKey, from: u64, most: usize) -> Result<Option<Vec<u8>>, StoreError> {
        self.1.request(self.0.piece(key, from, most)).await
    }

    async fn delete(&self, key: &BlobKey) -> Result<(), StoreError> {
        self.1.request(self.0.delete(key)).await
    }

    async fn list(&self, scope: &BlobScope, after: Option<&BlobKey>) -> Result<Vec<ListedBlob>, StoreError> {
        self.1.request(self.0.list(scope, after)).await
    }
}

/// Every file below a folder, with its bytes.
fn files(place: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(place).into_iter().flatten() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(files(&entry.path())),
            false => found.push((entry.path(), std::fs::read(entry.path()).unwrap())),
        }
    }
    found.sort();
    found
}

fn has(bytes: &[u8], words: &str) -> bool {
    bytes.windows(words.len()).any(|some| some == words.as_bytes())
}

/// Erases people by processes that meet these fates, in some databases at once: half of the time goes by with waiting.
async fn all_erased_by(fates: fn(u64) -> Vec<Fate>) {
    let mut groups = tokio::task::JoinSet::new();
    for group in 0..GROUPS {
        groups.spawn(erased_by(fates, group));
    }
    groups.join_all().await;
}

/// Erases one person after the other by processes that meet the fates of a group. The first lives: it says how many requests there are.
async fn erased_by(fates: fn(u64) -> Vec<Fate>, group: usize) {
    let (store, database, folder, directory) = with_folder_at(true).await;
    let (stays, _) = lives(&store, 9999, "canary-9999").await;
    let (before, kept) = (everything(&database), files(&directory));
    assert!(before.iter().any(|item| item.contains(stays.as_str())));
    assert!(kept.iter().any(|(_, bytes)| has(bytes, "canary-9999")));
    let lives_on = Fate {
        requests: u64::MAX,
        does_one_more: false,
    };
    let (mut expected, mut dying) = (None, vec![lives_on]);
    let mut number = 0;
    while let Some(fate) = dying.get(number).copied() {
        let n = 1000 + number;
        let words = format!("canary-{n}");
        let (guest, person) = lives(&store, n, &words).await;
        let own = [
            guest.as_str(),
            person.as_str(),
            &words,
            &format!("one-{n}"),
            &format!("two-{n}"),
        ];
        let is_own = |item: &&String| own.iter().any(|text| item.contains(text));
        let many = everything(&database).iter().filter(is_own).count();
        let beside = files(&directory)
            .iter()
            .filter(|(_, bytes)| has(bytes, &words))
            .count();
        assert!(many > 30 && beside == 7, "{many} items and {beside} blobs");
        let (mortal, death) = database.mortal_store(fate);
        let mortal = mortal.with_blobs(Arc::new(Mortal(folder.clone(), death.clone())));
        let lived = tokio::select! {
            () = death.comes() => false,
            _ = erase(&mortal, &guest, n) => true,
        };
        assert_eq!(lived, number == 0, "{fate:?}");
        if lived {
            assert!(death.requests() > 50, "{}", death.requests());
            dying.extend(fates(death.requests()).into_iter().skip(group).step_by(GROUPS));
        }
        let mut done = erase(&store, &guest, n).await;
        assert_eq!(
            (done.waiting, done.done_at, &done.owner),
            (0, Some(later(HEARD)), &None),
            "{fate:?}"
        );
        let mut left = everything(&database);
        left.retain(|item| !is_record(item) || is_own(&item));
        assert_eq!(left, before, "{fate:?}");
        assert!(files(&directory) == kept, "blobs: {fate:?}");
        // A death between the going of a blob and its count counts one less, or all of a partition's.
        let blobs = done.erased.remove("blobs").unwrap_or_default();
        assert!(if lived { blobs == 7 } else { blobs <= 7 }, "{blobs}: {fate:?}");
        let expected = expected.get_or_insert_with(|| done.erased.clone());
        assert_eq!(done.erased, *expected, "{fate:?}");
        number += 1;
    }
}

/// Deaths spread over the whole erasure, half of them with the last request done.
#[tokio::test(flavor = "multi_thread")]
async fn who_is_erased_leaves_nothing_wherever_the_process_dies() {
    all_erased_by(|requests| {
        let dies = |seed: u64| Fate {
            requests: (requests * (2 * seed - 1)) / (2 * SEEDS),
            does_one_more: seed.is_multiple_of(2),
        };
        (1..=SEEDS).map(dies).collect()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: ./tests/run kills"]
async fn who_is_erased_leaves_nothing_at_whichever_request_the_process_dies() {
    all_erased_by(|requests| {
        let both = |requests| {
            [false, true].map(|does_one_more| Fate {
                requests,
                does_one_more,
            })
        };
        (0..requests).flat_map(both).collect()
    })
    .await;
}

#[tokio::test]
async fn a_session_goes_last_and_tasks_wait_until_their_cancel_was_told() {
    let (store, database) = store_testing::start().await;
    let acme = tenant("acme");
    let (guest, person) = lives(&store, 1, "canary-1").await;
    let erasures = store.erasures();
    let begun = erasures
        .erase(&acme, &guest, Some("one-1"), later(10))
        .await
        .unwrap();
    assert_eq!(
        (begun.waiting, begun.done_at, begun.owner.as_ref()),
        (2, None, Some(&guest))
    );
    assert_eq!(erasures.open(&acme).await.unwrap(), std::slice::from_ref(&guest));
    let session = store
        .sessions()
        .live_session(&acme, "one-1", later(10))
        .await
        .unwrap();
    assert_eq!(
        session.map(|session| session.owner),
        Some(guest.clone()),
        "they may ask again"
    );
    assert!(
        store
            .sessions()
            .live_session(&acme, "two-1", later(10))
            .await
            .unwrap()
            .is_none()
    );
    let waits = everything(&database)
        .iter()
        .filter(|item| item.contains("\"TASK\""))
        .count();
    assert_eq!(waits, 2, "those that somebody has to hear of");

    // Both were told: nothing is due of them any more.
    for name in ["host", "weather"] {
        let (name, page) = (
            agent(name),
            PageRequest {
                limit: 9,
                cursor: None,
            },
        );
        let listed = store.tasks().by_owner(&acme, &name, &guest, page, now()).await;
        for task in listed.unwrap().items {
            assert_eq!(task.status.state, TaskState::Canceled);
            let told = TaskKey::from(&task);
            store
                .tasks()
                .lease(&told, "worker", later(11), later(20))
                .await
                .unwrap();
            store
                .tasks()
                .release(&told, "worker", task.rev, Due::Never, store::Attempts::Reset)
                .await
                .unwrap();
        }
    }
    let done = erasures
        .erase(&acme, &guest, Some("one-1"), later(30))
        .await
        .unwrap();
    assert_eq!(
        (done.waiting, done.done_at, done.owner),
        (0, Some(later(30)), None)
    );
    assert!(erasures.open(&acme).await.unwrap().is_empty());
    assert!(
        store
            .sessions()
            .live_session(&acme, "one-1", later(30))
            .await
            .unwrap()
            .is_none()
    );
    let left = everything(&database);
    let own = |item: &&String| {
        [guest.as_str(), person.as_str(), "canary"]
            .iter()
            .any(|text| item.contains(text))
    };
    assert_eq!(left.iter().find(own), None);
}

#[tokio::test]
async fn a_deleted_conversation_takes_its_tasks_along_and_no_others() {
    let (store, database) = store_testing::start().await;
    let acme = tenant("acme");
    let (guest, _) = lives(&store, 1, "canary-1").await;
    let tasks = |store: &Store| {
        let (store, acme, guest) = (store.clone(), acme.clone(), guest.clone());
        async move {
            let page = PageRequest {
                limit: 9,
                cursor: None,
            };
            let listed = store
                .tasks()
                .by_owner(&acme, &agent("host"), &guest, page, now())
                .await;
            listed.unwrap().items
        }
    };
    let context = tasks(&store).await[0].context_id.clone();
    let stranger = owner("guest-2");
    let other = ContextId::parse("other").unwrap();
    let erasures = store.erasures();
    for (who, which) in [(&stranger, &context), (&guest, &other)] {
        let left = erasures
            .erase_conversation((&acme, who), which, later(3))
            .await
            .unwrap();
        assert_eq!((left, tasks(&store).await.len()), (0, 2));
    }
    let left = erasures
        .erase_conversation((&acme, &guest), &context, later(90))
        .await
        .unwrap();
    assert_eq!(left, 1, "one was canceled, and somebody has to hear of it");
    let [left] = &tasks(&store).await[..] else {
        panic!("one is left")
    };
    assert_eq!(left.status.state, TaskState::Canceled);
    // What was done elsewhere of its own accord is not the conversation's.
    let weather = |item: &&String| item.contains("#weather#task#");
    assert!(everything(&database).iter().filter(weather).count() > 2);
}

#[tokio::test]
async fn an_operator_finds_somebody_by_name_until_nothing_is_left() {
    let (store, _database) = store_testing::start().await;
    let acme = tenant("acme");
    let (guest, person) = lives(&store, 1, "canary-1").await;
    let session = Session {
        owner: guest,
        created_at: now(),
        expires_at: later(3600),
        person: Some(Person {
            username: "ada".to_owned(),
            ..person_of(&person, 1)
        }),
        guest: None,
        pushes: Pushes::default(),
    };
    store
        .sessions()
        .begin_session(&acme, "three-1", &session)
        .await
        .unwrap();
    let erased = async |at| {
        let told = store.erasures().erase_named(&acme, Some("ada"), later(at)).await;
        let told = told.unwrap();
        told.iter().map(|one| one.done_at.is_some()).collect::<Vec<_>>()
    };
    assert_eq!(
        erased(10).await,
        [false],
        "tasks wait until their cancel was told"
    );
    assert_eq!(erased(20).await, [false]);
    assert_eq!(erased(10 + HEARD).await, [true]);
    assert_eq!(erased(10 + HEARD).await, Vec::<bool>::new());
}
