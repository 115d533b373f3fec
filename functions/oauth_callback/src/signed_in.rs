//! `GET /signin/callback`: takes the authorization server's answer, and begins a session of whoever it is.
//!
//! The session's token is new: what the browser had before, a planted one say, leads to nothing of the person. A person is an
//! issuer and a subject there, never a name or an address.

use std::net::IpAddr;
use std::time::Duration;

use axum::Extension;
use axum::extract::RawQuery;
use axum::response::{IntoResponse, Response};
use domain::{ExposeSecret, Owner, SecretString, Timestamp};
use edge::Source;
use http::header::{CACHE_CONTROL, LOCATION, REFERRER_POLICY, SET_COOKIE};
use http::{HeaderValue, StatusCode};
use outbound::oauth::{CodeExchange, Provider};
use store::{Person, Session, User};

use crate::answer::{ProviderAnswer, Said};
use crate::attempt::{self, Attempt};
use crate::id_token::{self, Expected, Identity};
use crate::sign_in::provider;
use crate::sign_in_page::SignInPage;
use crate::state::{State, Visit};
use crate::way_back::WayBack;

/// How long somebody stays signed in without being asked for a new proof.
const LIFETIME: Duration = Duration::from_secs(12 * 3600);

pub(crate) async fn signed_in(
    visit: Visit,
    source: Option<Extension<Source>>,
    RawQuery(query): RawQuery,
) -> Response {
    let app = &visit.app;
    let answer = ProviderAnswer::read(&query.unwrap_or_default());
    let attempt = answer.as_ref().ok_or(SignInPage::Rubbish).and_then(|answer| {
        let state = answer.state.expose_secret();
        Attempt::resume(app, &visit.headers, state).map_err(SignInPage::from)
    });
    let back = attempt
        .as_ref()
        .map_or_else(|_| WayBack::read(""), |attempt| attempt.back.clone());
    let done = match (attempt, answer) {
        (Ok(attempt), Some(answer)) => take(&visit, &attempt, answer).await,
        (Err(page), _) => Err(page),
        (_, None) => Err(SignInPage::Rubbish),
    };
    let source = source.map(|Extension(Source(ip))| ip);
    match done {
        Ok(begun) => {
            told(app, begun.owner.as_str(), source, "done");
            begun.respond(app).unwrap_or_else(|| {
                tracing::error!("the way back to the chat cannot be written");
                SignInPage::Failed.respond(app, &visit.headers, &back)
            })
        }
        Err(page) => {
            told(app, "unknown", source, "refused");
            page.respond(app, &visit.headers, &back)
        }
    }
}

/// A session that was begun.
struct Begun {
    token: SecretString,
    owner: Owner,
    back: WayBack,
}

async fn take(visit: &Visit, attempt: &Attempt, answer: ProviderAnswer) -> Result<Begun, SignInPage> {
    let app = &visit.app;
    let provider = provider(app)?;
    // Whoever is asked here names itself (RFC 9207): an answer without a name is nobody's.
    if answer.iss.as_deref() != Some(provider.issuer.as_str()) {
        tracing::warn!(
            tenant.id = app.tenant().name(),
            "a sign-in's answer is of another issuer"
        );
        return Err(SignInPage::OtherIssuer);
    }
    let code = match answer.said {
        Said::Code(code) => code,
        Said::Error(error) if error == "access_denied" => return Err(SignInPage::Declined),
        Said::Error(_) => return Err(SignInPage::Unusable),
    };
    // Before the code is exchanged: whatever ends this person's sign-ins from here on is later than that.
    let asked_at = app.clock().now();
    let identity = exchange(app, provider, attempt, &code).await?;
    let (person, user) = known(app, provider, &identity, asked_at).await?;
    let owner = owner(&person, &user)?;
    let now = app.clock().now();
    let session = Session {
        owner: owner.clone(),
        created_at: now,
        expires_at: now.after(LIFETIME),
        person: Some(person),
    };
    let sessions = app.consents.store.sessions();
    let token = edge::session::token(app.entropy());
    let hash = auth::token::hash(token.expose_secret());
    sessions.begin_session(app.tenant(), &hash, &session).await?;
    // One browser, one session: that of whoever was signed in here before is over. A guest's stays the guest's.
    if let Some(before) = edge::session::presented(&visit.headers, app.tenant(), &app.base) {
        let before = auth::token::hash(before.expose_secret());
        let found = sessions.find_session(app.tenant(), &before, now).await?;
        if found.is_some_and(|session| session.person.is_some()) {
            sessions.end_session(app.tenant(), &before).await?;
        }
    }
    let back = attempt.back.clone();
    Ok(Begun { token, owner, back })
}

/// Who the code was issued for.
async fn exchange(
    app: &State,
    provider: &Provider,
    attempt: &Attempt,
    code: &SecretString,
) -> Result<Identity, SignInPage> {
    let outbound = &app.consents.outbound;
    let refused = |error| SignInPage::of_provider(&error);
    let metadata = outbound
        .server_metadata(&provider.issuer)
        .await
        .map_err(refused)?;
    let exchange = CodeExchange {
        code,
        verifier: &attempt.verifier(),
        redirect_uri: &app.signed_in_uri(),
        resource: &provider.issuer,
    };
    let exchanged = outbound.exchange_code(&metadata.token_endpoint, provider, exchange);
    let tokens = exchanged.await.map_err(refused)?;
    let expected = Expected {
        issuer: &provider.issuer,
        client_id: &provider.client.id,
        nonce: &attempt.nonce(),
    };
    let read = tokens
        .id_token
        .and_then(|token| id_token::identity(&token, &expected, app.clock().now()));
    read.ok_or_else(|| {
        tracing::warn!(
            tenant.id = app.tenant().name(),
            "identity token is not of this sign-in"
        );
        SignInPage::Unusable
    })
}

/// The user that this is, and what their session says of them.
async fn known(
    app: &State,
    provider: &Provider,
    identity: &Identity,
    asked_at: Timestamp,
) -> Result<(Person, User), SignInPage> {
    let username = identity.username.clone().ok_or(SignInPage::Nobody)?;
    let subject = Owner::parse(&identity.subject).map_err(|_| SignInPage::Nobody)?;
    let person = Person {
        issuer: provider.issuer.clone(),
        subject,
        username,
        // The token says it to the second; within that second, the issuer has just looked at what counts.
        auth_time: identity.auth_time_at_most.min(asked_at),
    };
    let store = &app.consents.store;
    let user = store.identity().find_user(app.tenant(), &person.username).await?;
    let user = user.filter(|user| user.subject == person.subject && user.admits(person.auth_time));
    Ok((person, user.ok_or(SignInPage::Nobody)?))
}

/// What a person's things are kept under: who has the same name after them is somebody else.
fn owner(person: &Person, user: &User) -> Result<Owner, SignInPage> {
    let since = user.since.map_or(0, Timestamp::millis);
    let one = auth::token::hash(&format!("{}\n{}\n{since}", person.issuer, person.subject));
    Owner::parse(&format!("person-{one}")).map_err(|_| SignInPage::Failed)
}

impl Begun {
    fn respond(self, app: &State) -> Option<Response> {
        let tenant = (app.tenant(), &app.base);
        let session = edge::session::given(tenant, &self.token, LIFETIME)?;
        let location = HeaderValue::from_str(self.back.url(&app.base).as_str()).ok()?;
        let headers = [
            (LOCATION, location),
            (CACHE_CONTROL, HeaderValue::from_static("no-store")),
            (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        ];
        let mut response = (StatusCode::SEE_OTHER, headers).into_response();
        response.headers_mut().append(SET_COOKIE, session);
        response
            .headers_mut()
            .append(SET_COOKIE, attempt::forgotten(app)?);
        Some(response)
    }
}

fn told(app: &State, actor: &str, source: Option<IpAddr>, result: &'static str) {
    tracing::info!(
        audit.action = "chat.sign_in",
        audit.actor = actor,
        audit.object = "session",
        audit.source = source.map(tracing::field::display),
        audit.result = result,
        tenant.id = app.tenant().name(),
        "audit"
    );
}
