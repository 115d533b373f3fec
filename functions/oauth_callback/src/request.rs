//! What both endpoints ask of a consent first.

use consent::{Consent, InvalidMove};
use outbound::oauth::Provider;
use store::{Standing, StoreError};
use tracing::Span;
use tracing::field::display;

use crate::page::ResultPage;
use crate::state::Visit;
use crate::waiting;

/// Ends a request for a tenant that its link or its state names, where that one is not served. The front knows one tenant alone.
pub(crate) async fn admitted(visit: &Visit) -> Result<(), ResultPage> {
    let app = &visit.app;
    let tenants = app.consents.store.tenants();
    match tenants.standing(app.tenant(), app.clock().now()).await? {
        Standing::Active => Ok(()),
        Standing::Suspended | Standing::Gone => Err(ResultPage::Unknown),
    }
}

/// The consent with an id that somebody gave.
pub(crate) async fn find(visit: &Visit, id: &str) -> Result<Option<Consent>, StoreError> {
    let found = visit.app.consents.records().find(id).await?;
    if let Some(consent) = &found {
        Span::current().record("task.id", display(&consent.request.task_id));
    }
    Ok(found)
}

/// Ends the request with a page where the consent is over. One whose time ran out wakes its task, which gets another
/// link if it still waits.
pub(crate) async fn running(visit: &Visit, consent: &Consent) -> Result<(), ResultPage> {
    let app = &visit.app;
    match consent.running(app.clock().now()) {
        Ok(()) => Ok(()),
        Err(InvalidMove::Done) => Err(ResultPage::Used),
        Err(InvalidMove::Denied) => Err(ResultPage::Denied),
        Err(InvalidMove::Newer) => Err(ResultPage::Unavailable),
        Err(_its_time_is_over) => {
            let waits = waiting::still_waits(app, consent).await?;
            app.consents.end(consent).await?;
            if waits {
                waiting::make_due(app, consent, app.clock().now()).await?;
                waiting::wake(visit, consent).await;
            }
            Err(ResultPage::Expired { waits })
        }
    }
}

/// Where we are known at the consent's provider. The consent must name the issuer that we are registered at: an agent's
/// metadata never decide where our secret goes.
pub(crate) fn provider<'v>(visit: &'v Visit, consent: &Consent) -> Result<&'v Provider, ResultPage> {
    let request = &consent.request;
    let known = visit.app.consents.provider(&request.provider);
    known
        .filter(|provider| provider.issuer == request.issuer)
        .ok_or_else(|| {
            tracing::error!(provider = %request.provider, "no such provider is configured with the consent's issuer");
            ResultPage::Unusable { again: None }
        })
}
