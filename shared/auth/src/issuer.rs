//! Whose tokens are trusted, for which tenants they may speak, and how they say what they say.

use domain::Tenant;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use crate::key_place::{KeyTemplate, TENANT};
use crate::{Algorithm, KeyError};

/// One of our own issuers, in the short form: its keys are known, and it speaks for one tenant or for the platform.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct TrustedIssuer {
    /// The `iss` of its tokens, to the letter.
    pub issuer: String,
    /// The one tenant it speaks for; none for the platform, which speaks for no tenant.
    pub tenant: Option<Tenant>,
    /// Its public keys, as JWKs.
    pub keys: Vec<Value>,
}

/// Any issuer whose tokens are trusted.
///
/// As JSON it is what [`TrustedIssuer`] is, and may say more:
///
/// ```
/// let issuers: Vec<auth::Issuer> = serde_json::from_str(r#"[
///   { "issuer": "https://idp.example/acme", "tenant": "acme", "jwks_uri": "https://idp.example/acme/jwks.json" },
///   { "issuer": "https://login.example", "tenants": ["acme", "globex"], "jwks_uri": "https://login.example/keys",
///     "algorithms": ["RS256"],
///     "profile": { "tenant_claim": "org", "scope_claim": "scp", "audience": "api://orders", "types": ["JWT"] } },
///   { "issuer": "https://idp.example/{tenant}", "jwks_uri": "https://idp.example/{tenant}/jwks.json" },
///   { "jwks_uri": "https://idp.example/{tenant}/sessions.json" }
/// ]"#)?;
/// assert_eq!(issuers[1].profile.scope_claim, "scp");
/// assert_eq!(issuers[2].tenants, auth::TenantRule::Named);
/// assert_eq!(issuers[3].tenants, auth::TenantRule::Vouched);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "Told", into = "Told")]
pub struct Issuer {
    /// The `iss` of its tokens, to the letter; empty where that is vouched for ([`TenantRule::Vouched`]).
    pub issuer: String,
    /// For whom it may speak.
    pub tenants: TenantRule,
    /// How its tokens say what they say.
    pub profile: Profile,
    /// The algorithms it signs with; a key of another is not used.
    pub algorithms: Vec<Algorithm>,
    /// Where its keys come from.
    pub keys: KeyPlace,
}

/// For which tenants an issuer may speak.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TenantRule {
    /// For none: the platform's own, whose tokens name no tenant.
    Platform,
    /// For this one. A token must name it, unless the profile has no claim for it.
    One(Tenant),
    /// For those of the list; the token's claim says for which.
    Claim(Vec<Tenant>),
    /// One authorization server for all tenants, there and to come: [`Issuer::issuer`] ends in `/{tenant}`, each token's
    /// `iss` has its tenant's name there, and the claim must agree with it.
    Named,
    /// Each tenant's own issuer, there and to come, for that tenant alone: the key document of the tenant that a token
    /// claims to be of says which `iss` that is, in a member `issuer` beside `keys`. A token of any other `iss`, or under
    /// another key, is none of that tenant's.
    Vouched,
}

/// Where an issuer's keys come from.
#[derive(Debug, Clone, PartialEq)]
pub enum KeyPlace {
    /// They are known: JWKs.
    Static(Vec<Value>),
    /// They are fetched from its JWKS URL, and kept.
    Jwks(Url),
    /// They are fetched for each tenant on its own, and kept for a bounded number of tenants.
    Each(KeyTemplate),
}

/// What a [`TenantRule::Named`] issuer ends in.
const TEMPLATE: &str = "/{tenant}";

/// How an issuer's tokens say what they say. The default is RFC 9068's with our `tenant_id`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Profile {
    /// The claim with the tenant; `None` where the issuer speaks for one tenant and its tokens do not say so.
    pub tenant_claim: Option<String>,
    /// The claim with the scopes: words in a text, or a list.
    pub scope_claim: String,
    /// The audience its tokens have instead of the service's own URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audience: Option<String>,
    /// Audiences that its tokens may have beside that one, such as its own userinfo endpoint.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub audiences_beside: Vec<String>,
    /// The `typ` headers of its access tokens; an empty text stands for a header without one. A type that its identity
    /// tokens have too (`JWT`) is safe only with an audience that no identity token of it has.
    pub types: Vec<String>,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            tenant_claim: Some("tenant_id".to_owned()),
            scope_claim: "scope".to_owned(),
            audience: None,
            audiences_beside: Vec::new(),
            types: vec![crate::key::TYPE.to_owned()],
        }
    }
}

impl From<TrustedIssuer> for Issuer {
    fn from(trusted: TrustedIssuer) -> Self {
        Self {
            issuer: trusted.issuer,
            tenants: trusted.tenant.map_or(TenantRule::Platform, TenantRule::One),
            profile: Profile::default(),
            algorithms: vec![Algorithm::Es256],
            keys: KeyPlace::Static(trusted.keys),
        }
    }
}

impl Issuer {
    /// The [`TenantRule::Named`] issuer that a token's `iss` may be of, with the tenant's name at its end.
    pub(crate) fn template(iss: &str) -> Option<(String, &str)> {
        let (base, tenant) = iss.rsplit_once('/')?;
        Some((format!("{base}{TEMPLATE}"), tenant))
    }

    /// Refuses what contradicts itself.
    pub(crate) fn checked(self) -> Result<Self, KeyError> {
        const REGISTERED: [&str; 6] = ["iss", "sub", "aud", "exp", "nbf", "iat"];
        let Profile {
            tenant_claim,
            scope_claim,
            types,
            ..
        } = &self.profile;
        let claims = tenant_claim.iter().chain([scope_claim]);
        let taken = |name: &String| name.is_empty() || REGISTERED.contains(&name.as_str());
        if claims.into_iter().any(taken) || tenant_claim.as_ref() == Some(scope_claim) {
            return Err(KeyError::Issuer("its claims' names are taken"));
        }
        if tenant_claim.is_none() && matches!(self.tenants, TenantRule::Claim(_) | TenantRule::Vouched) {
            return Err(KeyError::Issuer(
                "no claim says for which of its tenants it speaks",
            ));
        }
        let place = self.issuer.strip_suffix(TEMPLATE);
        if place.is_some() != (self.tenants == TenantRule::Named) || place.unwrap_or_default().contains('{') {
            return Err(KeyError::Issuer(
                "`/{tenant}` stands at the end, and instead of a tenant",
            ));
        }
        let each = matches!(self.keys, KeyPlace::Each(_));
        let fits = match self.tenants {
            TenantRule::Vouched => each && self.issuer.is_empty(),
            TenantRule::Named => true,
            _ => !each,
        };
        if !fits || (self.issuer.is_empty() && self.tenants != TenantRule::Vouched) {
            return Err(KeyError::Issuer(
                "only keys of each tenant vouch for an issuer, and only of such do tenants have keys of their own",
            ));
        }
        if self.algorithms.is_empty() || types.is_empty() {
            return Err(KeyError::Issuer("no algorithm or no type is allowed"));
        }
        Ok(self)
    }
}

/// An issuer in its JSON form.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Told {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    issuer: String,
    #[serde(default)]
    tenant: Option<Tenant>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tenants: Option<Vec<Tenant>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    keys: Option<Vec<Value>>,
    /// Not a URL, which would have the braces of `{tenant}` escaped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    jwks_uri: Option<String>,
    #[serde(default = "es256")]
    algorithms: Vec<Algorithm>,
    #[serde(default)]
    profile: Profile,
}

fn es256() -> Vec<Algorithm> {
    vec![Algorithm::Es256]
}

impl TryFrom<Told> for Issuer {
    type Error = KeyError;

    fn try_from(told: Told) -> Result<Self, KeyError> {
        let tenants = match (told.tenant, told.tenants) {
            (None, None) if told.issuer.is_empty() => TenantRule::Vouched,
            (None, None) if told.issuer.ends_with(TEMPLATE) => TenantRule::Named,
            (None, None) => TenantRule::Platform,
            (Some(one), None) => TenantRule::One(one),
            (None, Some(several)) => TenantRule::Claim(several),
            (Some(_), Some(_)) => return Err(KeyError::Issuer("both `tenant` and `tenants`")),
        };
        let keys = match (told.keys, told.jwks_uri) {
            (Some(keys), None) => KeyPlace::Static(keys),
            (None, Some(text)) if text.contains(TENANT) => KeyPlace::Each(KeyTemplate::parse(&text)?),
            (None, Some(text)) => {
                let url = Url::parse(&text);
                KeyPlace::Jwks(url.map_err(|_| KeyError::Issuer("its `jwks_uri` is no URL"))?)
            }
            _ => return Err(KeyError::Issuer("either `keys` or `jwks_uri` is needed")),
        };
        let issuer = Self {
            issuer: told.issuer,
            tenants,
            profile: told.profile,
            algorithms: told.algorithms,
            keys,
        };
        issuer.checked()
    }
}

impl From<Issuer> for Told {
    fn from(issuer: Issuer) -> Self {
        let (tenant, tenants) = match issuer.tenants {
            TenantRule::Platform | TenantRule::Named | TenantRule::Vouched => (None, None),
            TenantRule::One(one) => (Some(one), None),
            TenantRule::Claim(several) => (None, Some(several)),
        };
        let (keys, jwks_uri) = match issuer.keys {
            KeyPlace::Static(keys) => (Some(keys), None),
            KeyPlace::Jwks(url) => (None, Some(url.into())),
            KeyPlace::Each(template) => (None, Some(template.to_string())),
        };
        Self {
            issuer: issuer.issuer,
            tenant,
            tenants,
            keys,
            jwks_uri,
            algorithms: issuer.algorithms,
            profile: issuer.profile,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_short_form_reads_the_same_in_both_types() {
        let text = json!({ "issuer": "https://a.example", "tenant": "acme", "keys": [] });
        let short: TrustedIssuer = serde_json::from_value(text.clone()).unwrap();
        let long: Issuer = serde_json::from_value(text).unwrap();
        assert_eq!(Issuer::from(short), long);
        let named: Issuer =
            serde_json::from_value(json!({ "issuer": "https://a.example/{tenant}", "keys": [] })).unwrap();
        assert_eq!(named.tenants, TenantRule::Named);
        let vouched = json!({ "jwks_uri": "https://a.example/{tenant}/sessions.json" });
        let vouched: Issuer = serde_json::from_value(vouched).unwrap();
        assert_eq!(vouched.tenants, TenantRule::Vouched);
        let told = serde_json::to_value(&vouched).unwrap();
        assert_eq!(told["jwks_uri"], "https://a.example/{tenant}/sessions.json");
        assert_eq!(serde_json::from_value::<Issuer>(told).unwrap(), vouched);
        let again: Issuer = serde_json::from_value(serde_json::to_value(&long).unwrap()).unwrap();
        assert_eq!(again, long);
    }

    #[test]
    fn an_issuer_that_contradicts_itself_is_refused() {
        let base = json!({ "issuer": "https://a.example", "tenants": ["acme"], "keys": [] });
        assert!(serde_json::from_value::<Issuer>(base.clone()).is_ok());
        for (name, value) in [
            ("tenant", json!("acme")),
            ("issuer", json!("https://a.example/{tenant}")),
            ("issuer", json!("")),
            ("jwks_uri", json!("https://a.example/{tenant}/keys")),
            ("tenants", json!(["Not a tenant!"])),
            ("tenants", json!(["public"])),
            ("keys", Value::Null),
            ("jwks_uri", json!("https://a.example/keys")),
            ("algorithms", json!([])),
            ("algorithms", json!(["HS256"])),
            ("algorithms", json!(["none"])),
            ("audience", json!("misplaced")),
            ("profile", json!({ "tenant_claim": null })),
            ("profile", json!({ "tenant_claim": "sub" })),
            ("profile", json!({ "scope_claim": "aud" })),
            ("profile", json!({ "scope_claim": "tenant_id" })),
            ("profile", json!({ "scope_claim": "" })),
            ("profile", json!({ "types": [] })),
            ("profile", json!({ "misspelt": 1 })),
        ] {
            let mut told = base.clone();
            told[name] = value;
            let refused = serde_json::from_value::<Issuer>(told.clone());
            assert!(refused.is_err(), "{told}");
        }
        let template = |issuer: &str, uri: &str| {
            serde_json::from_value::<Issuer>(json!({ "issuer": issuer, "jwks_uri": uri }))
        };
        let (issuer, uri) = ("https://a.example/{tenant}", "https://a.example/{tenant}/keys");
        assert!(template(issuer, uri).is_ok() && template("", uri).is_ok());
        // Keys of each tenant for an issuer that is one tenant's, and no keys of anybody's for one that is vouched for.
        assert!(template("https://a.example", uri).is_err());
        assert!(template("", "https://a.example/keys").is_err());
        assert!(serde_json::from_value::<Issuer>(json!({ "keys": [] })).is_err());
        assert!(serde_json::from_value::<Issuer>(json!({ "tenant": "acme", "jwks_uri": uri })).is_err());
    }
}
