//! The cards that others publish.

use domain::{Endpoint, Generation, Tag, Transport};
use serde_json::Value;
use url::Url;

use super::inputs::Inputs;
use super::{CardFault, ForeignCard, ForeignSkill};
use crate::lenient::{Fault, tidy};
use crate::mqtt::TopicPrefix;

/// Most skills of a card, and most tags or examples of a skill.
const MAX_ITEMS: usize = 200;
/// Most media types of a list that are read.
const MODES_MAX: usize = 32;
/// Most bytes of a name, a tag or an id.
const MAX_SHORT: usize = 256;
/// Most bytes of a description or an example.
const MAX_LONG: usize = 8 * 1024;

/// Reads a card of either generation, or of both at once.
///
/// # Errors
/// [`CardFault`] with every reason.
pub fn parse(document: &Value) -> Result<ForeignCard, CardFault> {
    let mut reasons = Vec::new();
    let read = read(document, &mut reasons);
    match read {
        Some(card) if reasons.is_empty() => Ok(card),
        _ => Err(CardFault { reasons }),
    }
}

fn read(document: &Value, reasons: &mut Vec<String>) -> Option<ForeignCard> {
    if !document.is_object() {
        reasons.push("the card is not a JSON object".to_owned());
        return None;
    }
    let card = match tidy(document) {
        Ok(card) => card,
        Err(Fault(reason)) => {
            reasons.push(reason);
            return None;
        }
    };
    let (endpoints, mut unusable) = endpoints(&card);
    if endpoints.is_empty() {
        reasons.append(&mut unusable);
    }
    if endpoints.is_empty() && reasons.is_empty() {
        reasons.push("the card has no JSONRPC, HTTP+JSON or MQTT interface of A2A 1.0 or 0.3".to_owned());
    }
    let can = |capability: &str| {
        card.pointer(&format!("/capabilities/{capability}"))
            .and_then(Value::as_bool)
    };
    let asks = |list: &str| {
        card.get(list)
            .and_then(Value::as_array)
            .is_some_and(|list| !list.is_empty())
    };
    Some(ForeignCard {
        name: text(&card, "name", "the card", Need::Filled(MAX_SHORT), reasons),
        description: text(&card, "description", "the card", Need::Any(MAX_LONG), reasons),
        version: text(&card, "version", "the card", Need::Any(MAX_SHORT), reasons),
        skills: skills(&card, reasons),
        endpoints,
        unusable,
        push_notifications: can("pushNotifications").unwrap_or(false),
        streaming: can("streaming").unwrap_or(false),
        takes_data: takes_data(&card),
        input_modes: input_modes(&card),
        connects: has_extension(&card, crate::CONNECTIONS),
        takes_proof: has_extension(&card, crate::CONSENT),
        secured: asks("securityRequirements") || asks("security"),
        oauth: super::oauth::demanded(&card),
        documentation_url: card
            .get("documentationUrl")
            .and_then(Value::as_str)
            .and_then(|url| Url::parse(url).ok()),
    })
}

fn takes_data(card: &Value) -> bool {
    let modes = card.get("defaultInputModes").and_then(Value::as_array);
    let mut modes = modes.into_iter().flatten().filter_map(Value::as_str);
    modes.any(|mode| matches!(mode.trim(), "application/json" | "application/*" | "*/*"))
}

/// Those of the card and of its skills; none where it names no default, as it may take anything then.
fn input_modes(card: &Value) -> Vec<String> {
    let listed = |of: &Value, key: &str| -> Vec<String> {
        let modes = of.get(key).and_then(Value::as_array).into_iter().flatten();
        let modes = modes
            .filter_map(Value::as_str)
            .filter(|mode| mode.len() <= MAX_SHORT);
        modes.take(MODES_MAX).map(str::to_owned).collect()
    };
    let mut modes = listed(card, "defaultInputModes");
    if !modes.is_empty() {
        let skills = card.get("skills").and_then(Value::as_array);
        modes.extend(
            skills
                .into_iter()
                .flatten()
                .flat_map(|skill| listed(skill, "inputModes")),
        );
        modes.sort_unstable();
        modes.dedup();
    }
    modes
}

fn has_extension(card: &Value, uri: &str) -> bool {
    let all = card.pointer("/capabilities/extensions").and_then(Value::as_array);
    let mut all = all.into_iter().flatten();
    all.any(|extension| extension.get("uri").is_some_and(|named| named == uri))
}

#[derive(Clone, Copy)]
enum Need {
    Filled(usize),
    Any(usize),
}

fn text(holder: &Value, name: &str, of: &str, need: Need, reasons: &mut Vec<String>) -> String {
    let told = match holder.get(name) {
        None => "",
        Some(Value::String(text)) => text,
        Some(_) => {
            reasons.push(format!("{of}: {name} must be text"));
            return String::new();
        }
    };
    let (Need::Filled(max) | Need::Any(max)) = need;
    if told.len() > max {
        reasons.push(format!("{of}: {name} is longer than {max} bytes"));
    } else if matches!(need, Need::Filled(_)) && told.trim().is_empty() {
        reasons.push(format!("{of}: {name} is missing"));
    } else {
        return told.to_owned();
    }
    String::new()
}

fn skills(card: &Value, reasons: &mut Vec<String>) -> Vec<ForeignSkill> {
    let skills = match card.get("skills") {
        None => return Vec::new(),
        Some(Value::Array(skills)) => skills,
        Some(_) => {
            reasons.push("the card: skills must be a list".to_owned());
            return Vec::new();
        }
    };
    if skills.len() > MAX_ITEMS {
        reasons.push(format!("the card has more than {MAX_ITEMS} skills"));
        return Vec::new();
    }
    let inputs = Inputs::of(card);
    let mut read = Vec::with_capacity(skills.len());
    for (index, skill) in skills.iter().enumerate() {
        let of = format!("skill {}", index + 1);
        if !skill.is_object() {
            reasons.push(format!("{of} is not an object"));
            continue;
        }
        let id = text(skill, "id", &of, Need::Filled(MAX_SHORT), reasons);
        let told = texts(skill, "tags", &of, MAX_SHORT, reasons);
        let (tags, plain_tags): (Vec<_>, Vec<_>) = told
            .into_iter()
            .map(|tag| Tag::parse(&tag).map_err(|_| tag))
            .partition(Result::is_ok);
        read.push(ForeignSkill {
            name: text(skill, "name", &of, Need::Any(MAX_SHORT), reasons),
            description: text(skill, "description", &of, Need::Any(MAX_LONG), reasons),
            tags: tags.into_iter().filter_map(Result::ok).collect(),
            plain_tags: plain_tags.into_iter().filter_map(Result::err).collect(),
            examples: texts(skill, "examples", &of, MAX_LONG, reasons),
            input: inputs.of_skill(&id),
            id,
        });
    }
    read
}

fn texts(holder: &Value, name: &str, of: &str, max: usize, reasons: &mut Vec<String>) -> Vec<String> {
    let items = match holder.get(name) {
        None => return Vec::new(),
        Some(Value::Array(items)) if items.len() <= MAX_ITEMS => items,
        Some(_) => {
            reasons.push(format!(
                "{of}: {name} must be a list of at most {MAX_ITEMS} texts"
            ));
            return Vec::new();
        }
    };
    let fitting = |item: &Value| item.as_str().filter(|text| text.len() <= max).map(str::to_owned);
    let read: Option<Vec<String>> = items.iter().map(fitting).collect();
    read.unwrap_or_else(|| {
        reasons.push(format!("{of}: {name} must be texts of at most {max} bytes"));
        Vec::new()
    })
}

/// One interface as the card tells it; `None` where we do not speak that.
struct Told {
    url: Option<String>,
    transport: Option<Transport>,
    generation: Option<Generation>,
    tenant: Option<String>,
}

/// The interfaces that we can call: 1.0's list as it stands, then what 0.3's fields add. What is wrong with others speaks against the
/// card only where there is none.
fn endpoints(card: &Value) -> (Vec<Endpoint>, Vec<String>) {
    let list = |name: &str| {
        card.get(name)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .take(MAX_ITEMS)
    };
    let field = |holder: &Value, name: &str| holder.get(name).and_then(Value::as_str).map(str::to_owned);

    let mut told: Vec<Told> = Vec::new();
    for interface in list("supportedInterfaces") {
        let version = field(interface, "protocolVersion").unwrap_or_else(|| "1.0".to_owned());
        told.push(Told {
            url: field(interface, "url"),
            transport: transport(&field(interface, "protocolBinding").unwrap_or_default()),
            generation: generation(&version),
            tenant: field(interface, "tenant").filter(|tenant| !tenant.is_empty()),
        });
    }
    // A card without a version is 0.2's or 0.3's; those below 0.3 are called the same way.
    let version = field(card, "protocolVersion").unwrap_or_else(|| "0.3".to_owned());
    let legacy = if version.starts_with("0.2") {
        Some(Generation::V0_3)
    } else {
        generation(&version)
    };
    let mut tell = |url: Option<String>, binding: &str| {
        told.push(Told {
            url,
            transport: transport(binding),
            generation: legacy,
            tenant: None,
        });
    };
    if let Some(url) = field(card, "url") {
        tell(
            Some(url),
            field(card, "preferredTransport").as_deref().unwrap_or("JSONRPC"),
        );
    }
    for interface in list("additionalInterfaces") {
        tell(
            field(interface, "url"),
            &field(interface, "transport").unwrap_or_default(),
        );
    }

    let http = |told: &Told| told.url.clone().filter(|url| url.starts_with("http"));
    let resource = told.iter().find_map(http).and_then(|url| Url::parse(&url).ok());
    let mut endpoints: Vec<Endpoint> = Vec::new();
    let mut unusable: Vec<String> = Vec::new();
    for Told {
        url,
        transport,
        generation,
        tenant,
    } in told
    {
        let (Some(transport), Some(generation)) = (transport, generation) else {
            continue;
        };
        let written = url.unwrap_or_default();
        let Some(url) = Url::parse(&written).ok().filter(Url::has_host) else {
            let written = crate::error::capped(&written, MAX_SHORT);
            unusable.push(format!("the card: an interface's url is no URL: {written:?}"));
            continue;
        };
        // A broker alone is no agent's address: which agent of it is meant, the card's topic says.
        let is_mqtt = transport == Transport::Mqtt;
        if is_mqtt && (generation != Generation::V1_0 || TopicPrefix::read_interface(&url).is_err()) {
            continue;
        }
        let endpoint = Endpoint {
            url,
            generation,
            transport,
            tenant,
            resource: resource.clone().filter(|_| is_mqtt),
        };
        if !endpoints.contains(&endpoint) {
            endpoints.push(endpoint);
        }
    }
    // Over HTTP an agent is called directly.
    endpoints.sort_by_key(|endpoint| endpoint.transport == Transport::Mqtt);
    (endpoints, unusable)
}

fn transport(binding: &str) -> Option<Transport> {
    match binding.to_ascii_uppercase().as_str() {
        "JSONRPC" => Some(Transport::JsonRpc),
        "HTTP+JSON" => Some(Transport::Rest),
        // The profile names none: these are what cards have.
        "MQTTV5+JSONRPCV2" | "MQTT5+JSONRPC" | "MQTT5" | "MQTT" => Some(Transport::Mqtt),
        _ => None,
    }
}

fn generation(version: &str) -> Option<Generation> {
    crate::generation(Some(version)).ok()
}
