//! `GET /signin/callback`: takes the issuer's answer, and begins a session of whoever it is.
//!
//! The session's token is new: what the browser had before, a planted one say, leads to nothing of the person. What a guest did in
//! this browser before stays the guest's until the person says that it is theirs (`POST /api/session/guest`).

use std::time::Duration;

use axum::extract::RawQuery;
use axum::response::{IntoResponse, Response};
use domain::{ExposeSecret, Owner, SecretString};
use http::header::{CACHE_CONTROL, LOCATION, REFERRER_POLICY, SET_COOKIE};
use http::{HeaderMap, HeaderValue, StatusCode};
use store::audit::{self, Action, Actor};
use store::{GuestBefore, Session, StoreError};

use crate::answer::{ProviderAnswer, Said};
use crate::attempt::{self, Attempt};
use crate::before::{self, Before};
use crate::identified::{self, Identified};
use crate::issuers::SignInIssuer;
use crate::sign_in_page::SignInPage;
use crate::state::{State, Visit};
use crate::way_back::WayBack;

/// How long somebody stays signed in without being asked for a new proof.
pub(crate) const LIFETIME: Duration = Duration::from_secs(12 * 3600);
/// What an issuer says that was told to ask nothing and would have to (OIDC Core §3.1.2.6).
const WOULD_ASK: [&str; 4] = [
    "login_required",
    "interaction_required",
    "consent_required",
    "account_selection_required",
];

pub(crate) async fn signed_in(visit: Visit, RawQuery(query): RawQuery) -> Response {
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
    match done {
        Ok(outcome) => {
            if let Outcome::Begun(begun) = &outcome {
                told(app, Actor::Owner(&begun.owner), audit::DONE).await;
            }
            outcome.respond(app, &back).unwrap_or_else(|| {
                tracing::error!("the way back to the chat cannot be written");
                SignInPage::Failed.respond(app, &visit.headers, &back)
            })
        }
        Err(page) => {
            told(app, Actor::Unknown, "refused").await;
            page.respond(app, &visit.headers, &back)
        }
    }
}

/// What an answer comes to, where it is no page.
enum Outcome {
    /// Somebody has signed in.
    Begun(Begun),
    /// The issuer would have to ask, and was told not to: nothing has changed.
    AsBefore,
}

/// A session that was begun.
struct Begun {
    token: SecretString,
    owner: Owner,
    /// What the browser keeps of who has signed in.
    before: Option<HeaderValue>,
}

async fn take(visit: &Visit, attempt: &Attempt, answer: ProviderAnswer) -> Result<Outcome, SignInPage> {
    let app = &visit.app;
    // The list may have changed meanwhile.
    let issuer = app.sign_in.of_id(&attempt.issuer).ok_or(SignInPage::Stale)?;
    let outbound = &app.consents.outbound;
    let is_named = answer.iss.as_deref() == Some(issuer.provider.issuer.as_str());
    // Our own server names itself (RFC 9207), so that an answer without a name is nobody's; another may not know how to.
    if !is_named && (issuer.is_own() || answer.iss.is_some()) {
        return Err(other_issuer(app));
    }
    let metadata = outbound.server_metadata(&issuer.provider.issuer).await;
    let metadata = metadata.map_err(|error| SignInPage::of_provider(&error))?;
    if !is_named && metadata.iss_in_answer {
        return Err(other_issuer(app));
    }
    let code = match answer.said {
        Said::Code(code) => code,
        Said::Error(error) if attempt.is_silent && WOULD_ASK.contains(&error.as_str()) => {
            return Ok(Outcome::AsBefore);
        }
        Said::Error(error) if error == "access_denied" => return Err(SignInPage::Declined),
        Said::Error(error) if error == "temporarily_unavailable" => return Err(SignInPage::Unreachable),
        Said::Error(_) => return Err(SignInPage::Unusable),
    };
    let who = identified::by_code(app, (issuer, &metadata), attempt, &code).await?;
    begin(visit, issuer, who).await.map(Outcome::Begun)
}

fn other_issuer(app: &State) -> SignInPage {
    let tenant = app.tenant().name();
    tracing::warn!(tenant.id = tenant, "a sign-in's answer is of another issuer");
    SignInPage::OtherIssuer
}

async fn begin(visit: &Visit, issuer: &SignInIssuer, who: Identified) -> Result<Begun, SignInPage> {
    let app = &visit.app;
    let now = app.clock().now();
    let Identified { person, id, work } = who;
    let owner = work.clone().unwrap_or_else(|| id.clone());
    let before = Before::of(app, &visit.headers);
    let shared = before.is_some_and(|before| before.was_another(app, &id));
    let earlier = earlier(visit).await?;
    let guest = earlier
        .as_ref()
        .and_then(|(hash, session)| match &session.person {
            // Nobody has two guests' work.
            _ if work.is_some() => None,
            None => Some(GuestBefore {
                owner: session.owner.clone(),
                session: hash.clone(),
                shared,
            }),
            // They have not said it yet.
            Some(known) if known.id.as_ref() == Some(&id) => session.guest.clone(),
            Some(_) => None,
        });
    let issued_by = person.issuer.clone();
    let sid = person.sid.clone();
    let session = Session {
        owner: owner.clone(),
        created_at: now,
        expires_at: now.after(LIFETIME),
        person: Some(person),
        guest,
        pushes: store::Pushes::default(),
    };
    let sessions = app.consents.store.sessions();
    let token = edge::session::token(app.entropy());
    let hash = auth::token::hash(token.expose_secret());
    sessions.begin_session(app.tenant(), &hash, &session).await?;
    if let Some(sid) = &sid {
        let place = (issued_by.as_str(), sid.as_str());
        let is_open = sessions
            .note_sid(app.tenant(), place, &hash, session.expires_at)
            .await?;
        if !is_open {
            sessions.end_session(app.tenant(), &hash).await?;
            return Err(SignInPage::TooOld);
        }
    }
    sessions
        .learn_subscriptions(app.tenant(), &session.owner, &hash)
        .await?;
    // One browser, one session: that of whoever was signed in here before is over. A guest's stays the guest's.
    if let Some((before, _)) = earlier.filter(|(_, session)| session.person.is_some()) {
        sessions.end_session(app.tenant(), &before).await?;
    }
    let before = before::cookie(app, (&id, &issuer.id), shared);
    Ok(Begun { token, owner, before })
}

/// The session that the browser came with, under the hash of its token.
pub(crate) async fn earlier(visit: &Visit) -> Result<Option<(String, Session)>, StoreError> {
    let app = &visit.app;
    let Some(token) = edge::session::presented(&visit.headers, app.tenant(), &app.base) else {
        return Ok(None);
    };
    let hash = auth::token::hash(token.expose_secret());
    let sessions = app.consents.store.sessions();
    let found = sessions
        .find_session(app.tenant(), &hash, app.clock().now())
        .await?;
    Ok(found.map(|session| (hash, session)))
}

impl Outcome {
    fn respond(self, app: &State, back: &WayBack) -> Option<Response> {
        let location = HeaderValue::from_str(back.url(&app.base).as_str()).ok()?;
        let headers = [
            (LOCATION, location),
            (CACHE_CONTROL, HeaderValue::from_static("no-store")),
            (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        ];
        let mut cookies = HeaderMap::new();
        if let Self::Begun(begun) = self {
            let tenant = (app.tenant(), &app.base);
            cookies.append(SET_COOKIE, edge::session::given(tenant, &begun.token, LIFETIME)?);
            cookies.extend(begun.before.map(|before| (SET_COOKIE, before)));
        }
        cookies.append(SET_COOKIE, attempt::forgotten(app)?);
        let mut response = (StatusCode::SEE_OTHER, headers).into_response();
        response.headers_mut().extend(cookies);
        Some(response)
    }
}

async fn told(app: &State, actor: Actor<'_>, result: &str) {
    let (audit, tenant) = (app.consents.store.audit(app.clock().now()), Some(app.tenant()));
    audit
        .tell(Action::ChatSignIn, tenant, actor, "session", result)
        .await;
}
