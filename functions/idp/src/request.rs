//! An authorization request (RFC 6749 §4.1.1, RFC 7636, RFC 8707, OIDC Core §3.1.2), checked in two steps: first
//! whether the client and its redirect URI are to be trusted, then everything else. Only after the first may an error
//! go back by redirect.

use auth::occasion::{self, Occasion};
use domain::Scopes;
use store::{Client, StoreError};

use crate::fields::Fields;
use crate::state::AppState;
use crate::tenant::Here;
use crate::{resource, scope};

/// Longest `client_id`.
pub(crate) const MAX_CLIENT_ID: usize = 128;
/// Longest `state` and `nonce`.
const MAX_ECHO: usize = 2048;

/// A client and where its answer goes. Both are ours to trust.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) client: Client,
    pub(crate) redirect_uri: String,
    pub(crate) state: Option<String>,
}

/// A request that is all right.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) reply: Reply,
    pub(crate) scopes: Scopes,
    pub(crate) resource: String,
    pub(crate) challenge: String,
    pub(crate) nonce: Option<String>,
    pub(crate) prompt: Prompt,
    /// Most seconds since the person signed in.
    pub(crate) max_age: Option<u64>,
    pub(crate) login_hint: Option<String>,
    /// What the client says it was asked for; nothing where it does not say, or others have written it.
    pub(crate) occasion: Option<Occasion>,
}

/// What the client wants the person to be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prompt {
    /// What is needed.
    Needed,
    /// Nothing.
    None,
    /// To sign in again.
    Login,
    /// To agree again.
    Consent,
}

/// Why a request is refused.
#[derive(Debug)]
pub(crate) enum Refused {
    /// Nobody to answer can be trusted: the person is told.
    OnPage(&'static str),
    /// The client is told, by redirect.
    ToClient(Box<Reply>, Fault),
    /// The tables.
    Store(StoreError),
}

/// An error of an authorization response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) code: &'static str,
    pub(crate) text: &'static str,
}

pub(crate) const fn fault(code: &'static str, text: &'static str) -> Fault {
    Fault { code, text }
}

/// Checks a request.
pub(crate) async fn check(app: &AppState, here: &Here, fields: &Fields) -> Result<Asked, Refused> {
    let once = |name| {
        fields
            .one(name)
            .map_err(|_| Refused::OnPage("The link names its application or the way back more than once."))
    };
    let client_id = once("client_id")?.filter(|id| id.len() <= MAX_CLIENT_ID);
    let client_id = client_id.ok_or(Refused::OnPage(
        "The link does not say which application it comes from.",
    ))?;
    let redirect_uri = once("redirect_uri")?;
    let redirect_uri = redirect_uri.ok_or(Refused::OnPage(
        "The link does not say where to go back to afterwards.",
    ))?;
    let client = app
        .identity()
        .find_client(&here.tenant, client_id)
        .await
        .map_err(Refused::Store)?
        .ok_or(Refused::OnPage("The application is not known here."))?;
    // To the letter: nothing about a redirect URI is close enough.
    if !client.redirect_uris.iter().any(|known| known == redirect_uri) {
        return Err(Refused::OnPage(
            "The link leads back to an address that the application has not registered.",
        ));
    }
    let state = fields.one("state").ok().flatten();
    let reply = Reply {
        client,
        redirect_uri: redirect_uri.to_owned(),
        // A state that is too long to be sent back is not sent back in part.
        state: state.filter(|state| state.len() <= MAX_ECHO).map(str::to_owned),
    };
    // From here on faults go to the client: the address is known to be its own.
    match rest(fields, reply.clone(), &here.issuer) {
        Ok(asked) => Ok(asked),
        Err(fault) => Err(Refused::ToClient(Box::new(reply), fault)),
    }
}

fn rest(fields: &Fields, reply: Reply, issuer: &str) -> Result<Asked, Fault> {
    const INVALID: &str = "invalid_request";
    if fields.repeats("resource") {
        return Err(fault(INVALID, "a parameter is repeated"));
    }
    // Repeated ones are refused by now.
    let one = |name| fields.one(name).unwrap_or_default();
    let client = &reply.client;
    for (name, code) in [
        ("request", "request_not_supported"),
        ("request_uri", "request_uri_not_supported"),
        ("registration", "registration_not_supported"),
    ] {
        if one(name).is_some() {
            return Err(fault(code, "the parameter is not supported"));
        }
    }
    if one("state").is_some_and(|state| state.len() > MAX_ECHO) {
        return Err(fault(INVALID, "the state is too long"));
    }
    match one("response_type") {
        Some("code") => {}
        Some(_) => {
            return Err(fault(
                "unsupported_response_type",
                "the response type must be `code`",
            ));
        }
        None => return Err(fault(INVALID, "response_type is missing")),
    }
    if one("response_mode").is_some_and(|mode| mode != "query") {
        return Err(fault(INVALID, "the response mode must be `query`"));
    }
    if !client
        .grant_types
        .iter()
        .any(|grant| grant == "authorization_code")
    {
        return Err(fault("unauthorized_client", "the client may not use this grant"));
    }
    // Without a method it would be `plain` (RFC 7636 §4.3), which is refused like every other.
    if one("code_challenge_method") != Some(auth::pkce::METHOD) {
        return Err(fault(INVALID, "code_challenge_method must be S256"));
    }
    let challenge = one("code_challenge").filter(|challenge| auth::pkce::is_challenge(challenge));
    let challenge = challenge.ok_or(fault(
        INVALID,
        "code_challenge must be 43 characters of base64url",
    ))?;
    let scopes = scope::asked(one("scope"), client).ok_or(fault(
        "invalid_scope",
        "the scope is missing, unknown or more than the client may ask for",
    ))?;
    let resource = audience(fields, client, &scopes, issuer).ok_or(fault(
        "invalid_target",
        "exactly one resource is needed, one that the client may ask for",
    ))?;
    let nonce = one("nonce");
    if nonce.is_some_and(|nonce| nonce.len() > MAX_ECHO) {
        return Err(fault(INVALID, "the nonce is too long"));
    }
    let max_age = one("max_age").map(str::parse).transpose();
    let max_age = max_age.map_err(|_| fault(INVALID, "max_age must be a number of seconds"))?;
    let asked = Asked {
        scopes,
        resource,
        challenge: challenge.to_owned(),
        nonce: nonce.map(str::to_owned),
        prompt: prompt(one("prompt")).ok_or(fault(INVALID, "the prompt is unknown"))?,
        max_age,
        occasion: occasion_of(&reply, one(occasion::PARAMETER)),
        login_hint: one("login_hint").map(|hint| hint.chars().take(64).collect()),
        reply,
    };
    Ok(asked)
}

/// The service that the tokens are for: the resource that is asked for, or the issuer itself where the client wants
/// nothing but to know who signed in.
fn audience(fields: &Fields, client: &Client, scopes: &Scopes, issuer: &str) -> Option<String> {
    let identity_alone = scopes.iter().all(|scope| scope::is_of_identity(scope));
    if fields.all("resource").next().is_none() && identity_alone {
        return Some(issuer.to_owned());
    }
    resource::asked(fields.all("resource"), client).map(str::to_owned)
}

fn occasion_of(reply: &Reply, sealed: Option<&str>) -> Option<Occasion> {
    let secret = reply.client.secret_hash.as_deref()?;
    let opened = Occasion::open(sealed?, secret, reply.state.as_deref()?);
    opened
        .inspect_err(|_| {
            tracing::warn!(
                client_id = reply.client.client_id,
                "what a consent is for does not open"
            )
        })
        .ok()
}

fn prompt(text: Option<&str>) -> Option<Prompt> {
    let mut prompt = Prompt::Needed;
    for word in text.unwrap_or_default().split_ascii_whitespace() {
        prompt = match (word, prompt) {
            ("none", Prompt::Needed) if text == Some("none") => Prompt::None,
            ("login" | "select_account", _) => Prompt::Login,
            ("consent", Prompt::Login) => Prompt::Login,
            ("consent", _) => Prompt::Consent,
            _ => return None,
        };
    }
    Some(prompt)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_known_or_refused() {
        assert_eq!(prompt(None), Some(Prompt::Needed));
        assert_eq!(prompt(Some("none")), Some(Prompt::None));
        assert_eq!(prompt(Some("login")), Some(Prompt::Login));
        assert_eq!(prompt(Some("consent")), Some(Prompt::Consent));
        assert_eq!(prompt(Some("consent login")), Some(Prompt::Login));
        for bad in ["none login", "login none", "consent none", "create", "none none"] {
            assert_eq!(prompt(Some(bad)), None, "{bad}");
        }
    }
}
