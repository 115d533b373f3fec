//! Which authorization server an agent's card means.

use a2a::card::ForeignOAuth;
use outbound::oauth::Provider;
use url::Url;

/// True where a card's scheme is met by the tokens of this issuer. Whatever the card says, only addresses that the
/// issuer tells of itself are ever used.
pub(crate) fn issues_for(provider: &Provider, oauth: &ForeignOAuth) -> bool {
    let issuer = provider.issuer.trim_end_matches('/');
    let below = |url: &Url| {
        url.as_str()
            .strip_prefix(issuer)
            .is_some_and(|rest| rest.starts_with('/'))
    };
    match (&oauth.token_url, &oauth.metadata_url) {
        (Some(token_url), _) => below(token_url),
        (None, Some(metadata_url)) => {
            below(metadata_url) || Some(metadata_url) == well_known(issuer).as_ref()
        }
        (None, None) => false,
    }
}

/// Where RFC 8414 puts an issuer's metadata: the well-known part before the issuer's path.
fn well_known(issuer: &str) -> Option<Url> {
    let mut url = Url::parse(issuer).ok()?;
    url.set_path(&format!("/.well-known/oauth-authorization-server{}", url.path()));
    Some(url)
}

#[cfg(test)]
mod tests {
    use outbound::oauth::{Dialect, OAuthClient};

    use super::*;

    fn url(text: &str) -> Option<Url> {
        Some(text.parse().unwrap())
    }

    #[test]
    fn only_the_issuers_own_addresses_make_it_the_provider() {
        let provider = Provider {
            issuer: "https://idp.example/acme".into(),
            dialect: Dialect::Standard,
            sign_in: Default::default(),
            client: OAuthClient {
                id: "host".into(),
                secret: "s".into(),
            },
        };
        let card = |token: Option<Url>, metadata: Option<Url>| ForeignOAuth {
            token_url: token,
            metadata_url: metadata,
            ..ForeignOAuth::default()
        };
        for own in [
            card(url("https://idp.example/acme/token"), None),
            card(
                None,
                url("https://idp.example/acme/.well-known/openid-configuration"),
            ),
            card(
                None,
                url("https://idp.example/.well-known/oauth-authorization-server/acme"),
            ),
        ] {
            assert!(issues_for(&provider, &own), "{own:?}");
        }
        for other in [
            card(None, None),
            card(url("https://idp.example/globex/token"), None),
            card(url("https://idp.example/acme-2/token"), None),
            card(url("https://idp.example.evil/acme/token"), None),
            card(
                url("https://evil.example/token"),
                url("https://idp.example/acme/.well-known/openid-configuration"),
            ),
            card(
                None,
                url("https://idp.example/.well-known/oauth-authorization-server/globex"),
            ),
        ] {
            assert!(!issues_for(&provider, &other), "{other:?}");
        }
    }
}
