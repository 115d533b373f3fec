//! How a card says that a user's token is to be had: its security schemes and requirements, in the form of either
//! generation.

use serde_json::Value;
use url::Url;

use super::ForeignOAuth;

/// Most alternatives of a card, and most scopes of one.
const MAX_ITEMS: usize = 50;
/// Most bytes of a scope.
const MAX_SCOPE: usize = 256;

/// The first of the card's alternatives that a user's token meets. The alternatives stand in a list; each names the
/// schemes that are needed together.
pub(super) fn demanded(card: &Value) -> Option<ForeignOAuth> {
    ["securityRequirements", "security"]
        .iter()
        .filter_map(|name| card.get(name)?.as_array())
        .flatten()
        .take(MAX_ITEMS)
        .find_map(|alternative| met(card, alternative))
}

/// `{"schemes": {"name": {"list": [scope]}}}` in 1.0, `{"name": [scope]}` in 0.3.
fn met(card: &Value, alternative: &Value) -> Option<ForeignOAuth> {
    let schemes = alternative.get("schemes").unwrap_or(alternative).as_object()?;
    let (name, scopes) = schemes.iter().next().filter(|_| schemes.len() == 1)?;
    let scheme = card.get("securitySchemes")?.get(name)?;
    let scopes = scopes.get("list").unwrap_or(scopes).as_array();
    let fits = |scope: &&str| {
        let character = |b: u8| matches!(b, b'!' | b'#'..=b'[' | b']'..=b'~');
        !scope.is_empty() && scope.len() <= MAX_SCOPE && scope.bytes().all(character)
    };
    let scopes: Vec<String> = scopes
        .into_iter()
        .flatten()
        .take(MAX_ITEMS)
        .filter_map(Value::as_str)
        .filter(fits)
        .map(str::to_owned)
        .collect();
    let found = oauth2(scheme).or_else(|| openid(scheme))?;
    Some(ForeignOAuth { scopes, ..found })
}

fn oauth2(scheme: &Value) -> Option<ForeignOAuth> {
    let scheme = of_kind(scheme, "oauth2SecurityScheme", "oauth2")?;
    let flow = scheme.pointer("/flows/authorizationCode");
    let at = |name: &str| url(flow?.get(name));
    let found = ForeignOAuth {
        metadata_url: url(scheme.get("oauth2MetadataUrl")),
        authorization_url: at("authorizationUrl"),
        token_url: at("tokenUrl"),
        refresh_url: at("refreshUrl"),
        scopes: Vec::new(),
    };
    // A scheme with other flows alone (client credentials, device code) is not met by a user's consent here.
    let complete = found.authorization_url.is_some() && found.token_url.is_some();
    (complete || (flow.is_some() && found.metadata_url.is_some())).then_some(found)
}

fn openid(scheme: &Value) -> Option<ForeignOAuth> {
    let scheme = of_kind(scheme, "openIdConnectSecurityScheme", "openIdConnect")?;
    Some(ForeignOAuth {
        metadata_url: Some(url(scheme.get("openIdConnectUrl"))?),
        ..ForeignOAuth::default()
    })
}

/// The scheme's fields: below its kind's name in 1.0, beside a `type` in 0.3.
fn of_kind<'v>(scheme: &'v Value, member: &str, kind: &str) -> Option<&'v Value> {
    let told = || scheme.get("type").and_then(Value::as_str) == Some(kind);
    scheme.get(member).or_else(|| told().then_some(scheme))
}

fn url(text: Option<&Value>) -> Option<Url> {
    let url = Url::parse(text?.as_str()?).ok()?;
    (matches!(url.scheme(), "https" | "http") && url.has_host()).then_some(url)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(scheme: &Value, requirement: Value) -> Option<ForeignOAuth> {
        let card = json!({ "securitySchemes": { "s": scheme }, "security": [requirement] });
        demanded(&card)
    }

    #[test]
    fn what_no_users_token_meets_is_passed_over() {
        let flows = json!({ "authorizationCode": {
            "authorizationUrl": "https://idp.example/authorize", "tokenUrl": "https://idp.example/token", "scopes": {} } });
        let good = json!({ "type": "oauth2", "flows": flows });
        let wanted = json!({ "s": ["tasks", "two words", "", 7] });
        let found = check(&good, wanted.clone()).unwrap();
        assert_eq!(found.scopes, ["tasks"]);
        assert_eq!(found.token_url.unwrap().as_str(), "https://idp.example/token");
        assert!(
            check(
                &json!({ "oauth2SecurityScheme": { "flows": flows } }),
                json!({ "schemes": wanted })
            )
            .is_some()
        );

        for (scheme, requirement) in [
            (json!({ "type": "http", "scheme": "Bearer" }), wanted.clone()),
            (json!({ "type": "apiKey" }), wanted.clone()),
            (json!({ "type": "oauth2" }), wanted.clone()),
            (
                json!({ "type": "oauth2", "oauth2MetadataUrl": "https://idp.example/m",
                "flows": { "clientCredentials": { "tokenUrl": "https://idp.example/token" } } }),
                wanted.clone(),
            ),
            (
                json!({ "type": "oauth2", "flows": { "authorizationCode": {
                "authorizationUrl": "javascript:alert(1)", "tokenUrl": "https://idp.example/token" } } }),
                wanted.clone(),
            ),
            (json!({ "type": "openIdConnect" }), wanted.clone()),
            (good.clone(), json!({})),
            (good.clone(), json!({ "other": [] })),
            (good.clone(), json!({ "s": [], "other": [] })),
            (good.clone(), json!("s")),
        ] {
            assert_eq!(
                check(&scheme, requirement.clone()),
                None,
                "{scheme} {requirement}"
            );
        }
    }

    #[test]
    fn openid_connect_is_found_by_its_discovery() {
        let scheme = json!({ "type": "openIdConnect", "openIdConnectUrl": "https://login.example/.well-known/openid-configuration" });
        let found = check(&scheme, json!({ "s": ["openid"] })).unwrap();
        assert!(found.metadata_url.is_some() && found.token_url.is_none());
        assert_eq!(found.scopes, ["openid"]);
    }
}
