//! Which client calls (RFC 6749 §2.3): by HTTP Basic, by parameters of the body, or, for a public one, by its name.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::ExposeSecret as _;
use domain::SecretString;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use store::Client;

use crate::error::TokenError;
use crate::fields::Fields;
use crate::request::MAX_CLIENT_ID;
use crate::state::AppState;
use crate::tenant::Here;

/// Longest client secret.
const MAX_SECRET: usize = 512;

/// What a caller says of itself.
struct Claimed {
    client_id: String,
    secret: Option<SecretString>,
}

/// The client that calls, where it has proved it: by its secret, or by having none.
pub(crate) async fn authenticated(
    app: &AppState,
    here: &Here,
    headers: &HeaderMap,
    fields: &Fields,
) -> Result<Client, TokenError> {
    let claimed = claimed(headers, fields)?;
    let known = app
        .identity()
        .find_client(&here.tenant, &claimed.client_id)
        .await?;
    let secret = claimed.secret.as_ref().map(SecretString::expose_secret);
    // Compared also where the client is unknown, so that both take equally long.
    let stored = known
        .as_ref()
        .and_then(|client| client.secret_hash.as_deref())
        .unwrap_or_default();
    let matches = auth::token::matches(stored, secret.unwrap_or_default());
    known
        .filter(|client| match (client.public, secret) {
            (true, None) => true,
            (false, Some(_)) => matches,
            (true, Some(_)) | (false, None) => false,
        })
        .ok_or(TokenError::InvalidClient)
}

fn claimed(headers: &HeaderMap, fields: &Fields) -> Result<Claimed, TokenError> {
    // Repeated parameters are refused by now.
    let one = |name| fields.one(name).unwrap_or_default();
    let (named, secret) = (one("client_id"), one("client_secret"));
    let claimed = match headers.get(AUTHORIZATION) {
        Some(_) if secret.is_some() => {
            return Err(TokenError::invalid("the client proves itself in two ways"));
        }
        Some(header) => {
            let claimed = header
                .to_str()
                .ok()
                .and_then(basic)
                .ok_or(TokenError::InvalidClient)?;
            if named.is_some_and(|named| named != claimed.client_id) {
                return Err(TokenError::invalid(
                    "the body names another client than the header",
                ));
            }
            claimed
        }
        None => Claimed {
            client_id: named.ok_or(TokenError::InvalidClient)?.to_owned(),
            secret: secret.map(SecretString::from),
        },
    };
    let secret_fits = claimed
        .secret
        .as_ref()
        .is_none_or(|secret| secret.expose_secret().len() <= MAX_SECRET);
    if claimed.client_id.is_empty() || claimed.client_id.len() > MAX_CLIENT_ID || !secret_fits {
        return Err(TokenError::InvalidClient);
    }
    Ok(claimed)
}

/// HTTP Basic, both parts form-encoded (RFC 6749 §2.3.1).
fn basic(header: &str) -> Option<Claimed> {
    let (scheme, credentials) = header.trim().split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let credentials = String::from_utf8(STANDARD.decode(credentials.trim()).ok()?).ok()?;
    let (client_id, secret) = credentials.split_once(':')?;
    let decoded = |text: &str| -> Option<String> {
        // Neither part may hold what separates pairs; the whole text is one value.
        let pair = format!("v={}", text.replace('&', "%26"));
        let value = url::form_urlencoded::parse(pair.as_bytes())
            .next()?
            .1
            .into_owned();
        Some(value)
    };
    Some(Claimed {
        client_id: decoded(client_id)?,
        secret: Some(decoded(secret)?.into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(String, String)> {
        let claimed = basic(&format!("Basic {}", STANDARD.encode(text)))?;
        Some((claimed.client_id, claimed.secret?.expose_secret().to_owned()))
    }

    #[test]
    fn basic_credentials_are_form_encoded() {
        let pair = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
        assert_eq!(read("host:secret"), pair("host", "secret"));
        assert_eq!(read("a%3Ab:c%20d+e"), pair("a:b", "c d e"));
        assert_eq!(read("a&b:c&d=e"), pair("a&b", "c&d=e"));
        assert_eq!(read("host:"), pair("host", ""));
        assert_eq!(read("host"), None);
        for bad in ["Basic", "Basic ", "Basic !!!", "Bearer aG9zdDpz", "Basic /w=="] {
            assert!(basic(bad).is_none(), "{bad}");
        }
    }
}
