//! `GET /callback`: the provider's answer.
//!
//! The state is taken first, and with that used up: whatever is wrong with the rest, the same answer is never looked at
//! twice. Then it must be the browser that left, and the issuer that it was sent to.

use std::sync::Arc;

use auth::{ConsentSecrets, GrantSecrets, consent_code};
use axum::extract::{Extension, RawQuery, State};
use axum::response::Response;
use domain::{ExposeSecret, SecretString, TraceParent};
use http::HeaderMap;
use outbound::oauth::{CodeExchange, Provider};
use store::{Consent, ConsentStatus, StoreError};
use tracing::Span;
use tracing::field::display;
use url::Url;

use crate::answer::{Answer, Said};
use crate::page::Page;
use crate::request::{self, Ended, IN_HAND};
use crate::{CODE_TTL, Desk, browser, id_token, waiting};

/// How often the end is written where the consent changes under us.
const ROUNDS: u32 = 8;

pub(crate) async fn callback(
    State(desk): State<Arc<Desk>>,
    trace: Option<Extension<TraceParent>>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Response {
    Span::current().record("tenant.id", display(&desk.tenant));
    let trace = trace.map(|Extension(trace)| trace);
    let page = match Answer::read(&query.unwrap_or_default()) {
        Some(answer) => take(&desk, answer, &headers, trace.as_ref()).await,
        None => Err(Page::Rubbish),
    };
    let (Ok(page) | Err(page)) = page;
    page.respond(&desk, &headers)
}

async fn take(
    desk: &Desk,
    answer: Answer,
    headers: &HeaderMap,
    trace: Option<&TraceParent>,
) -> Result<Page, Ended> {
    let state = answer.state.expose_secret();
    let hash = auth::token::hash(state);
    let taken = desk
        .store
        .grants()
        .by_state(&desk.tenant, &hash, desk.clock.now())
        .await?;
    let Some(consent) = taken else {
        return Err(why_unknown(desk, state, trace).await?);
    };
    Span::current().record("task.id", display(&consent.task_id));
    request::running(desk, &consent, trace).await?;
    let again = Some(request::link(desk, &consent));
    if !browser::is_bound(desk, &consent, headers) {
        tracing::warn!(tenant.id = %desk.tenant, task.id = %consent.task_id, "answer came to another browser than the one that left");
        return Err(Page::OtherBrowser { again });
    }
    let secrets = ConsentSecrets::open(&desk.sealer, &consent.sealed, &request::binding(desk, &consent));
    let secrets = secrets.map_err(|error| {
        tracing::error!(task.id = %consent.task_id, error = %error, "a consent's secrets do not open");
        Page::Failed
    })?;
    let from_there = match &answer.iss {
        Some(iss) => *iss == consent.issuer,
        None => !secrets.iss_required,
    };
    if !from_there {
        tracing::warn!(tenant.id = %desk.tenant, task.id = %consent.task_id, "answer is of another issuer");
        return Err(Page::OtherIssuer { again });
    }
    match answer.said {
        Said::Code(code) => {
            let provider = request::provider(desk, &consent)?;
            // From here on somebody looks at the task, whatever becomes of this process.
            waiting::make_due(desk, &consent, desk.clock.now().after(IN_HAND)).await?;
            let granted = exchange(desk, &consent, &secrets, (provider, &code), trace).await?;
            if secrets.starters_browser {
                grant(desk, consent, granted, trace).await
            } else {
                hold(desk, &consent, &granted).await
            }
        }
        Said::Error(error) if error == "access_denied" => deny(desk, consent, trace).await,
        Said::Error(error) => {
            let error: String = error
                .chars()
                .filter(|c| c.is_ascii_alphanumeric() || *c == '_')
                .take(40)
                .collect();
            tracing::warn!(tenant.id = %desk.tenant, task.id = %consent.task_id, error, "provider refuses to ask the user");
            Err(Page::Unusable { again })
        }
    }
}

/// Why a state is not good: its consent is over, or it was started anew since, or it is none of ours.
async fn why_unknown(desk: &Desk, state: &str, trace: Option<&TraceParent>) -> Result<Page, Ended> {
    let Some((id, _)) = state.split_once('_') else {
        return Ok(Page::Stale { again: None });
    };
    let Some(consent) = request::find(desk, id).await? else {
        return Ok(Page::Stale { again: None });
    };
    request::running(desk, &consent, trace).await?;
    Ok(Page::Stale {
        again: Some(request::link(desk, &consent)),
    })
}

async fn exchange(
    desk: &Desk,
    consent: &Consent,
    secrets: &ConsentSecrets,
    (provider, code): (&Provider, &SecretString),
    trace: Option<&TraceParent>,
) -> Result<GrantSecrets, Ended> {
    let again = || Some(request::link(desk, consent));
    let endpoint = Url::parse(&secrets.token_endpoint).map_err(|_| Page::Failed)?;
    let exchange = CodeExchange {
        code,
        verifier: &secrets.pkce_verifier,
        redirect_uri: &request::redirect_uri(desk),
        resource: &consent.resource,
    };
    let tokens = desk
        .outbound
        .exchange_code(&endpoint, &provider.client, exchange, trace)
        .await
        .map_err(|error| Page::of_provider(&error, again()))?;
    let subject = match &tokens.id_token {
        Some(token) => {
            let expected = id_token::Expected {
                issuer: &consent.issuer,
                client_id: &provider.client.id,
                nonce: &secrets.nonce,
            };
            let Some(subject) = id_token::subject(token, &expected) else {
                tracing::warn!(tenant.id = %desk.tenant, task.id = %consent.task_id, "identity token is not of this request");
                return Err(Page::Unusable { again: again() });
            };
            Some(subject)
        }
        None => None,
    };
    Ok(tokens.granted(&consent.scopes, subject, desk.clock.now()))
}

/// The starter's own browser: the grant is the starter's. First the grant, then the consent's end, then the wake: broken
/// off anywhere in between, the host finds the grant when it looks at the task.
async fn grant(
    desk: &Desk,
    consent: Consent,
    granted: GrantSecrets,
    trace: Option<&TraceParent>,
) -> Result<Page, Ended> {
    let key = request::grant_key(desk, &consent);
    let sealed = granted.seal(
        &desk.sealer,
        &request::binding(desk, &consent),
        desk.entropy.as_ref(),
    );
    let grants = desk.store.grants();
    let stored = grants
        .put_grant(key, &granted.scopes, &sealed, desk.clock.now())
        .await?;
    if end(desk, &consent, ConsentStatus::Done).await? == ConsentStatus::Denied {
        // Said no in another tab at the same moment: no is no.
        grants.drop_grant(key, stored.version).await?;
        return Err(Page::Denied);
    }
    waiting::wake(desk, &consent, trace).await;
    tracing::info!(tenant.id = %desk.tenant, task.id = %consent.task_id, requester = %consent.owner, provider = %consent.provider, "consent given");
    Ok(Page::Connected {
        scopes: granted.scopes,
    })
}

/// Any other browser: what was granted is held, sealed, until the starter types the code in the chat.
async fn hold(desk: &Desk, consent: &Consent, granted: &GrantSecrets) -> Result<Page, Ended> {
    let code = consent_code::random(desk.entropy.as_ref());
    let held = Consent {
        sealed: String::new(),
        state_hash: None,
        browser_hash: None,
        code_hash: Some(consent_code::hash(&consent.id, &code)),
        sealed_result: Some(granted.seal(
            &desk.sealer,
            &request::binding(desk, consent),
            desk.entropy.as_ref(),
        )),
        expires_at: desk.clock.now().after(CODE_TTL),
        ..consent.clone()
    };
    if !desk.store.grants().update_consent(&desk.tenant, &held).await? {
        return Err(Page::Stale {
            again: Some(request::link(desk, consent)),
        });
    }
    tracing::info!(tenant.id = %desk.tenant, task.id = %consent.task_id, provider = %consent.provider, "consent given in another browser; its code is awaited");
    Ok(Page::Code { code })
}

async fn deny(desk: &Desk, consent: Consent, trace: Option<&TraceParent>) -> Result<Page, Ended> {
    waiting::make_due(desk, &consent, desk.clock.now().after(IN_HAND)).await?;
    if end(desk, &consent, ConsentStatus::Denied).await? == ConsentStatus::Done {
        return Err(Page::Used);
    }
    waiting::wake(desk, &consent, trace).await;
    tracing::info!(tenant.id = %desk.tenant, task.id = %consent.task_id, provider = %consent.provider, "consent refused");
    Ok(Page::Declined)
}

/// Ends the consent, whatever was started anew meanwhile; the end that it has. One that is done or denied stays so.
async fn end(desk: &Desk, consent: &Consent, status: ConsentStatus) -> Result<ConsentStatus, StoreError> {
    let grants = desk.store.grants();
    let mut known = consent.clone();
    for _ in 0..ROUNDS {
        if matches!(known.status, ConsentStatus::Done | ConsentStatus::Denied) {
            return Ok(known.status);
        }
        let ended = request::ended(&known, status);
        if grants.update_consent(&desk.tenant, &ended).await? {
            return Ok(status);
        }
        match grants.find_consent_request(&desk.tenant, &consent.id).await? {
            Some(found) => known = found,
            None => return Ok(status),
        }
    }
    // Others follow the link as fast as we write. The grant counts; the request runs out by itself.
    tracing::warn!(tenant.id = %desk.tenant, task.id = %consent.task_id, "the consent's end was not written");
    Ok(status)
}
