//! What links and states of an agent that serves every tenant call a consent.

use domain::Tenant;

/// What stands between a tenant and the id of a consent; no tenant's prefix has it.
const APART: char = '~';

/// The name of a consent from outside of its tenant.
#[must_use]
pub fn reference(tenant: &Tenant, id: &str) -> String {
    format!("{}{APART}{id}", tenant.prefix())
}

/// The tenant in which a consent is to be looked for, and its id; `None` for what is no reference. The tenant is a hint
/// alone: whoever writes another finds nothing there.
#[must_use]
pub fn read_reference(reference: &str) -> Option<(Tenant, &str)> {
    let (prefix, id) = reference.split_once(APART)?;
    Some((Tenant::from_prefix(prefix).ok()?, id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_names_a_tenant_and_a_consent() {
        let acme = Tenant::from_prefix("acme.7f3a9c2e").unwrap();
        let name = reference(&acme, "0f8fad5b");
        assert_eq!(read_reference(&name), Some((acme, "0f8fad5b")));
        for other in ["", "0f8fad5b", "~x", "public~x", "Acme~x", "acme#x~y"] {
            assert_eq!(read_reference(other), None, "{other}");
        }
    }
}
