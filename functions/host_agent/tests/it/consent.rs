//! Agents that take nobody's token but their user's own: asking for consent, going on with it, renewing it.

use std::time::Duration;

use auth::{GrantSecrets, consent_code};
use consent::{Consent, ConsentStore, InvalidMove, Stage, Started};
use domain::{
    Clock as _, ExposeSecret as _, GrantKey, JobState, Owner, SecretString, SystemEntropy, Task, TaskState,
    Tenant, Timestamp,
};
use outbound::oauth::{Dialect, OAuthClient, Provider, Providers};
use serde_json::{Value, json};
use store::StoredGrant;
use wiremock::matchers::{method, path};
use wiremock::{Mock, ResponseTemplate};

use crate::world::{ISSUER, Peer, Reply, World, remote, status, world_with};

const ORDER: &str = "What about my order 1001?";
const EXPIRED: Reply = Reply::Challenge(
    401,
    "Bearer error=\"invalid_token\", error_description=\"token has expired\"",
);

/// The consent with a browser on its way.
fn started(consent: Consent) -> Result<Consent, InvalidMove> {
    let now = consent.created_at;
    let leaving = Started {
        state_hash: "state".into(),
        browser_hash: "browser".into(),
        sealed: String::new(),
    };
    consent.start(leaving, now)
}

/// A host that knows an agent behind the tenant's IdP.
async fn horizon() -> (World, Peer) {
    horizon_with(|_| {}).await
}

/// The same with a change to what the host is built of.
pub(crate) async fn horizon_with(change: impl Fn(&mut host_agent::Parts)) -> (World, Peer) {
    let world = world_with(|parts, server| {
        change(parts);
        parts.providers = Providers::from([(
            "idp".to_owned(),
            Provider {
                issuer: format!("{}/idp/acme", server.uri()),
                dialect: Dialect::Standard,
                sign_in: Default::default(),
                client: OAuthClient {
                    id: "host".into(),
                    secret: "host-secret".into(),
                },
            },
        )]);
    })
    .await;
    let peer = world.peer("horizon").await;
    world.registered(
        json!([world.weather(), card(&world, "idp/acme")]),
        json!({"weather": "global", "horizon": "global"}),
    );
    (world, peer)
}

pub(crate) fn card(world: &World, issuer: &str) -> Value {
    let mut card = world.card(
        7,
        "horizon",
        "Horizon",
        &["type:horizon"],
        "What about my order 1001?",
    );
    let idp = format!("{}/{issuer}", world.server.uri());
    card["card"]["securitySchemes"] = json!({"idp": {"oauth2SecurityScheme": {
        "flows": {"authorizationCode": {"authorizationUrl": format!("{idp}/authorize"), "tokenUrl": format!("{idp}/token"), "scopes": {}}}
    }}});
    card["card"]["securityRequirements"] = json!([{"schemes": {"idp": {"list": ["tasks", "orders:read"]}}}]);
    card
}

fn owner(name: &str) -> Owner {
    Owner::parse(name).unwrap()
}

fn acme() -> Tenant {
    Tenant::parse("acme").unwrap()
}

pub(crate) struct Tokens {
    access: &'static str,
    refresh: Option<&'static str>,
    scopes: &'static [&'static str],
}

pub(crate) const GOOD: Tokens = Tokens {
    access: "at-1",
    refresh: Some("rt-1"),
    scopes: &["tasks", "orders:read"],
};

impl World {
    fn resource(&self) -> String {
        format!("{}/horizon", self.server.uri())
    }

    fn sealed(&self, whose: &Owner, tokens: &Tokens) -> String {
        let secrets = GrantSecrets {
            access_token: tokens.access.into(),
            refresh_token: tokens.refresh.map(SecretString::from),
            expires_at: self.clock.now().after(Duration::from_secs(600)),
            scopes: tokens.scopes.iter().map(|scope| (*scope).to_owned()).collect(),
            id_token_subject: None,
        };
        let binding = GrantKey {
            tenant: &acme(),
            owner: whose,
            provider: "idp",
            resource: &self.resource(),
        };
        secrets.seal(&self.sealer, &binding, &SystemEntropy)
    }

    /// What the callback does with a consent that was given.
    pub(crate) async fn grant(&self, whose: &str, tokens: &Tokens) {
        self.grant_of(whose, tokens, None).await;
    }

    /// The same of somebody who has signed in.
    pub(crate) async fn grant_of(&self, whose: &str, tokens: &Tokens, person: Option<&store::Person>) {
        let whose = owner(whose);
        let scopes: Vec<String> = tokens.scopes.iter().map(|scope| (*scope).to_owned()).collect();
        let (tenant, resource) = (acme(), self.resource());
        let key = GrantKey {
            tenant: &tenant,
            owner: &whose,
            provider: "idp",
            resource: &resource,
        };
        let sealed = self.sealed(&whose, tokens);
        self.store
            .grants()
            .put_grant(store::GivenGrant {
                key,
                scopes: &scopes,
                sealed: &sealed,
                person,
                now: self.clock.now(),
            })
            .await
            .unwrap();
    }

    pub(crate) async fn granted(&self, whose: &str) -> Option<StoredGrant> {
        let (tenant, whose, resource) = (acme(), owner(whose), self.resource());
        let key = GrantKey {
            tenant: &tenant,
            owner: &whose,
            provider: "idp",
            resource: &resource,
        };
        self.store.grants().find_grant(key).await.unwrap()
    }

    async fn consent(&self, task: &Task) -> Consent {
        let link = link(task);
        let id = link.strip_prefix(&format!("{ISSUER}/connect/")).unwrap();
        self.records().find(id).await.unwrap().unwrap()
    }

    fn records(&self) -> ConsentStore {
        ConsentStore::new(self.store.clone(), acme())
    }

    /// What the callback does with it.
    async fn change_consent(&self, task: &Task, change: impl Fn(Consent) -> Result<Consent, InvalidMove>) {
        let seen = self.consent(task).await;
        self.records().revise(seen, change).await.unwrap();
    }

    /// Granted in another browser: the code that the starter is to type back until then.
    async fn held(&self, task: &Task, sealed: String, until: Timestamp) -> SecretString {
        let id = self.consent(task).await.id;
        let code = consent_code::random(&id, &SystemEntropy);
        let hash = consent_code::hash(&id, &code);
        self.change_consent(task, |consent| {
            started(consent)?.hold("state", hash.clone(), sealed.clone(), until)
        })
        .await;
        code
    }

    /// The IdP's token endpoint, which answers so; how often it must be asked is checked when the world ends.
    pub(crate) async fn idp(&self, answer: ResponseTemplate, times: u64) {
        let answer = answer.insert_header("cache-control", "no-store");
        for at in ["token", "generate-token"] {
            let metadata = json!({
                "issuer": format!("{}/idp/acme", self.server.uri()),
                "authorization_endpoint": format!("{}/idp/acme/authorize", self.server.uri()),
                "token_endpoint": format!("{}/idp/acme/token", self.server.uri()),
                "revocation_endpoint": format!("{}/idp/acme/revoke", self.server.uri()),
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
            });
            for known in [
                "/.well-known/oauth-authorization-server/idp/acme",
                "/idp/acme/.well-known/oauth-authorization-server",
                "/idp/.well-known/oauth-authorization-server/acme",
                "/idp/acme/.well-known/openid-configuration",
            ] {
                Mock::given(path(known))
                    .respond_with(ResponseTemplate::new(200).set_body_json(&metadata))
                    .mount(&self.server)
                    .await;
            }
            let expected = if at == "token" { times } else { 0 };
            Mock::given(method("POST"))
                .and(path(format!("/idp/acme/{at}")))
                .respond_with(answer.clone())
                .expect(expected)
                .mount(&self.server)
                .await;
        }
    }
}

/// A code with a slip in its last letter.
fn mistyped(code: &SecretString) -> String {
    let (rest, last) = code.expose_secret().split_at(8);
    format!("{rest}{}", if last == "B" { "C" } else { "B" })
}

/// A code that another consent's could be: it begins with another letter.
fn of_another(code: &SecretString) -> String {
    let (first, rest) = code.expose_secret().split_at(1);
    format!("{}{rest}", if first == "B" { "C" } else { "B" })
}

fn renewed() -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!({
        "access_token": "at-2", "token_type": "Bearer", "expires_in": 600, "refresh_token": "rt-2", "scope": "tasks orders:read"
    }))
}

pub(crate) fn link(task: &Task) -> String {
    assert_eq!(task.status.state, TaskState::AuthRequired, "{:?}", task.status);
    let message = task.status.message.as_ref().unwrap();
    let link = message.metadata["authUrl"].as_str().unwrap();
    assert!(message.text().contains(link), "{}", message.text());
    link.to_owned()
}

async fn states(world: &World, task: &Task) -> Vec<TaskState> {
    let events = world
        .store
        .tasks()
        .events(&world.key(task.id), 0, 100)
        .await
        .unwrap();
    let states = events.iter().filter_map(|event| match &event.kind {
        domain::EventKind::Status { state, .. } => Some(*state),
        _ => None,
    });
    states.collect()
}

async fn done(world: &World, peer: &Peer, task: &Task) {
    assert_eq!(peer.calls("SendMessage").len(), 1, "asked once");
    world
        .notified(
            task.id,
            0,
            remote("r-1", "COMPLETED", None, &["It is on its way."]),
        )
        .await;
    assert_eq!(
        status(&world.wake(task.id).await),
        (TaskState::Completed, "It is on its way.".into())
    );
}

#[tokio::test]
async fn without_a_grant_the_task_waits_for_consent_and_then_goes_on_by_itself() {
    let (world, peer) = horizon().await;
    let task = world.ask(ORDER).await;
    let consent = world.consent(&task).await;
    let request = &consent.request;
    assert_eq!(
        states(&world, &task).await,
        [TaskState::Submitted, TaskState::AuthRequired]
    );
    assert!(matches!(task.jobs[0].state, JobState::AwaitingConsent { .. }));
    assert_eq!(
        (request.owner.as_str(), request.agent.as_str(), request.task_id),
        ("user-1", "host", task.id)
    );
    assert_eq!(
        (request.provider.as_str(), request.resource.clone(), consent.stage),
        ("idp", world.resource(), Stage::Open)
    );
    assert_eq!(consent.request.scopes, ["tasks", "orders:read"]);
    assert_eq!(consent.request.issuer, format!("{}/idp/acme", world.server.uri()));
    assert_eq!(
        world.due_at(task.id).await,
        Some(consent.expires_at),
        "nothing is due but the link's end"
    );

    // Looks in between change nothing and send nothing.
    world.clock.advance(Duration::from_secs(3_600));
    assert_eq!(world.wake(task.id).await.rev, task.rev);
    assert!(peer.asked.lock().unwrap().is_empty());

    world.grant("user-1", &GOOD).await;
    let task = world.wake(task.id).await;
    assert_eq!(
        status(&task),
        (TaskState::Working, "Horizon is working on it.".into())
    );
    assert_eq!(peer.tokens(), ["Bearer at-1"]);
    assert_eq!(task.jobs[0].awaited_consent(), None);
    world.wake(task.id).await;
    done(&world, &peer, &task).await;
    assert_eq!(
        states(&world, &task).await.first_chunk(),
        Some(&[TaskState::Submitted, TaskState::AuthRequired, TaskState::Working])
    );
}

#[tokio::test]
async fn what_is_given_for_one_task_has_every_other_go_on_that_waits_for_the_same() {
    let (world, peer) = horizon().await;
    let (first, second) = (
        world.ask(ORDER).await,
        world.ask("Where is my order 1002 now?").await,
    );
    let others = world.say("user-2", "m-9", ORDER, None).await;
    for id in [second.id, world.wake(others).await.id] {
        assert_eq!(world.task(id).await.status.state, TaskState::AuthRequired);
    }
    world.door.0.lock().unwrap().clear();
    world.grant("user-1", &GOOD).await;
    world.wake(first.id).await;
    let mut woken = Vec::new();
    let next = || world.door.0.lock().unwrap().pop_front();
    while let Some((wake, _)) = next() {
        woken.push(wake.key().id);
        host_agent::handle(&world.host, &wake).await.unwrap();
    }
    assert!(
        woken.contains(&second.id) && !woken.contains(&others),
        "{woken:?}"
    );
    assert_eq!(world.task(second.id).await.status.state, TaskState::Working);
    assert_eq!(peer.calls("SendMessage").len(), 2);
    link(&world.task(others).await);
    // What was agreed to is listed by the name of whom it is for.
    let (_, listed) = world.plain("user-1", http::Method::GET, "/connections").await;
    assert_eq!(listed["connections"][0]["agent"], "Horizon", "{listed}");
}

#[tokio::test]
async fn whoever_writes_or_reads_german_is_asked_in_german() {
    let (world, _peer) = horizon().await;
    let message = json!({
        "messageId": "m-1", "role": "ROLE_USER", "contextId": "trip", "parts": [{"text": "Order 1001?"}],
        "metadata": {"switchyard/locale": "de-AT"},
    });
    let params = json!({"message": message, "configuration": {"returnImmediately": true}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
    let (_, answer) = world.post("user-1", "/jsonrpc", &body).await;
    let id = serde_json::from_value(answer["result"]["task"]["id"].clone()).unwrap();
    let text = world.wake(id).await.status.message.unwrap().text();
    assert!(text.starts_with("Horizon braucht Ihre Zustimmung. "), "{text}");
    let rev = world.task(id).await.rev;
    assert_eq!(world.wake(id).await.rev, rev, "asked once");
    world.grant("user-1", &GOOD).await;
    assert_eq!(status(&world.wake(id).await).1, "Horizon arbeitet daran.");
}

#[tokio::test]
async fn with_a_grant_nobody_is_asked_and_another_owners_is_never_used() {
    let (world, peer) = horizon().await;
    world.grant("user-2", &GOOD).await;
    let task = world.ask(ORDER).await;
    link(&task);
    world.wake(task.id).await;
    assert!(peer.asked.lock().unwrap().is_empty());

    world
        .grant(
            "user-1",
            &Tokens {
                access: "at-of-user-1",
                ..GOOD
            },
        )
        .await;
    let again = world.ask("What about my order 1002?").await;
    assert_eq!(again.status.state, TaskState::Working);
    assert_eq!(peer.tokens(), ["Bearer at-of-user-1"]);
}

#[tokio::test]
async fn done_repeats_the_link_or_goes_on_and_never_runs_twice() {
    let (world, peer) = horizon().await;
    let task = world.ask(ORDER).await;
    let first = link(&task);
    world.say("user-1", "done-1", "done", Some(task.id)).await;
    let task = world.wake(task.id).await;
    assert_eq!(link(&task), first, "not yet: the same link once more");
    assert!(peer.asked.lock().unwrap().is_empty());

    world.grant("user-1", &GOOD).await;
    // The callback's wake and the user's word come together.
    world.say("user-1", "done-2", "done", Some(task.id)).await;
    let (one, other) = tokio::join!(world.wake(task.id), world.wake(task.id));
    assert!(
        [one, other]
            .iter()
            .any(|task| task.status.state == TaskState::Working)
    );
    assert_eq!(world.task(task.id).await.status.state, TaskState::Working);
    done(&world, &peer, &task).await;
}

#[tokio::test]
async fn a_refusal_rejects_the_task_with_the_reason() {
    let (world, peer) = horizon().await;
    let task = world.ask(ORDER).await;
    world
        .change_consent(&task, |consent| started(consent)?.deny())
        .await;
    let (state, text) = status(&world.wake(task.id).await);
    assert_eq!(state, TaskState::Rejected);
    assert!(text.contains("you did not agree to it"), "{text}");
    assert!(peer.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn the_user_can_call_it_off_instead() {
    let (world, peer) = horizon().await;
    let task = world.ask(ORDER).await;
    world.say("user-1", "no", "cancel", Some(task.id)).await;
    assert_eq!(world.wake(task.id).await.status.state, TaskState::Canceled);
    world.grant("user-1", &GOOD).await;
    world.wake(task.id).await;
    assert!(peer.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_stale_link_is_replaced_when_the_task_is_looked_at_until_it_is_too_late() {
    let (world, _) = horizon().await;
    let task = world.ask(ORDER).await;
    let first = link(&task);
    world.clock.advance(Duration::from_secs(24 * 3600));
    let task = world.wake(task.id).await;
    let second = link(&task);
    assert_ne!(first, second);
    assert_eq!(link(&world.wake(task.id).await), second);

    world
        .change_consent(&task, |consent| {
            let end = consent.expires_at;
            consent.end(end)
        })
        .await;
    world.say("user-1", "done-1", "done", Some(task.id)).await;
    let task = world.wake(task.id).await;
    assert_ne!(
        link(&task),
        second,
        "the page found it too old, and the user says so"
    );

    world.clock.advance(Duration::from_secs(7 * 24 * 3600));
    let task = world.wake(task.id).await;
    assert_ne!(
        link(&task),
        second,
        "a week later it still waits, with a fresh link"
    );

    world.clock.advance(Duration::from_secs(21 * 24 * 3600));
    let (state, text) = status(&world.wake(task.id).await);
    assert_eq!(state, TaskState::Rejected);
    assert!(text.contains("in time"), "{text}");
}

#[tokio::test]
async fn a_code_typed_back_is_good_once_and_only_for_the_task_that_asked() {
    let (world, peer) = horizon().await;
    let task = world.ask(ORDER).await;
    let sealed = world.sealed(&owner("user-1"), &GOOD);
    let until = world.clock.now().after(Duration::from_secs(600));
    let code = world.held(&task, sealed, until).await;
    let first = link(&world.wake(task.id).await);
    assert!(
        world.granted("user-1").await.is_none(),
        "pending: not anybody's yet"
    );

    world
        .say("user-1", "wrong", &mistyped(&code), Some(task.id))
        .await;
    let wrong = world.wake(task.id).await;
    assert_eq!(link(&wrong), first);
    assert!(
        status(&wrong).1.starts_with("That code is not right"),
        "{}",
        status(&wrong).1
    );
    assert!(world.granted("user-1").await.is_none());

    let typed = code.expose_secret().to_lowercase().replace('-', "");
    world.say("user-1", "right", &typed, Some(task.id)).await;
    assert_eq!(world.wake(task.id).await.status.state, TaskState::Working);
    assert_eq!(peer.tokens(), ["Bearer at-1"]);
    let id = first.rsplit('/').next().unwrap();
    let used = world.records().find(id).await.unwrap().unwrap();
    assert_eq!(used.stage, Stage::Done);
    done(&world, &peer, &task).await;
}

#[tokio::test]
async fn the_fifth_wrong_code_is_void_together_with_its_link_and_the_task_gets_another() {
    let (world, peer) = horizon().await;
    let task = world.ask(ORDER).await;
    let sealed = world.sealed(&owner("user-1"), &GOOD);
    let until = world.clock.now().after(Duration::from_secs(600));
    let code = world.held(&task, sealed, until).await;
    let first = link(&task);
    let stored = async || {
        let id = first.rsplit('/').next().unwrap();
        world.records().find(id).await.unwrap().unwrap()
    };
    for wrong in 1..=4 {
        world
            .say("user-1", &format!("w{wrong}"), &mistyped(&code), Some(task.id))
            .await;
        // Looked at twice: a process that ended before it wrote its answer is run again.
        world.wake(task.id).await;
        assert_eq!(link(&world.wake(task.id).await), first, "{wrong}");
        assert_eq!(stored().await.wrong_codes(), wrong);
    }
    // What is no code counts for nothing, nor does what another consent's could be, or nobody's.
    for (id, said) in [
        ("chat", "is it done?".to_owned()),
        ("slip", "AAAA-AAAA".to_owned()),
        ("other", of_another(&code)),
    ] {
        world.say("user-1", id, &said, Some(task.id)).await;
        let told = world.wake(task.id).await;
        assert_eq!(link(&told), first);
        let called_wrong = status(&told).1.starts_with("That code is not right");
        assert_eq!(called_wrong, id != "chat", "{said}");
        assert_eq!(stored().await.wrong_codes(), 4);
    }

    world.say("user-1", "w5", &mistyped(&code), Some(task.id)).await;
    let void = world.wake(task.id).await;
    assert_eq!(void.status.state, TaskState::AuthRequired, "not lost");
    assert_ne!(link(&void), first);
    assert!(status(&void).1.contains("it is void"), "{}", status(&void).1);
    let old = stored().await;
    assert_eq!(old.stage, Stage::Ended);
    let typed = code.expose_secret();
    world.say("user-1", "right", typed, Some(task.id)).await;
    world.wake(task.id).await;
    assert!(
        world.granted("user-1").await.is_none(),
        "the right code of a void link"
    );

    world.grant("user-1", &GOOD).await;
    assert_eq!(world.wake(task.id).await.status.state, TaskState::Working);
    done(&world, &peer, &task).await;
}

#[tokio::test]
async fn a_restart_in_between_and_a_flow_broken_off_anywhere_lose_nothing() {
    let (mut world, peer) = horizon().await;
    let task = world.ask(ORDER).await;
    world.host = world.restarted.clone();
    // Ended, but its grant never came: another link.
    let first = link(&task);
    world
        .change_consent(&task, |consent| started(consent)?.give())
        .await;
    let task = world.wake(task.id).await;
    assert_ne!(link(&task), first);
    // The grant is there, and nobody wrote the end or sent the wake: the next look goes on, also at a code's request
    // that was redeemed only halfway.
    let sealed = world.sealed(&owner("user-1"), &GOOD);
    let until = world.clock.now().after(Duration::from_secs(600));
    let code = world.held(&task, sealed, until).await;
    world.grant("user-1", &GOOD).await;
    world
        .say("user-1", "code", code.expose_secret(), Some(task.id))
        .await;
    assert_eq!(world.wake(task.id).await.status.state, TaskState::Working);
    assert_eq!(peer.tokens(), ["Bearer at-1"]);
    done(&world, &peer, &task).await;
}

#[tokio::test]
async fn a_code_that_is_too_old_grants_nothing() {
    let (world, _) = horizon().await;
    let task = world.ask(ORDER).await;
    let sealed = world.sealed(&owner("user-1"), &GOOD);
    let soon = world.clock.now().after(Duration::from_secs(600));
    let code = world.held(&task, sealed, soon).await;
    world.clock.advance(Duration::from_secs(600));
    world
        .say("user-1", "late", code.expose_secret(), Some(task.id))
        .await;
    link(&world.wake(task.id).await);
    assert!(world.granted("user-1").await.is_none());
}

#[tokio::test]
async fn an_expired_token_is_renewed_once_for_two_tasks_at_the_same_time() {
    let (world, peer) = horizon().await;
    world
        .idp(renewed().set_delay(Duration::from_millis(300)), 1)
        .await;
    world.grant("user-1", &GOOD).await;
    peer.then("SendMessage", EXPIRED).then("SendMessage", EXPIRED);
    let one = world.say("user-1", "one", ORDER, None).await;
    let two = world
        .say("user-1", "two", "What about my order 1002?", None)
        .await;
    let (one, two) = tokio::join!(world.wake(one), world.wake(two));
    for task in [&one, &two] {
        assert_eq!(
            status(task),
            (TaskState::Working, "Horizon is working on it.".into())
        );
        assert!(
            !states(&world, task).await.contains(&TaskState::AuthRequired),
            "unseen by the user"
        );
    }
    let mut tokens = peer.tokens();
    tokens.sort();
    assert_eq!(
        tokens,
        ["Bearer at-1", "Bearer at-1", "Bearer at-2", "Bearer at-2"]
    );
    let asked: Vec<_> = peer
        .calls("SendMessage")
        .iter()
        .map(|call| call["params"]["message"]["messageId"].clone())
        .collect();
    let twice = |id: &Value| asked.iter().filter(|known| *known == id).count() == 2;
    assert!(
        asked.iter().all(twice),
        "the retry is the same message: {asked:?}"
    );
    assert_eq!(world.granted("user-1").await.unwrap().refreshing_until, None);
    let requests = world.server.received_requests().await.unwrap();
    let renewal = requests
        .iter()
        .find(|request| request.url.path() == "/idp/acme/token")
        .unwrap();
    let body = String::from_utf8(renewal.body.clone()).unwrap();
    assert!(
        body.contains("grant_type=refresh_token") && body.contains("refresh_token=rt-1"),
        "{body}"
    );
}

#[tokio::test]
async fn a_refused_renewal_asks_for_consent_again() {
    let (world, peer) = horizon().await;
    world
        .idp(
            ResponseTemplate::new(400).set_body_json(json!({"error": "invalid_grant"})),
            1,
        )
        .await;
    world.grant("user-1", &GOOD).await;
    peer.then("SendMessage", EXPIRED);
    let task = world.ask(ORDER).await;
    link(&task);
    assert!(
        world.granted("user-1").await.is_none(),
        "it is good for nothing any more"
    );
    world
        .grant(
            "user-1",
            &Tokens {
                access: "at-3",
                ..GOOD
            },
        )
        .await;
    let task = world.wake(task.id).await;
    assert_eq!(task.status.state, TaskState::Working);
    assert_eq!(peer.tokens(), ["Bearer at-1", "Bearer at-3"]);
}

#[tokio::test]
async fn without_a_refresh_token_an_expired_grant_asks_for_consent_again() {
    let (world, peer) = horizon().await;
    world.idp(renewed(), 0).await;
    world
        .grant(
            "user-1",
            &Tokens {
                refresh: None,
                ..GOOD
            },
        )
        .await;
    peer.then("SendMessage", EXPIRED);
    link(&world.ask(ORDER).await);
    assert!(world.granted("user-1").await.is_none());
}

#[tokio::test]
async fn a_renewal_that_cannot_be_had_now_keeps_the_grant_for_the_next_try() {
    let (world, peer) = horizon().await;
    world.idp(ResponseTemplate::new(503), 1).await;
    world.grant("user-1", &GOOD).await;
    peer.then("SendMessage", EXPIRED);
    let task = world.ask(ORDER).await;
    assert_eq!(status(&task), (TaskState::Working, "Asking Horizon …".into()));
    let kept = world.granted("user-1").await.unwrap();
    assert_eq!(kept.refreshing_until, None, "free for the next try");
    world.clock.advance(Duration::from_secs(1));
    assert_eq!(status(&world.wake(task.id).await).1, "Horizon is working on it.");
}

#[tokio::test]
async fn a_token_that_is_refused_again_after_its_renewal_ends_the_task() {
    let (world, peer) = horizon().await;
    world.idp(renewed(), 1).await;
    world.grant("user-1", &GOOD).await;
    peer.then("SendMessage", EXPIRED).then("SendMessage", EXPIRED);
    let (state, text) = status(&world.ask(ORDER).await);
    assert_eq!(state, TaskState::Failed);
    assert!(text.contains("does not let us in"), "{text}");
}

#[tokio::test]
async fn a_renewal_that_is_refused_in_any_words_asks_for_consent_again() {
    for (status, body) in [
        (200, json!({"error": "bad_refresh_token"})),
        (401, json!({"error": "invalid_client"})),
        (400, json!({"message": "expired"})),
    ] {
        let (world, peer) = horizon().await;
        world
            .idp(ResponseTemplate::new(status).set_body_json(body), 1)
            .await;
        world.grant("user-1", &GOOD).await;
        peer.then("SendMessage", EXPIRED);
        link(&world.ask(ORDER).await);
        assert!(world.granted("user-1").await.is_none());
    }
}

/// No word on why.
const BARE: Reply = Reply::Challenge(401, "");

#[tokio::test]
async fn a_401_without_a_word_renews_the_token_once() {
    let (world, peer) = horizon().await;
    world.idp(renewed(), 1).await;
    world.grant("user-1", &GOOD).await;
    peer.then("SendMessage", BARE);
    let task = world.ask(ORDER).await;
    assert_eq!(status(&task).1, "Horizon is working on it.");
    assert_eq!(peer.tokens(), ["Bearer at-1", "Bearer at-2"]);
}

#[tokio::test]
async fn a_401_without_a_word_after_the_renewal_ends_the_task_and_keeps_the_grant() {
    let (world, peer) = horizon().await;
    world.idp(renewed(), 1).await;
    world.grant("user-1", &GOOD).await;
    peer.then("SendMessage", BARE).then("SendMessage", BARE);
    let (state, text) = status(&world.ask(ORDER).await);
    assert_eq!(state, TaskState::Failed);
    assert!(text.contains("does not let us in"), "{text}");
    assert!(world.granted("user-1").await.is_some());
}

#[tokio::test]
async fn a_401_without_a_word_asks_nobody_for_consent_while_the_token_is_good() {
    let unrenewable = Tokens {
        refresh: None,
        ..GOOD
    };
    let (world, peer) = horizon().await;
    world.idp(renewed(), 0).await;
    world.grant("user-1", &unrenewable).await;
    peer.then("SendMessage", BARE);
    let (state, text) = status(&world.ask(ORDER).await);
    assert_eq!(state, TaskState::Failed);
    assert!(text.contains("does not let us in"), "{text}");
    assert!(world.granted("user-1").await.is_some());
}

#[tokio::test]
async fn a_scope_that_is_too_small_asks_for_consent_to_the_wider_one() {
    let (world, peer) = horizon().await;
    world.grant("user-1", &GOOD).await;
    peer.then(
        "SendMessage",
        Reply::Challenge(403, "Bearer error=\"insufficient_scope\", scope=\"orders:write\""),
    );
    let task = world.ask(ORDER).await;
    let consent = world.consent(&task).await;
    assert_eq!(consent.request.scopes, ["tasks", "orders:read", "orders:write"]);
    assert!(
        world.granted("user-1").await.is_some(),
        "what is granted stays good for the rest"
    );
    world.wake(task.id).await;
    assert_eq!(
        peer.calls("SendMessage").len(),
        1,
        "the narrow grant is not tried again"
    );
    world
        .grant(
            "user-1",
            &Tokens {
                access: "at-wide",
                scopes: &["tasks", "orders:read", "orders:write"],
                ..GOOD
            },
        )
        .await;
    assert_eq!(world.wake(task.id).await.status.state, TaskState::Working);
    assert_eq!(peer.tokens(), ["Bearer at-1", "Bearer at-wide"]);
}

#[tokio::test]
async fn less_than_the_card_needs_is_not_tried_at_all() {
    let (world, peer) = horizon().await;
    world
        .grant(
            "user-1",
            &Tokens {
                scopes: &["tasks"],
                ..GOOD
            },
        )
        .await;
    let task = world.ask(ORDER).await;
    link(&task);
    world
        .change_consent(&task, |consent| started(consent)?.give())
        .await;
    let (state, text) = status(&world.wake(task.id).await);
    assert_eq!(state, TaskState::Rejected, "agreed, but not to what is needed");
    assert!(text.contains("not enough"), "{text}");
    assert!(peer.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn the_other_parts_of_a_prompt_do_not_wait_for_the_consent_of_one() {
    let (world, horizon) = horizon().await;
    let weather = world.peer("weather").await;
    horizon.then(
        "SendMessage",
        Reply::Result(json!({"task": remote("r-2", "SUBMITTED", None, &[])})),
    );
    let task = world
        .ask("Will it rain in Oslo tomorrow? And what about my order 1001?")
        .await;
    assert_eq!(task.jobs.len(), 2);
    link(&task);
    assert_eq!(weather.calls("SendMessage").len(), 1);
    assert!(!weather.tokens()[0].contains("at-1"));
    let number = |name: &str| {
        task.jobs
            .iter()
            .find(|job| job.agent_name == name)
            .unwrap()
            .number
    };
    world
        .notified(
            task.id,
            number("Weather Agent"),
            remote("r-1", "COMPLETED", None, &["Rain."]),
        )
        .await;
    let waiting = world.wake(task.id).await;
    link(&waiting);
    world.grant("user-1", &GOOD).await;
    assert_eq!(world.wake(task.id).await.status.state, TaskState::Working);
    world
        .notified(
            task.id,
            number("Horizon"),
            remote("r-2", "COMPLETED", None, &["On its way."]),
        )
        .await;
    let (state, text) = status(&world.wake(task.id).await);
    assert_eq!(state, TaskState::Completed);
    assert!(text.contains("Rain.") && text.contains("On its way."), "{text}");
}

#[tokio::test]
async fn an_agent_behind_a_sign_in_that_nobody_set_up_is_not_sent_our_token() {
    let (world, peer) = horizon().await;
    world.registered(json!([card(&world, "idp/globex")]), json!({"horizon": "global"}));
    let task = world.ask(ORDER).await;
    assert!(status(&task).1.contains("not set up"), "{:?}", status(&task));
    assert!(task.jobs.is_empty() && peer.asked.lock().unwrap().is_empty());
}
