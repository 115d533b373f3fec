//! `/{tenant}/authorize`: GET shows what the person is asked (to sign in, to agree), POST takes the answer. The request
//! is in the query both times and is checked both times; nothing of it is kept in between.

use std::net::IpAddr;
use std::sync::Arc;

use auth::Refusal;
use axum::Extension;
use axum::extract::{RawQuery, State as Held};
use axum::response::{IntoResponse as _, Response};
use domain::ExposeSecret as _;
use edge::Source;
use http::header::{LOCATION, REFERRER_POLICY, SET_COOKIE};
use http::{HeaderMap, HeaderValue, StatusCode};
use store::audit::{self, Action, Actor};
use store::{Code, StoreError};
use url::Url;

use crate::browser::{Browser, SignedIn, is_form_token};
use crate::error::{TokenError, unstored};
use crate::fields::Fields;
use crate::login::{self, Attempt};
use crate::pages::{self, Sent, Tried};
use crate::request::{self, Asked, Fault, Prompt, Refused, Reply, fault};
use crate::scope;
use crate::state::{AppState, HOST_CLIENT};
use crate::tenant::Here;
use crate::work::Paid;

/// What a sign-in asks for.
const OF_SIGN_IN: [&str; 2] = [scope::OPENID, scope::PROFILE];

/// What a code begins with.
const CODE_PREFIX: &str = "swc";

const DENIED: Fault = fault("access_denied", "the person did not allow it");
const NOT_THEIRS: Fault = fault(
    "access_denied",
    "the person has no role by which they could allow it",
);

/// What there is to do for a request.
enum Next {
    SignIn,
    /// The person cannot allow what is asked for.
    MayNot(SignedIn),
    Agree(SignedIn),
    Answer(SignedIn),
}

/// Whether the tenant's own page asks who somebody is, and for nothing else: whoever signs in there has agreed to that by it.
fn is_own_sign_in(asked: &Asked) -> bool {
    let mut scopes = asked.scopes.iter();
    asked.reply.client.client_id == HOST_CLIENT && scopes.all(|scope| OF_SIGN_IN.contains(&scope.as_str()))
}

/// Whether the person's roles let them allow all that is asked for.
fn may_allow(asked: &Asked, signed_in: &SignedIn) -> bool {
    let mut scopes = asked.scopes.iter();
    scopes.all(|scope| auth::scope::may_allow(scope, &signed_in.roles))
}

/// What ends a request early; each is a page.
enum EarlyEnd {
    Page(StatusCode, &'static str, &'static str),
    Request(Refused),
    Failed(TokenError),
}

impl From<TokenError> for EarlyEnd {
    fn from(fault: TokenError) -> Self {
        Self::Failed(fault)
    }
}

impl From<StoreError> for EarlyEnd {
    fn from(fault: StoreError) -> Self {
        Self::Failed(fault.into())
    }
}

impl From<Refused> for EarlyEnd {
    fn from(refused: Refused) -> Self {
        Self::Request(refused)
    }
}

/// One request, as both methods see it.
struct Visit<'a> {
    app: &'a AppState,
    here: Here,
    query: String,
    fields: Fields,
    /// Who calls, as the gateway saw it.
    source: Option<IpAddr>,
}

pub(crate) async fn show(
    here: Result<Here, TokenError>,
    Held(app): Held<Arc<AppState>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let visit = match Visit::of(&app, here, (query, None)) {
        Ok(visit) => visit,
        Err(page) => return *page,
    };
    let shown = visit.show(&headers).await;
    shown.unwrap_or_else(|stop| visit.stopped(stop))
}

pub(crate) async fn step(
    here: Result<Here, TokenError>,
    Held(app): Held<Arc<AppState>>,
    RawQuery(query): RawQuery,
    source: Option<Extension<Source>>,
    headers: HeaderMap,
    form: Result<Fields, TokenError>,
) -> Response {
    let source = source.map(|Extension(Source(ip))| ip);
    let visit = match Visit::of(&app, here, (query, source)) {
        Ok(visit) => visit,
        Err(page) => return *page,
    };
    let stepped = visit.step(&headers, form).await;
    stepped.unwrap_or_else(|stop| visit.stopped(stop))
}

impl<'a> Visit<'a> {
    fn of(
        app: &'a AppState,
        here: Result<Here, TokenError>,
        (query, source): (Option<String>, Option<IpAddr>),
    ) -> Result<Self, Box<Response>> {
        let here = here.map_err(|refused| match refused {
            TokenError::NoTenant => Box::new(nowhere()),
            TokenError::Token(Refusal::Suspended) => Box::new(suspended()),
            other => Box::new(failed(&other)),
        })?;
        let query = query.unwrap_or_default();
        let fields = Fields::parse(query.as_bytes()).ok_or_else(|| {
            let words = "The link is longer than any application has reason to send.";
            Box::new(pages::fault(
                StatusCode::BAD_REQUEST,
                "This link does not work",
                words,
                None,
            ))
        })?;
        // Written anew, so that pages carry nothing but what was understood.
        let query = fields.query_without(&[]);
        Ok(Self {
            app,
            here,
            query,
            fields,
            source,
        })
    }

    async fn show(&self, headers: &HeaderMap) -> Result<Response, EarlyEnd> {
        let asked = request::check(self.app, &self.here, &self.fields).await?;
        let browser = Browser::of(headers, self.app, &self.here);
        match self.next(&asked, &browser).await? {
            Next::SignIn if asked.prompt == Prompt::None => {
                let fault = fault("login_required", "nobody is signed in");
                Ok(self.refuse(&asked, StatusCode::FOUND, fault))
            }
            Next::SignIn => Ok(self.login_page(browser, &asked, None)),
            Next::Agree(_) if asked.prompt == Prompt::None => {
                let fault = fault("consent_required", "the person has not agreed to this yet");
                Ok(self.refuse(&asked, StatusCode::FOUND, fault))
            }
            Next::MayNot(signed_in) => {
                self.told(&asked, Actor::Owner(&signed_in.login.subject), "denied")
                    .await;
                Ok(self.refuse(&asked, StatusCode::FOUND, NOT_THEIRS))
            }
            Next::Agree(signed_in) => {
                let token = signed_in.form_token(&self.query);
                let sent = self.sent(&token);
                Ok(pages::consent(
                    &self.here,
                    &asked,
                    &sent,
                    (&signed_in.login.username, self.app.now()),
                ))
            }
            Next::Answer(signed_in) => self.grant(&asked, &signed_in, StatusCode::FOUND).await,
        }
    }

    async fn next(&self, asked: &Asked, browser: &Browser) -> Result<Next, StoreError> {
        let Some(signed_in) = browser.signed_in(self.app, &self.here).await? else {
            return Ok(Next::SignIn);
        };
        let age = self.app.now().since(signed_in.login.auth_time).as_secs();
        if asked.prompt == Prompt::Login || asked.max_age.is_some_and(|most| age > most) {
            return Ok(Next::SignIn);
        }
        if !may_allow(asked, &signed_in) {
            return Ok(Next::MayNot(signed_in));
        }
        // A public client cannot prove that it is the one that was agreed to before.
        if asked.prompt == Prompt::Consent || asked.reply.client.public {
            return Ok(Next::Agree(signed_in));
        }
        if is_own_sign_in(asked) {
            return Ok(Next::Answer(signed_in));
        }
        let agreed = self.agreed(asked, &signed_in).await?;
        if asked.scopes.iter().all(|scope| agreed.contains(scope)) {
            Ok(Next::Answer(signed_in))
        } else {
            Ok(Next::Agree(signed_in))
        }
    }

    async fn agreed(&self, asked: &Asked, signed_in: &SignedIn) -> Result<Vec<String>, StoreError> {
        let identity = self.app.identity();
        let (subject, client) = (&signed_in.login.subject, &asked.reply.client.client_id);
        identity
            .find_consent(&self.here.tenant, subject, client, &asked.resource)
            .await
    }

    async fn step(
        &self,
        headers: &HeaderMap,
        form: Result<Fields, TokenError>,
    ) -> Result<Response, EarlyEnd> {
        const UNREADABLE: EarlyEnd = EarlyEnd::Page(
            StatusCode::BAD_REQUEST,
            "That cannot be read",
            "What was sent is not the form of this page.",
        );
        const OUTDATED: EarlyEnd = EarlyEnd::Page(
            StatusCode::FORBIDDEN,
            "This page is out of date",
            "It was shown for another request or another login, or it was not sent from here.",
        );
        let asked = request::check(self.app, &self.here, &self.fields).await?;
        let form = form.map_err(|_| UNREADABLE)?;
        let one = |name| form.one(name).unwrap_or_default();
        let (step, token) = (one("step"), one("form"));
        let browser = Browser::of(headers, self.app, &self.here);
        match step {
            Some("login" | "cancel") => {
                let expected = browser.form_token(&self.query).ok_or(OUTDATED)?;
                if !is_form_token(&expected, token) {
                    return Err(OUTDATED);
                }
                if step == Some("cancel") {
                    self.told(&asked, Actor::Unknown, "denied").await;
                    return Ok(self.refuse(&asked, StatusCode::SEE_OTHER, DENIED));
                }
                let (username, password) = (one("username"), one("password"));
                let paid = Paid {
                    token: one("work").unwrap_or_default(),
                    number: one("number").unwrap_or_default(),
                };
                let from = (&browser, self.source, paid);
                let attempt = login::attempt(self.app, &self.here, from, (username, password)).await?;
                match attempt {
                    Attempt::In(cookies) => Ok(self.go_on(cookies)),
                    Attempt::Refused(again, work) => {
                        let name = username.and_then(login::username).unwrap_or_default();
                        Ok(self.login_page(browser, &asked, Some(Tried { again, name, work })))
                    }
                }
            }
            Some("allow" | "deny" | "switch") => {
                // Whose login has ended meanwhile signs in again.
                let Some(signed_in) = browser.signed_in(self.app, &self.here).await? else {
                    return Ok(self.go_on(Vec::new()));
                };
                if !is_form_token(&signed_in.form_token(&self.query), token) {
                    return Err(OUTDATED);
                }
                match step {
                    Some("allow") if !may_allow(&asked, &signed_in) => {
                        self.told(&asked, Actor::Owner(&signed_in.login.subject), "denied")
                            .await;
                        Ok(self.refuse(&asked, StatusCode::SEE_OTHER, NOT_THEIRS))
                    }
                    Some("allow") => {
                        self.remember(&asked, &signed_in).await?;
                        self.grant(&asked, &signed_in, StatusCode::SEE_OTHER).await
                    }
                    Some("deny") => {
                        self.told(&asked, Actor::Owner(&signed_in.login.subject), "denied")
                            .await;
                        Ok(self.refuse(&asked, StatusCode::SEE_OTHER, DENIED))
                    }
                    _ => {
                        let unset = signed_in.end(self.app, &self.here).await?;
                        Ok(self.go_on(Vec::from_iter(unset)))
                    }
                }
            }
            _ => Err(UNREADABLE),
        }
    }

    /// Remembers what was agreed to, beside what was before.
    async fn remember(&self, asked: &Asked, signed_in: &SignedIn) -> Result<(), StoreError> {
        let mut scopes = self.agreed(asked, signed_in).await?;
        for scope in &asked.scopes {
            if !scopes.contains(scope) {
                scopes.push(scope.clone());
            }
        }
        let identity = self.app.identity();
        let (subject, client) = (&signed_in.login.subject, &asked.reply.client.client_id);
        identity
            .put_consent(&self.here.tenant, subject, client, &asked.resource, &scopes)
            .await
    }

    /// Gives out a code.
    async fn grant(
        &self,
        asked: &Asked,
        signed_in: &SignedIn,
        status: StatusCode,
    ) -> Result<Response, EarlyEnd> {
        let code = auth::token::random(CODE_PREFIX, self.app.entropy());
        let now = self.app.now();
        let stored = Code {
            client_id: asked.reply.client.client_id.clone(),
            redirect_uri: asked.reply.redirect_uri.clone(),
            subject: signed_in.login.subject.clone(),
            scope: scope::text(&asked.scopes),
            resource: asked.resource.clone(),
            challenge: asked.challenge.clone(),
            nonce: asked.nonce.clone(),
            auth_time: signed_in.login.auth_time,
            issued_at: now,
            expires_at: now.after(self.app.given.settings.code),
        };
        let hash = auth::token::hash(code.expose_secret());
        self.app
            .identity()
            .put_code(&self.here.tenant, &hash, &stored)
            .await?;
        self.told(asked, Actor::Owner(&stored.subject), audit::DONE).await;
        Ok(self.back(&asked.reply, status, &ClientAnswer::Code(code.expose_secret())))
    }

    /// What the person decided about which application; also where they decided it before.
    async fn told(&self, asked: &Asked, actor: Actor<'_>, result: &str) {
        let (tenant, client) = (&self.here.tenant, &asked.reply.client.client_id);
        let told = self.app.tell(Action::IdpAuthorize, tenant, actor, client, result);
        told.await;
    }

    fn login_page(&self, browser: Browser, asked: &Asked, tried: Option<Tried>) -> Response {
        let (browser, cookie) = browser.with_form(self.app, &self.here);
        let token = browser.form_token(&self.query).unwrap_or_default();
        let mut response = pages::login(&self.here, asked, &self.sent(&token), tried.as_ref());
        if let Some(cookie) = cookie {
            response.headers_mut().append(SET_COOKIE, cookie);
        }
        response
    }

    fn sent<'s>(&'s self, token: &'s str) -> Sent<'s> {
        Sent {
            query: &self.query,
            token,
        }
    }

    /// Back to the same request by GET, so that a reload does not send a password again. What made the person sign in
    /// once more is fulfilled.
    fn go_on(&self, cookies: Vec<HeaderValue>) -> Response {
        let query = self.fields.query_without(&["prompt", "max_age"]);
        let query = match self.fields.one("prompt") {
            // Whoever has to agree once more still has to.
            Ok(Some(prompt)) if prompt.contains("consent") => format!("{query}&prompt=consent"),
            _ => query,
        };
        let to = format!("{}/authorize?{query}", self.here.issuer);
        let mut response = redirect(StatusCode::SEE_OTHER, &to);
        for cookie in cookies {
            response.headers_mut().append(SET_COOKIE, cookie);
        }
        response
    }

    fn refuse(&self, asked: &Asked, status: StatusCode, fault: Fault) -> Response {
        self.back(&asked.reply, status, &ClientAnswer::Fault(fault))
    }

    /// The authorization response: RFC 6749 §4.1.2 with the `iss` of RFC 9207.
    fn back(&self, reply: &Reply, status: StatusCode, answer: &ClientAnswer<'_>) -> Response {
        let Ok(mut to) = Url::parse(&reply.redirect_uri) else {
            return self.stopped(EarlyEnd::Page(
                StatusCode::BAD_REQUEST,
                "There is no way back",
                "The application has registered an address that is none.",
            ));
        };
        {
            let mut pairs = to.query_pairs_mut();
            match answer {
                ClientAnswer::Code(code) => pairs.append_pair("code", code),
                ClientAnswer::Fault(fault) => pairs
                    .append_pair("error", fault.code)
                    .append_pair("error_description", fault.text),
            };
            if let Some(state) = &reply.state {
                pairs.append_pair("state", state);
            }
            pairs.append_pair("iss", &self.here.issuer);
        }
        redirect(status, to.as_str())
    }

    fn stopped(&self, stop: EarlyEnd) -> Response {
        match stop {
            EarlyEnd::Page(status, title, words) => pages::fault(status, title, words, Some(&self.query)),
            EarlyEnd::Request(Refused::OnPage(words)) => {
                pages::fault(StatusCode::BAD_REQUEST, "This link does not work", words, None)
            }
            EarlyEnd::Request(Refused::ToClient(reply, fault)) => {
                self.back(&reply, StatusCode::FOUND, &ClientAnswer::Fault(fault))
            }
            EarlyEnd::Request(Refused::Store(fault)) => failed(&TokenError::Store(fault)),
            EarlyEnd::Failed(fault) => failed(&fault),
        }
    }
}

/// What the client is told.
enum ClientAnswer<'a> {
    Code(&'a str),
    Fault(Fault),
}

fn redirect(status: StatusCode, to: &str) -> Response {
    let Ok(location) = HeaderValue::from_str(to) else {
        let words = "The way back cannot be written.";
        return pages::fault(StatusCode::BAD_REQUEST, "This link does not work", words, None);
    };
    let mut response = unstored(status.into_response());
    let headers = response.headers_mut();
    headers.insert(LOCATION, location);
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

fn nowhere() -> Response {
    let words = "There is nobody of that name here to sign in with.";
    pages::fault(StatusCode::NOT_FOUND, "There is nothing here", words, None)
}

fn suspended() -> Response {
    let words =
        "Nobody can sign in here until whoever runs it lets people in again. Nothing of yours is lost.";
    pages::fault(StatusCode::FORBIDDEN, "This is closed for now", words, None)
}

fn failed(fault: &TokenError) -> Response {
    tracing::error!(
        error = fault as &dyn std::error::Error,
        "the page cannot be shown"
    );
    let words = "Something went wrong here, and it was nothing you did. Try again in a moment.";
    pages::fault(
        StatusCode::SERVICE_UNAVAILABLE,
        "This does not work now",
        words,
        None,
    )
}
