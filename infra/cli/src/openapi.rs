//! `switchyard openapi`: prints the API document, as `docs/openapi.json` holds it.

use super::Failure;

pub(super) fn print() -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(&local::openapi::document()).map_err(Failure::other)?;
    outln!("{text}");
    Ok(())
}
