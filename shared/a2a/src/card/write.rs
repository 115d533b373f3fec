//! The card that we publish.

use std::collections::HashMap;

use a2a_types as wire;
use domain::Generation;
use serde_json::{Map, Value, json};

use super::{Bearer, Card, Extension, OAuth, Skill};
use crate::A2aError;

/// The bindings an agent is called by, by preference.
const BINDINGS: [&str; 2] = ["JSONRPC", "HTTP+JSON"];

/// The card as a document. The 1.0 document carries the fields of 0.3 besides, so that one well-known document serves
/// clients of both.
#[must_use]
pub fn encode(card: &Card, generation: Generation) -> Value {
    let mut document = Map::new();
    if generation == Generation::V1_0
        && let Ok(Value::Object(fields)) = serde_json::to_value(official(card))
    {
        document = fields;
    }
    for (name, value) in fields_0_3(card) {
        merge(document.entry(name).or_insert(Value::Null), value);
    }
    Value::Object(document)
}

/// The card that a request for it gets: of the version that it names, or of both generations in one where it names none.
///
/// # Errors
/// [`A2aError::VersionNotSupported`] where it names a version that is not known.
pub fn document(card: &Card, asked: Option<&str>) -> Result<Value, A2aError> {
    let Some(asked) = asked.filter(|text| !text.trim().is_empty()) else {
        return Ok(encode(card, Generation::V1_0));
    };
    Ok(match crate::generation(Some(asked))? {
        Generation::V1_0 => serde_json::to_value(official(card)).unwrap_or_default(),
        Generation::V0_3 => encode(card, Generation::V0_3),
    })
}

fn official(card: &Card) -> wire::AgentCard {
    let interface = |version: &'static str| {
        BINDINGS.map(|binding| wire::AgentInterface {
            protocol_version: version.to_owned(),
            ..wire::AgentInterface::new(card.url.as_str(), binding)
        })
    };
    wire::AgentCard {
        name: card.name.clone(),
        description: card.description.clone(),
        version: card.version.clone(),
        supported_interfaces: interface("1.0")
            .into_iter()
            .chain(interface("0.3"))
            .chain(card.mqtt.iter().map(over_mqtt))
            .collect(),
        capabilities: wire::AgentCapabilities {
            streaming: Some(card.streaming),
            push_notifications: Some(card.push_notifications),
            extensions: extensions(card),
            extended_agent_card: Some(card.extended),
        },
        default_input_modes: card.default_input_modes.clone(),
        default_output_modes: card.default_output_modes.clone(),
        skills: card.skills.iter().map(skill).collect(),
        provider: card.provider.as_ref().map(|provider| wire::AgentProvider {
            organization: provider.organization.clone(),
            url: provider.url.to_string(),
        }),
        documentation_url: card.documentation_url.as_ref().map(ToString::to_string),
        icon_url: None,
        security_schemes: card
            .secured
            .as_ref()
            .map(|bearer| HashMap::from([(scheme_name(bearer), scheme(bearer))])),
        security_requirements: card
            .secured
            .as_ref()
            .map(|bearer| vec![HashMap::from([(scheme_name(bearer), bearer.scopes.clone())])]),
        signatures: None,
    }
}

fn over_mqtt(url: &url::Url) -> wire::AgentInterface {
    wire::AgentInterface {
        protocol_version: "1.0".to_owned(),
        ..wire::AgentInterface::new(url.as_str(), crate::mqtt::BINDING)
    }
}

fn extensions(card: &Card) -> Option<Vec<wire::AgentExtension>> {
    let written = |extension: &Extension| wire::AgentExtension {
        uri: extension.uri.clone(),
        description: Some(extension.description.clone()).filter(|text| !text.is_empty()),
        required: extension.required.then_some(true),
        params: (!extension.params.is_empty()).then(|| extension.params.clone().into_iter().collect()),
    };
    (!card.extensions.is_empty()).then(|| card.extensions.iter().map(written).collect())
}

fn skill(skill: &Skill) -> wire::AgentSkill {
    let list = |texts: &[String]| (!texts.is_empty()).then(|| texts.to_vec());
    wire::AgentSkill {
        id: skill.id.clone(),
        name: skill.name.clone(),
        description: skill.description.clone(),
        tags: skill.tags.clone(),
        examples: list(&skill.examples),
        input_modes: list(&skill.input_modes),
        output_modes: list(&skill.output_modes),
        security_requirements: None,
    }
}

/// What the one security scheme is called.
fn scheme_name(bearer: &Bearer) -> String {
    let name = if bearer.oauth.is_some() {
        "oauth2"
    } else {
        "bearer"
    };
    name.to_owned()
}

fn scheme(bearer: &Bearer) -> wire::SecurityScheme {
    if let Some(oauth) = &bearer.oauth {
        let flow = wire::AuthorizationCodeOAuthFlow {
            authorization_url: oauth.authorization_url.to_string(),
            token_url: oauth.token_url.to_string(),
            scopes: oauth.scopes.iter().cloned().collect(),
            refresh_url: None,
            pkce_required: Some(true),
        };
        return wire::SecurityScheme::OAuth2(wire::OAuth2SecurityScheme {
            flows: wire::OAuthFlows::AuthorizationCode(flow),
            description: bearer.description.clone(),
            oauth2_metadata_url: Some(oauth.metadata_url.to_string()),
        });
    }
    wire::SecurityScheme::HttpAuth(wire::HttpAuthSecurityScheme {
        scheme: "Bearer".to_owned(),
        description: bearer.description.clone(),
        bearer_format: Some("JWT".to_owned()),
    })
}

/// The 0.3 card. What both generations call the same is written once, by the same types.
fn fields_0_3(card: &Card) -> Map<String, Value> {
    let interfaces = BINDINGS.map(|binding| json!({ "url": card.url.as_str(), "transport": binding }));
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    put("protocolVersion", json!("0.3.0"));
    put("name", json!(card.name));
    put("description", json!(card.description));
    put("version", json!(card.version));
    put("url", json!(card.url.as_str()));
    put("preferredTransport", json!(BINDINGS[0]));
    put("additionalInterfaces", json!(interfaces));
    let mut capabilities =
        json!({ "streaming": card.streaming, "pushNotifications": card.push_notifications });
    if let (Some(extensions), Some(fields)) = (extensions(card), capabilities.as_object_mut()) {
        fields.insert("extensions".to_owned(), json!(extensions));
    }
    put("capabilities", capabilities);
    put("supportsAuthenticatedExtendedCard", json!(card.extended));
    put("defaultInputModes", json!(card.default_input_modes));
    put("defaultOutputModes", json!(card.default_output_modes));
    put(
        "skills",
        card.skills.iter().map(|known| json!(skill(known))).collect(),
    );
    if let Some(url) = &card.documentation_url {
        put("documentationUrl", json!(url.as_str()));
    }
    if let Some(provider) = &card.provider {
        put(
            "provider",
            json!({ "organization": provider.organization, "url": provider.url.as_str() }),
        );
    }
    if let Some(bearer) = &card.secured {
        put(
            "securitySchemes",
            json!({ scheme_name(bearer): scheme_0_3(bearer) }),
        );
        put("security", json!([{ scheme_name(bearer): bearer.scopes }]));
    }
    fields
}

fn scheme_0_3(bearer: &Bearer) -> Value {
    let mut scheme = match &bearer.oauth {
        None => json!({ "type": "http", "scheme": "Bearer", "bearerFormat": "JWT" }),
        Some(OAuth {
            authorization_url,
            token_url,
            metadata_url,
            scopes,
            ..
        }) => {
            let scopes: Map<String, Value> = scopes
                .iter()
                .map(|(name, words)| (name.clone(), json!(words)))
                .collect();
            let flow = json!({
                "authorizationUrl": authorization_url.as_str(), "tokenUrl": token_url.as_str(), "scopes": scopes,
            });
            json!({
                "type": "oauth2", "flows": { "authorizationCode": flow }, "oauth2MetadataUrl": metadata_url.as_str(),
            })
        }
    };
    if let (Some(description), Some(fields)) = (&bearer.description, scheme.as_object_mut()) {
        fields.insert("description".to_owned(), json!(description));
    }
    scheme
}

/// Adds what is not there yet, down through objects.
fn merge(known: &mut Value, added: Value) {
    match (known, added) {
        (Value::Object(known), Value::Object(added)) => {
            for (name, value) in added {
                merge(known.entry(name).or_insert(Value::Null), value);
            }
        }
        (known @ Value::Null, added) => *known = added,
        _ => {}
    }
}
