//! Where people may sign in to the chat: the tenant's exact list of issuers, its own authorization server among them or not.

use std::collections::BTreeSet;
use std::str::FromStr;
use std::sync::Arc;

use auth::{JwksCache, Statements};
use outbound::oauth::{Dialect, Provider, Providers, ServerMetadata};

use crate::told_metadata::ToldMetadata;

/// The id of the tenant's own authorization server among its providers.
const OWN: &str = "idp";
/// Longest id of an issuer, and most issuers.
const ID_MAX: usize = 30;
const ISSUERS_MAX: usize = 10;
/// What stands before a demanded `amr` value, to tell it from a demanded `acr`.
const AMR: &str = "amr:";

/// The ids of the providers that people sign in at, in the order in which they are offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuerIds(Vec<String>);

impl Default for IssuerIds {
    fn default() -> Self {
        Self(vec![OWN.to_owned()])
    }
}

impl FromStr for IssuerIds {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let ids: Vec<String> = text.split(',').map(|id| id.trim().to_owned()).collect();
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        let fits = |id: &String| (1..=ID_MAX).contains(&id.len()) && id.bytes().all(plain);
        let different: BTreeSet<&String> = ids.iter().collect();
        match ids.iter().all(fits) && ids.len() <= ISSUERS_MAX && different.len() == ids.len() {
            true => Ok(Self(ids)),
            false => Err("needs ids of providers with commas between them, such as idp,corp".to_owned()),
        }
    }
}

/// What a sign-in must have been, of which one is enough: values of `acr`, and of `amr` behind `amr:`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Demands(Vec<String>);

impl FromStr for Demands {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        let fits = |word: &String| !word.trim_start_matches(AMR).is_empty() && word.len() <= 200;
        match words.iter().all(fits) && words.len() <= 20 {
            true => Ok(Self(words)),
            false => Err("needs values of acr, and of amr behind amr:, with blanks between them".to_owned()),
        }
    }
}

impl Demands {
    /// Whether a sign-in of that kind is enough.
    pub(crate) fn are_met(&self, acr: Option<&str>, amr: &[String]) -> bool {
        let met = |word: &String| match word.strip_prefix(AMR) {
            Some(method) => amr.iter().any(|used| used == method),
            None => acr == Some(word),
        };
        self.0.is_empty() || self.0.iter().any(met)
    }

    /// What an issuer is asked for (`acr_values`), where anything of that kind is demanded.
    pub(crate) fn asked(&self) -> Option<String> {
        let values: Vec<&str> = self.0.iter().map(String::as_str).collect();
        let values: Vec<&str> = values.into_iter().filter(|word| !word.starts_with(AMR)).collect();
        (!values.is_empty()).then(|| values.join(" "))
    }
}

/// An issuer that people sign in at.
#[derive(Debug, Clone)]
pub struct SignInIssuer {
    /// Its id among the providers.
    pub(crate) id: String,
    /// How we are known there.
    pub(crate) provider: Provider,
}

impl SignInIssuer {
    /// The tenant's own authorization server, whose users are found by their names.
    pub(crate) fn is_own(&self) -> bool {
        self.id == OWN
    }

    /// What a page calls it.
    pub(crate) fn name(&self) -> &str {
        match self.provider.sign_in.name.as_str() {
            "" if self.is_own() => "Switchyard",
            "" => &self.id,
            name => name,
        }
    }

    /// Our roles that the values of its claim give.
    pub(crate) fn roles(&self, told: &[String]) -> Vec<String> {
        let terms = &self.provider.sign_in;
        let role = |value: &String| match terms.roles.is_empty() {
            true => Some(value.clone()),
            false => terms.roles.get(value).cloned(),
        };
        let known = |role: &String| store::ROLES.contains(&role.as_str());
        let roles: BTreeSet<String> = told.iter().filter_map(role).filter(known).collect();
        roles.into_iter().collect()
    }
}

/// Where people sign in, and what that must be.
#[derive(Clone)]
pub struct SignInIssuers {
    issuers: Vec<SignInIssuer>,
    pub(crate) demands: Demands,
    keys: Arc<JwksCache>,
    /// What they say of themselves, for what they say unasked.
    pub(crate) told: ToldMetadata,
}

impl SignInIssuers {
    /// Those of the list, as the providers describe them.
    ///
    /// # Errors
    /// Names one that is not among the providers, or one whose roles are none.
    pub fn new(
        ids: &IssuerIds,
        demands: Demands,
        providers: &Providers,
        keys: Arc<JwksCache>,
    ) -> Result<Self, String> {
        let mut issuers = Vec::new();
        for id in &ids.0 {
            let provider = providers.get(id);
            let provider = provider.ok_or_else(|| format!("the provider {id} is not among the providers"))?;
            let mut roles = provider.sign_in.roles.values();
            if let Some(unknown) = roles.find(|role| !store::ROLES.contains(&role.as_str())) {
                return Err(format!(
                    "the provider {id} gives a role {unknown}, which there is not"
                ));
            }
            let mut provider = provider.clone();
            if id != OWN && provider.dialect == Dialect::Standard {
                // No access token of theirs is used: it needs no resource, and many refuse to be told one.
                provider.dialect = Dialect::Openid;
            }
            let id = id.clone();
            issuers.push(SignInIssuer { id, provider });
        }
        Ok(Self {
            issuers,
            demands,
            keys,
            told: ToldMetadata::default(),
        })
    }

    /// Nobody signs in: what serves an agent of the platform has users in no tenant of its own.
    #[must_use]
    pub fn none(keys: Arc<JwksCache>) -> Self {
        Self {
            issuers: Vec::new(),
            demands: Demands::default(),
            keys,
            told: ToldMetadata::default(),
        }
    }

    pub(crate) fn all(&self) -> &[SignInIssuer] {
        &self.issuers
    }

    /// The one of that id.
    pub(crate) fn of_id(&self, id: &str) -> Option<&SignInIssuer> {
        self.issuers.iter().find(|issuer| issuer.id == id)
    }

    /// The one that calls itself so.
    pub(crate) fn of_name(&self, issuer: &str) -> Option<&SignInIssuer> {
        self.issuers.iter().find(|known| known.provider.issuer == issuer)
    }

    /// What checks the tokens that an issuer signs for us; `None` where it does not say where its keys are.
    pub(crate) fn statements(&self, issuer: &SignInIssuer, metadata: &ServerMetadata) -> Option<Statements> {
        let Some(jwks) = &metadata.jwks_uri else {
            tracing::warn!(issuer = issuer.id, "an issuer does not say where its keys are");
            return None;
        };
        let Provider { issuer, client, .. } = &issuer.provider;
        Some(Statements::new(issuer, &client.id, jwks, &self.keys))
    }
}

impl std::fmt::Debug for SignInIssuers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ids: Vec<&str> = self.issuers.iter().map(|issuer| issuer.id.as_str()).collect();
        f.debug_tuple("SignInIssuers").field(&ids).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_issuers_has_each_once_and_nothing_odd() {
        assert_eq!("idp, corp".parse::<IssuerIds>().unwrap().0, ["idp", "corp"]);
        for bad in [
            "",
            ",",
            "idp,",
            "idp,idp",
            "Corp",
            "a.b",
            "a b",
            "a#b",
            &"x".repeat(31),
        ] {
            assert!(bad.parse::<IssuerIds>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn one_of_the_demands_is_enough_and_none_of_them_is_not() {
        let demands: Demands = "urn:mfa amr:hwk".parse().unwrap();
        let amr = |used: &[&str]| used.iter().map(|used| (*used).to_owned()).collect::<Vec<_>>();
        assert!(demands.are_met(Some("urn:mfa"), &[]));
        assert!(demands.are_met(Some("0"), &amr(&["pwd", "hwk"])));
        assert!(!demands.are_met(None, &[]) && !demands.are_met(Some("hwk"), &amr(&["urn:mfa", "amr:hwk"])));
        assert_eq!(demands.asked().as_deref(), Some("urn:mfa"));
        let nothing = Demands::default();
        assert!(nothing.are_met(None, &[]) && nothing.asked().is_none());
        assert_eq!("amr:otp".parse::<Demands>().unwrap().asked(), None);
        assert!("amr:".parse::<Demands>().is_err());
    }
}
