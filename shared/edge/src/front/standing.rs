//! Who is let in at a function of one tenant: everybody while the tenant is active, otherwise nobody.

use axum::response::Response;
use domain::{Tenant, Timestamp};
use http::StatusCode;
use store::{Standing, Store};

use super::pages::{CLOSED, Reader, nothing_here};
use super::refusal::{later, refused};

/// What everybody is answered, where the tenant is not active.
pub(super) async fn refusal(
    (store, tenant): (&Store, &Tenant),
    reader: Reader,
    now: Timestamp,
) -> Option<Response> {
    match store.tenants().standing(tenant, now).await {
        Ok(Standing::Active) => None,
        Ok(Standing::Suspended) if reader == Reader::Person => Some(CLOSED.answer()),
        Ok(Standing::Suspended) => Some(refused(
            StatusCode::FORBIDDEN,
            "tenant_suspended",
            "this is closed until whoever runs it lets people in again; nothing is lost",
        )),
        Ok(Standing::Gone) => Some(nothing_here(reader)),
        Err(error) => {
            tracing::warn!(tenant.id = tenant.name(), %error, "nobody can tell how the tenant stands");
            Some(later(
                "unavailable",
                "this is out of reach at the moment; try again shortly",
            ))
        }
    }
}
