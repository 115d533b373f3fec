//! Rows of the authorization server (client credentials, codes, refresh tokens, forms) and of consent's way back.

use std::time::Duration;

use domain::{Clock as _, GrantKey, Tenant};
use local::Signer;
use serde_json::{Value, json};
use system_testing::browser::{Browser, attribute};
use system_testing::oauth::{self, CONFIDENTIAL, PUBLIC, REDIRECT_URI, SECRET};
use url::Url;

use super::Cell::{Hidden, Is, Na};
use super::world::{FORM, GLOBEX_CLIENT, GOOD_CLIENT, OTHER_CLIENT, OTHER_SECRET, VICTIM, World, form, told};
use super::{Attack, Cell, Row, Told};

const PUBLISHED: &str = "what is published is for everybody: no client could begin without it";
const UNENDING: &str = "a client's secret ends when it is replaced, not by itself";
const REGISTERED: &str = "a client is registered here; nobody else can vouch for one";
const ONE_SERVER: &str =
    "a client's secret is good at its own authorization server alone, which is the cell of the tenant";
const CODES_SCOPE: &str = "a code carries its scopes; the exchange asks for none";
const NOT_ASKED: &str = "this endpoint gives no scopes out";
const OWN_TOKEN: &str = "it tells of the token itself: whoever bears it is who it speaks of";
const ANY_RESOURCE: &str =
    "the issuer knows its own tokens whichever resource they are for, and tells of the person alone";
const A_LINK: &str = "a link is no token: it names a request for consent, and following it grants nothing";
const STARTERS: &str = "anybody may follow it and grants nothing by that: consent::a_forwarded_link_grants_nothing_until_the_starter_types_the_code";
const A_PERSON: &str = "a person who is not signed in is asked to: that is what the page is for";
const NO_LOGIN: &str =
    "a login of another tenant, or one that ended, is no login: the page asks to sign in, as in the good row";
const SAME_PERSON: &str = "whoever is signed in answers for themselves";
const NOTHING_ENDS: &str =
    "the page asks whoever is signed in and ends nothing; anybody else is told that nobody is";
const FORMS: &str = "a form's token is made of the browser's own secret; nobody issues one";
const LOGIN_FORM: &str = "the form signs in; what is granted is checked anew with every step";
const LOGIN_ENDS: &str = "a form of an ended login leads to a new login: idp's signing_in tests";
const STATE: &str = "a state is random and this callback's own";
const SERVERS_WORD: &str =
    "what is granted is the server's word, and stored as that: oauth_callback's flow tests";

/// The operation of rows of a tenant's users.
const USERS: &str = "users";

/// A row of the authorization server.
fn row(
    (method, route, operation): (&'static str, &'static str, &'static str),
    cells: [Cell; 8],
    good: Cell,
) -> Row {
    Row {
        function: "idp",
        at: "idp",
        method,
        route,
        operation,
        cells,
        good,
    }
}

pub(super) fn rows() -> Vec<Row> {
    let (denied, bad) = (Is(401), Is(400));
    let mut rows: Vec<Row> = [
        "/{tenant}/jwks.json",
        "/{tenant}/sessions.json",
        "/{tenant}/browsers.json",
        "/{tenant}/.well-known/openid-configuration",
        "/{tenant}/.well-known/oauth-authorization-server",
        "/.well-known/openid-configuration/{tenant}",
        "/.well-known/oauth-authorization-server/{tenant}",
    ]
    .map(|route| row(("GET", route, ""), [Na(PUBLISHED); 8], Is(200)))
    .into();
    let authorize = "/{tenant}/authorize";
    rows.extend([
        // None: without PKCE; rubbish: an unknown client; audience: a resource that is not the client's; tenant: a client
        // of the other; scope: more than the client may ask for.
        row(
            ("GET", authorize, ""),
            [
                Is(302),
                bad,
                Na(NO_LOGIN),
                Na(A_PERSON),
                Is(302),
                bad,
                Na(SAME_PERSON),
                Is(302),
            ],
            Is(200),
        ),
        // The token of the form: none, rubbish, of another request, of the other tenant's page, of another browser.
        row(
            ("POST", authorize, "login"),
            [
                Is(403),
                Is(403),
                Na(LOGIN_ENDS),
                Na(FORMS),
                Is(403),
                Is(403),
                Is(403),
                Na(LOGIN_FORM),
            ],
            Is(303),
        ),
        // The same of the form to sign out: whoever has no login has nothing to end, and sees that.
        row(("GET", "/{tenant}/logout", ""), [Na(NOTHING_ENDS); 8], Is(200)),
        row(
            ("POST", "/{tenant}/logout", "logout"),
            [
                Is(403),
                Is(403),
                Na(LOGIN_ENDS),
                Na(FORMS),
                Is(403),
                Na(NO_LOGIN),
                Is(403),
                Na(LOGIN_FORM),
            ],
            Is(200),
        ),
    ]);
    let clients = |scope| {
        [
            denied,
            denied,
            Na(UNENDING),
            Na(REGISTERED),
            Na(ONE_SERVER),
            denied,
            denied,
            scope,
        ]
    };
    for route in ["/{tenant}/token", "/{tenant}/generate-token"] {
        rows.extend([
            row(
                ("POST", route, "client, by a code"),
                clients(Na(CODES_SCOPE)),
                Is(200),
            ),
            row(
                ("POST", route, "client, by a refresh token"),
                clients(bad),
                Is(200),
            ),
            row(("POST", route, "client, for itself"), clients(bad), Is(200)),
            row(
                ("POST", route, "code"),
                [bad, bad, bad, bad, bad, bad, bad, Na(CODES_SCOPE)],
                Is(200),
            ),
            row(("POST", route, "refresh token"), [bad; 8], Is(200)),
        ]);
    }
    // What is not the client's is not told apart from what never was: nothing happens, and that is the answer.
    let nothing = Hidden(200);
    rows.extend([
        row(
            ("POST", "/{tenant}/revoke", "client"),
            clients(Na(NOT_ASKED)),
            Is(200),
        ),
        row(
            ("POST", "/{tenant}/revoke", "refresh token"),
            [
                bad,
                nothing,
                nothing,
                nothing,
                Na(ONE_SERVER),
                nothing,
                nothing,
                Na(NOT_ASKED),
            ],
            Is(200),
        ),
        row(
            ("POST", "/{tenant}/introspect", "client"),
            clients(denied),
            Is(200),
        ),
        row(
            ("POST", "/{tenant}/introspect", "refresh token"),
            [
                bad,
                nothing,
                nothing,
                nothing,
                Na(ONE_SERVER),
                nothing,
                nothing,
                Na(NOT_ASKED),
            ],
            Is(200),
        ),
    ]);
    for method in ["GET", "POST"] {
        rows.push(row(
            (method, "/{tenant}/userinfo", ""),
            [
                denied,
                denied,
                denied,
                denied,
                Na(ANY_RESOURCE),
                denied,
                Na(OWN_TOKEN),
                Is(403),
            ],
            Is(200),
        ));
    }
    // Who looks after users: a session of the tenant's chat vouches for an admin; a person's own token, for an admin alone.
    for (method, route, good) in [
        ("GET", "/{tenant}/users", 200),
        ("POST", "/{tenant}/users", 201),
        ("PATCH", "/{tenant}/users/{username}", 200),
        ("POST", "/{tenant}/users/{username}/reset", 200),
        ("POST", "/{tenant}/users/{username}/end", 204),
        ("DELETE", "/{tenant}/users/{username}", 204),
    ] {
        let cells = [denied, denied, denied, denied, denied, denied, denied, Is(403)];
        rows.push(row((method, route, USERS), cells, Is(good)));
    }
    let callback = |route, cells, good| Row {
        function: "oauth_callback",
        at: "oauth_callback",
        ..row(("GET", route, ""), cells, good)
    };
    rows.extend([
        callback("/connect/page.css", [Na(PUBLISHED); 8], Is(200)),
        callback(
            "/connect/{id}",
            [
                Na(STARTERS),
                Is(404),
                Is(410),
                Na(A_LINK),
                Na(A_LINK),
                Is(404),
                Na(STARTERS),
                Na(A_LINK),
            ],
            Is(302),
        ),
        Row {
            method: "POST",
            ..callback(
                "/connect/{id}",
                [
                    Is(403),
                    Is(403),
                    Is(403),
                    Is(403),
                    Is(403),
                    Is(404),
                    Is(403),
                    Is(403),
                ],
                Is(200),
            )
        },
        callback(
            "/callback",
            [bad, bad, Is(410), bad, Na(STATE), bad, Is(403), Na(SERVERS_WORD)],
            Is(200),
        ),
    ]);
    rows
}

pub(super) async fn ask(world: &World, row: &Row, attack: Option<Attack>) -> Vec<Told> {
    if row.function == "oauth_callback" {
        return match row.route {
            "/connect/{id}" if row.method == "POST" => prove(world, attack).await,
            "/connect/{id}" => connect(world, attack).await,
            "/callback" => callback(world, attack).await,
            path => {
                vec![told(world.request("GET", &format!("{}{path}", world.at("/tenants/acme/base")))).await]
            }
        };
    }
    let url = format!("{}{}", world.at("/idp"), row.route.replace("{tenant}", "acme"));
    match (row.method, row.operation) {
        (_, USERS) => users(world, row, attack).await,
        ("POST", "login") => sign_in(world, attack).await,
        ("POST", "logout") => sign_out(world, &url, attack).await,
        ("GET", "") if row.route.ends_with("/authorize") => vec![authorize(world, attack).await],
        (_, "") if row.route.ends_with("/userinfo") => {
            let signers = (Signer::Idp("acme"), Signer::Idp("globex"));
            let audience = world.local.resource("acme");
            let mut answers = Vec::new();
            for token in world.tokens(signers, (VICTIM, &audience, "openid"), attack) {
                let mut request = world.request(row.method, &url);
                if let Some(token) = token {
                    request = request.bearer_auth(token);
                }
                answers.push(told(request).await);
            }
            answers
        }
        (_, "") => vec![told(world.request(row.method, &url)).await],
        (_, operation) if operation.starts_with("client") => clients(world, row, &url, attack).await,
        _ => tokens(world, row, &url, attack).await,
    }
}

/// Attacks on the users of the tenant: on one who is there; what is good is done to somebody of whom no other row knows.
async fn users(world: &World, row: &Row, attack: Option<Attack>) -> Vec<Told> {
    let audience = format!("{}/users", world.local.issuer("acme"));
    let signers = (Signer::Session("acme"), Signer::Session("globex"));
    let mut tokens = world.tokens(signers, ("person-adam", &audience, "users"), attack);
    let own = |subject, scope| {
        let signed =
            world
                .local
                .system
                .signed(Signer::Idp("acme"), subject, &audience, scope, Duration::ZERO);
        Some(signed.expect("a token"))
    };
    match attack {
        // A member, an operator, and whoever was never here or is here no more.
        Some(Attack::WrongOwner) => {
            tokens = ["user-alan", "user-olga", "user-gone", "user-nobody"]
                .map(|subject| own(subject, "users"))
                .to_vec();
        }
        Some(Attack::SmallScope) => tokens.push(own("user-adam", "tasks")),
        None if row.method == "GET" => tokens.push(own("user-adam", "users")),
        _ => {}
    }
    let username = match attack {
        Some(_) => "alan".to_owned(),
        None => super::services::somebody(world).await,
    };
    let new = format!("new-{}", world.next());
    let body = match row.method {
        "PATCH" => json!({ "displayName": "Another" }),
        _ => json!({ "username": new }),
    };
    let path = row
        .route
        .replace("{tenant}", "acme")
        .replace("{username}", &username);
    let url = format!("{}{path}", world.at("/idp"));
    let mut answers = Vec::new();
    for token in &tokens {
        let mut request = world.request(row.method, &url);
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        if ["POST", "PATCH"].contains(&row.method) {
            request = request.json(&body);
        }
        answers.push(told(request).await);
    }
    if attack == Some(Attack::WrongTenant) {
        // And a good token of this tenant's at the other.
        let good = world
            .tokens(signers, ("person-adam", &audience, "users"), None)
            .remove(0);
        let url = url.replace("/acme/", "/globex/");
        let request = world
            .request(row.method, &url)
            .bearer_auth(good.expect("a token"));
        answers.push(told(request.json(&body)).await);
    }
    answers
}

/// What a client sends beside its credentials.
async fn fields(world: &World, row: &Row) -> Vec<(&'static str, String)> {
    let text = str::to_owned;
    match row.operation {
        "client, by a code" => {
            let (code, verifier) = world.code("acme", CONFIDENTIAL).await;
            vec![
                ("grant_type", text("authorization_code")),
                ("code", code),
                ("code_verifier", verifier),
                ("redirect_uri", text(REDIRECT_URI)),
            ]
        }
        "client, for itself" => vec![
            ("grant_type", text("client_credentials")),
            ("scope", text("tasks")),
            ("resource", world.local.resource("acme")),
        ],
        "client" => vec![("token", world.refresh_token("acme", CONFIDENTIAL).await)],
        _ => vec![
            ("grant_type", text("refresh_token")),
            ("refresh_token", world.refresh_token("acme", CONFIDENTIAL).await),
        ],
    }
}

async fn send(
    world: &World,
    url: &str,
    client: Option<(&str, &str)>,
    fields: &[(&'static str, String)],
) -> Told {
    let fields: Vec<(&str, &str)> = fields
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let mut request = world
        .request("POST", url)
        .header("content-type", FORM)
        .body(form(&fields));
    if let Some((id, secret)) = client {
        request = request.basic_auth(id, Some(secret));
    }
    told(request).await
}

/// Attacks on a client's own credentials.
async fn clients(world: &World, row: &Row, url: &str, attack: Option<Attack>) -> Vec<Told> {
    let mut sent = fields(world, row).await;
    let good = Some(GOOD_CLIENT);
    let shapes = match attack {
        None => vec![good],
        Some(Attack::None) => vec![None, Some((CONFIDENTIAL, ""))],
        Some(Attack::Rubbish) => vec![
            Some((CONFIDENTIAL, "rubbish")),
            Some(("nobody", SECRET)),
            Some(("", "")),
        ],
        Some(Attack::WrongTenant) => vec![Some((GLOBEX_CLIENT, SECRET))],
        Some(Attack::WrongOwner) => vec![Some((CONFIDENTIAL, OTHER_SECRET)), Some((PUBLIC, SECRET))],
        Some(Attack::SmallScope) if row.route.ends_with("/introspect") => {
            // A client without a secret may not ask at all.
            sent.push(("client_id", PUBLIC.to_owned()));
            vec![None]
        }
        Some(Attack::SmallScope) => {
            sent.retain(|(name, _)| *name != "scope");
            sent.push(("scope", "orders:write".to_owned()));
            vec![good]
        }
        Some(_) => Vec::new(),
    };
    let mut answers = Vec::new();
    for client in shapes {
        answers.push(send(world, url, client, &sent).await);
    }
    answers
}

/// Attacks on a code or a refresh token that a client with good credentials brings.
async fn tokens(world: &World, row: &Row, url: &str, attack: Option<Attack>) -> Vec<Told> {
    let by_code = row.operation == "code";
    let has = |tenant: &'static str, client: &'static str| async move {
        match by_code {
            true => world.code(tenant, client).await,
            false => (world.refresh_token(tenant, client).await, String::new()),
        }
    };
    let mut more = Vec::new();
    let mut shapes = Vec::new();
    match attack {
        None => shapes.push(has("acme", CONFIDENTIAL).await),
        Some(Attack::None) => shapes.push(Default::default()),
        Some(Attack::Rubbish) => {
            let (good, verifier) = has("acme", CONFIDENTIAL).await;
            for text in ["rubbish", &good[..good.len() - 1], &"x".repeat(5000)] {
                shapes.push((text.to_owned(), verifier.clone()));
            }
        }
        Some(Attack::Expired) if by_code => {
            shapes.push(has("acme", CONFIDENTIAL).await);
            world.local.clock.advance(Duration::from_secs(61));
        }
        Some(Attack::Expired) => {
            // One that was rotated: what was good once ends all that came after it.
            let old = world.refresh_token("acme", CONFIDENTIAL).await;
            let again = [
                ("grant_type", "refresh_token".to_owned()),
                ("refresh_token", old.clone()),
            ];
            let token = format!("{}/token", world.local.issuer("acme"));
            let rotated = send(world, &token, Some(GOOD_CLIENT), &again).await;
            assert_eq!(rotated.status, 200, "{rotated:?}");
            // Where the row revokes, the old one is as good as the new: it is the family that ends.
            shapes.push((old, String::new()));
        }
        Some(Attack::WrongIssuer) => shapes.push(("swr_elsewhere.token".to_owned(), "v".repeat(50))),
        Some(Attack::WrongAudience) => {
            shapes.push(has("acme", CONFIDENTIAL).await);
            more.push(("resource", world.local.resource("globex")));
        }
        Some(Attack::WrongTenant) => shapes.push(has("globex", GLOBEX_CLIENT).await),
        Some(Attack::WrongOwner) => shapes.push(has("acme", OTHER_CLIENT).await),
        Some(Attack::SmallScope) => {
            shapes.push(has("acme", CONFIDENTIAL).await);
            more.push(("scope", "orders:read orders:write".to_owned()));
        }
    }
    let mut answers = Vec::new();
    for (token, verifier) in shapes {
        let mut sent = more.clone();
        let name = match (by_code, row.route.ends_with("token")) {
            (true, _) => {
                let redirect = REDIRECT_URI.to_owned();
                sent.extend([("redirect_uri", redirect), ("code_verifier", verifier)]);
                sent.push(("grant_type", "authorization_code".to_owned()));
                "code"
            }
            (false, true) => {
                sent.push(("grant_type", "refresh_token".to_owned()));
                "refresh_token"
            }
            (false, false) => "token",
        };
        if !token.is_empty() {
            sent.push((name, token.clone()));
        }
        let answer = send(world, url, Some(GOOD_CLIENT), &sent).await;
        if row.route.ends_with("/introspect") && attack.is_some() && answer.status == 200 {
            assert_eq!(answer.json(), json!({ "active": false }), "{attack:?}");
        }
        if attack == Some(Attack::WrongOwner) && !by_code {
            // Its own client still has it: nobody ends, or uses up, what is not theirs.
            let again = [
                ("grant_type", "refresh_token".to_owned()),
                ("refresh_token", token),
            ];
            let owner = Some((OTHER_CLIENT, OTHER_SECRET));
            let place = format!("{}/token", world.local.issuer("acme"));
            assert_eq!(
                send(world, &place, owner, &again).await.status,
                200,
                "{}",
                row.route
            );
        }
        answers.push(answer);
    }
    answers
}

/// An authorization request with something changed.
fn request(world: &World, tenant: &str, changes: &[(&str, &str)]) -> Url {
    let mut url = Url::parse(&format!("{}/authorize", world.local.issuer(tenant))).expect("an address");
    let resource = world.local.resource(tenant);
    let client = if tenant == "acme" { PUBLIC } else { GLOBEX_CLIENT };
    let usual = [
        ("response_type", "code"),
        ("client_id", client),
        ("redirect_uri", REDIRECT_URI),
        ("scope", "openid orders:read"),
        ("resource", &resource),
        ("code_challenge", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"),
        ("code_challenge_method", "S256"),
    ];
    for (name, value) in usual {
        let changed = changes.iter().find(|(known, _)| *known == name);
        let value = changed.map_or(value, |(_, value)| value);
        if !value.is_empty() {
            url.query_pairs_mut().append_pair(name, value);
        }
    }
    url
}

async fn authorize(world: &World, attack: Option<Attack>) -> Told {
    let resource = world.local.resource("globex");
    let (changes, error): (&[(&str, &str)], _) = match attack {
        Some(Attack::None) => (
            &[("code_challenge", ""), ("code_challenge_method", "")],
            "invalid_request",
        ),
        Some(Attack::Rubbish) => (&[("client_id", "nobody")], ""),
        Some(Attack::WrongTenant) => (&[("client_id", GLOBEX_CLIENT)], ""),
        Some(Attack::WrongAudience) => (&[("resource", &resource)], "invalid_target"),
        Some(Attack::SmallScope) => (&[("scope", "openid orders:write")], "invalid_scope"),
        _ => (&[], ""),
    };
    let answer = told(world.request("GET", request(world, "acme", changes).as_str())).await;
    if !error.is_empty() {
        assert!(
            answer.text.contains(&format!("error={error}")),
            "{attack:?}: {answer:?}"
        );
        assert!(!answer.text.contains("code="), "{attack:?}: {answer:?}");
    }
    answer
}

/// The form to sign in, with a form token that is not this page's.
async fn sign_in(world: &World, attack: Option<Attack>) -> Vec<Told> {
    let url = request(world, "acme", &[]);
    let (cookie, own) = page(world, &url).await;
    let tokens = match attack {
        None => vec![own],
        Some(Attack::None) => vec![String::new()],
        Some(Attack::Rubbish) => vec!["rubbish".to_owned(), own[1..].to_owned()],
        Some(Attack::WrongAudience) => vec![same_browser(world, &cookie).await],
        Some(Attack::WrongTenant) => vec![page(world, &request(world, "globex", &[])).await.1],
        Some(Attack::WrongOwner) => vec![page(world, &url).await.1],
        Some(_) => Vec::new(),
    };
    let login = world.local.login("acme", 0);
    let text = |name: &str| login[name].as_str().expect("a text");
    let mut answers = Vec::new();
    for token in tokens {
        let fields = [
            ("form", token.as_str()),
            ("step", "login"),
            ("username", text("username")),
            ("password", text("password")),
        ];
        let post = world.request("POST", url.as_str()).header("cookie", &cookie);
        answers.push(told(post.header("content-type", FORM).body(form(&fields))).await);
    }
    answers
}

/// The form to sign out, with a form token that is not this page's.
async fn sign_out(world: &World, url: &str, attack: Option<Attack>) -> Vec<Told> {
    let (cookies, own) = signed_in(world, url).await;
    let tokens = match attack {
        None => vec![own],
        Some(Attack::None) => vec![String::new()],
        Some(Attack::Rubbish) => vec!["rubbish".to_owned(), own[1..].to_owned()],
        Some(Attack::WrongAudience) => {
            let other = world
                .request("GET", &format!("{url}?state=x"))
                .header("cookie", &cookies);
            vec![form_token(&told(other).await.text)]
        }
        Some(Attack::WrongOwner) => vec![signed_in(world, url).await.1],
        Some(_) => Vec::new(),
    };
    let mut answers = Vec::new();
    for token in tokens {
        let fields = [("form", token.as_str()), ("step", "logout")];
        let post = world.request("POST", url).header("cookie", &cookies);
        answers.push(told(post.header("content-type", FORM).body(form(&fields))).await);
    }
    answers
}

/// The cookies of a browser that is signed in, and the token of its form to sign out.
async fn signed_in(world: &World, url: &str) -> (String, String) {
    let mut browser = oauth::apps_browser();
    let login = world.local.login("acme", 0);
    oauth::agree(&mut browser, request(world, "acme", &[]).as_str(), login).await;
    let page = browser.open(url).await;
    let cookies: Vec<String> = browser
        .cookies()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    (cookies.join("; "), form_token(&page.html))
}

/// The cookie and the form token of a page to sign in.
async fn page(world: &World, url: &Url) -> (String, String) {
    let answer = world
        .request("GET", url.as_str())
        .send()
        .await
        .expect("an answer");
    let cookie = answer.headers()["set-cookie"].to_str().expect("text").to_owned();
    let cookie = cookie.split(';').next().expect("a pair").to_owned();
    (cookie, form_token(&answer.text().await.expect("a page")))
}

/// The form token that the same browser has for another request.
async fn same_browser(world: &World, cookie: &str) -> String {
    let other = request(world, "acme", &[("scope", "openid")]);
    let answer = world
        .request("GET", other.as_str())
        .header("cookie", cookie)
        .send();
    form_token(&answer.await.expect("an answer").text().await.expect("a page"))
}

fn form_token(html: &str) -> String {
    let after = html.split("name=\"form\" value=\"").nth(1);
    after
        .and_then(|rest| rest.split('"').next())
        .unwrap_or_else(|| panic!("no form: {html}"))
        .to_owned()
}

/// The link that a task of the victim waits for.
async fn link(world: &World, task: &str) -> String {
    let waiting = world.user.until(task, &["auth-required"]).await;
    let text = waiting.to_string();
    let at = text
        .find("/connect/")
        .unwrap_or_else(|| panic!("no link: {waiting:#}"));
    let id = text[at + 9..]
        .split(|c: char| !(c.is_ascii_alphanumeric() || "-_".contains(c)))
        .next();
    format!(
        "{}/connect/{}",
        world.at("/tenants/acme/base"),
        id.expect("an id")
    )
}

async fn connect(world: &World, attack: Option<Attack>) -> Vec<Told> {
    let link = link(world, &world.user.ask("Where is my order 1001?").await.task_id()).await;
    let url = match attack {
        Some(Attack::Rubbish) => link.replace("/connect/", "/connect/x"),
        Some(Attack::WrongTenant) => link.replace("/t/acme/", "/t/globex/"),
        _ => link,
    };
    if attack == Some(Attack::Expired) {
        world.local.clock.advance(Duration::from_secs(25 * 3600));
    }
    let cookie = world.user.cookie().expect("a session");
    vec![told(world.request("GET", &url).header("cookie", cookie)).await]
}

/// Where the page of a user's own browser posts a proof for the calendar agent, and the proof.
async fn proof(world: &World) -> (String, String) {
    let user = world.local.user("acme");
    let task = user.ask("Am I free on Friday?").await.task_id();
    let waiting = user.until(&task, &["auth-required"]).await;
    let link = waiting["authUrl"].as_str().expect("a link");
    let page = world
        .request("GET", link)
        .header("cookie", user.cookie().expect("a session"));
    let page = told(page).await.text;
    let field = |tag: &str, name: &str| {
        let tag = page.split('<').find(|part| part.starts_with(tag));
        attribute(tag.expect("a form"), name).expect("a field")
    };
    (field("form", "action"), field("input", "value"))
}

/// The form that proves a browser to an agent of the platform.
async fn prove(world: &World, attack: Option<Attack>) -> Vec<Told> {
    let (mut action, own) = proof(world).await;
    let consent = action.rsplit('~').next().unwrap_or_default().to_owned();
    let agent = world.at("/agents/calendar");
    let signed = |signer, audience: &str, scope: &str| {
        let token = world
            .local
            .system
            .signed(signer, VICTIM, audience, scope, Duration::ZERO);
        token.expect("a token")
    };
    let proofs = match attack {
        None => vec![own.clone()],
        Some(Attack::None) => vec![String::new()],
        Some(Attack::Rubbish) => vec!["rubbish".to_owned(), own[1..].to_owned(), format!("{own}x")],
        Some(Attack::Expired) => {
            world.local.clock.advance(Duration::from_secs(61));
            vec![own.clone()]
        }
        Some(Attack::WrongIssuer) => {
            let scope = format!("consent:{consent}");
            [Signer::Idp("acme"), Signer::Platform, Signer::Session("globex")]
                .map(|signer| signed(signer, &agent, &scope))
                .to_vec()
        }
        Some(Attack::WrongAudience) => {
            let host = world.at("/tenants/acme/host_agent");
            vec![
                signed(Signer::Session("acme"), &host, "tasks"),
                signed(Signer::Session("acme"), &agent, "tasks"),
            ]
        }
        Some(Attack::WrongTenant) => {
            action = action.replace("acme~", "globex~");
            vec![own.clone()]
        }
        // Another user's, for a consent of that user's.
        Some(Attack::WrongOwner | Attack::SmallScope) => vec![proof(world).await.1],
    };
    let origin = Url::parse(&agent)
        .expect("an address")
        .origin()
        .ascii_serialization();
    let mut answers = Vec::new();
    for proof in proofs {
        let post = world
            .request("POST", &action)
            .header("content-type", FORM)
            .header("origin", &origin);
        answers.push(told(post.body(form(&[("proof", &proof)]))).await);
    }
    answers
}

/// A browser with the victim's session that has been to the authorization server, and the answer it brings back.
async fn answered(world: &World, task: &str) -> (Browser, Url) {
    let base = world.at("/tenants/acme/base");
    let path = Url::parse(&base).expect("an address").path().to_owned();
    let mut browser = world.user.browser(&path);
    browser.stop_at = Some(format!("{base}/callback"));
    let back = oauth::agree(
        &mut browser,
        &link(world, task).await,
        world.local.login("acme", 0),
    )
    .await;
    browser.stop_at = None;
    (browser, back.url)
}

/// The victim agrees to what this task waits for.
pub(super) async fn consent(world: &World, task: &str) {
    let (mut browser, back) = answered(world, task).await;
    assert_eq!(browser.open(back.as_str()).await.status, 200);
}

async fn callback(world: &World, attack: Option<Attack>) -> Vec<Told> {
    let task = world.user.ask("Where is my order 1001?").await.task_id();
    let (mut browser, back) = answered(world, &task).await;
    let pairs: Vec<(String, String)> = back.query_pairs().into_owned().collect();
    let with = |change: &dyn Fn(&str, String) -> Option<String>| {
        let mut url = back.clone();
        let changed = pairs
            .iter()
            .filter_map(|(name, value)| Some((name, change(name, value.clone())?)));
        url.query_pairs_mut().clear().extend_pairs(changed);
        url
    };
    let urls = match attack {
        Some(Attack::None) => vec![with(&|name, value| (name != "state").then_some(value))],
        Some(Attack::Rubbish) => ["state", "code"]
            .map(|named| {
                with(&|name, value| {
                    Some(if name == named {
                        "rubbish".to_owned()
                    } else {
                        value
                    })
                })
            })
            .into_iter()
            .take(1)
            .collect(),
        Some(Attack::Expired) => {
            world.local.clock.advance(Duration::from_secs(25 * 3600));
            vec![back.clone()]
        }
        Some(Attack::WrongIssuer) => {
            let globex = world.local.issuer("globex");
            vec![
                with(&|name, value| Some(if name == "iss" { globex.clone() } else { value })),
                // The server says that it names itself, so that an answer without its name is not its.
                with(&|name, value| (name != "iss").then_some(value)),
            ]
        }
        Some(Attack::WrongTenant) => {
            vec![Url::parse(&back.as_str().replace("/t/acme/", "/t/globex/")).expect("an address")]
        }
        _ => vec![back.clone()],
    };
    if attack == Some(Attack::WrongOwner) {
        browser = world.stranger.browser("/");
    }
    let mut answers = Vec::new();
    for url in urls {
        let page = browser.open(url.as_str()).await;
        answers.push(Told {
            status: page.status,
            media: String::new(),
            text: page.html,
        });
    }
    if attack.is_some() {
        let state: Value = world.user.task(&task).await["status"].clone();
        assert_eq!(state, "auth-required", "{attack:?} granted something");
    } else {
        forget_grants(world).await;
    }
    answers
}

/// The grant was the victim's, and would answer the questions of the rows to come. What waits for one goes on waiting, as it
/// would not after a word of the victim's.
async fn forget_grants(world: &World) {
    let tenant = Tenant::parse("acme").expect("a tenant");
    let cookie = world.user.cookie().expect("a session");
    let (_, token) = cookie.split_once('=').expect("a cookie");
    let (store, hash) = (world.local.system.store(), auth::token::hash(token));
    let sessions = store.sessions();
    let session = sessions.find_session(&tenant, &hash, world.local.clock.now());
    let owner = session.await.expect("a look").expect("a session").owner;
    let grants = store.grants();
    let all = grants.list_grants(&tenant, &owner).await.expect("a list");
    assert!(!all.is_empty(), "nothing was granted");
    for grant in all {
        let key = GrantKey {
            tenant: &tenant,
            owner: &owner,
            provider: &grant.provider,
            resource: &grant.resource,
        };
        grants.delete_grant(key).await.expect("gone");
    }
}
