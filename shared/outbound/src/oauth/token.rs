//! The token endpoint: a code or a refresh token for tokens; and the end of a token.

use std::time::Duration;

use auth::GrantSecrets;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::{ExposeSecret, SecretString, Timestamp};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use serde::Deserialize;
use serde_json::Value;
use url::Url;
use url::form_urlencoded::{self, byte_serialize};

use super::{OAuthClient, OAuthError, OAuthRefusal};
use crate::client::{Answered, Ask};
use crate::{CallError, Outbound};

/// How long an access token is taken to be good where its server does not say.
const USUAL_LIFETIME: Duration = Duration::from_secs(300);
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
    /// The secrets of a new grant; `asked` are the scopes that were asked for.
    #[must_use]
    pub fn granted(self, asked: &[String], subject: Option<String>, now: Timestamp) -> GrantSecrets {
        GrantSecrets {
            access_token: self.access_token,
            refresh_token: self.refresh_token,
            expires_at: now.after(self.lifetime),
            scopes: self.scopes.unwrap_or_else(|| asked.to_vec()),
            id_token_subject: subject,
        }
    }

    /// The secrets of a grant after its refresh. A server that does not rotate its refresh token leaves the one before.
    #[must_use]
    pub fn refreshed(self, before: &GrantSecrets, now: Timestamp) -> GrantSecrets {
        GrantSecrets {
            access_token: self.access_token,
            refresh_token: self.refresh_token.or_else(|| before.refresh_token.clone()),
            expires_at: now.after(self.lifetime),
            scopes: self.scopes.unwrap_or_else(|| before.scopes.clone()),
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
        client: &OAuthClient,
        exchange: CodeExchange<'_>,
    ) -> Result<Tokens, OAuthError> {
        let form = [
            ("grant_type", "authorization_code"),
            ("code", exchange.code.expose_secret()),
            ("code_verifier", exchange.verifier.expose_secret()),
            ("redirect_uri", exchange.redirect_uri),
            ("resource", exchange.resource),
        ];
        let ask = ask(token_endpoint, client, &form)?;
        tokens(&self.exchange(ask).await?)
    }

    /// Exchanges a refresh token. It may be used up by this even where no answer comes.
    ///
    /// # Errors
    /// [`OAuthError`].
    pub async fn refresh(
        &self,
        token_endpoint: &Url,
        client: &OAuthClient,
        refresh: Refresh<'_>,
    ) -> Result<Tokens, OAuthError> {
        let form = [
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh.token.expose_secret()),
            ("resource", refresh.resource),
        ];
        let ask = ask(token_endpoint, client, &form)?;
        tokens(&self.exchange(ask).await?)
    }

    /// Revokes a token (RFC 7009). One that is unknown already is no error.
    ///
    /// # Errors
    /// [`OAuthError`].
    pub async fn revoke(
        &self,
        revocation_endpoint: &Url,
        client: &OAuthClient,
        (kind, token): (TokenKind, &SecretString),
    ) -> Result<(), OAuthError> {
        let hint = match kind {
            TokenKind::Access => "access_token",
            TokenKind::Refresh => "refresh_token",
        };
        let form = [("token", token.expose_secret()), ("token_type_hint", hint)];
        let ask = ask(revocation_endpoint, client, &form)?;
        accepted(&self.exchange(ask).await?)
    }
}

fn ask<'a>(url: &'a Url, client: &OAuthClient, form: &[(&str, &str)]) -> Result<Ask<'a>, CallError> {
    let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
    let (id, secret) = (encoded(&client.id), encoded(client.secret.expose_secret()));
    let basic = STANDARD.encode(format!("{id}:{secret}"));
    let body = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(form)
        .finish();
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
        body: Some(body.into_bytes()),
        timeout: None,
        most: None,
    };
    ask.secret(AUTHORIZATION, &format!("Basic {basic}"))
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
