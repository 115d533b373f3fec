//! `GET /callback`: the provider's answer.
//!
//! The state is taken first, and with that used up: whatever is wrong with the rest, the same answer is never looked at
//! twice. Then it must be the browser that left, and the issuer that it was sent to.

use auth::{ConsentSecrets, GrantSecrets};
use axum::extract::RawQuery;
use axum::response::Response;
use consent::{Consent, ConsentRequest, Started};
use domain::{ExposeSecret, SecretString};
use http::header::SET_COOKIE;
use outbound::oauth::{CodeExchange, Dialect, Provider};
use tracing::Span;
use tracing::field::display;
use url::Url;

use crate::answer::{ProviderAnswer, Said};
use crate::page::ResultPage;
use crate::state::Visit;
use crate::{browser, id_token, request, waiting};

pub(crate) async fn callback(visit: Visit, RawQuery(query): RawQuery) -> Response {
    let Some(answer) = ProviderAnswer::read(&query.unwrap_or_default()) else {
        return ResultPage::Rubbish.respond(&visit.app, &visit.headers);
    };
    let state = answer.state.clone();
    let reference = state.expose_secret().split_once('_');
    match visit.located(reference.map_or("", |(reference, _)| reference)) {
        Some((visit, id)) => {
            let (Ok(page) | Err(page)) = take(&visit, answer, id).await;
            // From here on the session leads to what was granted.
            let cookie = match &page {
                ResultPage::Connected { .. } => browser::renewed(&visit).await,
                _ => None,
            };
            let mut response = page.respond(&visit.app, &visit.headers);
            response
                .headers_mut()
                .extend(cookie.map(|cookie| (SET_COOKIE, cookie)));
            response
        }
        None => ResultPage::Stale { again: None }.respond(&visit.app, &visit.headers),
    }
}

async fn take(visit: &Visit, answer: ProviderAnswer, id: &str) -> Result<ResultPage, ResultPage> {
    let app = &visit.app;
    request::admitted(visit).await?;
    let state = answer.state.expose_secret();
    let records = app.consents.records();
    let taken = records
        .take_by_state(&auth::token::hash(state), app.clock().now())
        .await?;
    let Some((consent, started)) = taken else {
        return Err(why_unknown(visit, id).await?);
    };
    let task_id = consent.request.task_id;
    Span::current().record("task.id", display(&task_id));
    request::running(visit, &consent).await?;
    let again = Some(app.link(&consent));
    if !browser::is_bound(visit, &consent, &started) {
        tracing::warn!(tenant.id = app.tenant().name(), task.id = %task_id, "answer came to another browser than the one that left");
        return Err(ResultPage::OtherBrowser { again });
    }
    let secrets = app.consents.secrets(&consent, &started).map_err(|error| {
        tracing::error!(task.id = %task_id, error = %error, "a consent's secrets do not open");
        ResultPage::Failed
    })?;
    // A mix-up of two providers would hand one's code to the other (RFC 9207).
    let from_there = match &answer.iss {
        Some(iss) => *iss == consent.request.issuer,
        None => !secrets.iss_required,
    };
    if !from_there {
        tracing::warn!(tenant.id = app.tenant().name(), task.id = %task_id, "answer is of another issuer");
        return Err(ResultPage::OtherIssuer { again });
    }
    match answer.said {
        Said::Code(code) => {
            let provider = request::provider(visit, &consent)?;
            // From here on somebody looks at the task, whatever becomes of this process.
            waiting::make_due(app, &consent, app.clock().now().after(waiting::IN_HAND)).await?;
            let granted = exchange(visit, &consent, &secrets, provider, &code).await?;
            if secrets.starters_browser && browser::is_still(visit, &consent).await? {
                give(visit, &consent, granted).await
            } else {
                hold(visit, &consent, &started, &granted).await
            }
        }
        Said::Error(error) if error == "access_denied" => deny(visit, &consent).await,
        Said::Error(error) => {
            let error: String = error
                .chars()
                .filter(|c| c.is_ascii_alphanumeric() || *c == '_')
                .take(40)
                .collect();
            tracing::warn!(tenant.id = app.tenant().name(), task.id = %task_id, error, "provider refuses to ask the user");
            Err(ResultPage::Unusable { again })
        }
    }
}

/// Why a state is not good: its consent is over, or it was started anew since, or it is none of ours.
async fn why_unknown(visit: &Visit, id: &str) -> Result<ResultPage, ResultPage> {
    let Some(consent) = request::find(visit, id).await? else {
        return Ok(ResultPage::Stale { again: None });
    };
    request::running(visit, &consent).await?;
    Ok(ResultPage::Stale {
        again: Some(visit.app.link(&consent)),
    })
}

async fn exchange(
    visit: &Visit,
    consent: &Consent,
    secrets: &ConsentSecrets,
    provider: &Provider,
    code: &SecretString,
) -> Result<GrantSecrets, ResultPage> {
    let (app, request) = (&visit.app, &consent.request);
    let again = || Some(app.link(consent));
    let endpoint = Url::parse(&secrets.token_endpoint).map_err(|_| ResultPage::Failed)?;
    let exchange = CodeExchange {
        code,
        verifier: &secrets.pkce_verifier,
        redirect_uri: &app.redirect_uri(),
        resource: &request.resource,
    };
    let tokens = app
        .consents
        .outbound
        .exchange_code(&endpoint, provider, exchange)
        .await
        .map_err(|error| ResultPage::of_provider(&error, again()))?;
    let subject = match &tokens.id_token {
        Some(token) => {
            let expected = id_token::Expected {
                issuer: &request.issuer,
                client_id: &provider.client.id,
                nonce: &secrets.nonce,
            };
            let Some(subject) = id_token::subject(token, &expected) else {
                tracing::warn!(tenant.id = app.tenant().name(), task.id = %request.task_id, "identity token is not of this request");
                return Err(ResultPage::Unusable { again: again() });
            };
            Some(subject)
        }
        None => None,
    };
    let mut granted = tokens.granted(&request.scopes, subject, app.clock().now());
    if granted.refresh_token.is_none() {
        // A provider that gives one once: the one that is here is as good as it was.
        let held = app.consents.renewable(consent).await?;
        granted.refresh_token = held.and_then(|held| held.refresh_token);
    }
    let missing = missing(provider, request, &granted);
    if !missing.is_empty() {
        tracing::info!(tenant.id = app.tenant().name(), task.id = %request.task_id, provider = %request.provider, "less was granted than is needed");
        return Err(ResultPage::TooLittle {
            missing,
            again: again(),
        });
    }
    Ok(granted)
}

/// What the user left out of what is needed, in the provider's own words. Only a provider whose page has boxes lets users.
fn missing(provider: &Provider, request: &ConsentRequest, granted: &GrantSecrets) -> Vec<String> {
    if provider.dialect == Dialect::Standard {
        return Vec::new();
    }
    let left_out = |scope: &&String| !granted.scopes.contains(scope);
    let left_out = request.scopes.iter().filter(left_out);
    left_out.map(|scope| named(scope)).collect()
}

/// A scope in words, or as it is.
fn named(scope: &str) -> String {
    auth::scope::words(scope).unwrap_or(scope).to_owned()
}

/// The starter's own browser: the grant is the starter's. Broken off before the wake, the host finds the grant when it
/// looks at the task.
async fn give(visit: &Visit, consent: &Consent, granted: GrantSecrets) -> Result<ResultPage, ResultPage> {
    let app = &visit.app;
    if !app.consents.give(consent, &granted).await? {
        return Err(ResultPage::Denied);
    }
    waiting::wake(visit, consent).await;
    let request = &consent.request;
    tracing::info!(tenant.id = app.tenant().name(), task.id = %request.task_id, requester = %request.owner, provider = %request.provider, "consent given");
    Ok(ResultPage::Connected {
        scopes: granted.scopes.iter().map(|scope| named(scope)).collect(),
    })
}

/// Any other browser: what was granted is held, sealed, until the starter types the code in the chat.
async fn hold(
    visit: &Visit,
    consent: &Consent,
    started: &Started,
    granted: &GrantSecrets,
) -> Result<ResultPage, ResultPage> {
    let app = &visit.app;
    let Some(code) = app.consents.hold(consent, started, granted).await? else {
        return Err(ResultPage::Stale {
            again: Some(app.link(consent)),
        });
    };
    let request = &consent.request;
    tracing::info!(tenant.id = app.tenant().name(), task.id = %request.task_id, provider = %request.provider, "consent given in another browser; its code is awaited");
    // Whoever was sent the link sees here what it was for, wherever they have agreed.
    let task = waiting::task(app, consent).await?;
    let asked = task.map(|task| waiting::occasion(&task, consent, false));
    Ok(ResultPage::Code { code, asked })
}

async fn deny(visit: &Visit, consent: &Consent) -> Result<ResultPage, ResultPage> {
    let app = &visit.app;
    waiting::make_due(app, consent, app.clock().now().after(waiting::IN_HAND)).await?;
    if !app.consents.deny(consent).await? {
        return Err(ResultPage::Used);
    }
    waiting::wake(visit, consent).await;
    let request = &consent.request;
    tracing::info!(tenant.id = app.tenant().name(), task.id = %request.task_id, provider = %request.provider, "consent refused");
    Ok(ResultPage::Declined)
}
