//! `GET /signin`: sends a browser to an issuer of the tenant's list, to come back as somebody.
//!
//! Another site's link or script gets no further than a page that asks: whoever is signed in over there would otherwise be
//! signed in here without having wanted it.

use std::time::Duration;

use axum::extract::RawQuery;
use axum::response::Response;
use domain::ExposeSecret;
use edge::origin::comes_from_here;
use http::HeaderMap;
use outbound::oauth::AuthorizationAsk;

use crate::asked::{Asked, Prompt};
use crate::attempt::Attempt;
use crate::before::Before;
use crate::issuers::SignInIssuer;
use crate::page::leads_to;
use crate::sign_in_page::SignInPage;
use crate::state::{State, Visit};

/// What is asked there: who it is.
const SCOPES: [&str; 2] = ["openid", "profile"];

/// Seconds after which a sign-in at the issuer is too old, there: thirty days. An issuer that is asked for a `max_age` has to say when the
/// person signed in (`auth_time`, OIDC Core §3.1.2.1), and a session's end depends on that. It is longer than a session here, so that
/// one can be renewed without a question.
pub(crate) const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 3600);

pub(crate) async fn sign_in(visit: Visit, RawQuery(query): RawQuery) -> Response {
    let asked = Asked::read(&query.unwrap_or_default());
    match leave(&visit, &asked).await {
        Ok(sent) => sent,
        Err(page) => page.respond(&visit.app, &visit.headers, &asked.back),
    }
}

/// Where this person signs in.
fn chosen<'a>(app: &'a State, headers: &HeaderMap, asked: &Asked) -> Result<&'a SignInIssuer, SignInPage> {
    let known = &app.sign_in;
    if let Some(id) = &asked.issuer {
        return known.of_id(id).ok_or(SignInPage::Nowhere);
    }
    // Where they signed in last; nobody is asked what is to happen without a question.
    let last = || known.of_id(&Before::of(app, headers)?.issuer);
    match (known.all(), asked.prompt) {
        ([], _) => Err(SignInPage::Nowhere),
        ([one], _) => Ok(one),
        ([first, ..], Prompt::Silent) => Ok(last().unwrap_or(first)),
        (_, Prompt::Fresh) => last().ok_or(SignInPage::Choose),
        (_, Prompt::Usual) => Err(SignInPage::Choose),
    }
}

async fn leave(visit: &Visit, asked: &Asked) -> Result<Response, SignInPage> {
    let app = &visit.app;
    let issuer = chosen(app, &visit.headers, asked)?;
    if !comes_from_here(&visit.headers, &app.base) {
        return Err(SignInPage::Asked);
    }
    let provider = &issuer.provider;
    let metadata = app.consents.outbound.server_metadata(&provider.issuer).await;
    let metadata = metadata.map_err(|error| SignInPage::of_provider(&error))?;
    let wanted = (issuer.id.as_str(), asked.prompt);
    let attempt = Attempt::begin(app, &visit.headers, wanted, asked.back.clone());
    let mut url = metadata.authorization_url(&AuthorizationAsk {
        client_id: &provider.client.id,
        redirect_uri: &app.signed_in_uri(),
        scopes: &SCOPES.map(str::to_owned),
        // What comes back besides is good at the issuer alone.
        resource: &provider.issuer,
        state: attempt.state(),
        nonce: attempt.nonce().expose_secret(),
        challenge: &auth::pkce::challenge(attempt.verifier().expose_secret()),
        dialect: provider.dialect,
        renewable: true,
    });
    let prompt = asked.prompt.value().map(|prompt| ("prompt", prompt.to_owned()));
    let kind = app.sign_in.demands.asked().map(|kinds| ("acr_values", kinds));
    // Some issuers know one of the two ways to have somebody asked once more.
    let max_age = if asked.prompt == Prompt::Fresh {
        0
    } else {
        MAX_AGE.as_secs()
    };
    let max_age = ("max_age", max_age.to_string());
    for (name, value) in prompt.into_iter().chain(kind).chain([max_age]) {
        url.query_pairs_mut().append_pair(name, &value);
    }
    let cookie = attempt.cookie(app).ok_or(SignInPage::Failed)?;
    leads_to(&url, Some(cookie)).ok_or(SignInPage::Failed)
}
