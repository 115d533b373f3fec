//! `switchyard verify`: whether a system answers as it should, asked as its clients ask it. It changes nothing but that it asks
//! one question in a chat. On AWS it looks at what `docs/aws-untested.md` lists and a request can show.

mod look;
mod places;

use std::fmt::Display;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use domain::{Entropy as _, SystemEntropy, Tenant};
use futures_util::StreamExt as _;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use url::Url;

use self::look::{Look, Looked};
use self::places::Places;
use super::Failure;
use super::deploying::Account;
use super::place::RunningSystem;
use crate::chat::session::Sessions;
use crate::client::{Call, Client};
use crate::here::named_or_known;
use local::address::{below, plain};
use local::data::folder;

/// How often each function is asked again once it is warm.
const WARM: usize = 9;
/// An API Gateway waits no longer.
const GATEWAYS_PATIENCE: Duration = Duration::from_secs(29);
/// The longest body that an API Gateway takes, in bytes.
const GATEWAYS_BODY: usize = 10_000_000;
/// How long an answer in the chat may take.
const ANSWER: Duration = Duration::from_secs(120);
/// So far lie the first and the last piece of a stream apart; what a gateway holds back comes at once.
const APART: Duration = Duration::from_millis(20);
/// An answer that took so long was made in pieces.
const SLOW: Duration = Duration::from_secs(1);

/// Check that a system answers as it should: cards, discovery, headers, a chat, response times
#[derive(Args)]
pub(super) struct Verify {
    #[command(flatten)]
    place: RunningSystem,
    /// The tenant whose host agent and chat are checked; may be left out where there is only one here, or only one was talked to
    #[arg(long, value_name = "NAME", required_if_eq("aws", "true"))]
    tenant: Option<Tenant>,
    /// Check the system on AWS, which is found by its stacks' outputs
    #[arg(long, conflicts_with_all = ["data", "endpoints"])]
    aws: bool,
    /// The name of the platform's stack
    #[arg(long, default_value = "switchyard", requires = "aws")]
    platform_stack: String,
    #[command(flatten)]
    account: Account,
    /// A file with the session cookie of a signed-in browser, NAME=VALUE; needed to ask the chat where guests are not allowed
    #[arg(long, value_name = "FILE")]
    session: Option<PathBuf>,
    /// The question to ask in the chat
    #[arg(long, default_value = "Will it rain in Oslo tomorrow?")]
    prompt: String,
}

/// How one thing was found.
enum Verdict {
    Good,
    /// Not as the standard has it, and known: `docs/deploy.md` says why.
    Known,
    Wrong,
    /// Not looked at, for want of something.
    Unseen,
}

/// What was found.
#[derive(Default)]
struct Report {
    good: usize,
    wrong: usize,
}

impl Report {
    fn row(&mut self, verdict: &Verdict, what: &str, told: impl Display) {
        let word = match verdict {
            Verdict::Good => "ok     ",
            Verdict::Known => "known  ",
            Verdict::Wrong => "WRONG  ",
            Verdict::Unseen => "unseen ",
        };
        match verdict {
            Verdict::Good => self.good += 1,
            Verdict::Wrong => self.wrong += 1,
            Verdict::Known | Verdict::Unseen => {}
        }
        let told = told.to_string();
        told!(
            serde_json::json!({ "found": word.trim().to_lowercase(), "what": what, "told": told }),
            "{word} {what}{}{told}",
            if told.is_empty() { "" } else { ": " }
        );
    }

    fn judged(&mut self, what: &str, judged: Result<String, String>) {
        match judged {
            Ok(told) => self.row(&Verdict::Good, what, told),
            Err(told) => self.row(&Verdict::Wrong, what, told),
        }
    }
}

impl Verify {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let places = match &self.tenant {
            Some(tenant) if self.aws => places::on_aws(tenant, &self.platform_stack, &self.account)?,
            named => {
                let endpoints = self.place.endpoints()?;
                let sessions = Sessions::load(self.place.beside("chat.json"))?;
                let tenant = named_or_known(named.as_ref(), &endpoints, &sessions)?;
                places::local(&endpoints, &tenant)?
            }
        };
        let cookie = match &self.session {
            Some(file) => Some(cookie(file)?),
            None => None,
        };
        let look = Look(Client::new().map_err(Failure::other)?);
        let mut report = Report::default();
        // First, as what asks first may find nobody awake.
        latency(&look, &places, &mut report).await;
        cards(&look, &places, &mut report).await;
        discovery(&look, &places, &mut report).await;
        challenges(&look, &places, &mut report).await;
        nothing(&look, &places, &mut report).await;
        too_long(&look, &places, &mut report).await;
        page(&look, &places, &mut report).await;
        chat(&look, &places, (cookie, &self.prompt), &mut report).await;
        match report.wrong {
            0 => {
                told!(
                    serde_json::json!({ "good": report.good }),
                    "{} things are as they should be",
                    report.good
                );
                Ok(())
            }
            wrong => Err(Failure::other(format!(
                "{wrong} of {} things are not as they should be",
                wrong + report.good
            ))),
        }
    }
}

/// The cookie in a file: one pair, which a header takes.
fn cookie(file: &std::path::Path) -> Result<String, Failure> {
    let text = folder::read(file)?.unwrap_or_default();
    let pair = text.trim();
    let fits = pair.split_once('=').is_some_and(|(name, value)| {
        !name.is_empty()
            && !value.is_empty()
            && pair
                .bytes()
                .all(|b| b.is_ascii_graphic() && b != b';' && b != b',')
    });
    if fits {
        return Ok(pair.to_owned());
    }
    Err(Failure::other(format!(
        "{} does not hold one cookie, NAME=VALUE",
        file.display()
    )))
}

/// How long the first answer of each function takes, and those after it.
async fn latency(look: &Look, places: &Places, report: &mut Report) {
    let issuer = &places.issuer;
    for (function, url) in [
        ("host agent", card(&places.host)),
        (
            "authorization server",
            below(issuer, "/.well-known/openid-configuration"),
        ),
        ("registry", below(&places.registry, "/agents")),
        ("chat", below(&places.base, "/api/session")),
    ] {
        let mut took = Vec::new();
        let mut fault = None;
        for _ in 0..=WARM {
            match look.at(Call::get(url.clone())).await {
                Ok(Looked {
                    status, took: time, ..
                }) if status.as_u16() < 500 => took.push(time),
                Ok(looked) => fault = Some(looked.status.to_string()),
                Err(broken) => fault = Some(broken),
            }
            if fault.is_some() {
                break;
            }
        }
        let what = format!("the {function} answers in time");
        let judged = match (fault, took.split_first()) {
            (None, Some((first, warm))) => told_of(*first, warm.to_vec()),
            (fault, _) => Err(fault.unwrap_or_default()),
        };
        report.judged(&what, judged);
    }
}

fn told_of(first: Duration, mut warm: Vec<Duration>) -> Result<String, String> {
    warm.sort_unstable();
    let median = warm.get(warm.len() / 2).copied().unwrap_or(first);
    let told = format!("first {} ms, then {} ms", first.as_millis(), median.as_millis());
    match first < GATEWAYS_PATIENCE {
        true => Ok(told),
        false => Err(format!("{told}; a gateway waits no longer than 29 s")),
    }
}

fn card(agent: &Url) -> Url {
    below(agent, "/.well-known/agent-card.json")
}

/// Each agent's card is there, and says where it was asked.
async fn cards(look: &Look, places: &Places, report: &mut Report) {
    for (name, agent) in &places.agents {
        let judged = look.good(card(agent)).await.and_then(|found| {
            let own = plain(agent);
            match addresses(&found).any(|address| address.trim_end_matches('/') == own) {
                true => Ok(String::new()),
                false => Err(format!("it does not say that it is at {own}")),
            }
        });
        report.judged(&format!("the card of {name}"), judged);
    }
}

/// Where a card says that its agent is.
fn addresses(card: &Value) -> impl Iterator<Item = &str> {
    let listed = ["supportedInterfaces", "additionalInterfaces"].into_iter();
    let listed = listed.filter_map(|list| card.get(list)?.as_array()).flatten();
    let urls = listed.filter_map(|each| each.get("url"));
    urls.chain(card.get("url")).filter_map(Value::as_str)
}

/// What clients read before they ask for a token.
async fn discovery(look: &Look, places: &Places, report: &mut Report) {
    let issuer = &places.issuer;
    let found = look
        .good(below(issuer, "/.well-known/openid-configuration"))
        .await;
    let keys = found
        .as_ref()
        .ok()
        .and_then(|found| found.get("jwks_uri")?.as_str()?.parse().ok());
    let judged = found.and_then(|found| match found.get("issuer").and_then(Value::as_str) {
        Some(told) if told == plain(issuer) => Ok(told.to_owned()),
        told => Err(format!("its issuer is {told:?}, not {:?}", plain(issuer))),
    });
    report.judged("the authorization server's document", judged);
    if let Some(keys) = keys {
        let judged = look.good(keys).await.and_then(|found| {
            let keys = found.get("keys").and_then(Value::as_array).map_or(0, Vec::len);
            match keys {
                0 => Err("there are none".to_owned()),
                many => Ok(many.to_string()),
            }
        });
        report.judged("its keys", judged);
    }
    // RFC 8414 has the document before the path.
    let mut before = issuer.clone();
    before.set_path(&format!(
        "/.well-known/oauth-authorization-server{}",
        issuer.path()
    ));
    let what = "the authorization server's document before the path";
    match look.at(Call::get(before)).await {
        Ok(looked) if looked.status == StatusCode::OK => report.row(&Verdict::Good, what, ""),
        // A domain of the stack's own serves it; AWS's address has the stage in front.
        Ok(looked) if places.on_aws && has_a_stage(issuer) => report.row(
            &Verdict::Known,
            what,
            format!("{}; an API answers below its stage", looked.status.as_u16()),
        ),
        Ok(looked) => report.row(&Verdict::Wrong, what, looked.status),
        Err(fault) => report.row(&Verdict::Wrong, what, fault),
    }
}

/// Whether an issuer's address has more before `/idp/TENANT`.
fn has_a_stage(issuer: &Url) -> bool {
    issuer.path_segments().is_some_and(|parts| parts.count() > 2)
}

/// Whether an answer is this refusal, in the form that all have.
fn refused_with(wanted: StatusCode, looked: &Looked) -> Result<String, String> {
    let told = looked.as_json();
    let text = |name: &str| told.get(name).and_then(Value::as_str).is_some();
    match looked.status {
        status if status != wanted => Err(status.to_string()),
        _ if text("error") && text("message") => Ok(String::new()),
        _ => Err("without `error` and `message`".to_owned()),
    }
}

/// An error of the gateway itself has the form of every other error.
async fn nothing(look: &Look, places: &Places, report: &mut Report) {
    let judged = look
        .at(Call::get(below(&places.base, "/a")))
        .await
        .and_then(|looked| refused_with(StatusCode::NOT_FOUND, &looked));
    report.judged("an address where nothing is", judged);
}

/// A body that is longer than a gateway takes is refused in the same form.
async fn too_long(look: &Look, places: &Places, report: &mut Report) {
    let body = Value::String("x".repeat(GATEWAYS_BODY));
    let judged = look
        .at(Call::with_body(
            Method::POST,
            below(&places.base, "/api/chat"),
            &body,
        ))
        .await
        .and_then(|looked| refused_with(StatusCode::PAYLOAD_TOO_LARGE, &looked));
    report.judged("a body of more than 10 MB is refused", judged);
}

/// Who brings no token is told where to get one.
async fn challenges(look: &Look, places: &Places, report: &mut Report) {
    for (name, method, url) in [
        ("host agent", Method::POST, places.host.clone()),
        ("registry", Method::GET, below(&places.registry, "/agents")),
    ] {
        let what = format!("the {name} refuses who brings no token");
        let looked = match look
            .at(Call {
                method,
                ..Call::get(url)
            })
            .await
        {
            Ok(looked) if looked.status == StatusCode::UNAUTHORIZED => looked,
            Ok(looked) => {
                report.row(&Verdict::Wrong, &what, looked.status);
                continue;
            }
            Err(fault) => {
                report.row(&Verdict::Wrong, &what, fault);
                continue;
            }
        };
        let (own, renamed) = ("www-authenticate", "x-amzn-remapped-www-authenticate");
        let (verdict, said) = match (looked.header(own), looked.header(renamed)) {
            (Some(said), _) => (Verdict::Good, said),
            (None, Some(said)) => (Verdict::Known, said),
            (None, None) => {
                report.row(&Verdict::Wrong, &what, "without a challenge");
                continue;
            }
        };
        let told = match verdict {
            Verdict::Known => format!("its challenge is named {renamed}"),
            _ => String::new(),
        };
        report.row(&verdict, &what, told);
        let metadata = said.split_once("resource_metadata=\"");
        let metadata = metadata.and_then(|(_, rest)| rest.split('"').next()?.parse().ok());
        if let Some(metadata) = metadata {
            let judged = look.good(metadata).await.and_then(|found| {
                match found.get("authorization_servers").and_then(Value::as_array) {
                    Some(servers) if !servers.is_empty() => Ok(String::new()),
                    _ => Err("it names no authorization server".to_owned()),
                }
            });
            report.judged(&format!("where the {name} says to get one"), judged);
        }
    }
}

/// The page comes with the headers that bind it.
async fn page(look: &Look, places: &Places, report: &mut Report) {
    let judged = look
        .at(Call::get(below(&places.base, "/")))
        .await
        .and_then(|looked| {
            let missing: Vec<&str> = [
                "content-security-policy",
                "x-content-type-options",
                "referrer-policy",
            ]
            .into_iter()
            .filter(|name| looked.header(name).is_none())
            .collect();
            match (looked.status, missing.as_slice()) {
                (StatusCode::OK, []) => Ok(String::new()),
                (StatusCode::OK, missing) => Err(format!("without {}", missing.join(", "))),
                (status, _) => Err(status.to_string()),
            }
        });
    report.judged("the page and its headers", judged);
}

/// A question is answered, and the answer comes piece by piece.
async fn chat(look: &Look, places: &Places, (cookie, prompt): (Option<String>, &str), report: &mut Report) {
    let call = Call {
        cookie: cookie.as_deref(),
        ..Call::get(below(&places.base, "/api/session"))
    };
    let session = match look.json(call).await {
        Ok(session) => session,
        Err(fault) => return report.row(&Verdict::Wrong, "who is there", fault),
    };
    let who = session
        .get("who")
        .and_then(Value::as_str)
        .unwrap_or("it does not say");
    report.row(&Verdict::Good, "who is there", who);
    let must = session.get("signInRequired").and_then(Value::as_bool);
    if must == Some(true) && who != "person" {
        let why = "who asks has to be signed in: name the cookie of such a browser by --session FILE";
        return report.row(&Verdict::Unseen, "an answer in the chat", why);
    }
    let began = Instant::now();
    match asked(look, places, (cookie, prompt)).await {
        Ok(Answered { first, all, task }) => {
            let told = format!(
                "first after {} ms, all after {} ms",
                first.as_millis(),
                all.as_millis()
            );
            let verdict = match (all.saturating_sub(first) >= APART, all >= SLOW) {
                (true, _) => Verdict::Good,
                (false, true) => Verdict::Wrong,
                (false, false) => Verdict::Unseen,
            };
            report.row(&verdict, "the answer comes piece by piece", told);
            let told = format!("the task is {task} after {} ms", began.elapsed().as_millis());
            let done = ["completed", "auth-required", "input-required"].contains(&task.as_str());
            report.judged("an answer in the chat", if done { Ok(told) } else { Err(told) });
        }
        Err(fault) => report.row(&Verdict::Wrong, "an answer in the chat", fault),
    }
}

struct Answered {
    /// When the first event of the stream was there.
    first: Duration,
    /// When the stream ended.
    all: Duration,
    /// How the task stands in the end.
    task: String,
}

async fn asked(
    look: &Look,
    places: &Places,
    (cookie, prompt): (Option<String>, &str),
) -> Result<Answered, String> {
    let chat = SystemEntropy.uuid().to_string();
    let message = json!({ "id": SystemEntropy.uuid().to_string(), "role": "user", "parts": [{"type": "text", "text": prompt}] });
    let body = json!({ "id": chat, "message": message, "trigger": "submit-message" });
    let call = Call::with_body(Method::POST, below(&places.base, "/api/chat"), &body);
    let began = Instant::now();
    let sent = look.0.send(Call {
        cookie: cookie.as_deref(),
        ..call
    });
    let begun = sent.await.map_err(|fault| fault.to_string())?;
    let cookie = begun.cookie().or(cookie);
    let mut events = begun.events();
    let (mut first, mut task) = (None, None);
    let ends = tokio::time::Instant::now() + ANSWER;
    while let Some(event) = tokio::time::timeout_at(ends, events.next())
        .await
        .map_err(|_| "the stream does not end".to_owned())?
    {
        first = first.or_else(|| Some(began.elapsed()));
        if event.get("type").and_then(Value::as_str) == Some("data-task") {
            task = event
                .get("id")
                .and_then(Value::as_str)
                .map(str::to_owned)
                .or(task);
        }
    }
    let all = began.elapsed();
    let task = task.ok_or("no task was shown")?;
    let url = below(&places.base, &format!("/api/tasks/{task}"));
    loop {
        let call = Call {
            cookie: cookie.as_deref(),
            ..Call::get(url.clone())
        };
        let found = look.json(call).await?;
        let state = found.get("status").and_then(Value::as_str);
        let state = state.unwrap_or("nothing that is known").to_owned();
        let open = ["submitted", "working"].contains(&state.as_str());
        if !open || tokio::time::Instant::now() >= ends {
            return Ok(Answered {
                first: first.unwrap_or(all),
                all,
                task: state,
            });
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_answer_that_a_gateway_would_not_wait_for_is_wrong() {
        let ms = Duration::from_millis;
        let told = told_of(ms(1800), vec![ms(40), ms(20), ms(30)]);
        assert_eq!(told, Ok("first 1800 ms, then 30 ms".to_owned()));
        assert!(told_of(ms(29_500), vec![ms(20)]).is_err());
        assert_eq!(told_of(ms(5), Vec::new()), Ok("first 5 ms, then 5 ms".to_owned()));
    }

    #[test]
    fn an_address_of_awss_own_has_a_stage() {
        let has = |text: &str| has_a_stage(&text.parse().unwrap());
        assert!(has(
            "https://a1.execute-api.eu-north-1.amazonaws.com/prod/idp/acme"
        ));
        assert!(!has("https://agents.example.com/idp/acme"));
    }

    #[test]
    fn a_file_holds_one_cookie() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for (text, good) in [
            ("switchyard_acme=abc\n", true),
            ("", false),
            ("abc", false),
            ("=abc", false),
            ("a=b; c=d", false),
            ("a=b\r\nx: y", false),
        ] {
            std::fs::write(file.path(), text).unwrap();
            assert_eq!(cookie(file.path()).is_ok(), good, "{text:?}");
        }
    }

    #[test]
    fn a_card_says_its_addresses_in_either_form() {
        let card = json!({"url": "https://a", "supportedInterfaces": [{"url": "https://b"}, {}], "additionalInterfaces": 7});
        assert_eq!(addresses(&card).collect::<Vec<_>>(), ["https://b", "https://a"]);
    }
}
