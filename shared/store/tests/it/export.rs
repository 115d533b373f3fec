//! A tenant's archive: it has what people said, what came of it and their files, its manifest is right, and nothing in it is a secret or
//! another tenant's.

use std::collections::BTreeMap;
use std::io::Read as _;

use domain::{Artifact, ChatId, GrantKey, SettingChange};
use sha2::{Digest as _, Sha256};
use store::audit::{Action, Actor};
use store::{CardSignature, GivenGrant, Health, Opened, RegisteredAgent, Share, StoredMessage, User};

use crate::blobs::with_folder_at;
use crate::*;

/// What no archive may have.
const SECRETS: [&str; 4] = ["pass-hash", "sealed-token", "one-1", "share-link"];
const OTHERS: &str = "only-globex";
/// How often a result repeats its words: it has two pieces.
const RESULT: usize = 700_000;

async fn archive(store: &Store, of: &Tenant) -> Vec<u8> {
    let (send, mut receive) = tokio::sync::mpsc::channel(1);
    let export = store.export();
    let read = async {
        let mut bytes: Vec<u8> = Vec::new();
        while let Some(more) = receive.recv().await {
            bytes.extend(more);
        }
        bytes
    };
    let (sent, bytes) = tokio::join!(export.send(of, later(20), send), read);
    sent.unwrap();
    bytes
}

fn entries(bytes: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in tar::Archive::new(bytes).entries().unwrap() {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().to_str().unwrap().to_owned();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        assert!(found.insert(name, content).is_none(), "each once");
    }
    found
}

fn lines(of: &BTreeMap<String, Vec<u8>>, kind: &str) -> Vec<Value> {
    let parts = of
        .iter()
        .filter(|(name, _)| name.starts_with(&format!("{kind}/")));
    let lines = parts.flat_map(|(_, content)| content.split(|byte| *byte == b'\n'));
    let lines = lines.filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
}

async fn fill(store: &Store, of: &str, words: &str) {
    let (of, user) = (tenant(of), owner("ada"));
    store.tenants().add(&of).await.unwrap();
    let change = SettingChange::parse("brand", Some(words)).unwrap();
    assert!(store.tenants().set(&of, &[change]).await.unwrap());
    let account = User {
        username: "ada".to_owned(),
        subject: owner("subject"),
        display_name: words.to_owned(),
        password_hash: SECRETS[0].to_owned(),
        roles: Vec::new(),
        since: None,
        not_before: None,
    };
    assert!(store.identity().add_user(&of, &account).await.unwrap());
    let agent = RegisteredAgent {
        id: domain::AgentId::random(&SystemEntropy),
        tenant: Some(of.clone()),
        card_url: "https://agents.example/card".parse().unwrap(),
        card: json!({ "name": words }),
        skills: Vec::new(),
        registered_at: now(),
        health: Health {
            ok: true,
            checked_at: now(),
            reason: None,
        },
        signature: CardSignature::Absent,
        disabled: false,
        link_hosts: Vec::new(),
        pending: None,
    };
    store.registry().put(&agent).await.unwrap();
    let (sessions, chat) = (store.sessions(), ChatId::parse("files").unwrap());
    let opened = sessions.open_chat(&of, &user, &chat, words, now()).await.unwrap();
    let Opened::New(chat) = opened else {
        panic!("it is known")
    };
    let said = StoredMessage {
        id: message_id("../m#1"),
        at: now(),
        body: json!({ "words": words }),
        edits: 0,
    };
    // One beside the table, once though it is there twice, and a small one.
    let large = words.repeat(3000).into_bytes();
    let files = [large.clone(), words.as_bytes().to_vec(), large];
    let added = sessions
        .add_with_files(&of, chat.place(), (&said, true), &files)
        .await;
    assert_eq!(added.unwrap(), store::Added::New);
    let mut task = task_of(of.name(), "host", "ada", now());
    task.history[0].parts.push(Part::text(words.repeat(3000)));
    let key = TaskKey::from(&task);
    let mut file = store.tasks().receive(&key, "one").await.unwrap().unwrap();
    file.write(&words.repeat(RESULT).into_bytes()).await.unwrap();
    let kept = file.end().await.unwrap();
    let mut result = Part::text("");
    let url = format!("https://host.example/tasks/{}/files/{}", task.id, kept.name);
    result.detach_to(url, (kept.size, &kept.sha256));
    task.artifacts.push(Artifact::new("large", vec![result]));
    let id = message_id(&task.id.to_string());
    let push = push_config("p");
    let new = NewRecord {
        task: &task,
        message_id: &id,
        body_hash: "hash",
        push: Some(&push),
        due_at: later(5),
        retention: seconds(3600),
    };
    assert_eq!(store.tasks().create(&new).await.unwrap(), Created::New);
    // By that the archive knows whose tasks there are.
    store.ledger().admit(&task).await.unwrap();
    let key = GrantKey {
        tenant: &of,
        owner: &user,
        provider: "idp",
        resource: words,
    };
    let given = GivenGrant {
        key,
        scopes: &[],
        sealed: SECRETS[1],
        person: None,
        now: now(),
    };
    store.grants().put_grant(given).await.unwrap();
    let audit = store.audit(later(1));
    audit
        .tell(Action::UserAdd, Some(&of), Actor::Operator, words, "done")
        .await;
}

#[tokio::test]
async fn an_archive_has_all_of_its_tenant_no_secret_and_nothing_of_another() {
    let (store, database, _folder, _directory) = with_folder_at(false).await;
    fill(&store, "acme", "of-acme").await;
    fill(&store, "globex", OTHERS).await;
    // Whoever has signed in is found without a task, and so is the guest they were.
    let (guest, person) = erasure::lives(&store, 1, "canary").await;
    let task = task_of("acme", "host", guest.as_str(), now());
    let share = Share {
        task: task.id,
        owner: guest.clone(),
        context: task.context_id,
        person: erasure::person_of(&person, 1),
        agents: Vec::new(),
        agreed: Vec::new(),
        epoch: 0,
        created_at: now(),
        ends_at: later(3600),
    };
    store
        .sessions()
        .share(&tenant("acme"), SECRETS[3], &share)
        .await
        .unwrap();

    let bytes = archive(&store, &tenant("acme")).await;
    let found = entries(&bytes);
    let text = String::from_utf8_lossy(&bytes);
    for never in SECRETS.into_iter().chain([OTHERS, "v1.k.sealed"]) {
        let everything = ["tasks", "sessions", "identity", "registry"];
        let kept =
            everything.map(|table| json!(database.everything(&format!("switchyard-{table}"))).to_string());
        assert!(kept.concat().contains(never), "{never} lies in the tables");
        assert!(!text.contains(never), "{never}");
    }

    let manifest: Value = serde_json::from_slice(&found["manifest.json"]).unwrap();
    assert_eq!(
        (&manifest["tenant"], &manifest["format"]),
        (&json!("acme"), &json!(1))
    );
    let listed = manifest["entries"].as_object().unwrap();
    assert_eq!(listed.len() + 1, found.len(), "all but itself");
    for (name, content) in found.iter().filter(|(name, _)| *name != "manifest.json") {
        let hash: String = Sha256::digest(content)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(
            listed[name],
            json!({ "bytes": content.len(), "sha256": hash }),
            "{name}"
        );
    }

    let of_ada = |lines: Vec<Value>| lines.into_iter().filter(|line| line["owner"] == "ada").count();
    assert_eq!(of_ada(lines(&found, "tasks")), 1);
    assert_eq!(lines(&found, "tasks").len(), 5, "and those of the guest");
    assert!(
        lines(&found, "tasks")
            .iter()
            .all(|task| task.get("jobs").is_none())
    );
    let large = "of-acme".repeat(3000);
    let has_large = |task: &Value| task["history"][0]["parts"].to_string().contains(&large);
    assert!(lines(&found, "tasks").iter().any(has_large));
    let results = found.iter().filter(|(name, _)| name.starts_with("results/"));
    let results: Vec<&Vec<u8>> = results.map(|(_, content)| content).collect();
    assert!(
        results == [&"of-acme".repeat(RESULT).into_bytes()],
        "what lies beside its task"
    );
    assert_eq!(lines(&found, "chats").len(), 2);
    assert_eq!(lines(&found, "feedback").len(), 2);
    assert_eq!(
        (lines(&found, "grants").len(), lines(&found, "shares").len()),
        (3, 3)
    );
    assert_eq!(
        (lines(&found, "users").len(), lines(&found, "people").len()),
        (1, 1)
    );
    assert_eq!(lines(&found, "audit")[0]["object"], "of-acme");
    assert_eq!(found.keys().filter(|name| name.starts_with("cards/")).count(), 1);
    let settings: Value = serde_json::from_slice(&found["tenant.json"]).unwrap();
    assert_eq!(settings["settings"]["brand"], "of-acme");
    let of_message: Vec<Value> = lines(&found, "files-of-messages");
    let of_message: Vec<&Value> = of_message
        .iter()
        .filter(|one| one["message"] == "../m#1")
        .collect();
    let content = |number: usize| {
        let name = format!("files/{}", of_message[number]["file"].as_str().unwrap());
        String::from_utf8(found[&name].clone()).unwrap()
    };
    assert_eq!(
        [content(0), content(1), content(2)],
        [large.clone(), "of-acme".to_owned(), large]
    );
    assert_eq!(of_message[0]["file"], of_message[2]["file"]);
}

#[tokio::test]
async fn an_archive_that_nobody_reads_on_is_no_success() {
    let (store, _database, _folder, _directory) = with_folder_at(false).await;
    fill(&store, "acme", "of-acme").await;
    let (send, receive) = tokio::sync::mpsc::channel(1);
    drop(receive);
    assert!(
        store
            .export()
            .send(&tenant("acme"), later(20), send)
            .await
            .is_err()
    );
}
