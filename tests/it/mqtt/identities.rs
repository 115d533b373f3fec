//! A broker of the system's own: each agent has credentials, and its topics alone.

use std::sync::Arc;
use std::time::Duration;

use a2a::mqtt::{Properties, Publication};
use domain::SecretString;
use http::StatusCode;
use local::{BrokerAccess, MqttBroker, Options, OwnBroker};
use mqtt::{PublishError, Published, Publisher as _, Session, SessionState};
use sandbox::mosquitto::{Mosquitto, Wanted};
use serde_json::{Value, json};
use system_testing::Local;
use tempfile::TempDir;

use super::world::{self, Heard, Told};

pub(super) const GUEST: &str = "acme.example/lab/asker";
/// Takes its replies below the unit that it asks.
pub(super) const REQUESTER: &str = "switchyard/platform/emqx";

/// A system on a broker of its own.
pub(super) struct Closed {
    pub(super) local: Local,
    own: OwnBroker,
    pub(super) passwords: Value,
    _folder: TempDir,
}

impl Closed {
    pub(super) async fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let wanted = Wanted {
            closed: true,
            ..Wanted::default()
        };
        let running = Mosquitto::start(&world::program(), folder.path(), 0, &wanted).expect("Mosquitto");
        let url = running.url().parse().expect("an address");
        let own = OwnBroker::new(running);
        let options = Options {
            mqtt: Some(MqttBroker {
                orgs: vec!["acme.example".to_owned()],
                guests: vec![
                    GUEST.parse().expect("an address"),
                    REQUESTER.parse().expect("an address"),
                ],
                access: BrokerAccess::Own(own.clone()),
                ..MqttBroker::open(url)
            }),
            ..Options::default()
        };
        let local = Local::start_as(options).await;
        let passwords = passwords(&local).await;
        Self {
            local,
            own,
            passwords,
            _folder: folder,
        }
    }

    pub(super) fn unit(&self, tenant: &str) -> String {
        unit(&self.local, tenant)
    }

    /// The broker's port.
    pub(super) fn port(&self) -> u16 {
        self.own.running().port()
    }

    /// A session of that client, as its own or another's client id says; without the right password there is none.
    async fn open(&self, user: &str, client_id: &str, filters: &[&str]) -> Option<(Session, Told)> {
        let password = self.passwords[user].as_str().unwrap_or("none");
        open(&self.own, (user, client_id, password), filters).await
    }
}

async fn open(
    own: &OwnBroker,
    (user, client_id, password): (&str, &str, &str),
    filters: &[&str],
) -> Option<(Session, Told)> {
    let (heard, told) = tokio::sync::mpsc::unbounded_channel();
    let url = own.running().url();
    let options = mqtt::Options {
        broker: url.parse().expect("an address"),
        client_id: client_id.to_owned(),
        credentials: Some((user.to_owned(), SecretString::from(password.to_owned()))),
        will: None,
        filters: filters.iter().map(|filter| (*filter).to_owned()).collect(),
        kept_for: None,
        receive_maximum: 64,
        max_packet: 1024 * 1024,
        settle: None,
    };
    let session = Session::open(options, Arc::new(Heard(heard))).expect("a session");
    let ready = tokio::time::timeout(Duration::from_secs(2), session.ready()).await;
    matches!(ready, Ok(SessionState::Ready { .. })).then_some((session, told))
}

/// What the bridge reads from Secrets Manager.
async fn passwords(local: &Local) -> Value {
    let asked = system_testing::user::http()
        .post(local.endpoint("/secrets_manager"))
        .header("x-amz-target", "secretsmanager.GetSecretValue")
        .body(json!({ "SecretId": "switchyard/mqtt-passwords" }).to_string())
        .send()
        .await
        .expect("an answer");
    let told: Value = asked.json().await.expect("JSON");
    serde_json::from_str(told["SecretString"].as_str().expect("a secret")).expect("JSON")
}

fn unit(local: &Local, tenant: &str) -> String {
    let endpoints = local.system.endpoints_now();
    let mut tenants = endpoints.tenants.keys();
    let found = tenants.find(|known| known.name() == tenant);
    found.expect("a tenant").prefix().to_owned()
}

fn plain(topic: &str) -> Publication {
    Publication {
        topic: topic.to_owned(),
        payload: "{}".into(),
        ..Publication::default()
    }
}

async fn nothing(told: &mut Told, within: Duration) -> Option<String> {
    let came = tokio::time::timeout(within, told.recv()).await;
    came.ok().flatten().map(|came| came.publication.topic)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenants_agents_neither_write_nor_read_what_is_another_tenants() {
    let world = Closed::start().await;
    let (acme, globex) = (world.unit("acme"), world.unit("globex"));
    // The system's own connections would be taken over by ours.
    let Closed {
        local,
        own,
        passwords,
        _folder,
    } = world;
    local.system.stop().await;
    let client = async |user: &str, client_id: &str, filters: &[&str]| {
        let password = passwords[user].as_str().unwrap_or("none").to_owned();
        open(&own, (user, client_id, &password), filters).await
    };
    for name in ["host", "horizon"] {
        let user = format!("switchyard/{acme}/{name}");
        let (session, _) = client(&user, &user, &[]).await.expect("an agent signs in");
        for foreign in [
            format!("request/switchyard/{globex}/horizon"),
            format!("request/switchyard/{globex}/host"),
            format!("request/switchyard/{globex}/pool/p"),
            format!("reply/switchyard/{globex}/host/s"),
            format!("discovery/switchyard/{globex}/host"),
            "discovery/switchyard/platform/weather".to_owned(),
            format!("event/switchyard/{globex}/host"),
        ] {
            let told = session.publish(plain(&format!("$a2a/v1/{foreign}"))).await;
            assert_eq!(told, Err(PublishError::NotAuthorized), "{user}: {foreign}");
        }
        let own = session.publish(plain(&format!("$a2a/v1/event/{user}"))).await;
        assert!(own.is_ok(), "{own:?}");
        session.close().await;
    }
    let host = format!("switchyard/{acme}/host");
    let other = format!("switchyard/{globex}/host");
    let wide = [
        "#".to_owned(),
        "$a2a/#".to_owned(),
        "$a2a/v1/+/switchyard/#".to_owned(),
        format!("$a2a/v1/request/switchyard/{globex}/+"),
        format!("$share/g/$a2a/v1/request/switchyard/{globex}/+"),
        format!("$a2a/v1/discovery/switchyard/{globex}/+"),
        format!("$a2a/v1/request/{host}"),
    ];
    let wide: Vec<&str> = wide.iter().map(String::as_str).collect();
    let (theirs, _told) = client(&other, &other, &[]).await.expect("another agent");
    // Whatever it calls itself, it is who has signed in, and takes nobody's session over.
    let (_mine, mut told) = client(&host, &other, &wide).await.expect("an agent");
    for topic in [
        format!("$a2a/v1/discovery/{other}"),
        format!("$a2a/v1/event/{other}"),
        format!("$a2a/v1/reply/switchyard/{globex}/host/s"),
    ] {
        assert!(theirs.publish(plain(&topic)).await.is_ok(), "{topic}");
    }
    let (guest, _guests) = client(GUEST, GUEST, &[]).await.expect("a guest");
    for topic in [
        format!("$a2a/v1/request/{other}"),
        format!("$a2a/v1/request/switchyard/{globex}/horizon"),
    ] {
        assert!(guest.publish(plain(&topic)).await.is_ok());
    }
    // What comes is its own tenant's and the platform's, cards that lie there among it.
    let mut own_request = plain(&format!("$a2a/v1/request/{host}"));
    own_request.properties = Properties {
        correlation: Some("mine".into()),
        ..Properties::default()
    };
    assert_eq!(guest.publish(own_request).await, Ok(Published::Taken));
    let mut came = Vec::new();
    while let Some(topic) = nothing(&mut told, Duration::from_secs(1)).await {
        came.push(topic);
    }
    assert!(came.contains(&format!("$a2a/v1/request/{host}")), "{came:?}");
    let foreign: Vec<_> = came.iter().filter(|topic| topic.contains(&globex)).collect();
    assert!(foreign.is_empty(), "{foreign:?}");
    // A guest sees neither tenant's cards, and nobody is let in without a password.
    let (_guest, mut told) = client(GUEST, GUEST, &["$a2a/v1/discovery/#"])
        .await
        .expect("a guest");
    while let Some(topic) = nothing(&mut told, Duration::from_secs(1)).await {
        assert!(
            topic.starts_with("$a2a/v1/discovery/switchyard/platform/"),
            "{topic}"
        );
    }
    // Whoever only asks the platform's agents publishes to nobody else, and hears nothing but its own replies and their cards.
    let (requester, mut told) = client(REQUESTER, REQUESTER, &["$a2a/#"])
        .await
        .expect("a requester");
    let weather = plain("$a2a/v1/request/switchyard/platform/weather");
    assert!(requester.publish(weather).await.is_ok());
    for topic in [
        format!("request/{host}"),
        "request/acme.example/lab/asker".to_owned(),
        "reply/switchyard/platform/emqx/s".to_owned(),
        "reply/acme.example/lab/asker/s".to_owned(),
        format!("discovery/{REQUESTER}"),
        format!("event/{REQUESTER}"),
    ] {
        let told = requester.publish(plain(&format!("$a2a/v1/{topic}"))).await;
        assert_eq!(told, Err(PublishError::NotAuthorized), "{topic}");
    }
    for to in ["operator", "emqx"] {
        let reply = plain(&format!("$a2a/v1/reply/switchyard/platform/{to}/s"));
        assert!(guest.publish(reply).await.is_ok());
    }
    let mut came = Vec::new();
    while let Some(topic) = nothing(&mut told, Duration::from_secs(1)).await {
        came.extend((!topic.starts_with("$a2a/v1/discovery/switchyard/platform/")).then_some(topic));
    }
    assert_eq!(came, ["$a2a/v1/reply/switchyard/platform/emqx/s"]);
    assert!(open(&own, (&host, &host, "hunter2"), &[]).await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_from_outside_is_none_of_the_systems_own() {
    for own in [
        "switchyard/platform/weather",
        "switchyard/platform/operator",
        "switchyard/acme/asker",
    ] {
        let mqtt = MqttBroker {
            guests: vec![own.parse().expect("an address")],
            ..MqttBroker::open("mqtt://127.0.0.1:1".parse().expect("an address"))
        };
        let options = Options {
            mqtt: Some(mqtt),
            ..Options::default()
        };
        let refused = local::System::start(options)
            .await
            .err()
            .expect("it does not start");
        assert!(refused.to_string().starts_with(own), "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_that_comes_gets_credentials_and_one_that_goes_leaves_nothing() {
    let mut world = Closed::start().await;
    let admin = |method: http::Method, path: &str, body: Option<Value>| {
        let url = format!(
            "{}/admin{path}",
            world.local.endpoint("/gateway").trim_end_matches('/')
        );
        let asked = system_testing::user::http()
            .request(method, url)
            .bearer_auth(world.local.endpoint("/admin_token"));
        let asked = match body {
            Some(body) => asked.json(&body),
            None => asked,
        };
        async move { asked.send().await.expect("an answer").status() }
    };
    let added = admin(http::Method::POST, "/tenants", Some(json!({ "name": "initech" }))).await;
    assert_eq!(added, StatusCode::CREATED);
    world.passwords = passwords(&world.local).await;
    let unit = world.unit("initech");
    let card = format!("$a2a/v1/discovery/switchyard/{unit}/+");
    let request = format!("$a2a/v1/request/switchyard/{unit}/host");
    let (watcher, mut told) = world
        .open("switchyard/platform/discovery", "x", &[&card])
        .await
        .expect("a watcher");
    for _ in 0..2 {
        let topic = nothing(&mut told, Duration::from_secs(20)).await;
        assert!(
            topic.is_some_and(|topic| topic.contains(&unit)),
            "its agents have cards"
        );
    }
    watcher.close().await;
    let (guest, _told) = world.open(GUEST, GUEST, &[]).await.expect("a guest");
    assert_eq!(guest.publish(plain(&request)).await, Ok(Published::Taken));

    assert_eq!(
        admin(http::Method::DELETE, "/tenants/initech", None).await,
        StatusCode::NO_CONTENT
    );
    let (_watcher, mut told) = world
        .open("switchyard/platform/discovery", "x", &[&card])
        .await
        .expect("a watcher");
    assert_eq!(
        nothing(&mut told, Duration::from_secs(1)).await,
        None,
        "its cards are gone"
    );
    // A session that is kept would take the request.
    assert_eq!(
        guest.publish(plain(&request)).await,
        Ok(Published::NoMatchingSubscribers)
    );
    let host = format!("switchyard/{unit}/host");
    assert!(
        world.open(&host, &host, &[]).await.is_none(),
        "nobody signs in as it"
    );
    // The others are where they were.
    let others = format!("$a2a/v1/request/switchyard/{}/host", world.unit("acme"));
    let again = async {
        while guest.publish(plain(&others)).await != Ok(Published::Taken) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), again)
        .await
        .expect("the others are there");
    world.local.system.stop().await;
}
