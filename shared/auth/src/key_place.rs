//! Where the keys of each tenant are: one address with a place for the tenant's name. What a token says about its tenant
//! reaches that address only as a [`Tenant`], which has no character that means anything in a URL.

use std::fmt;

use domain::Tenant;
use url::Url;

use crate::KeyError;

/// What stands where a tenant's name belongs.
pub(crate) const TENANT: &str = "{tenant}";

/// The address of each tenant's keys, such as `https://idp.example/{tenant}/jwks.json`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KeyTemplate {
    before: String,
    after: String,
}

impl KeyTemplate {
    /// Reads a template: `http` or `https`, with `{tenant}` once, as a whole segment of the path.
    ///
    /// # Errors
    /// [`KeyError::Issuer`].
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        const WRONG: KeyError = KeyError::Issuer("`{tenant}` is one segment of a plain URL's path");
        let (before, after) = text.split_once(TENANT).ok_or(WRONG)?;
        let template = Self {
            before: before.to_owned(),
            after: after.to_owned(),
        };
        let url = template.with("a-tenant").ok_or(WRONG)?;
        // What the parser would change (case, `..`, escapes, another host) would not be what is written there.
        let plain = url.as_str() == format!("{before}a-tenant{after}")
            && matches!(url.scheme(), "http" | "https")
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none()
            && url
                .path_segments()
                .is_some_and(|mut path| path.any(|segment| segment == "a-tenant"));
        let whole =
            !text.contains(['\\', '%']) && !after.contains(['{', '}']) && !before.contains(['{', '}']);
        (plain && whole).then_some(template).ok_or(WRONG)
    }

    /// The address of one tenant's keys.
    #[must_use]
    pub fn url(&self, tenant: &Tenant) -> Option<Url> {
        self.with(tenant.prefix())
    }

    fn with(&self, name: &str) -> Option<Url> {
        Url::parse(&format!("{}{name}{}", self.before, self.after)).ok()
    }
}

impl fmt::Display for KeyTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{TENANT}{}", self.before, self.after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenants_keys_are_at_its_own_address_below_the_configured_one() {
        let template = KeyTemplate::parse("https://api.example/prod/idp/{tenant}/jwks.json").unwrap();
        let url = template.url(&Tenant::parse("acme").unwrap()).unwrap();
        assert_eq!(url.as_str(), "https://api.example/prod/idp/acme/jwks.json");
        assert_eq!(
            template.to_string(),
            "https://api.example/prod/idp/{tenant}/jwks.json"
        );
        assert!(KeyTemplate::parse("http://127.0.0.1:3000/idp/{tenant}").is_ok());
    }

    #[test]
    fn a_template_whose_tenant_could_be_more_than_a_name_is_none() {
        for wrong in [
            "",
            "https://idp.example/jwks.json",
            "{tenant}",
            "https://{tenant}/jwks.json",
            "https://{tenant}.example/jwks.json",
            "https://idp.example:{tenant}/",
            "https://{tenant}@idp.example/jwks.json",
            "https://user@idp.example/{tenant}/jwks.json",
            "https://idp.example/keys-{tenant}",
            "https://idp.example/{tenant}.json",
            "https://idp.example/{tenant}/../admin/{tenant}",
            "https://idp.example/{tenant}/../admin",
            "https://idp.example/%2e%2e/{tenant}/keys",
            "https://idp.example/a\\{tenant}/keys",
            "https://idp.example/keys?of={tenant}",
            "https://idp.example/{tenant}?a",
            "https://idp.example/#{tenant}",
            "https://IDP.example/{tenant}/keys",
            "ftp://idp.example/{tenant}/keys",
            "file:///{tenant}/keys",
            "javascript:{tenant}",
        ] {
            assert!(KeyTemplate::parse(wrong).is_err(), "{wrong}");
        }
    }
}
