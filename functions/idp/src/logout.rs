//! `/{tenant}/logout` (OpenID Connect RP-Initiated Logout): GET asks, POST signs out, in this browser or everywhere. Afterwards
//! the browser goes where a registered client wants it, or sees a page that says so.

use std::sync::Arc;

use axum::extract::{RawQuery, State as Held};
use axum::response::{IntoResponse as _, Response};
use domain::Timestamp;
use http::header::{LOCATION, SET_COOKIE};
use http::{HeaderMap, HeaderValue, StatusCode};
use store::StoreError;
use store::audit::{self, Action, Actor};
use url::Url;

use crate::browser::{Browser, SignedIn, is_form_token};
use crate::error::{TokenError, unstored};
use crate::fields::Fields;
use crate::pages::{self, Sent};
use crate::state::AppState;
use crate::tenant::Here;

/// A request to sign out.
struct Farewell<'a> {
    app: &'a AppState,
    here: Here,
    fields: Fields,
    query: String,
}

pub(crate) async fn show(
    here: Result<Here, TokenError>,
    Held(app): Held<Arc<AppState>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, TokenError> {
    let farewell = Farewell::of(&app, here?, query)?;
    let browser = Browser::of(&headers, &app, &farewell.here);
    match browser.signed_in(&app, &farewell.here).await? {
        Some(signed_in) => {
            let token = signed_in.logout_token(&farewell.query);
            let sent = Sent {
                query: &farewell.query,
                token: &token,
            };
            let way_back = farewell.way_back().await?;
            Ok(pages::logout(
                &farewell.here,
                &sent,
                &signed_in.login.username,
                way_back.as_deref(),
            ))
        }
        None => Ok(farewell.gone(Vec::new()).await?),
    }
}

pub(crate) async fn step(
    here: Result<Here, TokenError>,
    Held(app): Held<Arc<AppState>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    form: Fields,
) -> Result<Response, TokenError> {
    let farewell = Farewell::of(&app, here?, query)?;
    let browser = Browser::of(&headers, &app, &farewell.here);
    let Some(signed_in) = browser.signed_in(&app, &farewell.here).await? else {
        return Ok(farewell.gone(Vec::new()).await?);
    };
    let one = |name| form.one(name).unwrap_or_default();
    if !is_form_token(&signed_in.logout_token(&farewell.query), one("form")) {
        let words = "It was shown for another request or another login, or it was not sent from here.";
        let again = Some(farewell.query.as_str());
        return Ok(pages::fault(
            StatusCode::FORBIDDEN,
            "This page is out of date",
            words,
            again,
        ));
    }
    match one("step") {
        Some("stay") => Ok(farewell.gone(Vec::new()).await?),
        Some("everywhere") => {
            farewell.everywhere(&signed_in).await?;
            farewell.end(signed_in, "everywhere").await
        }
        _ => farewell.end(signed_in, "here").await,
    }
}

impl<'a> Farewell<'a> {
    fn of(app: &'a AppState, here: Here, query: Option<String>) -> Result<Self, TokenError> {
        let fields = Fields::parse(query.unwrap_or_default().as_bytes()).ok_or(TokenError::invalid(
            "this is longer than any application has reason to send",
        ))?;
        let query = fields.query_without(&[]);
        Ok(Self {
            app,
            here,
            fields,
            query,
        })
    }

    /// Where the browser goes then: only where the client that it names has registered.
    async fn way_back(&self) -> Result<Option<String>, StoreError> {
        let one = |name| self.fields.one(name).unwrap_or_default();
        let (Some(client), Some(wanted)) = (one("client_id"), one("post_logout_redirect_uri")) else {
            return Ok(None);
        };
        let client = self.app.identity().find_client(&self.here.tenant, client).await?;
        let registered = client.is_some_and(|client| client.signed_out_uris.iter().any(|uri| uri == wanted));
        Ok(registered.then(|| wanted.to_owned()))
    }

    /// Whatever the user is signed in to ends: this login and all others, codes, refresh tokens.
    async fn everywhere(&self, signed_in: &SignedIn) -> Result<(), StoreError> {
        // What is proved in this very millisecond is proved before.
        let from = Timestamp::from_millis(self.app.now().millis().saturating_add(1));
        let identity = self.app.identity();
        let username = &signed_in.login.username;
        identity
            .change_user(&self.here.tenant, username, |user| user.not_before = Some(from))
            .await?;
        Ok(())
    }

    async fn end(&self, signed_in: SignedIn, how: &'static str) -> Result<Response, TokenError> {
        let subject = signed_in.login.subject.clone();
        let unset = signed_in.end(self.app, &self.here).await?;
        let subject = Actor::Owner(&subject);
        let (tenant, action) = (&self.here.tenant, Action::IdpSignOut);
        self.app.tell(action, tenant, subject, how, audit::DONE).await;
        Ok(self.gone(Vec::from_iter(unset)).await?)
    }

    async fn gone(&self, cookies: Vec<HeaderValue>) -> Result<Response, StoreError> {
        let way_back = self.way_back().await?;
        let mut response = match way_back.and_then(|uri| self.location(&uri)) {
            Some(to) => {
                let mut response = unstored(StatusCode::SEE_OTHER.into_response());
                response.headers_mut().insert(LOCATION, to);
                response
            }
            None => pages::signed_out(&self.here),
        };
        for cookie in cookies {
            response.headers_mut().append(SET_COOKIE, cookie);
        }
        Ok(response)
    }

    fn location(&self, uri: &str) -> Option<HeaderValue> {
        let mut to = Url::parse(uri).ok()?;
        if let Ok(Some(state)) = self.fields.one("state") {
            to.query_pairs_mut().append_pair("state", state);
        }
        HeaderValue::from_str(to.as_str()).ok()
    }
}
