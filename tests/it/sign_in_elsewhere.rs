//! People who sign in to the chat at an issuer that is not ours: npm's oidc-provider, with its own keys, sessions and words.

use std::time::Duration;

use domain::{Clock, SystemClock};
use reqwest::Method;
use serde_json::{Value, json};
use system_testing::browser::{Browser, Page};
use system_testing::peers::OpenidProvider;
use system_testing::{Local, User};

use crate::tenants::admin;

const CLIENT: &str = "switchyard-acme";
const SECRET: &str = "a-secret-of-the-tests-with-more-than-32-letters";

struct World {
    local: Local,
    provider: OpenidProvider,
    base: String,
}

impl World {
    async fn start() -> Self {
        let local = Local::start_now().await;
        let base = local
            .endpoint("/tenants/acme/base")
            .trim_end_matches('/')
            .to_owned();
        let provider = OpenidProvider::start(CLIENT, SECRET, &base);
        let world = Self {
            local,
            provider,
            base,
        };
        let named = json!({
            "issuer": world.provider.issuer, "client_id": CLIENT, "client_secret": SECRET,
            "sign_in": { "name": "Elsewhere", "roles_claim": "groups", "roles": { "chat-admins": "admin" } },
        });
        let told = world.asks(Method::PUT, "/issuers/elsewhere", Some(named)).await;
        assert_eq!(told["offered"], json!(["idp", "elsewhere"]));
        assert!(!told.to_string().contains(SECRET), "{told}");
        world
            .asks(Method::PUT, "/issuers", Some(json!({ "offered": ["elsewhere"] })))
            .await;
        world
    }

    async fn asks(&self, method: Method, path: &str, body: Option<Value>) -> Value {
        let path = format!("/tenants/acme{path}");
        let (status, told) = admin(&self.local, method, &path, body).await;
        assert!(status.is_success(), "{path}: {status} {told}");
        told
    }

    /// The provider goes by the real time.
    fn tick(&self) {
        let behind = SystemClock.now().since(self.local.clock.now());
        self.local.clock.advance(behind);
    }

    async fn opens(&self, browser: &mut Browser, path: &str) -> Page {
        self.tick();
        browser.open(&format!("{}{path}", self.base)).await
    }

    /// Signs in with these words there; the page at the end.
    async fn signs_in(&self, browser: &mut Browser, path: &str, fill: &[(&str, &str)]) -> Page {
        let form = self.opens(browser, path).await;
        assert!(form.url.as_str().starts_with(&self.provider.issuer), "{form:?}");
        self.tick();
        browser.submit(&form, fill).await
    }

    async fn is_there(&self, browser: &Browser) -> Value {
        self.tick();
        let Some(user) = self.user(browser) else {
            return json!("nobody");
        };
        let answer = user.get("/api/session").await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let told = answer.json();
        match told["who"].as_str() {
            Some("person") => json!([told["name"], told["role"]]),
            _ => told["who"].clone(),
        }
    }

    fn user(&self, browser: &Browser) -> Option<User> {
        let (name, value) = browser.cookies().find(|(name, _)| *name == "switchyard_acme")?;
        let user = User::new(&self.base);
        user.resume(&format!("{name}={value}"));
        Some(user)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn people_of_another_issuer_come_work_and_leave() {
    let world = World::start().await;
    let (mut one, mut two) = (Browser::default(), Browser::default());
    let ada = json!(["Ada Elsewhere", "admin"]);
    let page = world
        .signs_in(&mut one, "/signin?return=tasks", &[("login", "ada")])
        .await;
    assert_eq!(
        (page.status.as_u16(), page.url.as_str()),
        (200, &*format!("{}/tasks", world.base))
    );
    assert_eq!(world.is_there(&one).await, ada);
    let user = world.user(&one).expect("a session");
    let asked = user.ask("Will it rain in Oslo tomorrow?").await;
    user.until(&asked.task_id(), &["completed"]).await;
    // One who is called there like a user of ours is nobody of ours.
    world.signs_in(&mut two, "/signin", &[("login", "bob")]).await;
    assert_eq!(world.is_there(&two).await, json!(["Bob Elsewhere", "member"]));
    let bob = world.user(&two).expect("a session");
    assert_eq!(
        bob.get(&format!("/api/tasks/{}", asked.task_id())).await.status,
        404
    );

    // Anew without a word, where the issuer still knows the person; in any other browser nothing happens.
    let before: Vec<String> = one.cookies().map(|(_, value)| value.to_owned()).collect();
    let page = world.opens(&mut one, "/signin?prompt=none&return=tasks").await;
    assert_eq!(page.url.as_str(), format!("{}/tasks", world.base), "{page:?}");
    assert_eq!(world.is_there(&one).await, ada);
    let after: Vec<String> = one.cookies().map(|(_, value)| value.to_owned()).collect();
    assert_ne!(before, after, "it is another session");
    let user = world.user(&one).expect("a session");
    assert_eq!(user.task(&asked.task_id()).await["id"], asked.task_id().as_str());
    let mut fresh = Browser::default();
    let page = world.opens(&mut fresh, "/signin?prompt=none&return=tasks").await;
    assert_eq!(page.url.as_str(), format!("{}/tasks", world.base), "{page:?}");
    assert_eq!(world.is_there(&fresh).await, "nobody");

    // Who signs out there is signed out here at once, and nobody else is.
    world.provider.does("logout?login=ada").await;
    assert_eq!(world.is_there(&one).await, "nobody");
    assert_eq!(world.is_there(&two).await, json!(["Bob Elsewhere", "member"]));

    // The operator's word ends sessions too; what was proved before that counts no more.
    let person = json!({ "issuer": world.provider.issuer, "subject": "bob" });
    world.asks(Method::POST, "/people/end", Some(person)).await;
    assert_eq!(world.is_there(&two).await, "nobody");
    let page = world.opens(&mut two, "/signin").await;
    assert_eq!(page.status.as_u16(), 403, "{page:?}");
    assert!(page.html.contains("Sign in once more"), "{page:?}");
    tokio::time::sleep(Duration::from_millis(1100)).await;
    world
        .signs_in(&mut two, "/signin?prompt=login", &[("login", "bob")])
        .await;
    assert_eq!(world.is_there(&two).await, json!(["Bob Elsewhere", "member"]));

    // A second factor is the issuer's to ask for, and the tenant's to demand.
    world
        .asks(Method::PUT, "/issuers", Some(json!({ "requireAcr": "amr:otp" })))
        .await;
    assert_eq!(
        world.is_there(&two).await,
        "nobody",
        "whoever came in without it is out"
    );
    let mut third = Browser::default();
    let page = world.signs_in(&mut third, "/signin", &[("login", "ada")]).await;
    assert!(page.html.contains("asks for a stronger sign-in"), "{page:?}");
    assert_eq!(world.is_there(&third).await, "nobody");
    let strong = [("login", "ada"), ("amr", "pwd otp")];
    world.signs_in(&mut third, "/signin?prompt=login", &strong).await;
    assert_eq!(world.is_there(&third).await, ada);

    // Its keys are others from now on: it is asked for them once the last fetch is a minute ago.
    world.provider.does("rotate").await;
    world.local.clock.advance(Duration::from_secs(61));
    let mut fourth = Browser::default();
    let form = fourth.open(&format!("{}/signin", world.base)).await;
    fourth.submit(&form, &strong).await;
    let user = world.user(&fourth).expect("a session");
    assert_eq!(user.get("/api/session").await.json()["name"], "Ada Elsewhere");

    // While it is away, a page says so; whoever is signed in works on.
    world.provider.does("down?is=true").await;
    let page = Browser::default().open(&format!("{}/signin", world.base)).await;
    assert_eq!(page.status.as_u16(), 503);
    assert!(page.html.contains("The service does not answer"), "{page:?}");
    assert_eq!(user.get("/api/session").await.json()["who"], "person");

    // Who leaves an issuer gets its people out with the same word.
    let own = json!({ "offered": ["idp"], "requireAcr": "" });
    world.asks(Method::PUT, "/issuers", Some(own)).await;
    assert_eq!(world.is_there(&third).await, "nobody");
    assert_eq!(world.is_there(&fourth).await, "nobody");
    world.local.system.stop().await;
}
