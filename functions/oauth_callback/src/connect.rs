//! `GET /connect/{id}`: follows the link of a consent to its provider.
//!
//! `POST /connect/{id}`: the same for a consent of an agent of the platform, with a proof that it is the starter's browser.
//!
//! Whoever follows it once more starts anew: the newest state alone is good. But where the starter's own browser is on
//! its way already, no other can take its place.

use auth::ConsentSecrets;
use auth::occasion::{self, Occasion};
use axum::body::Bytes;
use axum::extract::Path;
use axum::extract::rejection::{BytesRejection, PathRejection};
use axum::response::Response;
use consent::{Consent, InvalidMove, Stage, Unrevised, UsedProof};
use domain::ExposeSecret;
use http::header::{REFRESH, SET_COOKIE};
use http::{HeaderMap, HeaderValue};
use outbound::oauth::{AuthorizationAsk, OFFLINE_ACCESS, Provider, ServerMetadata};
use url::Url;

use crate::page::{ResultPage, leads_to};
use crate::proof::{NoProof, Proofs};
use crate::state::{State, Visit};
use crate::{browser, proof, prove, request, waiting};

/// Why a consent is not started in this browser.
enum NotStarted {
    /// The starter's own browser is on its way.
    UnderWay,
    /// Its proof was used before.
    ProofUsed,
    /// It can be started no more.
    Over,
}

pub(crate) async fn connect(visit: Visit, id: Result<Path<String>, PathRejection>) -> Response {
    let task = |id: &str| prove::task(id).filter(|_| !visit.app.serves_all());
    let done = match id {
        Ok(Path(id)) => match (task(&id), visit.located(&id)) {
            (Some(task), _) => prove::lead(&visit, task).await,
            (None, Some((visit, id))) => follow(&visit, id, None).await,
            (None, None) => Err(ResultPage::Unknown),
        },
        Err(_) => Err(ResultPage::Unknown),
    };
    done.unwrap_or_else(|page| page.respond(&visit.app, &visit.headers))
}

/// The same with a proof.
pub(crate) async fn connect_proved(
    visit: Visit,
    id: Result<Path<String>, PathRejection>,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let Ok(body) = body else {
        return ResultPage::Rubbish.respond(&visit.app, &visit.headers);
    };
    // A tenant's own consents need none: their starter's session is seen here.
    let located = match &id {
        Ok(Path(id)) if visit.app.serves_all() => visit.located(id),
        _ => None,
    };
    let done = match located {
        Some((visit, id)) => follow(&visit, id, Some(&body)).await,
        None => Err(ResultPage::Unknown),
    };
    done.unwrap_or_else(|page| page.respond(&visit.app, &visit.headers))
}

/// Whose browser it is.
async fn is_starters(
    visit: &Visit,
    consent: &Consent,
    form: Option<&Bytes>,
) -> Result<(bool, Option<UsedProof>), ResultPage> {
    let app = &visit.app;
    let Some(form) = form else {
        let owner = browser::owner(visit).await?;
        return Ok((owner.as_ref() == Some(&consent.request.owner), None));
    };
    let checked = match (&app.proofs, proof::in_form(form)) {
        (Proofs::Taken(verifier), Ok(told)) => {
            let of = (consent, app.tenant(), app.clock().now());
            proof::check(verifier, told.expose_secret(), &visit.headers, of).await
        }
        (_, Err(rubbish)) => Err(rubbish),
        (Proofs::Made(_) | Proofs::Neither, Ok(_)) => Err(NoProof::NotOfThis),
    };
    match checked {
        Ok(used) => Ok((true, Some(used))),
        Err(NoProof::Unavailable) => Err(ResultPage::Unavailable),
        Err(why) => {
            tracing::warn!(tenant.id = app.tenant().name(), task.id = %consent.request.task_id, ?why, "a browser's proof does not count");
            Err(unproven(app, consent))
        }
    }
}

fn unproven(app: &State, consent: &Consent) -> ResultPage {
    ResultPage::Unproven {
        again: Some(app.link(consent)),
    }
}

async fn follow(visit: &Visit, id: &str, form: Option<&Bytes>) -> Result<Response, ResultPage> {
    let app = &visit.app;
    request::admitted(visit).await?;
    let consent = request::find(visit, id).await?.ok_or(ResultPage::Unknown)?;
    request::running(visit, &consent).await?;
    let task = waiting::task(app, &consent).await?;
    let task = task.ok_or(ResultPage::NotNeeded)?;
    let (starters_browser, used) = is_starters(visit, &consent, form).await?;
    // Whoever else holds the link must not push its starter out of the flow.
    if !starters_browser && is_under_way_at_the_starter(app, &consent) {
        return Err(ResultPage::Elsewhere);
    }
    let provider = request::provider(visit, &consent)?;
    let metadata = app
        .consents
        .outbound
        .server_metadata(&consent.request.issuer)
        .await;
    let metadata = metadata.map_err(|error| ResultPage::of_provider(&error, Some(app.link(&consent))))?;
    let secrets = ConsentSecrets {
        // The id in front tells the callback what the answer was about, also when the state is used up.
        state: auth::token::random(&app.reference(&consent), app.entropy()),
        pkce_verifier: auth::pkce::verifier(app.entropy()),
        nonce: auth::token::random("nonce", app.entropy()),
        token_endpoint: metadata.token_endpoint.to_string(),
        iss_required: metadata.iss_in_answer,
        starters_browser,
    };
    let tie = browser::binding(app);
    let started = app.consents.started(&consent, &secrets, &tie);
    let start = |consent: Consent| {
        if !starters_browser && is_under_way_at_the_starter(app, &consent) {
            return Err(NotStarted::UnderWay);
        }
        let now = app.clock().now();
        let moved = match &used {
            Some(used) => consent.start_proved(started.clone(), used.clone(), now),
            None => consent.start(started.clone(), now),
        };
        moved.map_err(|error| match error {
            InvalidMove::ProofUsed => NotStarted::ProofUsed,
            _over => NotStarted::Over,
        })
    };
    match app.consents.records().revise(consent, start).await {
        Ok(consent) => {
            let renewable = app.consents.renewable(&consent).await?.is_some();
            let mut url = authorization_url(app, &consent, &metadata, &secrets, (provider, renewable));
            if metadata.shows_occasion {
                let occasion = waiting::occasion(&task, &consent, starters_browser);
                tell(&mut url, app, &occasion, (provider, &secrets));
            }
            let cookie = browser::binding_cookie(app, &consent, &tie);
            let sent = match form {
                Some(_) => onward(app, url, cookie)?,
                None => {
                    let cookie = cookie.ok_or(ResultPage::Failed)?;
                    leads_to(&url, Some(cookie)).ok_or(ResultPage::Failed)?
                }
            };
            let request = &consent.request;
            tracing::info!(
                tenant.id = app.tenant().name(), task.id = %request.task_id, provider = %request.provider, starters_browser,
                "browser sent to the provider"
            );
            Ok(sent)
        }
        Err(Unrevised::Refused(NotStarted::ProofUsed)) => {
            tracing::warn!(
                tenant.id = app.tenant().name(),
                "a browser's proof came once more"
            );
            let consent = request::find(visit, id).await?.ok_or(ResultPage::Unknown)?;
            Err(unproven(app, &consent))
        }
        Err(Unrevised::Refused(NotStarted::UnderWay)) => Err(ResultPage::Elsewhere),
        Err(Unrevised::Refused(NotStarted::Over)) => {
            // It came to its end in another tab meanwhile; the page says to which.
            let consent = request::find(visit, id).await?.ok_or(ResultPage::Unknown)?;
            request::running(visit, &consent).await?;
            Err(ResultPage::Busy)
        }
        Err(Unrevised::Missing) => Err(ResultPage::Unknown),
        Err(Unrevised::Contended) => Err(ResultPage::Busy),
        Err(Unrevised::Store(error)) => Err(error.into()),
    }
}

fn is_under_way_at_the_starter(app: &State, consent: &Consent) -> bool {
    match &consent.stage {
        Stage::Started(started) => {
            let secrets = app.consents.secrets(consent, started);
            secrets.is_ok_and(|secrets| secrets.starters_browser)
        }
        _ => false,
    }
}

/// Where the browser goes to sign in and to consent.
fn authorization_url(
    app: &State,
    consent: &Consent,
    metadata: &ServerMetadata,
    secrets: &ConsentSecrets,
    (provider, renewable): (&Provider, bool),
) -> Url {
    let request = &consent.request;
    // Without it the server would give nothing to renew the access with, and the user would be asked every few minutes.
    let mut scopes = request.scopes.clone();
    let offline = metadata
        .scopes_supported
        .iter()
        .any(|scope| scope == OFFLINE_ACCESS);
    if offline && !scopes.iter().any(|scope| scope == OFFLINE_ACCESS) {
        scopes.push(OFFLINE_ACCESS.to_owned());
    }
    let mut url = metadata.authorization_url(&AuthorizationAsk {
        client_id: &provider.client.id,
        redirect_uri: &app.redirect_uri(),
        scopes: &scopes,
        resource: &request.resource,
        state: secrets.state.expose_secret(),
        nonce: secrets.nonce.expose_secret(),
        challenge: &auth::pkce::challenge(secrets.pkce_verifier.expose_secret()),
        dialect: provider.dialect,
        renewable,
    });
    let asks_anew = url.query_pairs().any(|(name, _)| name == "prompt");
    if !secrets.starters_browser && !asks_anew {
        // Whoever opens a link that somebody else may have sent is asked, also where they agreed before (RFC 8628, 5.4).
        url.query_pairs_mut().append_pair("prompt", "consent");
    }
    url
}

/// Leads on from a form. A browser holds a redirect of it against the policy of the page that the form stood on, which names
/// the agent's origin alone; what the page itself loads next it does not.
fn onward(app: &State, url: Url, cookie: Option<HeaderValue>) -> Result<Response, ResultPage> {
    let at_once = HeaderValue::from_str(&format!("0; url={url}"));
    let (Ok(at_once), Some(cookie)) = (at_once, cookie) else {
        tracing::error!("the way to the provider cannot be written");
        return Err(ResultPage::Failed);
    };
    let mut response = ResultPage::Onward { url }.respond(app, &HeaderMap::new());
    response.headers_mut().insert(REFRESH, at_once);
    response.headers_mut().insert(SET_COOKIE, cookie);
    Ok(response)
}

/// Says at our own authorization server what the person is to agree to, so that its page can show it.
fn tell(url: &mut Url, app: &State, occasion: &Occasion, (provider, secrets): (&Provider, &ConsentSecrets)) {
    let secret = auth::token::hash(provider.client.secret.expose_secret());
    let state = secrets.state.expose_secret();
    match occasion.seal(&secret, state, app.entropy()) {
        Ok(sealed) => {
            url.query_pairs_mut().append_pair(occasion::PARAMETER, &sealed);
        }
        Err(error) => tracing::error!(%error, "the consent page cannot say what was asked for"),
    }
}
