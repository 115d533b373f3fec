//! Sessions against a real Mosquitto.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use a2a::mqtt::{Properties, Publication};
use mqtt::{
    ConnectFault, Inbox, Options, PublishError, Published, Publisher, Received, Session, SessionEnd,
    SessionState, Taking,
};
use sandbox::mosquitto::{Mosquitto, Wanted};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc};

/// A broker with its folder.
struct Broker {
    running: Mosquitto,
    folder: TempDir,
    wanted: Wanted,
}

/// `tests/run tools` puts it there where the machine has none.
fn program() -> PathBuf {
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/.tools/bin/mosquitto");
    if own.exists() {
        own
    } else {
        sandbox::mosquitto::program()
    }
}

impl Broker {
    fn start(wanted: Wanted) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let running = Mosquitto::start(&program(), folder.path(), 0, &wanted)
            .unwrap_or_else(|error| panic!("no Mosquitto ({error}): `tests/run tools` installs it"));
        Self {
            running,
            folder,
            wanted,
        }
    }

    fn restart(&mut self) {
        let port = self.running.port();
        self.running.kill();
        self.running = Mosquitto::start(&program(), self.folder.path(), port, &self.wanted).unwrap();
    }

    fn options(&self, client: &str, filters: &[&str]) -> Options {
        Options {
            broker: self.running.url().parse().unwrap(),
            client_id: client.to_owned(),
            credentials: None,
            will: None,
            filters: filters.iter().map(|filter| (*filter).to_owned()).collect(),
            kept_for: Some(Duration::from_secs(60)),
            receive_maximum: 8,
            max_packet: 1024 * 1024,
            settle: None,
        }
    }

    async fn open(&self, client: &str, filters: &[&str]) -> (Session, mpsc::UnboundedReceiver<Received>) {
        let (heard, told) = mpsc::unbounded_channel();
        let session = Session::open(self.options(client, filters), Arc::new(Heard(heard))).unwrap();
        assert!(matches!(session.ready().await, SessionState::Ready { refused } if refused.is_empty()));
        (session, told)
    }
}

/// Tells what it hears.
struct Heard(mpsc::UnboundedSender<Received>);

impl Inbox for Heard {
    fn take(&self, received: Received) -> Taking {
        let _ = self.0.send(received);
        Box::pin(async {})
    }
}

/// Holds what it hears until it is let go.
struct Held {
    heard: Mutex<Vec<(String, bool)>>,
    gate: Arc<Semaphore>,
}

impl Inbox for Held {
    fn take(&self, received: Received) -> Taking {
        let text = String::from_utf8_lossy(&received.publication.payload).into_owned();
        self.heard.lock().unwrap().push((text, received.is_repeat));
        let gate = Arc::clone(&self.gate);
        Box::pin(async move {
            let _place = gate.acquire().await;
        })
    }
}

fn publication(topic: &str, payload: &str) -> Publication {
    Publication {
        topic: topic.to_owned(),
        payload: payload.to_owned().into(),
        ..Publication::default()
    }
}

async fn next(told: &mut mpsc::UnboundedReceiver<Received>) -> Received {
    let next = tokio::time::timeout(Duration::from_secs(10), told.recv()).await;
    next.unwrap().unwrap()
}

async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..1_000 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never: {what}");
}

#[tokio::test]
async fn what_goes_out_comes_in_with_everything_beside_it_and_the_reason_comes_back() {
    let broker = Broker::start(Wanted::default());
    let (asker, _) = broker.open("acme/lab/asker", &[]).await;
    let alone = asker
        .publish(publication("$a2a/v1/request/acme/lab/weather", "{}"))
        .await;
    assert_eq!(alone, Ok(Published::NoMatchingSubscribers));
    let (_agent, mut told) = broker
        .open("acme/lab/weather", &["$a2a/v1/request/acme/lab/weather"])
        .await;
    let sent = Publication {
        properties: Properties {
            response_topic: Some("$a2a/v1/reply/acme/lab/asker/s".to_owned()),
            correlation: Some(vec![0, 0xff, 0x7f].into()),
            content_type: Some("application/json".to_owned()),
            is_text: true,
            expiry: Some(60),
            user: vec![("x".into(), "1".into()), ("x".into(), "2".into())],
        },
        ..publication("$a2a/v1/request/acme/lab/weather", &"x".repeat(100_000))
    };
    assert_eq!(asker.publish(sent.clone()).await, Ok(Published::Taken));
    assert_eq!(next(&mut told).await.publication, sent);
    let large = publication("$a2a/v1/request/acme/lab/weather", &"x".repeat(300_000));
    assert_eq!(asker.publish(large).await, Err(PublishError::TooLarge));
}

#[tokio::test]
async fn what_is_not_done_is_not_acknowledged_and_the_broker_keeps_the_rest() {
    let broker = Broker::start(Wanted::default());
    let held = Arc::new(Held {
        heard: Mutex::default(),
        gate: Arc::new(Semaphore::new(0)),
    });
    let agent = Session::open(broker.options("agent", &["t"]), held.clone()).unwrap();
    agent.ready().await;
    let (asker, _) = broker.open("asker", &[]).await;
    for number in 0..20 {
        asker
            .publish(publication("t", &number.to_string()))
            .await
            .unwrap();
    }
    until("as many as may be", || held.heard.lock().unwrap().len() == 8).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(
        held.heard.lock().unwrap().len(),
        8,
        "the broker waits for an acknowledgement"
    );
    held.gate.add_permits(100);
    until("all", || held.heard.lock().unwrap().len() == 20).await;
    let texts: Vec<String> = held
        .heard
        .lock()
        .unwrap()
        .iter()
        .map(|(text, _)| text.clone())
        .collect();
    assert_eq!(
        texts,
        (0..20).map(|number| number.to_string()).collect::<Vec<_>>()
    );
}

/// On several threads, where tasks of what came in at once would begin in any order.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_comes_in_at_once_is_taken_in_the_order_of_receipt() {
    let broker = Broker::start(Wanted::default());
    let (agent, _) = broker.open("agent", &["t"]).await;
    agent.close().await;
    let (asker, _) = broker.open("asker", &[]).await;
    let sent: Vec<String> = (0..300).map(|number| number.to_string()).collect();
    for number in &sent {
        asker.publish(publication("t", number)).await.unwrap();
    }
    let (heard, mut told) = mpsc::unbounded_channel();
    let options = Options {
        receive_maximum: 1_000,
        ..broker.options("agent", &["t"])
    };
    let _agent = Session::open(options, Arc::new(Heard(heard))).unwrap();
    let mut came = Vec::new();
    while came.len() < sent.len() {
        came.push(String::from_utf8(next(&mut told).await.publication.payload.to_vec()).unwrap());
    }
    assert_eq!(came, sent);
}

/// A process that does this and dies: its runtime ends, and its connections with it.
async fn dies_after<F: Future<Output = ()>>(work: impl FnOnce() -> F + Send + 'static) {
    let process = move || {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(work());
        runtime.shutdown_background();
    };
    tokio::task::spawn_blocking(process).await.unwrap();
}

#[tokio::test]
async fn what_was_not_acknowledged_comes_again_with_the_next_connection() {
    let broker = Broker::start(Wanted::default());
    let held = Arc::new(Held {
        heard: Mutex::default(),
        gate: Arc::new(Semaphore::new(0)),
    });
    let (asker, _) = broker.open("asker", &[]).await;
    let (options, inbox) = (broker.options("agent", &["t"]), held.clone());
    dies_after(|| async move {
        let agent = Session::open(options, inbox.clone()).unwrap();
        agent.ready().await;
        asker.publish(publication("t", "work")).await.unwrap();
        until("it comes", || inbox.heard.lock().unwrap().len() == 1).await;
    })
    .await;
    let (_second, mut told) = broker.open("agent", &["t"]).await;
    let again = next(&mut told).await;
    assert!(again.is_repeat && again.publication.payload == "work");
}

/// Debian's Mosquitto closes the connection without a word; others say what they do.
#[tokio::test]
async fn a_session_that_another_has_taken_over_ends_for_good() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let broker = tokio::spawn(async move {
        let (mut connection, _) = listener.accept().await.unwrap();
        let mut connect = [0; 512];
        assert!(connection.read(&mut connect).await.unwrap() > 0);
        // CONNACK, and then DISCONNECT with 0x8E.
        connection.write_all(&[0x20, 3, 0, 0, 0]).await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        connection.write_all(&[0xe0, 2, 0x8e, 0]).await.unwrap();
        tokio::time::sleep(Duration::from_secs(2)).await;
        let again = tokio::time::timeout(Duration::from_secs(1), listener.accept()).await;
        assert!(again.is_err(), "it does not come back");
    });
    let (nobody, _) = mpsc::unbounded_channel();
    let options = Options {
        broker: format!("mqtt://127.0.0.1:{port}").parse().unwrap(),
        client_id: "agent".to_owned(),
        credentials: None,
        will: None,
        filters: Vec::new(),
        kept_for: None,
        receive_maximum: 8,
        max_packet: 1024,
        settle: None,
    };
    let session = Session::open(options, Arc::new(Heard(nobody))).unwrap();
    let mut state = session.watch();
    let ended = state.wait_for(|state| matches!(state, SessionState::Ended(_)));
    let ended = tokio::time::timeout(Duration::from_secs(5), ended)
        .await
        .unwrap()
        .unwrap()
        .clone();
    assert_eq!(ended, SessionState::Ended(SessionEnd::TakenOver));
    broker.await.unwrap();
}

#[tokio::test]
async fn a_session_goes_on_after_its_broker_was_killed() {
    for persistent in [true, false] {
        let mut broker = Broker::start(Wanted {
            persistent,
            ..Wanted::default()
        });
        let (_agent, mut told) = broker.open("agent", &["t"]).await;
        let (asker, _) = broker.open("asker", &[]).await;
        asker.publish(publication("t", "before")).await.unwrap();
        assert_eq!(next(&mut told).await.publication.payload, "before");
        broker.restart();
        let sent = async {
            loop {
                match asker.publish(publication("t", "after")).await {
                    // The agent may not be back yet, where the broker forgot its subscription.
                    Ok(Published::Taken) => return,
                    Ok(Published::NoMatchingSubscribers)
                    | Err(PublishError::Disconnected | PublishError::Timeout) => {
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                    Err(error) => panic!("{error}"),
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(30), sent).await.unwrap();
        while next(&mut told).await.publication.payload != "after" {}
    }
}

#[tokio::test]
async fn whoever_is_gone_without_a_word_has_a_will_and_whoever_says_so_has_none() {
    let broker = Broker::start(Wanted::default());
    let (_watcher, mut told) = broker.open("watcher", &["status"]).await;
    let with_will = |client: &str| Options {
        will: Some(Publication {
            properties: Properties {
                user: vec![("a2a-status".into(), "offline".into())],
                ..Properties::default()
            },
            ..publication("status", client)
        }),
        ..broker.options(client, &[])
    };
    let (nobody, _) = mpsc::unbounded_channel();
    let inbox: Arc<dyn Inbox> = Arc::new(Heard(nobody));
    let leaves = Session::open(with_will("leaves"), Arc::clone(&inbox)).unwrap();
    leaves.ready().await;
    leaves.close().await;
    let options = with_will("crashes");
    dies_after(|| async move {
        Session::open(options, inbox).unwrap().ready().await;
    })
    .await;
    let will = next(&mut told).await.publication;
    assert_eq!(
        (will.payload, will.properties.one("a2a-status")),
        ("crashes".into(), Ok(Some("offline")))
    );
}

#[tokio::test]
async fn whoever_is_dropped_has_a_will() {
    let broker = Broker::start(Wanted::default());
    let (_watcher, mut told) = broker.open("watcher", &["status"]).await;
    let (nobody, _) = mpsc::unbounded_channel();
    let options = Options {
        will: Some(publication("status", "gone")),
        ..broker.options("agent", &[])
    };
    let session = Session::open(options, Arc::new(Heard(nobody))).unwrap();
    session.ready().await;
    let mut state = session.watch();
    drop(session);
    assert_eq!(next(&mut told).await.publication.payload, "gone");
    let ended = state.wait_for(|state| matches!(state, SessionState::Ended(_)));
    assert_eq!(*ended.await.unwrap(), SessionState::Ended(SessionEnd::Closed));
}

#[tokio::test]
async fn what_is_closed_while_its_broker_is_away_does_not_come_back() {
    let mut broker = Broker::start(Wanted::default());
    let (session, _) = broker.open("agent", &[]).await;
    let mut state = session.watch();
    broker.running.kill();
    let away = state.wait_for(|state| *state == SessionState::Connecting);
    tokio::time::timeout(Duration::from_secs(10), away)
        .await
        .unwrap()
        .unwrap();
    tokio::time::timeout(Duration::from_secs(1), session.close())
        .await
        .unwrap();
    assert_eq!(session.ready().await, SessionState::Ended(SessionEnd::Closed));
    let told = session.publish(publication("t", "x")).await;
    assert_eq!(told, Err(PublishError::Disconnected));
}

/// Somebody else may have the port that a broker is to have, and answer there.
#[tokio::test]
async fn a_broker_waits_for_its_port_and_takes_nobody_elses_listener_for_its_own() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_owned();
    let starting =
        tokio::task::spawn_blocking(move || Mosquitto::start(&program(), &place, port, &Wanted::default()));
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(!starting.is_finished());
    drop(listener);
    let running = starting.await.unwrap().unwrap();
    assert_eq!(running.port(), port);
}

#[tokio::test]
async fn who_may_not_publish_is_told_and_who_may_not_connect_is_never_ready() {
    let broker = Broker::start(Wanted {
        users: vec![("agent".into(), "s3cret".into())],
        acl: Some("user agent\ntopic readwrite own/#\n".to_owned()),
        ..Wanted::default()
    });
    let (nobody, _) = mpsc::unbounded_channel();
    let inbox: Arc<dyn Inbox> = Arc::new(Heard(nobody));
    let with = |password: &str| Options {
        credentials: Some(("agent".to_owned(), password.into())),
        ..broker.options("agent", &[])
    };
    let wrong = Session::open(with("wrong"), Arc::clone(&inbox)).unwrap();
    assert!(
        tokio::time::timeout(Duration::from_secs(1), wrong.ready())
            .await
            .is_err()
    );
    assert_eq!(wrong.ready_at_once().await, Err(ConnectFault::NotAdmitted));
    wrong.close().await;
    let nowhere = Options {
        broker: "mqtt://127.0.0.1:1".parse().unwrap(),
        ..with("s3cret")
    };
    let nowhere = Session::open(nowhere, Arc::clone(&inbox)).unwrap();
    let told = nowhere.ready_at_once().await;
    assert!(matches!(told, Err(ConnectFault::Unreachable(_))), "{told:?}");
    let session = Session::open(with("s3cret"), inbox).unwrap();
    let ready = session.ready_at_once().await;
    assert!(matches!(ready, Ok(SessionState::Ready { .. })), "{ready:?}");
    assert_eq!(
        session.publish(publication("foreign/x", "x")).await,
        Err(PublishError::NotAuthorized)
    );
    assert!(session.publish(publication("own/x", "x")).await.is_ok());
    assert!(!format!("{:?}", with("s3cret")).contains("s3cret"));
}

/// A client of the raw protocol sees what a packet that comes twice within its connection leads to.
#[tokio::test]
async fn what_comes_twice_within_a_connection_is_taken_once_and_breaks_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("mqtt://{}", listener.local_addr().unwrap());
    let gate = Arc::new(Semaphore::new(0));
    let inbox = Arc::new(Held {
        heard: Mutex::default(),
        gate: Arc::clone(&gate),
    });
    let options = Options {
        broker: url.parse().unwrap(),
        client_id: "agent".to_owned(),
        credentials: None,
        will: None,
        filters: vec!["t".to_owned()],
        kept_for: None,
        receive_maximum: 8,
        max_packet: 1024,
        settle: None,
    };
    let session = Session::open(options, inbox.clone()).unwrap();
    let (mut line, _) = listener.accept().await.unwrap();
    assert_eq!(packet(&mut line).await[0] >> 4, 1, "CONNECT");
    line.write_all(&[0x20, 3, 0, 0, 0]).await.unwrap();
    let subscribe = packet(&mut line).await;
    let granted = [0x90, 4, subscribe[2], subscribe[3], 0, 1];
    line.write_all(&granted).await.unwrap();
    assert!(matches!(session.ready().await, SessionState::Ready { .. }));

    let publish = |flags: u8, text: u8| [0x32 | flags, 7, 0, 1, b't', 0, 1, 0, text];
    let twice = [publish(0, b'x'), publish(0x08, b'x')].concat();
    line.write_all(&twice).await.unwrap();
    until("the first is taken", || !inbox.heard.lock().unwrap().is_empty()).await;
    gate.add_permits(100);
    assert_eq!(packet(&mut line).await[..4], [0x40, 2, 0, 1]);
    // Now nothing waits any more: both copies are here before the first is acknowledged, or right after it.
    for text in [b'a', b'b', b'c'] {
        let twice = [publish(0, text), publish(0x08, text)].concat();
        line.write_all(&twice).await.unwrap();
        assert_eq!(packet(&mut line).await[..4], [0x40, 2, 0, 1]);
        // The second copy may have come when the acknowledgement was out.
        let late = tokio::time::timeout(Duration::from_millis(200), packet(&mut line)).await;
        assert!(
            late.is_err() || late.is_ok_and(|late| late[0] == 0x40),
            "no DISCONNECT"
        );
    }
    let heard = inbox.heard.lock().unwrap().clone();
    assert_eq!(
        heard.iter().filter(|(text, _)| text == "x").count(),
        1,
        "{heard:?}"
    );
    assert!(heard.iter().any(|(text, _)| text == "c"));
    let again = tokio::time::timeout(Duration::from_millis(500), listener.accept()).await;
    assert!(again.is_err(), "the connection holds");
}

/// The next packet of a line: short ones alone.
async fn packet(line: &mut tokio::net::TcpStream) -> Vec<u8> {
    let mut head = [0; 2];
    line.read_exact(&mut head).await.unwrap();
    let [_, length] = head;
    assert!(length < 0x80, "a short packet");
    let mut rest = vec![0; usize::from(length)];
    line.read_exact(&mut rest).await.unwrap();
    [head.as_slice(), &rest].concat()
}

/// Its users would connect for ever: each publication at QoS 1 would end the connection (0x9B).
#[tokio::test]
async fn a_broker_without_qos_1_is_told_by_its_name_and_not_tried_again() {
    let broker = Broker::start(Wanted {
        lines: vec!["max_qos 0".to_owned()],
        ..Wanted::default()
    });
    let will = publication("$a2a/v1/discovery/acme/lab/agent", "{}");
    for will in [None, Some(will)] {
        let (nobody, _) = mpsc::unbounded_channel();
        let options = Options {
            will,
            ..broker.options("agent", &["t"])
        };
        let session = Session::open(options, Arc::new(Heard(nobody))).unwrap();
        let ended = SessionState::Ended(SessionEnd::QosNotSupported);
        assert_eq!(session.ready().await, ended);
        let refused = session.publish(publication("t", "x")).await;
        assert_eq!(refused, Err(PublishError::Disconnected));
        assert_eq!(session.ready().await, ended);
    }
}

/// Brokers say in CONNACK that they retain nothing and keep no session; that they take no message with an expiry, by its PUBACK.
#[tokio::test]
async fn what_a_broker_refuses_is_told_by_its_name_and_breaks_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (nobody, _) = mpsc::unbounded_channel();
    let options = Options {
        broker: format!("mqtt://{}", listener.local_addr().unwrap())
            .parse()
            .unwrap(),
        client_id: "agent".to_owned(),
        credentials: None,
        will: None,
        filters: Vec::new(),
        kept_for: Some(Duration::from_secs(60)),
        receive_maximum: 8,
        max_packet: 1024,
        settle: None,
    };
    let session = Session::open(options, Arc::new(Heard(nobody))).unwrap();
    let greeted = async || {
        let (mut line, _) = listener.accept().await.unwrap();
        assert_eq!(packet(&mut line).await[0] >> 4, 1, "CONNECT");
        // Session Expiry Interval 0, Retain Available 0.
        let connack = [0x20, 10, 0, 0, 7, 0x11, 0, 0, 0, 0, 0x25, 0];
        line.write_all(&connack).await.unwrap();
        line
    };
    let mut line = greeted().await;
    assert!(matches!(session.ready().await, SessionState::Ready { .. }));
    let with = |retain: bool, expiry: Option<u32>| Publication {
        retain,
        properties: Properties {
            expiry,
            ..Properties::default()
        },
        ..publication("t", "x")
    };
    let told = session.publish(with(true, None)).await;
    assert_eq!(told, Err(PublishError::RetainNotSupported));
    // Of the topic `t`: what comes is the second, so that the first never went out.
    for (expiry, reason, wanted) in [
        (Some(60), 0x83, Err(PublishError::Refused(0x83))),
        (None, 0, Ok(Published::Taken)),
    ] {
        let (told, ()) = tokio::join!(session.publish(with(false, expiry)), async {
            let publish = packet(&mut line).await;
            assert_eq!((publish[0], publish[7] != 0), (0x32, expiry.is_some()));
            let acknowledged = [0x40, 3, publish[5], publish[6], reason];
            line.write_all(&acknowledged).await.unwrap();
        });
        assert_eq!(told, wanted);
    }
    // It connects anew as before, though the broker has forgotten it.
    drop(line);
    let line = greeted().await;
    assert!(matches!(session.ready().await, SessionState::Ready { .. }));
    drop(line);
}
