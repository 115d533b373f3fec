//! A hundred consents under way at once, of a hundred users at two tenants: none is lost, and nobody gets what is
//! another's. Each user has one order that nobody else can see, so that a grant in wrong hands shows.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::{Clock, Owner, Tenant, Timestamp};
use futures_util::future::join_all;
use idp::NewUser;
use serde_json::{Value, json};
use store::{Order, OrderItem, OrderStatus};
use system_testing::{Local, User, oauth};
use url::Url;

const USERS: usize = 100;

/// Somebody with an order of their own.
struct Person {
    tenant: &'static str,
    name: String,
    order: String,
    thing: String,
}

impl Person {
    fn number(number: usize) -> Self {
        let tenant = if number.is_multiple_of(2) {
            "acme"
        } else {
            "globex"
        };
        Self {
            tenant,
            name: format!("person-{number}"),
            // The same numbers at both tenants: a mistaken tenant would find an order, and it would be another's.
            order: (5000 + number / 2).to_string(),
            thing: format!("Lamp of {tenant} person {number}."),
        }
    }

    async fn set_up(&self, local: &Local) {
        let user = NewUser {
            username: self.name.clone(),
            display_name: self.name.clone(),
            password: format!("password of {}", self.name).into(),
            roles: Vec::new(),
        };
        oauth::register(local.system.store(), self.tenant, &[], &[user]).await;
        let tenant = Tenant::parse(self.tenant).expect("a tenant");
        let now: Timestamp = local.clock.now();
        let order = Order {
            id: self.order.clone(),
            customer: Some(Owner::parse(&format!("user-{}", self.name)).expect("an owner")),
            status: OrderStatus::Shipped,
            items: vec![OrderItem {
                name: self.thing.clone(),
                quantity: 1,
            }],
            placed_at: now,
            eta: None,
            updated_at: now,
        };
        local
            .system
            .store()
            .orders()
            .put_order(&tenant, &order)
            .await
            .expect("stored");
    }

    fn login(&self) -> Value {
        json!({ "username": self.name, "password": format!("password of {}", self.name) })
    }
}

/// Waits until the task is in one of the states. A hundred users look less often than one would.
async fn settled(user: &User, id: &str, states: &[&str]) -> Value {
    let mut last = Value::Null;
    for _ in 0..200 {
        last = user.task(id).await;
        if states.iter().any(|state| last["status"] == *state) {
            return last;
        }
        tokio::time::sleep(Duration::from_millis(400)).await;
    }
    panic!("task {id} never became one of {states:?}: {last:#}")
}

/// Asks, is led to consent, agrees, and is told.
async fn walk(local: &Local, person: &Person) -> (User, Value) {
    let base = local
        .endpoint(&format!("/tenants/{}/base", person.tenant))
        .to_owned();
    let user = User::new(&base);
    let asked = user.ask(&format!("Where is my order {}?", person.order)).await;
    let waiting = settled(&user, &asked.task_id(), &["auth-required"]).await;
    let text = waiting.to_string();
    let at = text
        .find("/connect/")
        .unwrap_or_else(|| panic!("no link: {waiting:#}"));
    let path = text[at..]
        .split(|c: char| !(c.is_ascii_alphanumeric() || "/-_".contains(c)))
        .next();
    let link = format!("{}{}", base.trim_end_matches('/'), path.expect("a path"));
    let place = Url::parse(&base).expect("an address").path().to_owned();
    let mut browser = user.browser(&place);
    let page = oauth::agree(&mut browser, &link, &person.login()).await;
    assert_eq!(page.status, 200, "{}: {page:?}", person.name);
    let done = settled(&user, &asked.task_id(), &["completed", "failed", "rejected"]).await;
    (user, done)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_consents_at_once_lose_nothing_and_cross_nothing() {
    let local = Local::start().await;
    let people: Vec<Person> = (0..USERS).map(Person::number).collect();
    join_all(people.iter().map(|person| person.set_up(&local))).await;
    let ended = join_all(people.iter().map(|person| walk(&local, person))).await;

    let mut tasks = BTreeSet::new();
    for (person, (user, task)) in people.iter().zip(&ended) {
        assert_eq!(task["status"], "completed", "{}: {task:#}", person.name);
        let text = task.to_string();
        assert!(
            text.contains(&person.thing),
            "{} got another's: {task:#}",
            person.name
        );
        let others = people.iter().filter(|other| other.name != person.name);
        for other in others {
            assert!(
                !text.contains(&other.thing),
                "{} sees {}'s",
                person.name,
                other.name
            );
        }
        let id = task["id"].as_str().or(task["taskId"].as_str()).expect("an id");
        assert!(tasks.insert(id.to_owned()), "two have one task: {id}");
        let connections = user.get("/api/connections").await.json();
        let connections = connections["connections"].as_array().expect("a list");
        assert_eq!(connections.len(), 1, "{}: {connections:?}", person.name);
    }
    // The grant is its owner's still: the next question needs no consent, and another's order stays out of reach.
    let again = people
        .iter()
        .zip(&ended)
        .take(10)
        .map(async |(person, (user, _))| {
            let other = format!("Where is my order {}?", 5000 + (USERS / 2) - 1);
            for (prompt, is_own) in [
                (format!("Where is my order {}?", person.order), true),
                (other, false),
            ] {
                let id = user.ask(&prompt).await.task_id();
                let task = user
                    .until(&id, &["completed", "auth-required", "failed", "rejected"])
                    .await;
                assert_ne!(task["status"], "auth-required", "{task:#}");
                assert_eq!(task.to_string().contains(&person.thing), is_own, "{task:#}");
                assert_eq!(task.to_string().contains("Lamp of"), is_own, "{task:#}");
            }
        });
    join_all(again).await;
    local.system.stop().await;
}
