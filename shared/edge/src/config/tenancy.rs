//! Which tenant a function of one tenant serves: its settings say it, or Lambda does with the sandbox's first event.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use domain::Tenant;
use store::Pooled;

use super::{ConfigError, Env};

/// Who says which tenant a sandbox serves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tenancy {
    /// The settings, if it serves one alone: a silo, a container, a function of the platform.
    #[default]
    Single,
    /// Lambda: it isolates sandboxes by tenant, and names the tenant's prefix with each event.
    Isolated,
}

impl FromStr for Tenancy {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "single" => Ok(Self::Single),
            "isolated" => Ok(Self::Isolated),
            _ => Err("it is either single or isolated"),
        }
    }
}

/// Why a process does not serve an event, nor any after it.
#[derive(thiserror::Error)]
pub enum TenancyError {
    /// Lambda named no tenant.
    #[error(
        "an isolated function serves exactly one tenant, and it was not told which: Lambda named none with its event"
    )]
    NotTold,
    /// Lambda named something else.
    #[error(
        "an isolated function serves exactly one tenant, and it was not told which: what Lambda named {0}"
    )]
    NoTenant(#[from] domain::InvalidId),
    /// There is another tenant in the settings, or there was one in an earlier event.
    #[error(
        "a function serves exactly one tenant, and it was told another: Lambda named {told}, and it serves {serves}"
    )]
    Another {
        /// What Lambda named.
        told: String,
        /// Whom the process serves.
        serves: String,
    },
    /// The tenant that Lambda named is in no pool, or what its record says to the pool's functions is broken.
    #[error("the tenant {0} is not in the pool")]
    NotPooled(String),
    /// The settings are wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

/// The same as the text for people: this is what a failing `main` prints.
impl fmt::Debug for TenancyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Env {
    /// Who says which tenant the function serves.
    ///
    /// # Errors
    /// When it is neither of both; also told by [`Env::finish`].
    pub fn tenancy(&mut self) -> Result<Tenancy, ConfigError> {
        self.or("TENANCY", Tenancy::default())
    }

    /// The settings of a sandbox for the tenant that Lambda named, as if they had said so from the start.
    ///
    /// # Errors
    /// [`TenancyError::Another`] when they name a tenant that differs.
    pub fn isolated(mut self, told: &Tenant) -> Result<Self, TenancyError> {
        if self.optional::<String>("TENANT_ID")?.is_some() {
            let serves = self.tenant()?;
            if serves != *told {
                return Err(TenancyError::Another {
                    told: told.prefix().to_owned(),
                    serves: serves.prefix().to_owned(),
                });
            }
        }
        Ok(self
            .overridden("TENANT_ID", Some(told.name().to_owned()))
            .overridden("TENANT_PREFIX", Some(told.prefix().to_owned())))
    }

    /// The same for a sandbox of the pool, whose record says what stands in place of `{tenant_name}`, `{tenant_prefix}`, `{base_url}`, `{host_path}`,
    /// `{horizon_path}` and `{session_public_key}` in a variable.
    ///
    /// # Errors
    /// As [`Env::isolated`].
    pub fn in_pool(self, told: &Tenant, pooled: &Pooled) -> Result<Self, TenancyError> {
        let mut env = self.isolated(told)?;
        env.filled = BTreeMap::from([
            ("{tenant_name}", told.name().to_owned()),
            ("{tenant_prefix}", told.prefix().to_owned()),
            ("{base_url}", pooled.base_url.clone()),
            ("{host_path}", pooled.host_path.clone()),
            ("{horizon_path}", pooled.horizon_path.clone()),
            ("{session_public_key}", pooled.session_public_key.clone()),
        ]);
        Ok(env)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whom a sandbox with these settings serves once Lambda named this prefix.
    fn serves(settings: &[(&str, &str)], told: &str) -> Result<String, String> {
        let env = Env::of(settings.iter().copied());
        let env = env.isolated(&Tenant::from_prefix(told).unwrap());
        let tenant = env.map(|mut env| env.tenant().unwrap().prefix().to_owned());
        tenant.map_err(|error| error.to_string())
    }

    #[test]
    fn a_sandbox_is_of_the_tenant_that_lambda_named() {
        assert_eq!(serves(&[], "acme").as_deref(), Ok("acme"));
        assert_eq!(serves(&[], "acme.7f3a9c2e").as_deref(), Ok("acme.7f3a9c2e"));
        assert_eq!(serves(&[("TENANT_ID", "acme")], "acme").as_deref(), Ok("acme"));
    }

    #[test]
    fn a_tenant_in_the_settings_that_differs_is_refused() {
        let other = serves(&[("TENANT_ID", "globex")], "acme").unwrap_err();
        assert_eq!(
            other,
            "a function serves exactly one tenant, and it was told another: Lambda named acme, and it serves globex"
        );
        // The same name, and an earlier incarnation of it.
        let earlier = [("TENANT_ID", "acme"), ("TENANT_PREFIX", "acme.00000001")];
        assert!(serves(&earlier, "acme.7f3a9c2e").is_err());
        assert!(serves(&[("TENANT_ID", "acme")], "acme.7f3a9c2e").is_err());
        assert!(serves(&[("TENANT_ID", "Not A Tenant")], "acme").is_err());
    }

    #[test]
    fn a_pooled_functions_variables_are_filled_in_from_its_tenants_record_and_the_records_own_are_not() {
        let acme = Tenant::from_prefix("acme.7f3a9c2e").unwrap();
        let pooled = Pooled {
            base_url: "https://pool.example/t/acme".to_owned(),
            host_path: "0123".to_owned(),
            session_public_key: r#"{"kty":"EC"}"#.to_owned(),
            ..Pooled::default()
        };
        let variables = [
            ("HOST_AGENT_URL", "{base_url}/a/host/{host_path}"),
            (
                "TRUSTED_ISSUERS",
                r#"[{"issuer":"x/{tenant}","tenant":"{tenant_prefix}","keys":[{session_public_key}]}]"#,
            ),
            ("MODELS", "{host_path}"),
        ];
        let record = BTreeMap::from([("PLAN_APPROVAL".to_owned(), "{host_path}".to_owned())]);
        let mut env = Env::of(variables)
            .in_pool(&acme, &pooled)
            .unwrap()
            .with_record(&record);
        let mut text = |name: &str| env.required::<String>(name).unwrap();
        assert_eq!(text("HOST_AGENT_URL"), "https://pool.example/t/acme/a/host/0123");
        assert_eq!(
            text("TRUSTED_ISSUERS"),
            r#"[{"issuer":"x/{tenant}","tenant":"acme.7f3a9c2e","keys":[{"kty":"EC"}]}]"#
        );
        assert_eq!(
            (text("MODELS"), text("PLAN_APPROVAL")),
            ("0123".to_owned(), "{host_path}".to_owned())
        );
        // In a silo's they stand for nothing.
        let silo = Env::of(variables)
            .isolated(&acme)
            .unwrap()
            .required::<String>("MODELS");
        assert_eq!(silo.as_deref(), Ok("{host_path}"));
    }

    #[test]
    fn who_says_it_is_one_of_two() {
        let read = |text: &str| Env::of([("TENANCY", text)]).tenancy().ok();
        assert_eq!(read(""), Some(Tenancy::Single));
        assert_eq!(read("single"), Some(Tenancy::Single));
        assert_eq!(read("isolated"), Some(Tenancy::Isolated));
        assert_eq!(read("PER_TENANT"), None);
    }
}
