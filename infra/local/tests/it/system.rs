//! The system as a library: what starts, what stays, what is refused.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use auth::{Grant, KeySet};
use domain::{Clock, ExposeSecret, SystemClock, SystemEntropy};
use local::{Data, Options, StartError, System};
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::http::{get, global_cards, json};

fn kept(folder: &Path, port: u16) -> Options {
    Options {
        port,
        data: Data::Folder(folder.to_owned()),
        ..Options::default()
    }
}

async fn refused(options: Options) -> StartError {
    match Box::pin(System::start(options)).await {
        Ok(_) => panic!("it started"),
        Err(fault) => fault,
    }
}

/// The cards of the agents that serve every tenant.
fn card_urls(endpoints: &local::Endpoints) -> Vec<String> {
    let urls = endpoints.agents.values();
    sorted(
        urls.map(|url| format!("{url}/.well-known/agent-card.json"))
            .collect(),
    )
}

fn sorted(mut urls: Vec<String>) -> Vec<String> {
    urls.sort();
    urls
}

#[tokio::test(flavor = "multi_thread")]
async fn every_part_answers_once_it_has_started() {
    let system = System::start(Options::default()).await.unwrap();
    let endpoints = system.endpoints();
    assert_eq!(
        get(format!("{}healthz", endpoints.gateway)).await,
        (StatusCode::OK, "ok\n".into())
    );
    let (status, page) = get(&endpoints.gateway).await;
    assert_eq!(status, StatusCode::OK);
    assert!(page.contains("<main>") && page.contains("light dark"), "{page}");
    for tenant in endpoints.tenants.values() {
        assert!(page.contains(tenant.base.as_str()), "{page}");
        let card = json(format!("{}/.well-known/agent-card.json", tenant.host_agent), None).await;
        assert!(
            card["url"]
                .as_str()
                .unwrap()
                .starts_with(tenant.host_agent.as_str()),
            "{card}"
        );
        assert_eq!(get(format!("{}/api/chats", tenant.base)).await.0, StatusCode::OK);
        let webhook = crate::http::request(
            reqwest::Method::POST,
            format!("{}/api/webhook/tasks", tenant.base),
        );
        assert_eq!(webhook.send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
        for path in ["connect/nothing", "callback", "callback?code=x&state=y"] {
            let (status, page) = get(format!("{}/{path}", tenant.base)).await;
            assert!(
                status.is_client_error() && page.contains("<html"),
                "{path} {status} {page}"
            );
        }
    }
    let cards = sorted(global_cards(endpoints).await);
    assert_eq!((cards.len(), cards), (4, card_urls(endpoints)));
    let places = json(
        format!("{}sandbox/open-meteo/v1/search?name=Oslo", endpoints.gateway),
        None,
    )
    .await;
    assert!(places["results"].is_array());
    for path in ["nothing", "a/", "a/weather", "t/initech", "t/initech/api/chats"] {
        assert_eq!(
            get(format!("{}{path}", endpoints.gateway)).await.0,
            StatusCode::NOT_FOUND,
            "{path}"
        );
    }
    assert_eq!(system.sweep().await, task_sweeper::Swept::default());
    system.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_of_endpoints_has_its_form_and_is_its_owners_alone() {
    let place = tempfile::tempdir().unwrap();
    // In a folder that is not there yet.
    let also = place.path().join("some/where/also.json");
    let options = Options {
        endpoints: Some(also.clone()),
        ..kept(&place.path().join("data"), 0)
    };
    let system = System::start(options).await.unwrap();
    let file = place.path().join("data/endpoints.json");
    assert_eq!(
        std::fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(std::fs::read_to_string(&also).unwrap(), text);
    let mut list: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        serde_json::from_value::<local::Endpoints>(list.clone()).unwrap(),
        *system.endpoints()
    );

    // Nothing of an agent's address can be guessed: 160 bits in each, no two alike.
    let mut slugs = Vec::new();
    let mut slug = |value: &mut Value| {
        let url = value.take();
        slugs.push(url.as_str().unwrap().rsplit_once("/a/").unwrap().1.to_owned());
    };
    slug(&mut list["agents"]["airbnb"]);
    slug(&mut list["agents"]["calendar"]);
    slug(&mut list["agents"]["report"]);
    slug(&mut list["agents"]["weather"]);
    slug(&mut list["tenants"]["acme"]["host_agent"]);
    slug(&mut list["tenants"]["globex"]["host_agent"]);
    slug(&mut list["tenants"]["acme"]["agents"]["horizon"]);
    slug(&mut list["tenants"]["globex"]["agents"]["horizon"]);
    assert!(
        slugs
            .iter()
            .all(|slug| slug.len() == 40 && slug.bytes().all(|b| b.is_ascii_hexdigit()))
    );
    slugs.sort();
    slugs.dedup();
    assert_eq!(slugs.len(), 8);

    let gateway = system.endpoints().gateway.as_str();
    let names: [(&str, &[&str]); 2] = [
        ("acme", &["ada", "alan", "adam", "olga"]),
        ("globex", &["george", "grace"]),
    ];
    for (tenant, names) in names {
        for (index, name) in names.iter().enumerate() {
            let user = &mut list["users"][tenant][index];
            assert_eq!(user["username"].take(), *name);
            assert_eq!(user["password"].take().as_str().unwrap().len(), 24);
        }
    }
    let user = json!({"username": null, "password": null});
    let with = |role: &str| json!({"username": null, "password": null, "roles": [role]});
    let token = list["registry_token"].take();
    assert_eq!(token.as_str().unwrap().split('.').count(), 3);
    let admin = list["admin_token"].take();
    assert!(admin != token && admin.as_str().unwrap().split('.').count() == 3);
    for service in ["secretsmanager", "sqs"] {
        let name = if service == "sqs" {
            "sqs"
        } else {
            "secrets_manager"
        };
        let url = list[name].take();
        let path = url.as_str().unwrap().strip_prefix(gateway).unwrap();
        let parts: Vec<&str> = path.split('/').collect();
        assert_eq!((parts[0], parts[1].len(), parts[2]), ("aws", 40, service));
    }
    assert!(
        list["dynamodb"]
            .take()
            .as_str()
            .unwrap()
            .starts_with("http://127.0.0.1:")
    );
    let key = list["dynamodb_key"].take();
    let key = ["access_key_id", "secret_access_key"].map(|part| key[part].as_str().unwrap().len());
    assert_eq!(key, [37, 32]);
    assert_eq!(
        list,
        json!({
            "gateway": gateway,
            "dynamodb": null,
            "dynamodb_key": null,
            "registry": format!("{gateway}registry"),
            "idp": format!("{gateway}idp"),
            "agents": {"airbnb": null, "calendar": null, "report": null, "weather": null},
            "tenants": {
                "acme": {"prefix": "acme", "base": format!("{gateway}t/acme"), "host_agent": null, "agents": {"horizon": null}},
                "globex": {"prefix": "globex", "base": format!("{gateway}t/globex"), "host_agent": null, "agents": {"horizon": null}},
            },
            "users": {"acme": [user, user, with("admin"), with("operator")], "globex": [user, user]},
            "registry_token": null,
            "admin_token": null,
            "secrets_manager": null,
            "sqs": null,
        })
    );
    system.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_keeps_addresses_and_state() {
    let place = tempfile::tempdir().unwrap();
    let first = System::start(kept(place.path(), 0)).await.unwrap();
    let before = first.endpoints().clone();
    let port = before.gateway.port().unwrap();
    first.stop().await;
    assert!(
        std::net::TcpListener::bind(("127.0.0.1", port)).is_ok(),
        "the port is free again"
    );

    let begun = Instant::now();
    let second = System::start(kept(place.path(), port)).await.unwrap();
    let took = begun.elapsed();
    let after = second.endpoints().clone();
    assert_eq!((&after.agents, &after.tenants), (&before.agents, &before.tenants));
    assert_eq!((&after.idp, &after.users), (&before.idp, &before.users));
    assert_eq!(
        global_cards(&after).await.len(),
        4,
        "the same agents, and none twice"
    );
    // A token of the first run is good in the second.
    let url = format!("{}/types", after.registry);
    assert_eq!(
        json(url, Some(&before.registry_token)).await["types"]["weather"],
        "global"
    );
    second.stop().await;
    assert!(took < Duration::from_secs(2), "{took:?}");

    let elsewhere = System::start(kept(place.path(), 0)).await.unwrap();
    let moved = elsewhere.endpoints().clone();
    assert_ne!(moved.gateway, before.gateway);
    let paths = |list: &local::Endpoints| {
        list.agents
            .values()
            .map(|url| url.path().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(paths(&moved), paths(&before));
    let cards = sorted(global_cards(&moved).await);
    assert_eq!(cards, card_urls(&moved), "not where they were");
    elsewhere.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_tenant_has_an_issuer_and_an_agent_that_takes_its_tokens_alone() {
    let place = tempfile::tempdir().unwrap();
    let system = System::start(kept(place.path(), 0)).await.unwrap();
    let endpoints = system.endpoints();
    let secrets = std::fs::read_to_string(place.path().join("secrets.json")).unwrap();
    let secrets: Value = serde_json::from_str(&secrets).unwrap();
    let keys = KeySet::from_secret(&secrets["idp_keys"].as_str().unwrap().into()).unwrap();
    let agents: Vec<String> = endpoints
        .tenants
        .values()
        .map(|tenant| tenant.agents.values().next().unwrap().to_string())
        .collect();
    for (place, name) in endpoints.tenants.keys().enumerate() {
        let issuer = format!("{}/{}", endpoints.idp, name.prefix());
        let metadata = json(format!("{issuer}/.well-known/openid-configuration"), None).await;
        assert_eq!(metadata["issuer"], issuer);

        let (own, others) = (&agents[place], &agents[1 - place]);
        let secret = secrets["tenants"][name.prefix()]["client_secret"].as_str();
        let asked = crate::http::request(
            reqwest::Method::POST,
            metadata["token_endpoint"].as_str().unwrap(),
        )
        .basic_auth("host", secret)
        .header("content-type", "application/x-www-form-urlencoded")
        .body(format!(
            "grant_type=client_credentials&scope=tasks&resource={own}"
        ));
        let answer: Value = asked.send().await.unwrap().json().await.unwrap();
        let client = answer["access_token"]
            .as_str()
            .unwrap_or_else(|| panic!("{answer}"));
        let user = system
            .store()
            .identity()
            .find_user(name, ["ada", "grace"][place])
            .await;
        let user = user.unwrap().unwrap();
        let grant = Grant {
            issuer: &issuer,
            subject: user.subject.as_str(),
            tenant: Some(name),
            audience: own,
            scopes: &["tasks", "orders:read"],
            lifetime: Duration::from_secs(60),
        };
        let token = keys
            .current()
            .sign(&grant, SystemClock.now(), &SystemEntropy)
            .unwrap();
        let token = token.expose_secret();

        let ask = async |agent: &str, token: &str| {
            let call = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": {
                "messageId": "11111111-1111-4111-8111-111111111111", "role": "ROLE_USER",
                "parts": [{"text": "Where is order 1003?"}],
            }}});
            let sent = crate::http::request(reqwest::Method::POST, agent)
                .bearer_auth(token)
                .header("a2a-version", "1.0")
                .json(&call);
            let answer = sent.send().await.unwrap();
            (answer.status(), answer.text().await.unwrap())
        };
        let (status, said) = ask(own, token).await;
        let item = ["Mechanical calculator (demo)", "Copper wire, 30 cm (demo)"][place];
        assert!(status == StatusCode::OK && said.contains(item), "{status} {said}");
        assert_eq!(ask(others, token).await.0, StatusCode::FORBIDDEN);
        let (status, said) = ask(own, client).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "a client has no orders: {said}");
        let chats = system.token(name.name(), "ada", own).unwrap();
        assert_eq!(ask(own, &chats).await.0, StatusCode::UNAUTHORIZED);

        let found = json(
            format!(
                "{}/agents?tag=type:horizon&tenant={}",
                endpoints.registry,
                name.prefix()
            ),
            Some(&endpoints.registry_token),
        )
        .await;
        let found = found["agents"].as_array().unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0]["cardUrl"], format!("{own}/.well-known/agent-card.json"));
    }
    system.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_systems_do_not_share_a_folder_or_a_port() {
    let place = tempfile::tempdir().unwrap();
    let system = System::start(kept(place.path(), 0)).await.unwrap();
    let port = system.endpoints().gateway.port().unwrap();
    assert!(matches!(
        refused(kept(place.path(), 0)).await,
        StartError::Busy(_)
    ));
    let taken = refused(Options {
        port,
        ..Options::default()
    })
    .await;
    assert!(matches!(taken, StartError::PortTaken { port: told } if told == port));
    assert_eq!(
        get(format!("{}healthz", system.endpoints().gateway)).await.0,
        StatusCode::OK
    );
    system.stop().await;
    System::start(kept(place.path(), port))
        .await
        .unwrap()
        .stop()
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_folder_is_told_and_left_as_it_is() {
    for (name, rubbish) in [
        ("secrets.json", &b"{\"version\":1"[..]),
        ("secrets.json", b"\xff\xfe"),
        (
            "switchyard.db",
            b"this is no database, and long enough that nobody takes it for an empty one",
        ),
    ] {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join(name);
        std::fs::write(&file, rubbish).unwrap();
        let fault = refused(kept(place.path(), 0)).await;
        assert!(
            matches!(&fault, StartError::Damaged { path, .. } if *path == file),
            "{fault}"
        );
        assert!(!fault.to_string().contains('\n'), "{fault}");
        assert_eq!(std::fs::read(&file).unwrap(), rubbish);
        assert!(!place.path().join("endpoints.json").exists());
    }
}
