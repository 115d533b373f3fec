//! Requests for consent, as both endpoints see them.

use std::time::Duration;

use auth::GrantBinding;
use domain::TraceParent;
use outbound::oauth::Provider;
use store::{Consent, ConsentStatus, GrantKey, StoreError};
use tracing::Span;
use tracing::field::display;
use url::Url;

use crate::page::Page;
use crate::{Desk, waiting};

/// What ends a request at once: this page.
pub(crate) type Ended = Page;

/// The redirect URI, to the letter.
pub(crate) fn redirect_uri(desk: &Desk) -> String {
    below(desk, "callback").into()
}

/// The link of a request.
pub(crate) fn link(desk: &Desk, consent: &Consent) -> Url {
    below(desk, &format!("connect/{}", consent.id))
}

fn below(desk: &Desk, path: &str) -> Url {
    let mut url = desk.base.clone();
    url.set_path(&format!("{}/{path}", desk.base.path().trim_end_matches('/')));
    url
}

/// The consent with an id that somebody gave.
pub(crate) async fn find(desk: &Desk, id: &str) -> Result<Option<Consent>, StoreError> {
    let fits = id.len() == 36 && id.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    if !fits {
        return Ok(None);
    }
    let found = desk.store.grants().find_consent_request(&desk.tenant, id).await?;
    if let Some(consent) = &found {
        Span::current().record("task.id", display(&consent.task_id));
    }
    Ok(found)
}

/// Ends the request with a page where the consent is over. One whose time ran out wakes its task, which gets another
/// link if it still waits.
pub(crate) async fn running(
    desk: &Desk,
    consent: &Consent,
    trace: Option<&TraceParent>,
) -> Result<(), Ended> {
    let in_time = consent.expires_at > desk.clock.now();
    match consent.status {
        ConsentStatus::Done => Err(Page::Used),
        ConsentStatus::Denied => Err(Page::Denied),
        ConsentStatus::Open | ConsentStatus::Started if in_time => Ok(()),
        ConsentStatus::Open | ConsentStatus::Started | ConsentStatus::Expired => {
            let waits = waiting::still_waits(desk, consent).await?;
            if consent.status != ConsentStatus::Expired {
                let expired = ended(consent, ConsentStatus::Expired);
                desk.store.grants().update_consent(&desk.tenant, &expired).await?;
            }
            if waits {
                waiting::make_due(desk, consent, desk.clock.now()).await?;
                waiting::wake(desk, consent, trace).await;
            }
            Err(Page::Expired { waits })
        }
    }
}

/// The consent with its end, and without what nobody needs any more.
pub(crate) fn ended(consent: &Consent, status: ConsentStatus) -> Consent {
    Consent {
        status,
        sealed: String::new(),
        state_hash: None,
        browser_hash: None,
        code_hash: None,
        sealed_result: None,
        ..consent.clone()
    }
}

/// Where we are known at the consent's provider. The consent must name the issuer that we are registered at: an agent's
/// metadata never decide where our secret goes.
pub(crate) fn provider<'d>(desk: &'d Desk, consent: &Consent) -> Result<&'d Provider, Ended> {
    let known = desk.providers.get(&consent.provider);
    known
        .filter(|provider| provider.issuer == consent.issuer)
        .ok_or_else(|| {
            tracing::error!(provider = %consent.provider, "no such provider is configured with the consent's issuer");
            Page::Unusable { again: None }
        })
}

/// What the consent's secrets are sealed for.
pub(crate) fn binding<'c>(desk: &'c Desk, consent: &'c Consent) -> GrantBinding<'c> {
    GrantBinding {
        tenant: &desk.tenant,
        owner: &consent.owner,
        provider: &consent.provider,
        resource: &consent.resource,
    }
}

/// Where the grant lies.
pub(crate) fn grant_key<'c>(desk: &'c Desk, consent: &'c Consent) -> GrantKey<'c> {
    GrantKey {
        tenant: &desk.tenant,
        owner: &consent.owner,
        provider: &consent.provider,
        resource: &consent.resource,
    }
}

/// How long a process has, from taking an answer to waking the task, before somebody else looks.
pub(crate) const IN_HAND: Duration = Duration::from_secs(30);
