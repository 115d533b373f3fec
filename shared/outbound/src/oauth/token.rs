//! The token endpoint: a code or a refresh token for tokens; and the end of a token.

use std::time::Duration;

use auth::GrantSecrets;
use domain::{ExposeSecret, SecretString, Timestamp, foreign_json};
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
    scope: Option<Words>,
    #[serde(default)]
    id_token: Option<String>,
}

/// Scopes as words of one text, as the standard has it, or as a list of texts, as some providers do.
#[derive(Deserialize)]
#[serde(untagged)]
enum Words {
    Text(String),
    List(Vec<String>),
}

impl Words {
    fn read(self) -> Vec<String> {
        let texts = match self {
            Self::Text(text) => vec![text],
            Self::List(texts) => texts,
        };
        let words = texts.iter().flat_map(|text| text.split_whitespace());
        words.map(str::to_owned).collect()
    }
}

impl Tokens {
    /// The secrets of a new grant; `asked` are the scopes that were asked for. What else the server lets us do, as somebody
    /// asked for it before, is not used.
    #[must_use]
    pub fn granted(self, asked: &[String], subject: Option<String>, now: Timestamp) -> GrantSecrets {
        let scopes = granted_of(self.scopes, asked);
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
        let scopes = granted_of(self.scopes, &before.scopes);
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

/// Scopes of OpenID Connect (Core §5.4, §11): they say which tokens and claims come, and many servers, having brought those, do not
/// name the scopes again. None of them lets a token do anything at the resource.
const SIGN_IN_SCOPES: [&str; 6] = ["openid", "profile", "email", "address", "phone", OFFLINE_ACCESS];

/// Of what was asked for, what a server lets us do, in the words of who asked; and whatever brings a refresh token. A server that
/// says nothing of it grants what was asked for (RFC 6749 §5.1).
fn granted_of(told: Option<Vec<String>>, asked: &[String]) -> Vec<String> {
    let Some(told) = told.filter(|told| !told.is_empty()) else {
        return asked.to_vec();
    };
    let is_granted = |scope: &&String| {
        let is_sign_in = SIGN_IN_SCOPES.contains(&scope.as_str());
        is_sign_in || told.iter().any(|told| is_same(told, scope))
    };
    let mut granted: Vec<String> = asked.iter().filter(is_granted).cloned().collect();
    let renews = |scopes: &[String]| scopes.iter().any(|scope| scope == OFFLINE_ACCESS);
    if renews(&told) && !renews(&granted) {
        granted.push(OFFLINE_ACCESS.to_owned());
    }
    granted
}

/// Whether a server's scope is the one that was asked for: to the letter, in other case, among several with commas between them, or
/// with its resource in front for the one and without it for the other.
fn is_same(told: &str, asked: &str) -> bool {
    let one = |told: &str| {
        let (of, name) = apart(told);
        let (asked_of, asked_name) = apart(asked);
        told.eq_ignore_ascii_case(asked)
            || (of.is_some() != asked_of.is_some() && name.eq_ignore_ascii_case(asked_name))
    };
    one(told) || told.split(',').any(|told| one(told.trim()))
}

/// A scope that is a URI, as its resource and its name there; any other is a name.
fn apart(scope: &str) -> (Option<&str>, &str) {
    let parts = scope
        .rsplit_once('/')
        .filter(|(of, name)| of.contains("://") && !name.is_empty());
    parts.map_or((None, scope), |(of, name)| (Some(of), name))
}

/// Tells a refusal from a server that is out of order. Servers refuse in many words, under many statuses, and some in none at
/// all: what a server that is well says instead of tokens is a refusal.
fn accepted(answered: &Answered) -> Result<(), OAuthError> {
    let told = answered.json().ok();
    let error = told
        .as_ref()
        .and_then(|told| told.get("error"))
        .filter(|error| !error.is_null());
    // Some put an object there, with the word in it.
    let inner = |name: &str| error?.get(name)?.as_str();
    let word = error.and_then(Value::as_str);
    let word = word
        .or_else(|| inner("error"))
        .or_else(|| inner("code"))
        .or_else(|| inner("type"));
    let refused = |word: &str| Err(OAuthError::Refused(OAuthRefusal::read(word)));
    match (answered.status, word, error) {
        (_, Some("server_error" | "temporarily_unavailable" | "slow_down"), _) => {
            Err(CallError::Status(503).into())
        }
        // Too early, too often, too slow: not now.
        (status @ (408 | 425 | 429), ..) => Err(CallError::Status(status).into()),
        // Some servers put their error into a 200.
        (200..=299 | 400..=499, Some(word), _) => refused(word),
        (200..=299, None, Some(Value::Object(_))) => refused("unnamed"),
        (200..=299, None, _) => Ok(()),
        // A page in place of JSON under 403 is of something on the way.
        (status @ 403, None, _) if !told.as_ref().is_some_and(Value::is_object) => {
            Err(CallError::Status(status).into())
        }
        (status @ (400 | 401 | 403 | 410 | 422), None, _) => refused(&format!("status_{status}")),
        (status, ..) => Err(CallError::Status(status).into()),
    }
}

fn tokens(answered: &Answered) -> Result<Tokens, OAuthError> {
    accepted(answered)?;
    // The parser's own words might quote a token.
    let bad = |what: &str| OAuthError::Call(CallError::BadAnswer(what.to_owned()));
    let told: Value = foreign_json::read(&answered.body).map_err(|_| bad("it is no token response"))?;
    if told
        .as_object()
        .is_some_and(|told| !told.contains_key("access_token"))
    {
        return Err(OAuthError::Refused(OAuthRefusal::Other(
            "no_access_token".to_owned(),
        )));
    }
    let told = TokenAnswer::deserialize(told).map_err(|_| bad("it is no token response"))?;
    // Slack says whose a bearer token is in that place.
    let is_bearer = |kind: &&str| told.token_type.eq_ignore_ascii_case(kind);
    if !["bearer", "bot", "user"].iter().any(is_bearer) {
        return Err(bad("its tokens are no bearer tokens"));
    }
    if told.access_token.is_empty() {
        return Err(bad("its access token is empty"));
    }
    let seconds = match &told.expires_in {
        Some(Value::String(text)) => text.trim().parse::<f64>().ok(),
        Some(value) => value.as_f64(),
        None => None,
    };
    Ok(Tokens {
        access_token: told.access_token.into(),
        refresh_token: told
            .refresh_token
            .filter(|token| !token.is_empty())
            .map(Into::into),
        lifetime: seconds
            .filter(|seconds| seconds.is_finite())
            .map(|seconds| seconds.min(LONGEST_LIFETIME.as_secs_f64()))
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .unwrap_or(USUAL_LIFETIME),
        scopes: told.scope.map(Words::read),
        id_token: told.id_token.map(Into::into),
    })
}
