//! The one service that a token is for (RFC 8707).

use store::Client;
use url::Url;

/// Longest resource.
const MAX: usize = 1024;

/// True where the text can name a service: an absolute http(s) URL without a fragment, a user or a password.
fn is_resource(text: &str) -> bool {
    let fits = |url: Url| {
        matches!(url.scheme(), "http" | "https")
            && url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none()
    };
    text.len() <= MAX && Url::parse(text).is_ok_and(fits)
}

/// The resource that was asked for, where it is exactly one and the client may ask for it. A client that has no list
/// may ask for any, as long as it has proved who it is: the service still checks the token's tenant.
pub(crate) fn asked<'a>(mut given: impl Iterator<Item = &'a str>, client: &Client) -> Option<&'a str> {
    let (resource, None) = (given.next()?, given.next()) else {
        return None;
    };
    let listed = client.resources.iter().any(|allowed| allowed == resource);
    let unlisted = client.resources.is_empty() && !client.public;
    (is_resource(resource) && (listed || unlisted)).then_some(resource)
}
