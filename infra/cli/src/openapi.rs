//! `switchyard openapi`: prints the API document, as `docs/openapi.json` holds it.

use super::Failure;

pub(super) fn print() -> Result<(), Failure> {
    let document = local::openapi::document();
    told!(document, "{document:#}");
    Ok(())
}
