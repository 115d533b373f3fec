//! The system's secrets and addresses of now, and what follows from both: what belongs to a tenant, whom tokens are taken
//! from.

use auth::{Algorithm, Issuer, KeyError, KeyPlace, KeyTemplate, Profile, TenantRule, TrustedIssuer};
use domain::Tenant;
use url::Url;

use crate::address::plain;
use crate::data::endpoints::{Endpoints, TenantEndpoints};
use crate::data::secrets::{Secrets, TenantSecrets};

/// The system's secrets and addresses of now.
pub(crate) struct Current {
    pub(crate) secrets: Secrets,
    pub(crate) endpoints: Endpoints,
}

/// A tenant with all that is its own.
#[derive(Clone, Copy)]
pub(crate) struct Own<'a> {
    pub(crate) name: &'a Tenant,
    pub(crate) endpoints: &'a TenantEndpoints,
    pub(crate) secrets: &'a TenantSecrets,
}

impl Current {
    /// This tenant with all that is its own.
    pub(crate) fn tenant<'a>(&'a self, name: &Tenant) -> Option<Own<'a>> {
        let (name, endpoints) = self.endpoints.tenants.get_key_value(name)?;
        let secrets = self.secrets.tenants.get(name)?;
        Some(Own {
            name,
            endpoints,
            secrets,
        })
    }

    /// Who signs sessions: each tenant for itself, whose keys the authorization server vouches for as on AWS, and the platform.
    pub(crate) fn sessions(&self) -> Result<Vec<Issuer>, KeyError> {
        let vouched = format!("{}/{{tenant}}/sessions.json", plain(&self.endpoints.idp));
        let tenants = Issuer {
            issuer: String::new(),
            tenants: TenantRule::Vouched,
            profile: Profile::default(),
            algorithms: vec![Algorithm::Es256],
            keys: KeyPlace::Each(KeyTemplate::parse(&vouched)?),
        };
        Ok(vec![tenants, self.platform().into()])
    }

    /// The platform, as an issuer.
    pub(crate) fn platform(&self) -> TrustedIssuer {
        TrustedIssuer {
            issuer: plain(&self.endpoints.gateway),
            tenant: None,
            keys: vec![self.secrets.platform.public_jwk()],
        }
    }

    /// The authorization server, as an issuer with the keys at this address. It is one for all tenants: a token of another
    /// tenant is known for what it is, and refused as that.
    pub(crate) fn sign_in(&self, jwks: Url) -> Issuer {
        Issuer {
            issuer: format!("{}/{{tenant}}", plain(&self.endpoints.idp)),
            tenants: TenantRule::Named,
            profile: Profile::default(),
            algorithms: vec![Algorithm::Es256, Algorithm::Rs256],
            keys: KeyPlace::Jwks(jwks),
        }
    }
}
