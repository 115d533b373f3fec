//! Which authorization server a resource trusts (RFC 9728), and where its endpoints are (RFC 8414, OIDC Discovery).

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use url::Url;

use super::{Dialect, OAuthError};
use crate::{CallError, Outbound};

/// What a resource says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ResourceMetadata {
    /// The resource: the audience of its tokens.
    pub resource: String,
    /// The issuers whose tokens it takes.
    #[serde(default)]
    pub authorization_servers: Vec<String>,
    /// The scopes it knows.
    #[serde(default, deserialize_with = "if_good")]
    pub scopes_supported: Vec<String>,
}

/// What an authorization server says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ServerMetadata {
    /// Its issuer identifier.
    pub issuer: String,
    /// Where the browser goes.
    pub authorization_endpoint: Url,
    /// Where codes and refresh tokens are exchanged.
    pub token_endpoint: Url,
    /// Where the keys are that it signs with.
    #[serde(default)]
    pub jwks_uri: Option<Url>,
    /// Where tokens are revoked (RFC 7009).
    #[serde(default, deserialize_with = "if_good")]
    pub revocation_endpoint: Option<Url>,
    /// Where the browser goes to sign out (OpenID Connect RP-Initiated Logout).
    #[serde(default, deserialize_with = "if_good")]
    pub end_session_endpoint: Option<Url>,
    /// It names itself in its answer to the browser (RFC 9207).
    #[serde(default, rename = "authorization_response_iss_parameter_supported")]
    pub iss_in_answer: bool,
    /// It shows its users what they are asked for ([`auth::occasion`]).
    #[serde(default, rename = "switchyard_occasion_parameter_supported")]
    pub shows_occasion: bool,
    /// The scopes it knows, where it says so.
    #[serde(default, deserialize_with = "if_good")]
    pub scopes_supported: Vec<String>,
    #[serde(default)]
    code_challenge_methods_supported: Option<Vec<String>>,
}

/// What it could do without is left out where it is odd.
fn if_good<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(told: D) -> Result<T, D::Error> {
    Value::deserialize(told).map(|told| serde_json::from_value(told).unwrap_or_default())
}

/// What the browser is sent to the authorization endpoint with.
#[derive(Clone, Copy)]
pub struct AuthorizationAsk<'a> {
    /// Our `client_id`.
    pub client_id: &'a str,
    /// Where the browser comes back to.
    pub redirect_uri: &'a str,
    /// The scopes that are wanted.
    pub scopes: &'a [String],
    /// The resource that the tokens are for.
    pub resource: &'a str,
    /// What ties the answer to the browser.
    pub state: &'a str,
    /// What ties the identity token to this request.
    pub nonce: &'a str,
    /// The PKCE challenge, `S256`.
    pub challenge: &'a str,
    /// How the server is spoken to.
    pub dialect: Dialect,
    /// A refresh token for all of these scopes is here.
    pub renewable: bool,
}

impl ServerMetadata {
    /// The address that the browser is sent to.
    #[must_use]
    pub fn authorization_url(&self, ask: &AuthorizationAsk<'_>) -> Url {
        let mut url = self.authorization_endpoint.clone();
        let scope = ask.scopes.join(" ");
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", ask.client_id)
            .append_pair("redirect_uri", ask.redirect_uri)
            .append_pair("scope", &scope)
            .append_pair("state", ask.state)
            .append_pair("code_challenge", ask.challenge)
            .append_pair("code_challenge_method", "S256")
            .extend_pairs(ask.dialect.asks(ask.renewable));
        if ask.dialect.names_resource() {
            url.query_pairs_mut().append_pair("resource", ask.resource);
        }
        if ask.scopes.iter().any(|scope| scope == "openid") {
            url.query_pairs_mut().append_pair("nonce", ask.nonce);
        }
        url
    }
}

impl Outbound {
    /// The metadata of a resource, such as an agent at its URL. What is published for another resource is not taken.
    ///
    /// # Errors
    /// [`OAuthError::Metadata`] or [`OAuthError::Call`].
    pub async fn resource_metadata(&self, resource: &Url) -> Result<ResourceMetadata, OAuthError> {
        const NAME: &str = "oauth-protected-resource";
        // An agent that owns but its own path cannot publish at the root of its host, where the standard looks first.
        let places = [inserted(resource, NAME), appended(resource, NAME)];
        let found: ResourceMetadata = self.first_of(places).await?;
        if plain(&found.resource) != plain(resource.as_str()) {
            return Err(OAuthError::Metadata("they are of another resource"));
        }
        Ok(found)
    }

    /// The metadata of an issuer, checked to be its own.
    ///
    /// # Errors
    /// [`OAuthError::Metadata`] or [`OAuthError::Call`].
    pub async fn server_metadata(&self, issuer: &str) -> Result<ServerMetadata, OAuthError> {
        const OIDC: &str = "openid-configuration";
        const OAUTH: &str = "oauth-authorization-server";
        let url = Url::parse(issuer).map_err(|_| OAuthError::Metadata("the issuer is no URL"))?;
        if url.query().is_some() || url.fragment().is_some() {
            return Err(OAuthError::Metadata("the issuer has a query or a fragment"));
        }
        let places = [appended(&url, OIDC), inserted(&url, OAUTH), appended(&url, OAUTH)];
        let mut found: ServerMetadata = self.first_of(places).await?;
        if found.issuer != issuer {
            return Err(OAuthError::Metadata("they are of another issuer"));
        }
        // Where it says nothing of PKCE, it may still know it; where it leaves out S256, it does not.
        let methods = found.code_challenge_methods_supported.as_deref();
        if methods.is_some_and(|methods| !methods.iter().any(|method| method == "S256")) {
            return Err(OAuthError::Metadata("it does not know PKCE with S256"));
        }
        // The browser is sent there, and it must not be led inside.
        self.check_url(&found.authorization_endpoint)?;
        let leads_outside = |url: &Url| self.check_url(url).is_ok();
        found.end_session_endpoint = found.end_session_endpoint.filter(leads_outside);
        Ok(found)
    }

    async fn first_of<T: DeserializeOwned>(
        &self,
        places: impl IntoIterator<Item = Option<Url>>,
    ) -> Result<T, OAuthError> {
        let mut first: Option<CallError> = None;
        for place in places.into_iter().flatten() {
            match self.get_json(&place, None).await {
                Ok(found) => return Ok(found),
                Err(
                    error @ (CallError::Status(400..=499)
                    | CallError::Unauthorized { .. }
                    | CallError::Forbidden { .. }
                    | CallError::BadAnswer(_)
                    | CallError::TooLarge(_)),
                ) => {
                    first.get_or_insert(error);
                }
                // Elsewhere on the same host it would end the same way.
                Err(error) => return Err(error.into()),
            }
        }
        Err(first.map_or(OAuthError::Metadata("there are none"), OAuthError::Call))
    }
}

/// The well-known place between host and path (RFC 8414 §3, RFC 9728 §3).
fn inserted(url: &Url, name: &str) -> Option<Url> {
    let path = url.path().trim_matches('/').to_owned();
    let mut place = base(url);
    let mut segments = place.path_segments_mut().ok()?;
    segments.clear().extend([".well-known", name]);
    if !path.is_empty() {
        segments.extend(path.split('/'));
    }
    drop(segments);
    Some(place)
}

/// The well-known place behind the path (OIDC Discovery §4).
pub(crate) fn appended(url: &Url, name: &str) -> Option<Url> {
    let mut place = base(url);
    place
        .path_segments_mut()
        .ok()?
        .pop_if_empty()
        .extend([".well-known", name]);
    Some(place)
}

fn base(url: &Url) -> Url {
    let mut base = url.clone();
    base.set_query(None);
    base.set_fragment(None);
    base
}

/// A URL with nothing but a host has a slash or none.
fn plain(url: &str) -> &str {
    url.trim_end_matches('/')
}
