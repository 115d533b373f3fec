//! Rows of signing in to the chat and out of it.

use std::time::Duration;

use reqwest::RequestBuilder;
use system_testing::browser::Browser;
use system_testing::oauth;
use url::Url;

use super::Cell::{Hidden, Is, Na};
use super::world::{World, told};
use super::{Attack, Cell, Row, Told};

const ASKS_ALONE: &str =
    "it sends whoever comes to the authorization server; what comes of that is the callback's row";
const THIS_PLACE: &str =
    "a state is good at this one address; the cells of tenant and owner have those of others";
const SERVERS_WORD: &str = "who it is, is the server's word; nothing else is asked for";
const ONES_OWN: &str = "whoever it is ends their own session alone: they have no way to name another";
const ITS_PEOPLE: &str = "an issuer says whose session it ended, and can name its own people alone";
const NO_SCOPES: &str = "a session has no scopes: it is its owner's";

fn row((method, route): (&'static str, &'static str), cells: [Cell; 8], good: Cell) -> Row {
    Row {
        function: "oauth_callback",
        at: "oauth_callback",
        method,
        route,
        operation: "",
        cells,
        good,
    }
}

pub(super) fn rows() -> Vec<Row> {
    let (bad, elsewhere) = (Is(400), Is(403));
    let nothing = Hidden(200);
    vec![
        row(("GET", "/signin"), [Na(ASKS_ALONE); 8], Is(302)),
        // None: no state; rubbish: a code of nobody's; owner: what another browser on its way was sent back with.
        row(
            ("GET", "/signin/callback"),
            [
                bad,
                bad,
                bad,
                bad,
                Na(THIS_PLACE),
                elsewhere,
                elsewhere,
                Na(SERVERS_WORD),
            ],
            Is(303),
        ),
        // Tenant: the same word at another tenant, whose people do not sign in there.
        row(
            ("POST", "/signin/backchannel"),
            [bad, bad, bad, bad, bad, bad, Na(ITS_PEOPLE), Na(NO_SCOPES)],
            Is(200),
        ),
        // Issuer: another site's page; audience: a form. Whoever has no session here has nothing to end.
        row(
            ("POST", "/signout"),
            [
                nothing,
                nothing,
                nothing,
                Is(403),
                Is(415),
                nothing,
                Na(ONES_OWN),
                Na(NO_SCOPES),
            ],
            Is(200),
        ),
    ]
}

pub(super) async fn ask(world: &World, row: &Row, attack: Option<Attack>) -> Vec<Told> {
    let url = format!("{}{}", world.at("/tenants/acme/base"), row.route);
    match row.route {
        "/signin/callback" => come_back(world, attack).await,
        "/signin" => vec![told(world.request("GET", &format!("{url}?issuer=idp"))).await],
        "/signin/backchannel" => backchannel(world, &url, attack).await,
        "/signout" => sign_out(world, &url, attack).await,
        other => unreachable!("no row is at {other}"),
    }
}

/// The cookies of a browser in which somebody has signed in at the authorization server, and the answer that it brings back.
async fn on_the_way(world: &World) -> (String, Url) {
    let base = world.at("/tenants/acme/base");
    let mut browser = Browser::default();
    browser.stop_at = Some(format!("{base}/signin/callback"));
    let start = format!("{base}/signin?issuer=idp");
    let back = oauth::agree(&mut browser, &start, world.local.login("acme", 0)).await;
    let cookies = browser.cookies().map(|(name, value)| format!("{name}={value}"));
    (cookies.collect::<Vec<_>>().join("; "), back.url)
}

async fn come_back(world: &World, attack: Option<Attack>) -> Vec<Told> {
    let (mut cookies, back) = on_the_way(world).await;
    let with = |changed: &str, value: Option<&str>| {
        let mut url = back.clone();
        let pairs: Vec<(String, String)> = back.query_pairs().into_owned().collect();
        let pairs = pairs.into_iter().filter_map(|(name, was)| match name == changed {
            true => value.map(|value| (name, value.to_owned())),
            false => Some((name, was)),
        });
        url.query_pairs_mut().clear().extend_pairs(pairs);
        url
    };
    let urls = match attack {
        Some(Attack::None) => vec![with("state", None)],
        Some(Attack::Rubbish) => vec![with("code", Some("rubbish")), with("code", None)],
        Some(Attack::Expired) => {
            world.local.clock.advance(Duration::from_secs(601));
            vec![back.clone()]
        }
        Some(Attack::WrongIssuer) => {
            let globex = world.local.issuer("globex");
            vec![with("iss", Some(&globex)), with("iss", None)]
        }
        Some(Attack::WrongTenant) => {
            vec![Url::parse(&back.as_str().replace("/t/acme/", "/t/globex/")).expect("an address")]
        }
        Some(Attack::WrongOwner) => {
            cookies = on_the_way(world).await.0;
            vec![back.clone(), with("state", Some("rubbish"))]
        }
        _ => vec![back.clone()],
    };
    let mut answers = Vec::new();
    for url in urls {
        let request = world.request("GET", url.as_str()).header("cookie", &cookies);
        answers.push(told(request).await);
    }
    answers
}

async fn backchannel(world: &World, url: &str, attack: Option<Attack>) -> Vec<Told> {
    let (local, issuer) = (&world.local, &world.elsewhere);
    let jti = format!("word-{}", world.next());
    let now = domain::Clock::now(&*local.clock).seconds();
    let mut url = url.to_owned();
    let tokens = match attack {
        None => vec![issuer.logout(local, &jti, |_| ())],
        Some(Attack::None) => vec![String::new()],
        Some(Attack::Rubbish) => vec!["rubbish".to_owned(), "a.b.c".to_owned(), "x".repeat(9000)],
        Some(Attack::Expired) => vec![issuer.logout(local, &jti, |claims| {
            (claims["iat"], claims["exp"]) = ((now - 600).into(), (now - 300).into());
        })],
        Some(Attack::WrongIssuer) => vec![
            issuer.forged(local, &jti),
            issuer.logout(local, &jti, |claims| {
                claims["iss"] = "https://evil.example".into()
            }),
            issuer.logout(local, &jti, |claims| claims["iss"] = local.issuer("acme").into()),
        ],
        Some(Attack::WrongAudience) => {
            vec![issuer.logout(local, &jti, |claims| claims["aud"] = "another-chat".into())]
        }
        Some(Attack::WrongTenant) => {
            url = url.replace("/t/acme/", "/t/globex/");
            vec![issuer.logout(local, &jti, |_| ())]
        }
        Some(_) => Vec::new(),
    };
    let mut answers = Vec::new();
    for token in tokens {
        let request = world
            .request("POST", &url)
            .header("content-type", "application/x-www-form-urlencoded");
        answers.push(told(request.body(format!("logout_token={token}"))).await);
    }
    answers
}

async fn sign_out(world: &World, url: &str, attack: Option<Attack>) -> Vec<Told> {
    let own = world.user.cookie().expect("a session");
    let send = |cookie: Option<&str>| -> RequestBuilder {
        let mut request = world.request("POST", url).body("{}");
        if let Some(cookie) = cookie {
            request = request.header("cookie", cookie);
        }
        request
    };
    let json = |request: RequestBuilder| request.header("content-type", "application/json");
    let requests = match attack {
        None => {
            // Somebody who is there for this alone.
            let guest = world.local.user("acme");
            guest.ask("Hello").await;
            vec![json(send(guest.cookie().as_deref()))]
        }
        Some(Attack::None) => vec![json(send(None))],
        Some(Attack::Rubbish) => ["switchyard_acme=rubbish", "switchyard_acme=sws_AAAA"]
            .map(|cookie| json(send(Some(cookie))))
            .into(),
        Some(Attack::Expired) => {
            let ended = world.ended_cookies.iter();
            ended.map(|cookie| json(send(Some(cookie)))).collect()
        }
        Some(Attack::WrongIssuer) => [
            ("sec-fetch-site", "cross-site"),
            ("origin", "https://evil.example"),
        ]
        .map(|(name, value)| json(send(Some(&own))).header(name, value))
        .into(),
        Some(Attack::WrongAudience) => ["application/x-www-form-urlencoded", "text/plain"]
            .map(|media| send(Some(&own)).header("content-type", media))
            .into(),
        Some(Attack::WrongTenant) => {
            let foreign = world.foreigner.cookie().expect("a session");
            let value = foreign.split_once('=').expect("a cookie").1;
            vec![
                json(send(Some(&foreign))),
                json(send(Some(&format!("switchyard_acme={value}")))),
            ]
        }
        Some(_) => Vec::new(),
    };
    let mut answers = Vec::new();
    for request in requests {
        answers.push(told(request).await);
    }
    answers
}
