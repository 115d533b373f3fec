//! What the agent publishes of itself.

use a2a::card::{Bearer, Card, OAuth, Skill, inputs};
use domain::Tenant;
use url::Url;

use crate::question;

/// The skill's id.
const ORDER_STATUS: &str = "order-status";

/// What a token must allow.
pub(crate) const SCOPES: [(&str, &str); 2] = [
    (agent::TASKS_SCOPE, "Give the agent tasks in your name"),
    ("orders:read", "See your orders"),
];

/// The agent's card, with the URL it is called at. `issuer` is the tenant's authorization server.
pub(crate) fn card(url: Url, tenant: &Tenant, issuer: &Url) -> Card {
    let issuer_text = issuer.as_str().trim_end_matches('/').to_owned();
    let below = |path: &str| {
        let mut url = issuer.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path.split('/'));
        }
        url
    };
    let words = |(name, words): (&str, &str)| (name.to_owned(), words.to_owned());
    Card {
        name: "Horizon".into(),
        description:
            "Says how far your orders are: what was ordered, whether it is packed, shipped or delivered, and \
                      when it is expected."
                .into(),
        version: env!("CARGO_PKG_VERSION").into(),
        url,
        mqtt: None,
        documentation_url: None,
        provider: None,
        skills: vec![Skill {
            id: ORDER_STATUS.into(),
            name: "Order status".into(),
            description:
                "Looks up orders by their number, your latest order, or all of yours: status, items, \
                          expected delivery."
                    .into(),
            tags: [
                "type:horizon".into(),
                format!("tenant_id:{}", tenant.name()),
                "topic:orders".into(),
            ]
            .to_vec(),
            examples: [
                "Where is my order 1003?",
                "When will my latest order arrive?",
                "Show my orders",
                "Has order 1005 been shipped?",
                "Wo bleibt mein Paket?",
                "¿Dónde está mi pedido 1003?",
            ]
            .map(String::from)
            .to_vec(),
            input_modes: Vec::new(),
            output_modes: Vec::new(),
        }],
        default_input_modes: vec!["text/plain".into(), "application/json".into()],
        default_output_modes: vec!["text/plain".into(), "application/json".into()],
        streaming: true,
        push_notifications: true,
        extended: false,
        extensions: vec![inputs([(ORDER_STATUS, question::schema())])],
        secured: Some(Bearer {
            description: Some(
                "An access token of a user of the tenant, with this agent's URL as its audience.".into(),
            ),
            scopes: SCOPES.map(|(name, _)| name.to_owned()).to_vec(),
            oauth: Some(OAuth {
                authorization_url: below("authorize"),
                token_url: below("token"),
                metadata_url: below(".well-known/oauth-authorization-server"),
                issuer: issuer_text,
                scopes: SCOPES.map(words).to_vec(),
            }),
        }),
    }
}
