//! What authorization servers do otherwise than the standards have it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::ExposeSecret as _;
use serde::Deserialize;
use url::form_urlencoded::byte_serialize;

use super::OAuthClient;

/// How an authorization server is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// As the standards have it: resource indicators, and the client known by HTTP Basic authentication.
    #[default]
    Standard,
    /// As OpenID Connect alone has it: no resource indicators, which many providers refuse.
    Openid,
    /// As Google has it: no resource indicators, the client known by fields of the form, refresh tokens by parameters of its
    /// own. One client serves all tenants, so `include_granted_scopes` is never sent: what a user granted in another tenant
    /// would come along.
    Google,
}

impl Dialect {
    /// Whether requests name the resource that tokens are for (RFC 8707).
    pub(crate) fn names_resource(self) -> bool {
        self == Self::Standard
    }

    /// What an authorization request has beside the usual. `renewable`: a refresh token for all that is asked for is here.
    pub(crate) fn asks(self, renewable: bool) -> &'static [(&'static str, &'static str)] {
        match (self, renewable) {
            (Self::Standard | Self::Openid, _) => &[],
            (Self::Google, true) => &[("access_type", "offline")],
            // A refresh token comes with the page of consent alone.
            (Self::Google, false) => &[("access_type", "offline"), ("prompt", "consent")],
        }
    }

    /// What makes the client known: the value of its header, or fields of the form.
    pub(crate) fn authentication(self, client: &OAuthClient) -> Authentication<'_> {
        let (id, secret) = (client.id.as_str(), client.secret.expose_secret());
        match self {
            Self::Standard | Self::Openid => {
                let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
                let basic = STANDARD.encode(format!("{}:{}", encoded(id), encoded(secret)));
                Authentication::Header(format!("Basic {basic}"))
            }
            Self::Google => Authentication::Form([("client_id", id), ("client_secret", secret)]),
        }
    }
}

/// How a client makes itself known at a token endpoint.
pub(crate) enum Authentication<'a> {
    /// By this header.
    Header(String),
    /// By these fields.
    Form([(&'static str, &'a str); 2]),
}
