//! The token endpoint: a code or a refresh token for tokens; and the end of a token.

use std::time::Duration;

use auth::GrantSecrets;
use domain::{ExposeSecret, SecretString, Timestamp};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use serde::Deserialize;
use serde_json::Value;
use url::Url;
use url::form_urlencoded;

use super::dialect::Authentication;
use super::{OAuthError, OAuthRefusal, Provider};
use crate::client::{Answered, Ask};
use crate::{CallError, Outbound};

/// How long an access token is taken to be good where its server does not say.
const USUAL_LIFETIME: Duration = Duration::from_secs(300);
/// The scope that brings a refresh token (OIDC Core §11).
pub const OFFLINE_ACCESS: &str = "offline_access";
/// Longer than any access token should be good.
const LONGEST_LIFETIME: Duration = Duration::from_secs(24 * 3600);

/// A code, to be exchanged once.
#[derive(Clone, Copy)]
pub struct CodeExchange<'a> {
    /// The code that the browser brought.
    pub code: &'a SecretString,
    /// The PKCE verifier.
    pub verifier: &'a SecretString,
    /// The redirect URI of the authorization request, to the letter.
    pub redirect_uri: &'a str,
    /// The resource that the tokens are for.
    pub resource: &'a str,
}

/// A refresh token, to be exchanged for the next.
#[derive(Clone, Copy)]
pub struct Refresh<'a> {
    /// The refresh token.
    pub token: &'a SecretString,
    /// The resource that the tokens are for.
    pub resource: &'a str,
}

/// Which kind of token is revoked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// An access token.
    Access,
    /// A refresh token, and with it whatever came of it.
    Refresh,
}

/// What a token endpoint gave.
#[derive(Debug, Clone)]
pub struct Tokens {
    /// What goes to the resource.
    pub access_token: SecretString,
    /// What gets the next one.
    pub refresh_token: Option<SecretString>,
    /// How long the access token is good.
    pub lifetime: Duration,
    /// What it allows; none where that is what was asked for.
    pub scopes: Option<Vec<String>>,
    /// Who the user is, where `openid` was asked for.
    pub id_token: Option<SecretString>,
}

#[derive(Deserialize)]
struct TokenAnswer {
    access_token: String,
    token_type: String,
    #[serde(default)]
    expires_in: Option<Value>,
    #[serde(default)]
    refresh_token: Option<String>,
    #[serde(default)]
    scope: Option<String>,
    #[serde(default)]
    id_token: Option<String>,
}

impl Tokens {
    /// The secrets of a new grant; `asked` are the scopes that were asked for. What else the server lets us do, as somebody
    /// asked for it before, is not used.
    #[must_use]
    pub fn granted(self, asked: &[String], subject: Option<String>, now: Timestamp) -> GrantSecrets {
        let scopes = match self.scopes {
            Some(scopes) => among(scopes, asked),
            None => asked.to_vec(),
        };
        GrantSecrets {
            access_token: self.access_token,
            refresh_token: self.refresh_token,
            expires_at: now.after(self.lifetime),
            scopes,
            id_token_subject: subject,
        }
    }

    /// The secrets of a grant after its refresh. A server that does not rotate its refresh token leaves the one before.
    #[must_use]
    pub fn refreshed(self, before: &GrantSecrets, now: Timestamp) -> GrantSecrets {
        let scopes = match self.scopes {
            Some(scopes) => among(scopes, &before.scopes),
            None => before.scopes.clone(),
        };
        GrantSecrets {
            access_token: self.access_token,
            refresh_token: self.refresh_token.or_else(|| before.refresh_token.clone()),
            expires_at: now.after(self.lifetime),
            scopes,
            id_token_subject: before.id_token_subject.clone(),
        }
    }
}

impl Outbound {
    /// Exchanges a code at a token endpoint.
    ///
    /// # Errors
    /// [`OAuthError`].
    pub async fn exchange_code(
        &self,
        token_endpoint: &Url,
        provider: &Provider,
        exchange: CodeExchange<'_>,
    ) -> Result<Tokens, OAuthError> {
        let form = [
            ("grant_type", "authorization_code"),
            ("code", exchange.code.expose_secret()),
            ("code_verifier", exchange.verifier.expose_secret()),
            ("redirect_uri", exchange.redirect_uri),
        ];
        let ask = ask((token_endpoint, provider), &form, Some(exchange.resource))?;
        tokens(&self.exchange(ask).await?)
    }

    /// Exchanges a refresh token. It may be used up by this even where no answer comes.
    ///
    /// # Errors
    /// [`OAuthError`].
    pub async fn refresh(
        &self,
        token_endpoint: &Url,
        provider: &Provider,
        refresh: Refresh<'_>,
    ) -> Result<Tokens, OAuthError> {
        let form = [
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh.token.expose_secret()),
        ];
        let ask = ask((token_endpoint, provider), &form, Some(refresh.resource))?;
        tokens(&self.exchange(ask).await?)
    }

    /// Revokes a token (RFC 7009). One that is unknown already is no error.
    ///
    /// # Errors
    /// [`OAuthError`].
    pub async fn revoke(
        &self,
        revocation_endpoint: &Url,
        provider: &Provider,
        (kind, token): (TokenKind, &SecretString),
    ) -> Result<(), OAuthError> {
        let hint = match kind {
            TokenKind::Access => "access_token",
            TokenKind::Refresh => "refresh_token",
        };
        let form = [("token", token.expose_secret()), ("token_type_hint", hint)];
        let ask = ask((revocation_endpoint, provider), &form, None)?;
        match accepted(&self.exchange(ask).await?) {
            // What some servers say of a token that is good for nothing already.
            Err(OAuthError::Refused(OAuthRefusal::Other(error))) if error == "invalid_token" => Ok(()),
            revoked => revoked,
        }
    }
}

/// A request to an endpoint of a provider; `resource` is what the tokens are for, where that is to be said.
fn ask<'a>(
    (url, provider): (&'a Url, &Provider),
    form: &[(&str, &str)],
    resource: Option<&str>,
) -> Result<Ask<'a>, CallError> {
    let resource = resource.filter(|_| provider.dialect.names_resource());
    let authentication = provider.dialect.authentication(&provider.client);
    let mut fields = form_urlencoded::Serializer::new(String::new());
    fields.extend_pairs(form);
    fields.extend_pairs(resource.map(|resource| ("resource", resource)));
    if let Authentication::Form(client) = &authentication {
        fields.extend_pairs(client);
    }
    let ask = Ask {
        method: Method::POST,
        url,
        headers: HeaderMap::from_iter([
            (ACCEPT, HeaderValue::from_static("application/json")),
            (
                CONTENT_TYPE,
                HeaderValue::from_static("application/x-www-form-urlencoded"),
            ),
        ]),
        body: Some(fields.finish().into_bytes()),
        timeout: None,
        most: None,
    };
    match authentication {
        Authentication::Header(value) => ask.secret(AUTHORIZATION, &value),
        Authentication::Form(_) => Ok(ask),
    }
}

/// Of what a server lets us do, what was asked for; and whatever brings a refresh token.
fn among(scopes: Vec<String>, asked: &[String]) -> Vec<String> {
    let wanted = |scope: &String| asked.contains(scope) || scope == OFFLINE_ACCESS;
    scopes.into_iter().filter(wanted).collect()
}

/// Tells a refusal in OAuth's words from a server that is out of order.
fn accepted(answered: &Answered) -> Result<(), OAuthError> {
    let told = answered.json().ok();
    let error = told
        .as_ref()
        .and_then(|told| told.get("error"))
        .and_then(Value::as_str);
    match (answered.status, error) {
        (_, Some("server_error" | "temporarily_unavailable")) => Err(CallError::Status(503).into()),
        // Some servers put their error into a 200.
        (200..=299 | 400..=403, Some(error)) => Err(OAuthError::Refused(OAuthRefusal::read(error))),
        (200..=299, None) => Ok(()),
        (status, _) => Err(CallError::Status(status).into()),
    }
}

fn tokens(answered: &Answered) -> Result<Tokens, OAuthError> {
    accepted(answered)?;
    // The parser's own words might quote a token.
    let bad = |what: &str| OAuthError::Call(CallError::BadAnswer(what.to_owned()));
    let told: TokenAnswer =
        serde_json::from_slice(&answered.body).map_err(|_| bad("it is no token response"))?;
    if !told.token_type.eq_ignore_ascii_case("bearer") {
        return Err(bad("its tokens are no bearer tokens"));
    }
    if told.access_token.is_empty() {
        return Err(bad("its access token is empty"));
    }
    let seconds = match &told.expires_in {
        Some(Value::String(text)) => text.parse().ok(),
        Some(value) => value.as_u64(),
        None => None,
    };
    Ok(Tokens {
        access_token: told.access_token.into(),
        refresh_token: told
            .refresh_token
            .filter(|token| !token.is_empty())
            .map(Into::into),
        lifetime: seconds.map_or(USUAL_LIFETIME, |seconds| {
            Duration::from_secs(seconds).min(LONGEST_LIFETIME)
        }),
        scopes: told
            .scope
            .map(|scope| scope.split_whitespace().map(str::to_owned).collect()),
        id_token: told.id_token.map(Into::into),
    })
}
