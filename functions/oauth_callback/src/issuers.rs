//! Where people may sign in to the chat: the tenant's exact list of issuers, its own authorization server among them or not.

use std::collections::BTreeSet;
use std::sync::Arc;

use auth::{JwksCache, Statements};
use domain::{Demands, OWN_ISSUER, SignInRule};
use outbound::oauth::{Dialect, Provider, Providers, ServerMetadata};

use crate::told_metadata::ToldMetadata;

/// An issuer that people sign in at.
#[derive(Debug, Clone)]
pub struct SignInIssuer {
    /// Its id among the providers.
    pub(crate) id: String,
    /// How we are known there.
    pub(crate) provider: Provider,
}

impl SignInIssuer {
    fn of(id: &str, provider: &Provider) -> Self {
        let mut provider = provider.clone();
        if id != OWN_ISSUER && provider.dialect == Dialect::Standard {
            // No access token of theirs is used: it needs no resource, and many refuse to be told one.
            provider.dialect = Dialect::Openid;
        }
        Self {
            id: id.to_owned(),
            provider,
        }
    }

    /// The tenant's own authorization server, whose users are found by their names.
    pub(crate) fn is_own(&self) -> bool {
        self.id == OWN_ISSUER
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
    /// All that know us, also those where nobody signs in any more: their word still ends what they once began.
    known: Vec<SignInIssuer>,
    pub(crate) demands: Demands,
    keys: Arc<JwksCache>,
    /// What they say of themselves, for what they say unasked.
    pub(crate) told: ToldMetadata,
}

impl SignInIssuers {
    /// Those of the rule's list, as the providers describe them.
    ///
    /// # Errors
    /// Names one that is not among the providers, is another issuer than the list says, or gives roles that there are not.
    pub fn new(rule: SignInRule, providers: &Providers, keys: Arc<JwksCache>) -> Result<Self, String> {
        let SignInRule {
            issuers: ids,
            demands,
        } = rule;
        let known: Vec<SignInIssuer> = providers
            .iter()
            .map(|(id, provider)| SignInIssuer::of(id, provider))
            .collect();
        let mut issuers = Vec::new();
        for (id, named) in ids.all() {
            let issuer = known.iter().find(|issuer| issuer.id == id);
            let issuer = issuer.ok_or_else(|| format!("the provider {id} is not among the providers"))?;
            if named.is_some_and(|named| named != issuer.provider.issuer) {
                return Err(format!(
                    "the provider {id} is another issuer than SIGN_IN_ISSUERS says"
                ));
            }
            let mut roles = issuer.provider.sign_in.roles.values();
            if let Some(unknown) = roles.find(|role| !store::ROLES.contains(&role.as_str())) {
                return Err(format!(
                    "the provider {id} gives a role {unknown}, which there is not"
                ));
            }
            issuers.push(issuer.clone());
        }
        Ok(Self {
            issuers,
            known,
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
            known: Vec::new(),
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

    /// The one that calls itself so, also where nobody signs in there any more.
    pub(crate) fn of_name(&self, issuer: &str) -> Option<&SignInIssuer> {
        self.known.iter().find(|known| known.provider.issuer == issuer)
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
