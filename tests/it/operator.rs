//! Orders that an operator imports on AWS, people whom they look after, and what removed tenants left: both programs, the AWS client's own
//! search for credentials, the tables of a stage.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use auth::Sealer;
use auth::card_signature::CardKeys;
use domain::{ChatId, Clock as _, ExposeSecret as _, MessageId, Owner, SystemClock, SystemEntropy, Tenant};
use idp::NewClient;
use serde_json::json;
use store::audit::{Action, Actor, DONE};
use store::{BlobScope, Blobs as _, Folder, Opened, Profile, Store, StoredMessage, Tables, User, person_id};
use system_testing::binary;
use system_testing::cloud::Cloud;
use system_testing::cloud::open_bucket;
use wiremock::matchers::body_string_contains;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::purged;

/// A tenant is known by its host.
async fn is_there(store: &Store, tenant: &Tenant) {
    let base = "https://acme.example/".parse().unwrap();
    let host = NewClient::host(&base, "a-secret-of-the-tests-of-good-length".into());
    idp::provision(store, tenant, &[host], &[], &SystemEntropy)
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "the program for AWS has crates of its own: `tests/run operator` builds it, then runs this"]
async fn orders_are_imported_on_aws() {
    let (_, database) = store_testing::start_apart(None).await;
    let store = Store::new(&database.config(), Tables::prefixed("switchyard-prod-"));
    store.create_tables().await.unwrap();
    let (acme, ada) = (Tenant::parse("acme").unwrap(), Owner::parse("sub-ada").unwrap());
    let user = User {
        username: "ada".to_owned(),
        subject: ada.clone(),
        display_name: "Ada".to_owned(),
        password_hash: "none".to_owned(),
        roles: Vec::new(),
        since: None,
        not_before: None,
    };
    store.identity().put_user(&acme, &user).await.unwrap();
    is_there(&store, &acme).await;

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("orders.csv");
    let import = async |lines: &str, keys: &[(&str, &str)]| {
        let head = "id,customer,status,items,placed_at,eta,updated_at\n";
        std::fs::write(&file, format!("{head}{lines}")).unwrap();
        let mut command = Command::new(binary::path("switchyard"));
        command.args(["orders", "import"]).arg(&file);
        command.args(["--tenant", "acme", "--aws"]);
        command.env("AWS_ENDPOINT_URL_DYNAMODB", database.url().as_str());
        // Nothing of the machine's own account may be found.
        command
            .env("HOME", folder.path())
            .env("AWS_EC2_METADATA_DISABLED", "true");
        for name in [
            "AWS_PROFILE",
            "AWS_REGION",
            "AWS_DEFAULT_REGION",
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
        ] {
            command.env_remove(name);
        }
        command.envs(keys.iter().copied());
        let ended = tokio::task::spawn_blocking(move || command.output().unwrap())
            .await
            .unwrap();
        let said = [ended.stdout, ended.stderr].concat();
        (ended.status.success(), String::from_utf8(said).unwrap())
    };
    let keys = [
        ("AWS_ACCESS_KEY_ID", "k"),
        ("AWS_SECRET_ACCESS_KEY", "s"),
        ("AWS_REGION", "eu-north-1"),
    ];
    // More than go in one piece.
    let many: String = (7000..7250)
        .map(|number| format!("{number},ada,placed,Lamp,2026-11-20T10:00:00Z,,\n"))
        .collect();
    let (done, said) = import(&many, &keys).await;
    assert!(done && said.contains("imported 250 orders for acme"), "{said}");
    let found = store.orders().find_order(&acme, "7249").await.unwrap().unwrap();
    assert_eq!(found.customer, Some(ada));

    let (done, said) = import("8000,eve,placed,,2026-11-20T10:00:00Z,,\n", &keys).await;
    assert!(
        !done && said.contains("eve is no user of the tenant; the first 0 orders are stored"),
        "{said}"
    );
    let (done, said) = import(&many, &keys[..2]).await;
    assert!(!done && said.contains("no region is set"), "{said}");
    let (done, said) = import(&many, &keys[2..]).await;
    assert!(
        !done && said.contains("the tables cannot be read: ") && said.contains("credentials"),
        "without credentials: {said}"
    );

    // A profile, as an operator has it.
    let profile = "[profile ops]\nregion = eu-north-1\naws_access_key_id = k\naws_secret_access_key = s\n";
    let config = folder.path().join("config");
    std::fs::write(&config, profile).unwrap();
    let keys = [
        ("AWS_PROFILE", "ops"),
        ("AWS_CONFIG_FILE", config.to_str().unwrap()),
    ];
    let (done, said) = import("8001,ada,placed,,2026-11-20T10:00:00Z,,\n", &keys).await;
    assert!(done && said.contains("imported 1 order for acme"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "the program for AWS has crates of its own: `tests/run operator` builds it, then runs this"]
async fn people_are_looked_after_on_aws() {
    let (_, database) = store_testing::start_apart(None).await;
    let store = Store::new(&database.config(), Tables::prefixed("switchyard-prod-"));
    store.create_tables().await.unwrap();
    let owner = |text: &str| Owner::parse(text).unwrap();
    let (acme, again) = (
        Tenant::parse("acme").unwrap(),
        Tenant::from_prefix("globex.7f3a9c2e").unwrap(),
    );
    store.tenants().add(&again).await.unwrap();
    for tenant in [&acme, &again] {
        is_there(&store, tenant).await;
    }
    for (tenant, name) in [(&acme, "ada"), (&acme, "alan"), (&again, "ada")] {
        let user = User {
            username: name.to_owned(),
            subject: owner(&format!("user-{name}")),
            display_name: name.to_owned(),
            password_hash: "none".to_owned(),
            roles: vec!["operator".to_owned()],
            since: None,
            not_before: None,
        };
        store.identity().put_user(tenant, &user).await.unwrap();
    }
    let (issuer, subject) = ("https://login.corp.example", owner("c-1"));
    let person = person_id(issuer, &subject, None).unwrap();
    let profile = Profile {
        issuer: issuer.to_owned(),
        subject,
        username: "c".to_owned(),
        display_name: "C".to_owned(),
        roles: Vec::new(),
    };
    store
        .sessions()
        .meet_person(&acme, &person, &profile)
        .await
        .unwrap();

    let url = database.url().to_string();
    let user = async |words: &[&str]| {
        let mut command = Command::new(binary::path("switchyard"));
        command.arg("user").args(words).arg("--aws");
        command.env("AWS_ENDPOINT_URL_DYNAMODB", &url);
        command
            .env("HOME", "/nonexistent")
            .env("AWS_EC2_METADATA_DISABLED", "true");
        command
            .env("AWS_ACCESS_KEY_ID", "k")
            .env("AWS_SECRET_ACCESS_KEY", "s");
        command.env("AWS_REGION", "eu-north-1").env_remove("AWS_PROFILE");
        let ended = tokio::task::spawn_blocking(move || command.output().unwrap());
        let ended = ended.await.unwrap();
        let said = [ended.stdout, ended.stderr].concat();
        (ended.status.success(), String::from_utf8(said).unwrap())
    };
    let begun = SystemClock.now();
    let (done, said) = user(&["list", "--tenant", "acme"]).await;
    assert!(done && said.contains("ada  ada  operator\nalan"), "{said}");

    // Of our own server, by the address that the platform gives it; of this tenant and nobody else.
    let own = "https://platform.example/idp/acme";
    let (done, said) = user(&["end", own, "user-ada", "--tenant", "acme"]).await;
    assert!(done && said.contains("ended every sign-in of user-ada"), "{said}");
    let of = async |tenant: &Tenant, name: &str| store.identity().find_user(tenant, name).await.unwrap();
    let ada = of(&acme, "ada").await.unwrap();
    assert!(!ada.admits(begun) && of(&acme, "alan").await.unwrap().admits(begun));
    assert!(of(&again, "ada").await.unwrap().admits(begun));
    // Its name again is another tenant, whose issuer has its prefix.
    let own = "https://platform.example/idp/globex.7f3a9c2e";
    let (done, said) = user(&["end", own, "user-ada", "--tenant", "globex"]).await;
    assert!(done && !of(&again, "ada").await.unwrap().admits(begun), "{said}");
    let (done, said) = user(&["end", own, "user-eve", "--tenant", "globex"]).await;
    assert!(!done && said.contains("there is no user user-eve here"), "{said}");

    let (done, said) = user(&["end", issuer, "c-1", "--tenant", "acme"]).await;
    let known = store.sessions().find_person(&acme, &person).await.unwrap();
    assert!(done && !known.unwrap().admits(begun), "{said}");
    let (done, said) = user(&["end", issuer, "a#b", "--tenant", "acme"]).await;
    assert!(!done && said.contains("cannot be a subject"), "{said}");

    let (done, said) = user(&["remove", "ada", "--tenant", "acme"]).await;
    assert!(done && said.contains("removed ada"), "{said}");
    assert!(of(&acme, "ada").await.is_none() && of(&again, "ada").await.is_some());
    let (done, said) = user(&["remove", "ada", "--tenant", "acme"]).await;
    assert!(!done && said.contains("there is no user ada here"), "{said}");
    let (done, said) = user(&["list", "--tenant", "nobody.0a0a0a0a"]).await;
    assert!(!done, "{said}");

    // Whoever comes under her name is somebody else, with a password that the authorization server takes.
    let password = |said: &str| {
        said.split_whitespace()
            .find(|word| word.split('-').count() == 5)
            .map(str::to_owned)
    };
    let matches = |user: &User, password: &str| idp::is_password_of(&user.password_hash, &password.into());
    let (done, said) = user(&["add", "ada", "--role", "admin", "--tenant", "acme"]).await;
    assert!(done && said.contains("added ada, who signs in with "), "{said}");
    let (first, ada) = (password(&said).unwrap(), of(&acme, "ada").await.unwrap());
    assert!(matches(&ada, &first) && !ada.password_hash.contains(&first));
    assert_eq!(
        (ada.roles.as_slice(), ada.display_name.as_str()),
        (&["admin".to_owned()][..], "Ada")
    );
    assert!(ada.subject != owner("user-ada") && !ada.admits(begun));
    // Her password alone is new after a reset, and ends what was begun with the one before.
    let before = SystemClock.now();
    assert!(ada.admits(before));
    let (done, said) = user(&["reset", "ada", "--tenant", "acme"]).await;
    assert!(done && said.contains("ada signs in with "), "{said}");
    let (second, reset) = (password(&said).unwrap(), of(&acme, "ada").await.unwrap());
    assert!(matches(&reset, &second) && !matches(&reset, &first) && !reset.admits(before));
    let kept = User {
        password_hash: ada.password_hash.clone(),
        not_before: ada.not_before,
        ..reset.clone()
    };
    assert_eq!(kept, ada);
    assert!(
        !matches(&of(&again, "ada").await.unwrap(), &second),
        "nobody of another tenant"
    );

    for (words, reason) in [
        (
            &["add", "ada", "--tenant", "acme"][..],
            "there is a user ada already",
        ),
        (
            &["add", "eve", "--role", "owner", "--tenant", "acme"],
            "there is no role owner",
        ),
        (&["add", "Eve", "--tenant", "acme"], "a user cannot be named"),
        (
            &["add", "eve", "--tenant", "initech"],
            "there is no tenant initech here",
        ),
        (&["reset", "eve", "--tenant", "acme"], "there is no user eve here"),
    ] {
        let (done, said) = user(words).await;
        assert!(
            !done && said.contains(reason) && password(&said).is_none(),
            "{said}"
        );
    }
    let names = async |tenant| store.identity().list_users(tenant).await.unwrap().len();
    assert_eq!((names(&acme).await, of(&acme, "ada").await.unwrap()), (2, reset));
}

/// What a command says with an operator's credentials: whether it ended well, its output, and why not.
async fn shell(cloud: &mut Cloud, words: &str) -> (bool, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let database = &cloud.gate.database;
    let script = format!(
        "unset AWS_PROFILE; export AWS_ENDPOINT_URL_DYNAMODB={database} AWS_ACCESS_KEY_ID=k AWS_SECRET_ACCESS_KEY=s \
         AWS_EC2_METADATA_DISABLED=true HOME=/nonexistent; cargo run --quiet -- {words} --aws"
    );
    let (ended, _) = cloud.shell(folder.path(), &script).await;
    let [told, why] = [ended.stdout, ended.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    (ended.status.success(), told, why)
}

/// As an operator's shell does it, in an account where both stacks are: of one tenant and of all, in each form.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "the program for AWS has crates of its own: `tests/run operator` builds it, then runs this"]
async fn what_tenants_used_is_told_on_aws() {
    let mut cloud = Cloud::start(&["acme.7f3a9c2e", "globex"]).await;
    let user = cloud.user("acme");
    let asked = user.ask("Will it rain in Oslo tomorrow?").await;
    user.until(&asked.task_id(), &["completed"]).await;
    while !cloud.quiet() {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let acme = Tenant::from_prefix("acme.7f3a9c2e").unwrap();
    let used = cloud.store.ledger().used(&acme, SystemClock.now(), 7).await;
    let used = serde_json::to_value(used.unwrap()).unwrap();
    assert_eq!(
        (&used["now"]["tasks"], &used["now"]["running"]),
        (&1.into(), &0.into()),
        "{used}"
    );

    let (done, told, why) = shell(&mut cloud, "usage --tenant acme --json").await;
    assert!(done, "{why}");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&told).unwrap(), used);
    let (done, told, why) = shell(&mut cloud, "usage --by tenant").await;
    assert!(done, "{why}");
    for name in ["acme", "globex"] {
        assert!(told.contains(&format!("{name}: no limit of its own")), "{told}");
    }
    let sum = told.lines().find(|line| line.starts_with("acme  1 task, "));
    let is_paid = sum.is_some_and(|line| line.ends_with(" dollars") && !line.contains(" 0.000000 "));
    assert!(is_paid, "{told}");
    for (form, head) in [("--csv", "day,tenant,"), ("--focus", "BilledCost,")] {
        let (done, told, why) = shell(&mut cloud, &format!("usage {form}")).await;
        assert!(done && told.starts_with(head), "{told}{why}");
        assert!(told.lines().skip(1).all(|line| line.contains("acme")), "{told}");
        assert_eq!(
            told.lines().count(),
            3,
            "a head, the task, and what belongs to none: {told}"
        );
    }
    let (done, told, why) = shell(&mut cloud, "usage --tenant nobody").await;
    assert!(
        !done && told.is_empty() && why.contains("there is no tenant nobody here"),
        "{told}{why}"
    );
    let (done, told, why) = shell(&mut cloud, "usage --tenant acme --stage trial").await;
    assert!(
        !done && told.is_empty() && why.contains("the tables cannot be read"),
        "{told}{why}"
    );
    // A platform that nobody is over.
    cloud.stacks.retain(|name, _| name == "platform");
    let (done, told, why) = shell(&mut cloud, "usage").await;
    assert!(
        !done && told.is_empty() && why.contains("is not imported by any stack"),
        "{told}{why}"
    );
}

/// Killed at moments that follow from twenty seeds.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "the program for AWS has crates of its own: `tests/run operator` builds it, then runs this"]
async fn a_removed_tenant_is_purged_on_aws_by_a_program_that_is_killed_again_and_again() {
    let (_, database) = store_testing::start_apart(None).await;
    let store = Store::new(&database.config(), Tables::prefixed("switchyard-prod-"));
    store.create_tables().await.unwrap();
    let url = database.url().to_string();
    let folder = tempfile::tempdir().unwrap();
    let bucket = open_bucket(Folder::new(folder.path())).await;
    let program = |name: &str| {
        let mut command = Command::new(binary::path("switchyard-operator"));
        command.args(["purge", "--tenant", name, "--stage", "prod"]);
        command.env("AWS_ENDPOINT_URL_DYNAMODB", &url);
        command.env("AWS_ENDPOINT_URL_S3", &bucket);
        command
            .env("HOME", "/nonexistent")
            .env("AWS_EC2_METADATA_DISABLED", "true");
        command
            .env("AWS_ACCESS_KEY_ID", "k")
            .env("AWS_SECRET_ACCESS_KEY", "s");
        command.env("AWS_REGION", "eu-north-1").env_remove("AWS_PROFILE");
        command
    };
    purged::by_a_program_that_is_killed(&url, program).await;
}

/// As an operator's shell does it, with what lies in the bucket.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "the program for AWS has crates of its own: `tests/run operator` builds it, then runs this"]
async fn an_archive_the_audit_an_erasure_and_a_purge_on_aws_reach_the_bucket() {
    let (_, database) = store_testing::start_apart(None).await;
    let folder = tempfile::tempdir().unwrap();
    let blobs = Folder::new(folder.path().join("bucket"));
    let tables = Tables::prefixed("switchyard-prod-");
    let store = Store::new(&database.config(), tables).with_blobs(Arc::new(blobs.clone()));
    store.create_tables().await.unwrap();
    let (acme, now) = (Tenant::parse("acme").unwrap(), SystemClock.now());
    store.tenants().add(&acme).await.unwrap();
    is_there(&store, &acme).await;
    let guest = Owner::guest("0a0a0a0a-0000-4000-8000-000000000001").unwrap();
    let says = async |chat: &str| {
        let chat = ChatId::parse(chat).unwrap();
        let Opened::New(chat) = store
            .sessions()
            .open_chat(&acme, &guest, &chat, "Files", now)
            .await
            .unwrap()
        else {
            panic!("there was a chat")
        };
        let message = StoredMessage {
            id: MessageId::parse("m").unwrap(),
            at: now,
            body: json!({}),
            edits: 0,
        };
        let files = ["canary".repeat(5000).into_bytes()];
        let first = (&message, true);
        store
            .sessions()
            .add_with_files(&acme, chat.place(), first, &files)
            .await
            .unwrap();
    };
    says("one").await;
    let new = domain::NewTask {
        id: domain::TaskId::random(&SystemEntropy),
        tenant: acme.clone(),
        agent: domain::AgentName::parse("host").unwrap(),
        context_id: domain::ContextId::parse("c").unwrap(),
        owner: guest.clone(),
        message: domain::Message::user(MessageId::parse("m").unwrap(), vec![domain::Part::text("Oslo?")]),
        trace: None,
    };
    store
        .ledger()
        .admit(&domain::Task::create(new, now))
        .await
        .unwrap();

    // What the sweeper has sealed some minutes ago.
    let key = Sealer::generate_key(&SystemEntropy);
    let secret = json!([["k1", key.expose_secret()]]).to_string();
    let keys = CardKeys::of(
        &Sealer::new(vec![("k1".into(), key)]).unwrap(),
        edge::audit::SEALS,
    )
    .unwrap();
    let sign = |bytes: &[u8]| {
        keys.sign(bytes, None)
            .ok()
            .map(|signed| [signed.protected, signed.signature])
    };
    let told = store.audit(now.before(Duration::from_secs(300)));
    told.tell(Action::UserAdd, Some(&acme), Actor::Operator, "ada", DONE)
        .await;
    assert_eq!(store.audit(now).seal(&sign).await.unwrap(), 1);
    let secrets = MockServer::start().await;
    let answer = json!({ "ARN": "a", "Name": "audit-sealing-keys", "SecretString": secret });
    let asked = body_string_contains("switchyard/prod/audit-sealing-keys");
    let answers = Mock::given(asked).respond_with(ResponseTemplate::new(200).set_body_json(answer));
    answers.mount(&secrets).await;

    let bucket = open_bucket(blobs.clone()).await;
    let run = async |words: &[&str]| {
        let mut command = Command::new(binary::path("switchyard"));
        command
            .args(words)
            .args(["--aws", "--json"])
            .current_dir(folder.path());
        command
            .env("AWS_ENDPOINT_URL_DYNAMODB", database.url().as_str())
            .env("AWS_ENDPOINT_URL_S3", &bucket)
            .env("AWS_ENDPOINT_URL_SECRETS_MANAGER", secrets.uri())
            .env("HOME", "/nonexistent")
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .env("AWS_ACCESS_KEY_ID", "k")
            .env("AWS_SECRET_ACCESS_KEY", "s")
            .env("AWS_REGION", "eu-north-1")
            .env_remove("AWS_PROFILE");
        let ended = tokio::task::spawn_blocking(move || command.output().unwrap());
        let ended = ended.await.unwrap();
        let why = String::from_utf8(ended.stderr).unwrap();
        let told = String::from_utf8(ended.stdout).unwrap();
        let told = serde_json::from_str::<serde_json::Value>(&told).unwrap_or_default();
        (ended.status.success(), told, why)
    };
    let left = async || blobs.list(&BlobScope::All, None).await.unwrap().len();

    let (done, told, why) = run(&["tenant", "export", "acme"]).await;
    assert!(done && told["bytes"].as_u64() > Some(30_000), "{told}{why}");
    let archive = std::fs::read(folder.path().join("acme.tar")).unwrap();
    let text = String::from_utf8_lossy(&archive);
    assert!(text.contains("manifest.json") && text.contains(&"canary".repeat(5000)));
    let (done, _, why) = run(&["tenant", "export", "acme"]).await;
    assert!(!done && why.contains("acme.tar is there already"), "{why}");
    let (done, _, why) = run(&["tenant", "export", "nobody"]).await;
    assert!(!done && why.contains("there is no tenant nobody here"), "{why}");
    assert!(!folder.path().join("nobody.tar").exists());

    let (done, told, why) = run(&["audit", "--tenant", "acme"]).await;
    assert!(done && told["entries"][0]["object"] == "ada", "{told}{why}");
    let (done, told, why) = run(&["audit", "--tenant", "acme", "--verify"]).await;
    assert!(
        done && told["seals"] == 1 && told["faults"] == json!([]),
        "{told}{why}"
    );
    let entries = database.items("switchyard-prod-audit", "acme#audit");
    database.delete("switchyard-prod-audit", &entries[0]);
    let (done, told, _) = run(&["audit", "--tenant", "acme", "--verify"]).await;
    assert!(!done && told["faults"][0]["fault"] == "removed", "{told}");

    assert_eq!(left().await, 1);
    let (done, told, why) = run(&["user", "erase", guest.as_str(), "--tenant", "acme"]).await;
    assert!(done && told["erased"][0]["erased"]["blobs"] == 1, "{told}{why}");
    assert_eq!(left().await, 0);
    says("two").await;
    assert_eq!(left().await, 1);
    store.tenants().remove(&acme).await.unwrap();
    let (done, told, why) = run(&["tenant", "purge", "acme"]).await;
    assert!(done && told["removed"]["blobs"] == 1, "{told}{why}");
    assert_eq!(left().await, 0);
}
